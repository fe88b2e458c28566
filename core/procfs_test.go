package core

import (
	"errors"
	"strings"
	"testing"
)

func TestParseMaps(t *testing.T) {
	const good = "55d0c0e00000-55d0c0e01000 r--p 00000000 08:01 1234                       /usr/bin/cat\n" +
		"55d0c0e01000-55d0c0e05000 r-xp 00001000 08:01 1234                       /usr/bin/cat (deleted)\n" +
		"7f0000000000-7f0000001000 rw-p 00000000 00:00 0 \n" +
		"7f0000001000-7f0000002000 ---s 00000000 00:05 7                          /a b\\012c (x)\n" +
		"7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0                          [stack]\n" +
		"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n"
	got, err := parseMaps([]byte(good))
	want := []procMapping{
		{Mapping{Lo: 0x55d0c0e00000, Hi: 0x55d0c0e01000, Path: "/usr/bin/cat"}, true, false, false, 1234, "08:01"},
		{Mapping{Lo: 0x55d0c0e01000, Hi: 0x55d0c0e05000, Off: 0x1000, Path: "/usr/bin/cat", Deleted: true, Exec: true}, true, false, false, 1234, "08:01"},
		{Mapping{Lo: 0x7f0000000000, Hi: 0x7f0000001000}, true, true, false, 0, "00:00"},
		{Mapping{Lo: 0x7f0000001000, Hi: 0x7f0000002000, Path: "/a b\nc (x)"}, false, false, true, 7, "00:05"},
		{Mapping{Lo: 0x7ffc00000000, Hi: 0x7ffc00021000, Path: "[stack]"}, true, true, false, 0, "00:00"},
		{Mapping{Lo: 0xffffffffff600000, Hi: 0xffffffffff601000, Path: "[vsyscall]", Exec: true}, false, false, false, 0, "00:00"},
	}
	if err != nil || len(got) != len(want) {
		t.Fatalf("got %d mappings, %v, want %d", len(got), err, len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("line %d: got %+v, want %+v", i+1, got[i], want[i])
		}
	}
	for _, bad := range []string{
		"\n", "zz-1 r--p 0 0:0 0 /a\n", "1000 r--p 0 0:0 0 /a\n", "2000-1000 r--p 0 0:0 0 /a\n", "1000-2000 r-- 0 0:0 0\n",
		"1000-2000 r--p x 0:0 0\n", "1000-1000 r--p 0 0:0 0\n", "1000-20000000000000000 r--p 0 0:0 0\n", "1000-2000 r--p 0 0:0 x\n", "x000-2000 r--p 0 0:0 0\n", "1000-2000 r--p 0 0:0\n", "10000000000000000-20000000000000000 r--p 0 0:0 0\n",
	} {
		if got, err := parseMaps([]byte(bad)); err == nil {
			t.Errorf("%q: got %+v, want an error", bad, got)
		}
	}
}

