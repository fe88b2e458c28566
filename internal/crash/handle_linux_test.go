package crash

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/crash/store"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/report/signature"
)

// asReader makes this test's program a reader that says what the variable has, and then
// does what the word behind it says.
const asReader = "SFCORE_TEST_READER"

func TestMain(m *testing.M) {
	text, ok := os.LookupEnv(asReader)
	if !ok {
		os.Exit(m.Run())
	}
	said, then, _ := strings.Cut(text, "\x01")
	head, err := io.ReadAll(os.Stdin)
	if err != nil || !bytes.HasPrefix(head, []byte("\x7fELF")) {
		fmt.Fprintln(os.Stderr, "no head:", err)
		os.Exit(3)
	}
	fmt.Print(said)
	if file, ok := strings.CutPrefix(then, "show "); ok {
		text, err := os.ReadFile(file)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		_, _ = os.Stdout.Write(text)
	}
	switch then {
	case "small", "small hang":
		s := Small{Asked: os.NewFile(3, "the handler"), Core: os.NewFile(4, "the small core")}
		if b, _ := io.ReadAll(io.LimitReader(s.Asked, 1)); string(b) == "s" {
			fmt.Fprint(os.NewFile(4, "the small core"), "a small core")
		}
		if then == "small hang" {
			select {}
		}
	case "hang":
		select {}
	case "fail":
		fmt.Fprintln(os.Stderr, "it failed")
		os.Exit(2)
	case "fill":
		var all []byte
		for {
			all = append(all, bytes.Repeat([]byte{1}, 1<<20)...)
			fmt.Fprint(io.Discard, len(all))
		}
	}
}

// dump is what the kernel writes: the head, and memory that is read only for a core.
type dump struct {
	io.Reader
	read   int
	closed bool
}

func (d *dump) Read(p []byte) (int, error) {
	n, err := d.Reader.Read(p)
	d.read += n
	return n, err
}

func (d *dump) Close() error { d.closed = true; return nil }

// theDump is a dump with one thread and some memory.
func theDump() []byte {
	regs := new(arch.Regs)
	regs.Set(arch.AMD64.PC, 1)
	return testkit.NewCore(arch.AMD64).Thread(7, 11, regs).Segment(0x1000, 1<<16, false, bytes.Repeat([]byte("memory"), 1<<16/6+1)[:1<<16]).Done()
}

// handled is a crash that was handled.
type handled struct {
	h    *Handler
	dump *dump
	rec  *store.Record
	err  error
	said []string
}

func handle(t *testing.T, c *Config, in io.Reader, reader string) *handled {
	t.Helper()
	return handleStream(t, c, Stream{}, in, reader)
}

func handleStream(t *testing.T, c *Config, how Stream, in io.Reader, reader string) *handled {
	t.Helper()
	dir := t.TempDir()
	c.Store = filepath.Join(dir, "store")
	return handleWith(t, c, how, in, reader, filepath.Join(dir, "journal"))
}

// handleWith is handle with a store and a journal.
func handleWith(t *testing.T, c *Config, how Stream, in io.Reader, reader, journal string) *handled {
	t.Helper()
	testkit.NeedRestart(t)
	r := &handled{dump: &dump{Reader: in}}
	r.h = newHandler(t, c, reader, journal, func(line string) { r.said = append(r.said, line) })
	r.h.Dump, r.h.Stream = r.dump, how
	v, err := ParseVictim([]string{fmt.Sprint(os.Getpid()), fmt.Sprint(os.Getuid()), fmt.Sprint(os.Getgid()), "11", "1"})
	if err != nil {
		t.Fatal(err)
	}
	r.rec, r.err = r.h.Handle(context.WithoutCancel(t.Context()), v)
	return r
}

// newHandler makes a handler with a reader that says something.
func newHandler(t *testing.T, c *Config, reader, journal string, say func(string)) *Handler {
	t.Helper()
	return &Handler{
		Config: c, Journal: journal, Say: say,
		Reader: func(args []string) *exec.Cmd {
			cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
			cmd.Env = []string{asReader + "=" + reader}
			return cmd
		},
	}
}

