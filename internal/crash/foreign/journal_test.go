package foreign

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

const entryLine = `{"__CURSOR":"s=1;i=2","__REALTIME_TIMESTAMP":"1700000000000001","_TRANSPORT":"journal","_UID":"1000","_GID":"100",` +
	`"COREDUMP_PID":"7","COREDUMP_UID":"1000","COREDUMP_SIGNAL":"11","COREDUMP_TIMESTAMP":"1700000000000000","COREDUMP_COMM":"a",` +
	`"COREDUMP_EXE":"/bin/a","COREDUMP_UNIT":"a.service","COREDUMP_PROC_CGROUP":"0::/a\n"`

func TestParseEntries(t *testing.T) {
	base := Crash{
		Kind: Systemd, Form: JournalForm, Cursor: "s=1;i=2", PID: 7, UID: 1000, gid: noGroup, Signal: "SIGSEGV", Time: time.UnixMicro(1700000000000000),
		Program: "/bin/a", Unit: "a.service", Cgroup: "0::/a\n", Owner: 1000, Group: 100,
	}
	with := func(change func(*Crash)) Crash {
		c := base
		change(&c)
		return c
	}
	for _, tt := range []struct {
		name, line string
		want       entry
		err        string
	}{
		{"a core", entryLine + `,"COREDUMP":null}`, entry{base, "", 1000, false}, ""},
		{"no core", entryLine + "}", entry{with(func(c *Crash) { c.Missing = "systemd kept no core" }), "", 1000, false}, ""},
		{"a file", entryLine + `,"COREDUMP_FILENAME":"/var/lib/systemd/coredump/core.x.zst"}`, entry{with(func(c *Crash) { c.Missing = "its file was removed" }), "core.x.zst", 1000, false}, ""},
		{"a file elsewhere", entryLine + `,"COREDUMP_FILENAME":"/etc/../shadow"}`, entry{with(func(c *Crash) { c.Missing = "its file was removed" }), "shadow", 1000, false}, ""},
		{"another sender", strings.Replace(entryLine, `"_UID":"1000"`, `"_UID":"1001"`, 1) + `,"COREDUMP":null}`, entry{with(func(c *Crash) { c.Owner = 1001 }), "", 1001, false}, ""},
		{"the kernel", strings.Replace(entryLine, `"journal"`, `"kernel"`, 1) + `,"COREDUMP":null}`, entry{with(func(c *Crash) { c.Owner, c.Group = 0, 0 }), "", -1, false}, ""},
		{"systemd-coredump", strings.Replace(entryLine, `"_UID":"1000"`, `"_SYSTEMD_UNIT":"systemd-coredump@0-1-0.service","_UID":"997"`, 1) + `,"COREDUMP":null}`, entry{with(func(c *Crash) { c.Owner, c.Group = 0, 0 }), "", 997, true}, ""},
		{"systemd-coredump as the user", entryLine + `,"_SYSTEMD_UNIT":"systemd-coredumpd.service","COREDUMP":null}`, entry{base, "", 1000, true}, ""},
		{"a unit of the user", entryLine + `,"_SYSTEMD_UNIT":"user@1000.service","COREDUMP":null}`, entry{base, "", 1000, false}, ""},
		{"numbers", strings.Replace(entryLine, `"/bin/a"`, `[47,255]`, 1) + `,"COREDUMP":null}`, entry{with(func(c *Crash) { c.Program = "/\xff" }), "", 1000, false}, ""},
		{"several", strings.Replace(entryLine, `"/bin/a"`, `["/bin/b","/bin/c"]`, 1) + `,"COREDUMP":null}`, entry{with(func(c *Crash) { c.Program = "/bin/b" }), "", 1000, false}, ""},
		{"too long", strings.Replace(entryLine, `"/bin/a"`, `null`, 1) + `,"COREDUMP":null}`, entry{with(func(c *Crash) { c.Program = "a" }), "", 1000, false}, ""},
		{"too many numbers", strings.Replace(entryLine, `"/bin/a"`, `[`+strings.Repeat("65,", maxJournalField/3)+`66]`, 1) + `,"COREDUMP":null}`, entry{with(func(c *Crash) { c.Program = "a" }), "", 1000, false}, ""},
		{"nonsense", strings.Replace(entryLine, `"/bin/a"`, `{"x":[1e9]}`, 1) + `,"COREDUMP":null}`, entry{with(func(c *Crash) { c.Program = "a" }), "", 1000, false}, ""},
		{"no cursor", "{}", entry{}, "no cursor"},
		{"cut off", entryLine, entry{}, "unexpected end"},
		{"a long line", `{"X":"` + strings.Repeat("x", maxJournalLine), entry{}, "too long"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []entry
			err := parseEntries(strings.NewReader(tt.line+"\n"), func(e *entry) { got = append(got, *e) })
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) || !strings.HasPrefix(err.Error(), "entry 1 ") {
					t.Errorf("got %v, want %q", err, tt.err)
				}
			} else if err != nil || len(got) != 1 || got[0] != tt.want {
				t.Errorf("got %+v, %v, want %+v", got, err, tt.want)
			}
		})
	}
}

