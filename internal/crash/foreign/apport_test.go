package foreign

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// Debian has no apport, so its reports are made here as its format says: texts in the
// order of their keys, then what is binary.
const apportTextsOf = `ProblemType: Crash
Architecture: amd64
Date: Sat Nov 21 10:11:12 2026
ExecutablePath: /usr/bin/server
ProcCgroup: 0::/system.slice/server.service
ProcStatus:
 Name:	server
 Pid:	4711
 Uid:	1000	1000	1000	1000
Signal: 11
SourcePackage: server
`

// apportReport makes a report with a core, compressed in so many pieces of a line each.
func apportReport(t testing.TB, core []byte, pieces int) []byte {
	t.Helper()
	var b, packed bytes.Buffer
	b.WriteString(apportTextsOf + "CoreDump: base64\n")
	line := func() {
		if packed.Len() > 0 {
			b.WriteString(" " + base64.StdEncoding.EncodeToString(packed.Bytes()) + "\n")
		}
		packed.Reset()
	}
	w := gzip.NewWriter(&packed)
	w.Name = "CoreDump"
	for i := range pieces {
		if _, err := w.Write(core[len(core)*i/pieces : len(core)*(i+1)/pieces]); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		line()
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	line()
	b.WriteString("Stack: base64\n H4sIAAAAAAAC/w==\n")
	return b.Bytes()
}

func TestParseApport(t *testing.T) {
	when := time.Date(2026, 11, 21, 10, 11, 12, 0, time.Local)
	for _, tt := range []struct {
		name, report string
		want         Crash
		err          string
	}{
		{"whole", apportTextsOf + "CoreDump: base64\n H4sI\n", Crash{
			Program: "/usr/bin/server", Signal: "SIGSEGV", PID: 4711, UID: 1000, Time: when, Cgroup: "0::/system.slice/server.service",
		}, ""},
		{"no core", apportTextsOf, Crash{
			Program: "/usr/bin/server", Signal: "SIGSEGV", PID: 4711, UID: 1000, Time: when, Cgroup: "0::/system.slice/server.service", Missing: "the report has no core",
		}, ""},
		{"another first", "ProblemType: Crash\nSignal: 6\nAaa: base64\n H4sI\nCoreDump: base64\n", Crash{Signal: "SIGABRT", UID: -1}, ""},
		{"Python", "ProblemType: Crash\nExecutablePath: /usr/bin/x\nTraceback:\n a\n b\n", Crash{Program: "/usr/bin/x", UID: -1, Missing: "the report is not of a signal"}, ""},
		{"package", "ProblemType: Package\n", Crash{}, "not a report of a crash"},
		{"empty", "", Crash{}, "not a report of a crash"},
		{"not a report", "\x7fELF\x02\x01", Crash{}, "has no key"},
		{"long line", "ProblemType: Crash\nX: " + strings.Repeat("y", 200000) + "\nSignal: 11\nCoreDump: base64\n", Crash{Signal: "SIGSEGV", UID: -1}, ""},
		{"other numbers", "ProblemType: Crash\nSignal: 4000000000\nProcStatus:\n Pid: -1\n Uid: x\nCoreDump: base64\n", Crash{UID: -1, Missing: "the report is not of a signal"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Crash{UID: -1}
			if err := parseApport(strings.NewReader(tt.report), &got); err != nil {
				if tt.err == "" || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v, want %q", err, tt.err)
				}
				return
			}
			if tt.err != "" || got != tt.want {
				t.Errorf("got %+v, want %+v, %q", got, tt.want, tt.err)
			}
		})
	}
}

func TestOpenApport(t *testing.T) {
	core := bytes.Repeat([]byte("core and more core "), 20000)
	var legacy bytes.Buffer
	w := zlib.NewWriter(&legacy)
	_, _ = w.Write(core)
	_ = w.Close()
	for _, tt := range []struct {
		name   string
		report []byte
		err    bool
	}{
		{"a line", apportReport(t, core, 1), false},
		{"lines with their own padding", apportReport(t, core, 7), false},
		{"a key before", []byte(strings.Replace(string(apportReport(t, core, 3)), "CoreDump:", "Aaa: base64\n QUFB\n QUFB\nCoreDump:", 1)), false},
		{"zlib", []byte("CoreDump: base64\n " + base64.StdEncoding.EncodeToString(legacy.Bytes()) + "\n"), false},
		{"the key in a value", []byte("Text:\n CoreDump: base64\n QUFB\n" + string(apportReport(t, core, 2))), false},
		{"cut off", apportReport(t, core, 3)[:900], true},
		{"no base64", []byte("CoreDump: base64\n H4sI!\n"), true},
		{"neither gzip nor zlib", []byte("CoreDump: base64\n QUFB\n"), true},
		{"none", []byte(apportTextsOf), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := openApport(bytes.NewReader(tt.report))
			var got []byte
			if err == nil {
				got, err = io.ReadAll(r)
			}
			if tt.err != (err != nil) || !tt.err && !bytes.Equal(got, core) {
				t.Errorf("got %d bytes of %d, %v", len(got), len(core), err)
			}
		})
	}
}

// Any bytes give an error or a crash, and a core that is not larger than allowed.
func FuzzApport(f *testing.F) {
	f.Add(apportReport(f, []byte("core"), 1))
	f.Add([]byte(apportTextsOf))
	f.Add([]byte("CoreDump: base64\n eJw=\n"))
	f.Fuzz(func(t *testing.T, report []byte) {
		c := newCrash(Apport)
		if err := parseApport(bytes.NewReader(report), &c); err == nil && len(c.Program)+len(c.Cgroup) > 2*maxKept {
			t.Errorf("%d bytes of texts", len(c.Program)+len(c.Cgroup))
		}
		const most = 1 << 16
		var out memory
		if size, err := Unpack(&out, bytes.NewReader(report), ApportForm, most); size > most && !errors.Is(err, ErrTooLarge) || int64(len(out.data)) > size {
			t.Errorf("%d bytes for a core of %d, %v", len(out.data), size, err)
		}
	})
}
