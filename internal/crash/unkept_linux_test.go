package crash

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sfcore/sfcore/internal/crash/store"
	"github.com/sfcore/sfcore/internal/testkit"
)

// journal is a fake one, which returns the fields of the next entry.
func journal(t *testing.T, dir string) (next func() map[string]string) {
	t.Helper()
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "journal"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return func() map[string]string {
		t.Helper()
		_ = l.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		b, oob := make([]byte, 1<<20), make([]byte, 64)
		n, noob, _, _, err := l.ReadMsgUnix(b, oob)
		if err != nil {
			return nil
		}
		entry := b[:n]
		if messages, err := unix.ParseSocketControlMessage(oob[:noob]); err == nil && len(messages) == 1 {
			fds, err := unix.ParseUnixRights(&messages[0])
			if err != nil || len(fds) != 1 || n != 0 {
				t.Fatal(fds, n, err)
			}
			f := os.NewFile(uintptr(fds[0]), "entry")
			defer f.Close()
			if seals, err := unix.FcntlInt(f.Fd(), unix.F_GET_SEALS, 0); err != nil || seals&unix.F_SEAL_WRITE == 0 {
				t.Errorf("the entry can be changed: seals %#x, %v", seals, err)
			}
			if entry, err = io.ReadAll(io.NewSectionReader(f, 0, 1<<30)); err != nil {
				t.Fatal(err)
			}
		}
		return fieldsOf(t, entry)
	}
}

// fieldsOf reads an entry as the journal does.
func fieldsOf(t *testing.T, entry []byte) map[string]string {
	t.Helper()
	all := map[string]string{}
	for len(entry) > 0 {
		line, rest, _ := bytes.Cut(entry, []byte("\n"))
		name, value, short := strings.Cut(string(line), "=")
		if !short {
			size := binary.LittleEndian.Uint64(rest)
			value, rest = string(rest[8:8+size]), rest[8+size:]
			if rest[0] != '\n' {
				t.Fatalf("%s: %d bytes, and then %q", name, size, rest[0])
			}
			rest = rest[1:]
		}
		all[name], entry = value, rest
	}
	return all
}

// unkeptLines is a report with a stack, and another of so many frames.
func unkeptLines(frames int) string {
	var many strings.Builder
	for i := range frames {
		fmt.Fprintf(&many, `{"index":%d,"pc":"0x2000","method":"cfi","trust":"full","function":"f%d"},`, i, i)
	}
	return `{"schema":"sfcore.report/1"}` + "\n" +
		`{"thread":{"tid":7,"name":"m\u001b","crashed":true,"frames":[{"index":0,"pc":"0x1000","method":"registers","trust":"full","function":"boom","file":"a.c","line":3}],"stop":{"reason":"outermost"}}}` + "\n" +
		`{"thread":{"tid":8,"frames":[` + strings.TrimSuffix(many.String(), ",") + `],"stop":{"reason":"bad-return-address"}}}` + "\n"
}

// A crash that the store does not take is in the journal, with its stacks.
func TestUnkept(t *testing.T) {
	for _, frames := range []int{3, 5000} {
		t.Run(fmt.Sprint(frames), func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(dir+"/file", nil, 0o600); err != nil {
				t.Fatal(err)
			}
			next, lines := journal(t, dir), unkeptLines(frames)
			c := DefaultConfig()
			c.Store, c.Time = dir+"/file/store", duration{20 * time.Second} // a file is no directory
			r := handleIn(t, c, dir+"/journal", lines)
			if r.err != nil || r.rec == nil || r.rec.Kept != store.KeepLine || !r.dump.closed || !strings.Contains(strings.Join(r.rec.Problems, ";"), "the journal has it") {
				t.Errorf("got %+v, %v, let go %v", r.rec, r.err, r.dump.closed)
			}
			checkUnkept(t, next(), lines)
			if more := next(); more != nil {
				t.Errorf("got a second entry: %v", more)
			}
		})
	}
}

// handleIn handles a crash with a report of these lines.
func handleIn(t *testing.T, c *Config, socket, lines string) *handled {
	t.Helper()
	file := filepath.Join(t.TempDir(), "lines") // too long for the environment
	if err := os.WriteFile(file, []byte(outlineLine+nameLine(t, "")+lines), 0o600); err != nil {
		t.Fatal(err)
	}
	return handleWith(t, c, Stream{}, bytes.NewReader(theDump()), "\x01show "+file, socket)
}