// unpack returns what is in a compressed file of a crash, nil if there is none.
func unpack(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	d, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	text, err := d.DecodeAll(b, nil)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

const (
	outlineLine = `{"signal":"SIGSEGV","kind":"abc","threads":3,"program":"/bin/it"}` + "\n"
	reportLines = `{"schema":"sfcore.report/1"}` + "\n" + `{"thread":{"tid":7}}` + "\n"
)

// nameLine is what a reader says when stacks have names.
func nameLine(t *testing.T, build string) string {
	t.Helper()
	b, err := json.Marshal(&known{&signature.Signature{Schema: signature.Schema, Title: "null-access in main", Address: "abc"}, build})
	if err != nil {
		t.Fatal(err)
	}
	return string(b) + "\n"
}

func TestHandle(t *testing.T) {
	whole := outlineLine + nameLine(t, "c0ffee") + reportLines
	slow := DefaultConfig()
	slow.Time = duration{300 * time.Millisecond}
	for _, tt := range []struct {
		name, reader string
		keep         store.Keep // of the rule
		kept         store.Keep
		report       string
		problem      string
		title        string
	}{
		{"a report", whole, store.KeepReport, store.KeepReport, reportLines, "", "null-access in main"},
		{"a line", whole, store.KeepLine, store.KeepLine, "", "", "null-access in main"},
		{"a core", whole, store.KeepCore, store.KeepCore, reportLines, "", "null-access in main"},
		{"no signature", outlineLine + "{}\n" + reportLines, store.KeepReport, store.KeepReport, reportLines, "", "SIGSEGV"},
		{"a reader that hangs later", whole + "\x01hang", store.KeepReport, store.KeepReport, reportLines, "the reader: the reader takes 300ms", "null-access in main"},
		{"a reader that fails later", whole + "\x01fail", store.KeepReport, store.KeepReport, reportLines, "the reader: the reader ended: exit status 2", "null-access in main"},
		{"a reader that hangs before it names", outlineLine + "\x01hang", store.KeepReport, store.KeepLine, "", "nothing was named", "SIGSEGV"},
		{"a reader that hangs at once", "\x01hang", store.KeepReport, store.KeepLine, "", "no stack was read: EOF", "SIGSEGV"},
		{"a reader that fails at once", "\x01fail", store.KeepReport, store.KeepLine, "", "no stack was read: EOF", "SIGSEGV"},
		{"a reader that takes all memory", "\x01fill", store.KeepReport, store.KeepLine, "", "no stack was read: EOF", "SIGSEGV"},
		{"a reader that says something else", "hello\n" + "\x01hang", store.KeepReport, store.KeepLine, "", "no stack was read: invalid character", "SIGSEGV"},
		{"a reader that says too much", strings.Repeat("x", 100<<10) + "\x01hang", store.KeepReport, store.KeepLine, "", "no stack was read", "SIGSEGV"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := *slow
			if tt.problem == "" {
				c.Time = duration{20 * time.Second} // the machine may be busy
			}
			c.Rules = []Rule{{Keep: tt.keep}}
			r := handle(t, &c, bytes.NewReader(theDump()), tt.reader)
			if r.err != nil || r.rec == nil {
				t.Fatalf("got %+v, %v", r.rec, r.err)
			}
			if r.rec.Kept != tt.kept || r.rec.Title() != tt.title || r.rec.Number != 1 || r.rec.Held <= 0 || !r.dump.closed {
				t.Errorf("got %+v, title %q, want kept %s, title %q; let go %v", r.rec, r.rec.Title(), tt.kept, tt.title, r.dump.closed)
			}
			if got := strings.Join(r.rec.Problems, "; "); tt.problem == "" && got != "" || !strings.Contains(got, tt.problem) {
				t.Errorf("got the problems %q, want %q", got, tt.problem)
			}
			if got := string(unpack(t, r.h.store.Report(r.rec.ID))); got != tt.report {
				t.Errorf("got the report %q, want %q", got, tt.report)
			}
			core := unpack(t, r.h.store.Core(r.rec.ID))
			if want := tt.kept == store.KeepCore; bytes.Equal(core, theDump()) != want || !want && core != nil {
				t.Errorf("got %d bytes of a core, want one %v", len(core), want)
			}
			if whole := r.dump.read == len(theDump()); whole != (tt.kept == store.KeepCore) {
				t.Errorf("read %d bytes of the dump, which has %d", r.dump.read, len(theDump()))
			}
			stored, err := r.h.store.Find("last")
			if err != nil || stored.ID != r.rec.ID || stored.Title() != tt.title {
				t.Errorf("got the record %+v, %v", stored, err)
			}
		})
	}
}

// The build-id of the program is kept, and nothing that is none.
func TestHandleBuild(t *testing.T) {
	c := DefaultConfig()
	c.Time = duration{20 * time.Second}
	for _, tt := range []struct{ said, want string }{
		{"c0ffee", "c0ffee"}, {"", ""}, {"<script>", ""}, {strings.Repeat("ab", maxBuildID), strings.Repeat("ab", maxBuildID)}, {strings.Repeat("ab", maxBuildID+1), ""},
	} {
		r := handle(t, c, bytes.NewReader(theDump()), outlineLine+nameLine(t, tt.said)+reportLines)
		if r.err != nil || r.rec.Build != tt.want {
			t.Errorf("%.10s: got %q, %v", tt.said, r.rec.Build, r.err)
		}
	}
}

