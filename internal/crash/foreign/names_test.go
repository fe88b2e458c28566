package foreign

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"
)

func TestParseSystemdName(t *testing.T) {
	const boot = "0123456789abcdef0123456789abcdef"
	for _, tt := range []struct {
		name string
		want Crash
		ok   bool
	}{
		{"core.server.1000." + boot + ".4711.1700000000000000.zst", Crash{Program: "server", UID: 1000, PID: 4711, Time: time.UnixMicro(1700000000000000)}, true},
		{`core.a\x2eb\x20c.0.` + boot + ".1.2", Crash{Program: "a.b c", PID: 1, Time: time.UnixMicro(2)}, true},
		{"core.server.1000." + boot + ".4711.1700000000000000.lz4", Crash{Program: "server", UID: 1000, PID: 4711, Time: time.UnixMicro(1700000000000000)}, true},
		{"core.a.b.1000." + boot + ".4711.1", Crash{}, false},
		{"core.a.1000.short.4711.1", Crash{}, false},
		{"core.a.-1." + boot + ".4711.1", Crash{}, false},
		{"core.a.1." + boot + ".4711.-1", Crash{}, false},
		{"core.a.4294967295." + boot + ".4711.1", Crash{}, false},
		{`core.a\x2.1000.` + boot + ".4711.1", Crash{}, false},
		{`core.a\xzz.1000.` + boot + ".4711.1", Crash{}, false},
		{"core", Crash{}, false},
		{"", Crash{}, false},
	} {
		var got Crash
		if ok := parseSystemdName(tt.name, &got); ok != tt.ok || got != tt.want {
			t.Errorf("%s: got %+v, %v, want %+v, %v", tt.name, got, ok, tt.want, tt.ok)
		}
	}
}

func TestReaders(t *testing.T) {
	acl := func(entries ...uint32) []byte {
		b := binary.LittleEndian.AppendUint32(nil, 2)
		for _, e := range entries {
			b = binary.LittleEndian.AppendUint32(b, e)
		}
		return b
	}
	const user, owner, read = 2, 1, 4 << 16
	for _, tt := range []struct {
		name string
		acl  []byte
		want []int
	}{
		{"none", nil, nil},
		{"a reader", acl(owner|6<<16, 0xffffffff, user|read, 1000), []int{1000}},
		{"a writer", acl(user|2<<16, 1000), nil},
		{"cut off", acl(user|read, 1000, user|read), []int{1000}},
		{"another version", append([]byte{3, 0, 0, 0}, acl(user|read, 1000)[4:]...), nil},
	} {
		if got := readers(tt.acl); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestParseAbrt(t *testing.T) {
	whole := map[string]string{
		"analyzer": "CCpp", "executable": "/usr/bin/server", "pid": "7", "uid": "1000\n", "time": "1700000000",
		"reason": "Process /usr/bin/server was killed by signal 11 (SIGSEGV)", "cgroup": "0::/x\n",
	}
	want := Crash{Program: "/usr/bin/server", PID: 7, UID: 1000, Time: time.Unix(1700000000, 0), Signal: "SIGSEGV", Cgroup: "0::/x\n"}
	var got Crash
	if err := parseAbrt(whole, &got); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	for _, tt := range []struct {
		name, value string
		field       func(*Crash) any
		want        any
	}{
		{"global_pid", "4711", func(c *Crash) any { return c.PID }, 4711},
		{"reason", "server killed by SIGABRT", func(c *Crash) any { return c.Signal }, "SIGABRT"},
		{"reason", "it was tired", func(c *Crash) any { return c.Signal }, ""},
		{"time", "-1", func(c *Crash) any { return c.Time }, time.Time{}},
		{"uid", "99999999999", func(c *Crash) any { return c.UID }, 0},
	} {
		elements := map[string]string{"type": "CCpp", tt.name: tt.value}
		var got Crash
		if err := parseAbrt(elements, &got); err != nil || tt.field(&got) != tt.want {
			t.Errorf("%s: got %v, %v, want %v", tt.name, tt.field(&got), err, tt.want)
		}
	}
	if err := parseAbrt(map[string]string{"analyzer": "Python"}, &got); err == nil {
		t.Error("a crash of Python is taken for one of a program")
	}
}

// What a store says of a crash stays within what a record can have.
func FuzzNames(f *testing.F) {
	f.Add("core.server.1000.0123456789abcdef0123456789abcdef.4711.1700000000000000.zst", "1000", []byte{2, 0, 0, 0, 2, 0, 4, 0, 1, 0, 0, 0})
	f.Add("killed by signal 11", "1700000000", []byte{})
	f.Fuzz(func(t *testing.T, name, text string, acl []byte) {
		c := newCrash(Systemd)
		parseSystemdName(name, &c)
		for i := range xattrs {
			xattrs[i].set(&c, text)
		}
		_ = parseAbrt(map[string]string{"type": "CCpp", "reason": name, "time": text, "uid": text, "pid": text}, &c)
		if c.PID < 0 || c.UID < -1 || len(readers(acl)) > len(acl)/8 {
			t.Errorf("got %+v", c)
		}
	})
}