// The error names the line, and what is before it is kept. Numbers have 64 bits.
func TestParseMapsLines(t *testing.T) {
	const good = "1000-2000 r--p ffffffffffffffff 0:0 18446744073709551615 /a\n2000-ffffffffffffffff rw-p 0 0:0 0 /dev/zero (deleted)\n3000-4000 r--p 0 0:0 1 /b (deleted)\n"
	got, err := parseMaps([]byte(good + "5000\n"))
	if err == nil || err.Error() != "/proc/PID/maps: line 4: not a line of /proc/PID/maps" || len(got) != 2 {
		t.Fatalf("got %d mappings, %v", len(got), err)
	}
	if m := got[0]; m.Off != ^uint64(0) || m.inode != ^uint64(0) {
		t.Errorf("got %+v", m)
	}
	if m := got[1]; m.Path != "/dev/zero (deleted)" || m.Deleted || m.Hi != ^uint64(0) {
		t.Errorf("got %+v, want what the kernel writes of memory without a file", m)
	}
	got, err = parseMaps([]byte("3000-4000 r--p 0 0:0 1 /b (deleted)"))
	if err != nil || len(got) != 1 || got[0].Path != "/b" || !got[0].Deleted {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestParseMapsBackwards(t *testing.T) {
	got, err := parseMaps([]byte("1000-3000 r--p 0 0:0 0\n2000-4000 r--p 0 0:0 0\n3000-5000 r--p 0 0:0 0\n"))
	if err != nil || len(got) != 2 || got[1].Lo != 0x3000 {
		t.Errorf("got %+v, %v, want the first and the last line", got, err)
	}
}

func FuzzParseMaps(f *testing.F) {
	f.Add([]byte("1000-2000 r-xp 00000000 08:01 12 /bin/a (deleted)\n3000-4000 rw-p 0 0:0 0 \n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		maps, _ := parseMaps(text)
		for i, m := range maps {
			if m.Lo >= m.Hi || i > 0 && m.Lo < maps[i-1].Hi {
				t.Fatalf("mapping %d: %+v", i, m)
			}
		}
	})
}

func TestParseStat(t *testing.T) {
	tail := " S 1 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 1 2 3"
	tests := []struct {
		name, text string
		want       procStat
		ok         bool
	}{
		{"plain", "12 (cat)" + tail, procStat{"cat", Sleeping, 987654, false, 1}, true},
		{"parentheses and spaces", "12 (a) R (b)" + strings.Replace(tail, "S", "D", 1), procStat{"a) R (b", Uninterruptible, 987654, false, 1}, true},
		{"zombie", "12 ()" + strings.Replace(tail, "S", "Z", 1), procStat{"", Zombie, 987654, false, 1}, true},
		{"unknown state", "12 (x)" + strings.Replace(tail, "S", "Q", 1), procStat{"x", "", 987654, false, 1}, true},
		{"io_uring", "12 (iou-wrk-12)" + strings.Replace(tail, "4194560", "4194576", 1), procStat{"iou-wrk-12", Sleeping, 987654, true, 1}, true},
		{"vhost", "12 (vhost-12)" + strings.Replace(tail, "4194560", "4210944", 1), procStat{"vhost-12", Sleeping, 987654, true, 1}, true},
		{"short", "12 (cat) S 1 2", procStat{name: "cat"}, false},
		{"as short as can be", "(x) S 1 1 1 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0 18446744073709551615", procStat{"x", Sleeping, ^uint64(0), false, 1}, true},
		{"no space behind the name", "1 ()S 1 1 1 0 -1 9223372036854775824 1 2 3 4 5 6 7 8 20 0 1 0 1", procStat{"", Sleeping, 1, true, 1}, true},
		{"octal flags are none", "1 (x) S 1 1 1 0 -1 020 1 2 3 4 5 6 7 8 20 0 1 0 1", procStat{"x", Sleeping, 1, true, 1}, true},
		{"a field too few", "1 (x) S 1 1 1 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0", procStat{name: "x"}, false},
		{"no name", "12 cat S", procStat{}, false},
		{"reversed", ")(", procStat{}, false},
		{"time", "12 (x)" + strings.Replace(tail, "987654", "-", 1), procStat{name: "x", state: Sleeping, threads: 1}, false},
		{"threads", "12 (x)" + strings.Replace(tail, "20 0 1 0", "20 0 37 0", 1), procStat{"x", Sleeping, 987654, false, 37}, true},
		{"empty", "", procStat{}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parseStat([]byte(tt.text))
			if got != tt.want || (err == nil) != tt.ok {
				t.Errorf("got %+v, %v, want %+v, ok %v", got, err, tt.want, tt.ok)
			}
		})
	}
}

func TestParseState(t *testing.T) {
	for letter, want := range map[string]State{
		"R": Running, "S": Sleeping, "I": Sleeping, "D": Uninterruptible, "T": Stopped, "t": Traced, "Z": Zombie, "X": Ended, "x": Ended, "P": "", "": "",
	} {
		if got := parseState(letter); got != want {
			t.Errorf("%s: got %q, want %q", letter, got, want)
		}
	}
	_, err := parseStat([]byte("12 (cat) S 1 2"))
	if err == nil || err.Error() != "/proc/PID/stat: 5 fields" {
		t.Errorf("got %v", err)
	}
}

func TestParseStatus(t *testing.T) {
	s := parseStatus([]byte("Name:\tcat\nTgid:\t12\nTracerPid:\t34\nUid:\t1\t2\t3\t4\nNSpid:\t12\t7\t1\nCapEff:\t0000000000080001\nbad line\n"))
	for _, tt := range []struct {
		name      string
		got, want int
	}{
		{"Tgid", s.number("Tgid", 0), 12},
		{"TracerPid", s.number("TracerPid", 0), 34},
		{"effective uid", s.number("Uid", 1), 2},
		{"past the last column", s.number("Uid", 4), 0},
		{"missing", s.number("Gid", 0), 0},
		{"innermost", s.innermost(), 1},
		{"innermost missing", procStatus{}.innermost(), 0},
		{"innermost of one", procStatus{"NSpid": "12"}.innermost(), 12},
		{"no value without a colon", len(s), 6},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, tt.got, tt.want)
		}
	}
	for n, want := range map[int]bool{0: true, 1: false, 19: true, 63: false} {
		if got := s.capability(n); got != want {
			t.Errorf("capability %d: got %v, want %v", n, got, want)
		}
	}
	if all := (procStatus{"CapEff": "8000000000000000"}); !all.capability(63) || all.capability(62) {
		t.Error("capability 63 is not seen")
	}
	if none := (procStatus{"CapEff": "x"}); none.capability(0) {
		t.Error("got a capability of no number")
	}
}