// A dump that comes in records is the same dump. Of one whose end is missing the core is
// kept, which says so; of one without memory there is none.
func TestHandleRecords(t *testing.T) {
	d := theDump()
	n := uint64(len(d))
	var records []byte
	for at := range uint64(len(d)) {
		if at%1000 == 0 {
			length := min(1000, n-at)
			records = append(records, recordOf(32, recordData, 0, at, length, d[at:at+length]...)...)
		}
	}
	whole := append(bytes.Clone(records), recordOf(32, recordEnd, 0, n, 0)...)
	for _, tt := range []struct {
		name    string
		how     Stream
		in      []byte
		keep    store.Keep
		core    []byte
		problem string
	}{
		{"whole", Stream{Records: true}, whole, store.KeepCore, d, ""},
		{"cut", Stream{Records: true}, records, store.KeepCore, d, "the core: the kernel has not written all of the dump"},
		{"a report", Stream{Records: true, Bare: true}, whole, store.KeepReport, nil, ""},
		{"without memory", Stream{Records: true, Bare: true}, whole, store.KeepCore, nil, "the core: the daemon has asked the kernel for no memory"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := DefaultConfig()
			c.Time, c.Rules = duration{20 * time.Second}, []Rule{{Keep: tt.keep}}
			r := handleStream(t, c, tt.how, bytes.NewReader(tt.in), outlineLine+nameLine(t, "")+reportLines)
			if r.err != nil || r.rec == nil || !r.dump.closed {
				t.Fatalf("got %+v, %v", r.rec, r.err)
			}
			if got := strings.Join(r.rec.Problems, "; "); tt.problem == "" && got != "" || !strings.Contains(got, tt.problem) {
				t.Errorf("got the problems %q, want %q", got, tt.problem)
			}
			if got := unpack(t, r.h.store.Core(r.rec.ID)); !bytes.Equal(got, tt.core) {
				t.Errorf("got a core of %d bytes, want %d", len(got), len(tt.core))
			}
			if got := string(unpack(t, r.h.store.Report(r.rec.ID))); got != reportLines {
				t.Errorf("got the report %q", got)
			}
		})
	}
}

// A dump that is no core, or does not come, is counted, and the process is let go.
func TestHandleLost(t *testing.T) {
	never, w := io.Pipe()
	defer func() { _ = w.Close() }()
	for name, in := range map[string]io.Reader{"empty": strings.NewReader(""), "cut": bytes.NewReader(theDump()[:100]), "never": never} {
		t.Run(name, func(t *testing.T) {
			c := DefaultConfig()
			c.Time = duration{100 * time.Millisecond}
			r := handle(t, c, in, "")
			if r.err == nil || r.rec != nil || !r.dump.closed {
				t.Errorf("got %+v, %v, let go %v", r.rec, r.err, r.dump.closed)
			}
			if counts, err := r.h.store.Counts(); err != nil || counts.Lost != 1 {
				t.Errorf("got %+v, %v, want one lost", counts, err)
			}
		})
	}
}

// Over budget a crash is counted, and nothing of its dump is read.
func TestHandleOverBudget(t *testing.T) {
	c := DefaultConfig()
	c.Rate.Crashes = 0
	r := handle(t, c, bytes.NewReader(theDump()), "")
	if r.err != nil || r.rec != nil || r.dump.read != 0 || !r.dump.closed {
		t.Errorf("got %+v, %v, %d bytes read", r.rec, r.err, r.dump.read)
	}
	if counts, err := r.h.store.Counts(); err != nil || counts.Refused != 1 {
		t.Errorf("got %+v, %v, want one refused", counts, err)
	}
}

// A core beyond its bound is not kept, and its file is removed.
func TestHandleLargeCore(t *testing.T) {
	c := DefaultConfig()
	c.CoreSize, c.Rules, c.Time = 1000, []Rule{{Keep: store.KeepCore}}, duration{20 * time.Second}
	r := handle(t, c, bytes.NewReader(theDump()), outlineLine+nameLine(t, "")+reportLines)
	if r.err != nil || unpack(t, r.h.store.Core(r.rec.ID)) != nil || !strings.Contains(strings.Join(r.rec.Problems, ""), "the core: larger than the 1000 B of core-size") {
		t.Errorf("got %+v, %v", r.rec, r.err)
	}
	if names, _ := filepath.Glob(r.h.Config.Store + "/*.part"); names != nil {
		t.Errorf("got %v", names)
	}
}