func checkUnkept(t *testing.T, entry map[string]string, lines string) {
	t.Helper()
	for name, want := range map[string]string{
		"MESSAGE": "null-access in main\nThread 7 \"m\\u001b\" (crashed)\n  #0 0x0000000000001000 registers boom at a.c:3\n", "PRIORITY": "2", "MESSAGE_ID": unkeptID,
		"SYSLOG_IDENTIFIER": "sfcore-crash", "SFCORE_RECORD": `"schema":"sfcore.crash/1"`, "SFCORE_REPORT": lines,
	} {
		if !strings.Contains(entry[name], want) {
			t.Errorf("%s: got %.300q, want %.300q", name, entry[name], want)
		}
	}
	if len(entry["MESSAGE"]) > maxUnkeptText+1000 {
		t.Errorf("got a message of %d bytes", len(entry["MESSAGE"]))
	}
}

// Without a journal the crash and the stack are said.
func TestUnkeptNoJournal(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := DefaultConfig()
	c.Store, c.Time = dir+"/file/store", duration{20 * time.Second}
	r := handleIn(t, c, dir+"/none", unkeptLines(100))
	said := strings.Join(r.said, "\n")
	if r.err != nil || !strings.Contains(said, "null-access in main\nThread 7") || !strings.Contains(said, "boom at a.c:3") || len(r.said) > maxUnkeptLines+5 {
		t.Errorf("got %v, %d lines: %s", r.err, len(r.said), said)
	}
}

const inNamespace = "SFCORE_TEST_FULL"

// The same on a disk that is full, or that may not be written: file systems of a mount
// namespace.
func TestUnkeptFull(t *testing.T) {
	if os.Getenv(inNamespace) != "" {
		testFull(t)
		return
	}
	testkit.NeedRestart(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestUnkeptFull$", "-test.v")
	cmd.Env = append(os.Environ(), inNamespace+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Skipf("no namespaces here: %v", err)
	} else if err != nil {
		t.Errorf("%v\n%s", err, out)
	} else if bytes.Contains(out, []byte("--- SKIP")) {
		t.Skipf("%s", out)
	}
}

func testFull(t *testing.T) {
	for name, prepare := range map[string]func(store string) error{
		"full": func(store string) error {
			err := os.WriteFile(store+"/fill", make([]byte, 1<<20), 0o600)
			if !errors.Is(err, unix.ENOSPC) {
				return fmt.Errorf("it is not full: %w", err)
			}
			return nil
		},
		"read-only": func(store string) error {
			return unix.Mount("", store, "", unix.MS_REMOUNT|unix.MS_RDONLY, "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			store := dir + "/store"
			if err := os.Mkdir(store, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := unix.Mount("tmpfs", store, "tmpfs", 0, "size=64k"); err != nil {
				t.Skipf("no file system can be mounted here: %v", err)
			}
			t.Cleanup(func() { _ = unix.Unmount(store, unix.MNT_DETACH) })
			if err := prepare(store); err != nil {
				t.Fatal(err)
			}
			next, lines := journal(t, dir), unkeptLines(3)
			c := DefaultConfig()
			c.Store, c.Time = store, duration{20 * time.Second}
			r := handleIn(t, c, dir+"/journal", lines)
			if r.err != nil || r.rec == nil || !strings.Contains(strings.Join(r.rec.Problems, ";"), "the journal has it") {
				t.Errorf("got %+v, %v", r.rec, r.err)
			}
			checkUnkept(t, next(), lines)
			names, err := filepath.Glob(store + "/*")
			for _, name := range names {
				if base := filepath.Base(name); base != "fill" && base != "lock" {
					t.Errorf("%s was left", base)
				}
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// A report that the store does not take is in the journal, though it takes the record.
func TestUnkeptReport(t *testing.T) {
	testkit.NeedRestart(t)
	dir, c := t.TempDir(), DefaultConfig()
	c.Store, c.Time = dir+"/store", duration{20 * time.Second}
	err := errors.Join(os.Mkdir(c.Store, 0o700), os.WriteFile(c.Store+"/1-7.jsonl.zst.part", nil, 0o600), os.WriteFile(dir+"/core", theDump(), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(dir + "/core")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	next := journal(t, dir)
	h := newHandler(t, c, outlineLine+nameLine(t, "")+unkeptLines(3), dir+"/journal", func(string) {})
	r, err := h.HandleCore(t.Context(), &CoreFile{ID: "1-7", File: f, Size: int64(len(theDump())), UID: os.Getuid(), GID: os.Getgid()}, ReaderOptions{})
	if err != nil || r.Kept != store.KeepLine {
		t.Fatalf("got %+v, %v", r, err)
	}
	checkUnkept(t, next(), unkeptLines(3))
	if stored, err := h.store.Find("1-7"); err != nil || !strings.Contains(strings.Join(stored.Problems, ";"), "the journal has it") {
		t.Errorf("got %+v, %v", stored, err)
	}
}