// What does not apply is not said.
func TestDenialSaysNoMore(t *testing.T) {
	const general = "process 7 may not be traced: run sfcore with the capability CAP_SYS_PTRACE (sudo, or in a container --cap-add=SYS_PTRACE)"
	for _, tt := range []struct {
		d    denial
		want string
	}{
		{denial{pid: 7, yama: -1, dumpable: true, uid: 5, ourUID: 5}, general},
		{denial{pid: 7, yama: 0, dumpable: true}, general}, // root without capabilities
		{denial{pid: 7, tracer: 9, yama: -1}, "process 7 is already traced by process 9, and a process has one tracer: detach that one first"},
		{denial{pid: 7, tracer: 9, tracerName: "gdb", yama: 3}, "process 7 is already traced by process 9 (gdb), and a process has one tracer: detach that one first"},
		{denial{pid: 7, uid: 5, yama: 1, dumpable: true}, "process 7 belongs to user 5, and root lacks CAP_SYS_PTRACE here: run the container with --cap-add=SYS_PTRACE, or sfcore on the host"},
	} {
		if got := tt.d.Error(); got != tt.want {
			t.Errorf("%+v: got  %s\nwant %s", tt.d, got, tt.want)
		}
		if tt.d.Is(ErrNoProcess) {
			t.Errorf("%+v matches ErrNoProcess", tt.d)
		}
	}
}

// Every refusal is a sentence that says what to do.
func TestDenial(t *testing.T) {
	base := denial{pid: 7, uid: 1000, ourUID: 1000, yama: -1, dumpable: true}
	tests := []struct {
		name   string
		change func(*denial)
		want   []string
	}{
		{"tracer", func(d *denial) { d.tracer, d.tracerName = 9, "gdb" }, []string{"already traced by process 9 (gdb)", "detach"}},
		{"yama 1", func(d *denial) { d.yama = 1 }, []string{"ptrace_scope is 1", "sudo", "ptrace_scope=0"}},
		{"yama 2", func(d *denial) { d.yama = 2 }, []string{"ptrace_scope is 2", "sudo"}},
		{"yama 3", func(d *denial) { d.yama, d.capable = 3, true }, []string{"ptrace_scope is 3", "boot"}},
		{"other user", func(d *denial) { d.uid = 33 }, []string{"belongs to user 33", "runs as user 1000", "sudo"}},
		{"root in a container", func(d *denial) { d.ourUID = 0 }, []string{"root lacks CAP_SYS_PTRACE", "--cap-add=SYS_PTRACE"}},
		{"not dumpable", func(d *denial) { d.dumpable = false }, []string{"undumpable", "CAP_SYS_PTRACE"}},
		{"security policy", func(d *denial) { d.capable = true }, []string{"seccomp", "on the host"}},
		{"unknown cause", func(*denial) {}, []string{"may not be traced", "CAP_SYS_PTRACE"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := base
			tt.change(&d)
			for _, want := range tt.want {
				if !strings.Contains(d.Error(), want) {
					t.Errorf("got %q, want it to contain %q", d.Error(), want)
				}
			}
			if !strings.HasPrefix(d.Error(), "process 7 ") || !errors.Is(&d, ErrDenied) {
				t.Errorf("got %q, want it to begin with the process and to match ErrDenied", d.Error())
			}
		})
	}
}