// What an entry says is taken for a file of root and its own user only.
func TestAbout(t *testing.T) {
	for _, tt := range []struct {
		sender, owner int
		genuine, want bool
	}{
		{0, 1000, false, true},
		{1000, 1000, false, true},
		{1001, 1000, false, false},
		{1001, 1000, true, true},
		{1000, 0, false, false},
		{-1, 0, false, false},
		{0, 0, false, true},
	} {
		if got := (&entry{sender: tt.sender, genuine: tt.genuine}).about(&Crash{Owner: tt.owner}); got != tt.want {
			t.Errorf("sent by %d about a core of %d: got %v", tt.sender, tt.owner, got)
		}
	}
}

// exported makes a field of an exported entry as binary.
func exported(name string, size uint64, value string) string {
	return name + "\n" + string(binary.LittleEndian.AppendUint64(nil, size)) + value + "\n"
}

func TestOpenExported(t *testing.T) {
	core := exported("COREDUMP", 7, "co\nre\x00\x00")
	for _, tt := range []struct{ name, in, want, err string }{
		{"alone", core, "co\nre\x00\x00", ""},
		{"behind others", "__CURSOR=s\nX=" + strings.Repeat("x", 200000) + "\n" + exported("Y", 3, "a\nb") + core, "co\nre\x00\x00", ""},
		{"none", "__CURSOR=s\n\n" + core, "", "no core"},
		{"nothing", "", "", "no core"},
		{"a text", "COREDUMP=x\n", "", "a text"},
		{"cut off", core[:20], "co\n", "unexpected EOF"},
		{"no size", "COREDUMP\n123", "", "the size"},
		{"a huge size", exported("COREDUMP", 1<<63, "x"), "", "has a size of"},
		{"a large size", exported("COREDUMP", 1<<40, "x"), "x\n", "unexpected EOF"},
		{"another of a huge size", exported("Y", 1<<63-1, "x") + core, "", "has a size of"},
		{"another of a large size", exported("Y", 1<<40, "x") + core, "", "cut off"},
		{"a name without end", strings.Repeat("X", 200000), "", "no core"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := openExported(strings.NewReader(tt.in))
			var got []byte
			if err == nil {
				got, err = io.ReadAll(r)
			}
			if string(got) != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("got %q, %v, want %q, %q", got, err, tt.want, tt.err)
			}
		})
	}
}

// Any list of the journal gives crashes or an error.
func FuzzEntries(f *testing.F) {
	f.Add([]byte(entryLine + `,"COREDUMP":null}` + "\n" + entryLine + "}"))
	f.Add([]byte(`{"__CURSOR":["a"],"COREDUMP_EXE":[1,2,300],"COREDUMP_PID":"99999999999"}`))
	f.Fuzz(func(t *testing.T, list []byte) {
		_ = parseEntries(bytes.NewReader(list), func(e *entry) {
			if c := &e.crash; c.Cursor == "" || c.PID < 0 || c.Owner < 0 || c.Form != JournalForm || strings.Contains(e.file, "/") && e.file != "/" {
				t.Errorf("got %+v", e)
			}
		})
	})
}

// Any exported journal gives an error or a core, which is not larger than allowed.
func FuzzExported(f *testing.F) {
	f.Add([]byte("__CURSOR=s\n" + exported("Y", 3, "a\nb") + exported("COREDUMP", 4, "core")))
	f.Add([]byte(exported("COREDUMP", 1<<63, "x")))
	f.Fuzz(func(t *testing.T, journal []byte) {
		var out memory
		size, err := Unpack(&out, bytes.NewReader(journal), JournalForm, 1<<16)
		if int64(len(out.data)) > size || size > 1<<16 && !errors.Is(err, ErrTooLarge) {
			t.Error(fmt.Sprint(len(out.data), " bytes for a core of ", size), err)
		}
	})
}