func TestParseVictim(t *testing.T) {
	for _, tt := range []struct {
		args string
		want *Victim
		err  string
	}{
		{"7 1000 100 11 1 3", &Victim{PID: 7, UID: 1000, GID: 100, Signal: 11, Dumpable: 1, PIDFD: 3}, ""},
		{"7 1000 100 11 1", &Victim{PID: 7, UID: 1000, GID: 100, Signal: 11, Dumpable: 1, PIDFD: -1}, ""},
		{"7 1000 100 11 1 ", &Victim{PID: 7, UID: 1000, GID: 100, Signal: 11, Dumpable: 1, PIDFD: -1}, ""},
		{"7 1000 100 11 1 %F", &Victim{PID: 7, UID: 1000, GID: 100, Signal: 11, Dumpable: 1, PIDFD: -1}, ""},
		{"0 0 0 0 0", nil, "PID (%P): must not be 0"},
		{"x 0 0 0 0", nil, `PID (%P): "x" is not a number`},
		{"7 0 0 -1 0", nil, `SIGNAL (%s): "-1" is not a number`},
		{"7 99999999999 0 1 0", nil, `UID (%u): "99999999999" is not a number`},
	} {
		v, err := ParseVictim(strings.Fields(tt.args))
		if (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) || tt.want != nil && (v == nil || *v != *tt.want) {
			t.Errorf("%s: got %+v, %v, want %+v, %q", tt.args, v, err, tt.want, tt.err)
		}
	}
}

// A process that has changed users, or that may not be dumped, is root's.
func TestOwner(t *testing.T) {
	status := "Name:\tx\nUid:\t5\t5\t5\t5\nGid:\t6\t6\t6\t6\n"
	for _, tt := range []struct {
		status string
		uid    int
		want   bool
	}{
		{status, 5, true},
		{status, 6, false},
		{strings.Replace(status, "5\t5\nG", "0\t5\nG", 1), 5, false},
		{strings.Replace(status, "\t5\nG", "\nG", 1), 5, false},
		{"", 5, false},
	} {
		if got := sameIDs(tt.status, "Uid:", tt.uid); got != tt.want {
			t.Errorf("%q: got %v", tt.status, got)
		}
	}
	v := &Victim{PID: os.Getpid(), UID: os.Getuid(), GID: os.Getgid(), Dumpable: 1, PIDFD: -1}
	if uid, gid := v.Owner(); uid != v.UID || gid != v.GID {
		t.Errorf("got %d, %d, want those of this process", uid, gid)
	}
	for _, other := range []Victim{{PID: v.PID, UID: v.UID + 1, GID: v.GID, Dumpable: 1}, {PID: v.PID, UID: v.UID, GID: v.GID, Dumpable: 2}, {PID: 1 << 30, UID: 7, Dumpable: 1}} {
		if uid, gid := other.Owner(); uid != 0 || gid != 0 {
			t.Errorf("%+v: got %d, %d, want root", other, uid, gid)
		}
	}
}

// A pidfd tells whether the process is the one that the kernel meant.
func TestVictimCheck(t *testing.T) {
	f, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	v := &Victim{PID: os.Getpid(), PIDFD: int(f.Fd())}
	if err := v.Check(); err == nil || !strings.Contains(err.Error(), "is no pidfd") {
		t.Errorf("got %v, want that a file is no pidfd", err)
	}
	p, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	err = p.WithHandle(func(handle uintptr) {
		v.PIDFD = int(handle)
		if err := v.Check(); err != nil {
			t.Error(err)
		}
		v.PID++
		if err := v.Check(); err == nil || !strings.Contains(err.Error(), "the pidfd is of process") {
			t.Errorf("got %v, want that it is another", err)
		}
	})
	if errors.Is(err, os.ErrNoHandle) {
		t.Skip("this kernel has no pidfds")
	} else if err != nil {
		t.Fatal(err)
	}
}

// What a reader says is cut to a few short lines.
func TestSaid(t *testing.T) {
	var lines []string
	w := newSaid(func(line string) { lines = append(lines, line) })
	for _, text := range []string{"one\ntw", "o\n", strings.Repeat("x", 1<<20) + "\n", strings.Repeat("more\n", 100)} {
		if n, err := io.WriteString(w, text); n != len(text) || err != nil {
			t.Fatal(n, err)
		}
	}
	if len(lines) != maxLines || lines[0] != "one" || lines[1] != "two" || len(lines[2]) > 2*maxSaid {
		t.Errorf("got %d lines: %.80q", len(lines), lines)
	}
}
