package module

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/jit"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/unwind"
)

// generatedAt returns the name of code made at run time, and what named it.
func generatedAt(s *Set, addr uint64) string {
	loc, source := s.Generated(addr)
	if source == "" {
		return ""
	}
	name := loc.Func + " by " + source
	if loc.File != "" {
		name += " at " + loc.File
	}
	return name
}

// perfMapOf writes the perf map of a process to the /tmp of its sysroot.
func perfMapOf(t *testing.T, s *Set, text string) string {
	t.Helper()
	name := filepath.Join(s.opts.Sysroot, "tmp", "perf-7.map")
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// Code outside all modules is named by a perf map, by Erlang's records and by a
// jitdump file, of which the last counts most.
func TestGeneratedNames(t *testing.T) {
	p := newJITProcess(arch.AMD64)
	b := testkit.New(binary.LittleEndian).D32(1, 0).D64(jitText).D32(1, 0x300).D16(2).Str("m").Zero(6)
	b.D32(0x200, 0x300, 0).D16(6).Str("m:f/1").Zero(2)
	p.images = append(p.images, b.Done())
	s := p.set(t)
	s.img.PID = 7
	dump := testkit.New(binary.LittleEndian).D32(0x4a695444, 1, 40, 62, 0, 7).D64(0, 0).D32(0, 58+4).D64(0).D32(7, 7).D64(jitText+0x280, jitText+0x280, 4, 1).Str("d").Zero(4)
	name := filepath.Join(s.opts.Sysroot, "home", "jit-7.dump")
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, dump.Done(), 0o600); err != nil {
		t.Fatal(err)
	}
	s.img.Mappings = append(s.img.Mappings, core.Mapping{Lo: jitStack + 0x2000, Hi: jitStack + 0x3000, Path: "/home/jit-7.dump", Exec: true})
	perfMapOf(t, s, "2000000100 40 JS:f\n2000000120 40 JS:g\n400000 2000 forged\n2000000280 8 JS:over\n")
	for addr, want := range map[uint64]string{
		jitText + 0x100:     "", // replaced
		jitText + 0x130:     "JS:g by perf-7.map",
		jitText + 0x160:     "",
		jitText + 0x210:     "",
		jitText + 0x282:     "d by jit-7.dump",
		jitProgram + 0x1000: "",
		jitStack:            "",
	} {
		if got := generatedAt(s, addr); got != want {
			t.Errorf("%#x: got %q, want %q", addr, got, want)
		}
	}
	if p := s.Problems(); len(p) > 0 {
		t.Errorf("got problems %v", p)
	}
}

func TestErlangNames(t *testing.T) {
	p := newJITProcess(arch.AMD64)
	b := testkit.New(binary.LittleEndian).D32(1, 0).D64(jitText).D32(1, 0x300).D16(2).Str("m").Zero(6)
	b.D32(0x200, 0x300, 1).D16(6).Str("m:f/1").Zero(2)
	b.D32(0x210, 5).D16(6).Str("m.erl").Zero(2)
	p.images = append(p.images, b.Done())
	s := p.set(t)
	for addr, want := range map[uint64]string{
		jitText + 0x1ff: "", jitText + 0x200: "m:f/1 by the program", jitText + 0x210: "m:f/1 by the program at m.erl", jitText + 0x300: "",
	} {
		if got := generatedAt(s, addr); got != want {
			t.Errorf("%#x: got %q, want %q", addr, got, want)
		}
	}
	if p := s.Problems(); len(p) > 0 {
		t.Errorf("got problems %v", p)
	}
}

// A perf map that may be that of another process is not used, and this is said.
func TestPerfMapDoubted(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(t *testing.T, s *Set, file string)
		want   string
	}{
		"newer than the core": {func(t *testing.T, s *Set, file string) {
			s.img.Path = filepath.Join(s.opts.Sysroot, "core")
			if err := os.WriteFile(s.img.Path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			later := time.Now().Add(time.Hour)
			if err := os.Chtimes(file, later, later); err != nil {
				t.Fatal(err)
			}
		}, "it is newer than the core"},
		"another user": {func(t *testing.T, _ *Set, file string) {
			if err := os.Chown(file, 12345, -1); err != nil {
				t.Skipf("only root can give a file to another user: %v", err)
			}
		}, "it belongs to user 12345"},
		"the user of the process": {func(t *testing.T, s *Set, file string) {
			if err := os.Chown(file, 12345, -1); err != nil {
				t.Skipf("only root can give a file to another user: %v", err)
			}
			s.img.Auxv = append(s.img.Auxv, core.Aux{Type: core.ATUID, Value: 12345})
		}, ""},
		"the user that a live process was before": {func(t *testing.T, s *Set, file string) {
			if err := os.Chown(file, 12345, -1); err != nil {
				t.Skipf("only root can give a file to another user: %v", err)
			}
			s.img.PID, s.img.Live = os.Getpid(), &core.Snapshot{}
			s.img.Threads = []core.Thread{{ID: os.Getpid(), NSID: 7}}
			s.img.Auxv = append(s.img.Auxv, core.Aux{Type: core.ATUID, Value: 12345})
		}, "it belongs to user 12345"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newJITProcess(arch.AMD64)
			p.register(p.image(elfx.TypeRel, "good", jitText+0x800, 0x40, true))
			s := p.set(t)
			s.img.PID = 7
			tt.change(t, s, perfMapOf(t, s, "2000000100 40 f\n"))
			got := generatedAt(s, jitText+0x100)
			problems := s.Problems()
			if tt.want == "" {
				if got == "" || len(problems) > 0 {
					t.Errorf("got %q, %v", got, problems)
				}
				return
			}
			if got != "" || len(problems) != 1 || !strings.Contains(problems[0].Error(), tt.want) {
				t.Errorf("got %q, %v; want a problem with %q", got, problems, tt.want)
			}
		})
	}
}

// Behind a perf map that is doubted comes the one beside the core. What is not used is
// closed.
func TestPerfMapBesideCore(t *testing.T) {
	p := newJITProcess(arch.AMD64)
	p.register(p.image(elfx.TypeRel, "good", jitText+0x800, 0x40, true))
	s := p.set(t)
	s.img.PID, s.img.Path = 7, write(t, t.TempDir(), "core", nil)
	write(t, filepath.Dir(s.img.Path), "perf-7.map", []byte("2000000100 40 beside\n"))
	s.files = newResolver(s.img, &s.opts)
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(perfMapOf(t, s, "2000000100 40 f\n"), later, later); err != nil {
		t.Fatal(err)
	}
	if got, problems := generatedAt(s, jitText+0x100), s.Problems(); got != "beside by perf-7.map" || len(problems) != 1 || !strings.Contains(problems[0].Error(), "it is newer than the core") {
		t.Errorf("got %q, %v", got, problems)
	}
	testkit.Leaks(t, 100, func(int) {
		n := namer{set: s, allowed: s.generatedCode()}
		if n.perfMap(); len(n.funcs) != 1 {
			t.Errorf("got %d functions", len(n.funcs))
		}
	})
}

// The functions of Erlang's records, and their lines, are bounded in all.
func TestErlangBounds(t *testing.T) {
	lines := make([]jit.Line, 1<<19)
	var f jitFinder
	for range 3 {
		if err := f.addErlang([]jit.Run[jit.Func]{{Lo: 1, Hi: 2, Of: jit.Func{Name: "f", Lines: lines}}}); err != nil {
			t.Fatal(err)
		}
	}
	if len(f.funcs) != 3 || f.funcs[1].Of.Lines == nil || f.funcs[2].Of.Lines != nil {
		t.Errorf("got %d functions; the third has %d lines", len(f.funcs), len(f.funcs[2].Of.Lines))
	}
	f.funcs = make([]jit.Run[jit.Func], 1<<20)
	if err := f.addErlang([]jit.Run[jit.Func]{{Lo: 1, Hi: 2}}); err == nil {
		t.Error("more functions than the limit were added")
	}
}

// TestWithin has ranges of addresses that are in one of several.
func TestWithin(t *testing.T) {
	ranges := []unwind.Range{{Lo: 10, Hi: 20}, {Lo: 20, Hi: 30}, {Lo: 40, Hi: 50}}
	for _, tt := range []struct {
		lo, hi uint64
		want   bool
	}{
		{9, 12, false}, {10, 20, true}, {10, 21, false}, {19, 20, true}, {20, 30, true}, {30, 31, false}, {39, 41, false}, {40, 50, true}, {49, 51, false}, {50, 51, false},
	} {
		if got := within(ranges, tt.lo, tt.hi); got != tt.want {
			t.Errorf("%d to %d: got %v, want %v", tt.lo, tt.hi, got, tt.want)
		}
	}
	if within(nil, 1, 2) {
		t.Error("got a range within none")
	}
}

// TestOwnPID has the number by which a process knows itself.
func TestOwnPID(t *testing.T) {
	for _, tt := range []struct {
		threads []core.Thread
		want    int
	}{
		{nil, 7}, {[]core.Thread{{ID: 8, NSID: 3}, {ID: 7}}, 7}, {[]core.Thread{{ID: 8, NSID: 3}, {ID: 7, NSID: 2}}, 2},
	} {
		if got := ownPID(&core.Image{PID: 7, Threads: tt.threads}); got != tt.want {
			t.Errorf("%+v: got %d, want %d", tt.threads, got, tt.want)
		}
	}
}

// dumpOf is a jitdump file with one function.
func dumpOf(at uint64, name string) []byte {
	return testkit.New(binary.LittleEndian).D32(0x4a695444, 1, 40, 62, 0, 7).D64(0, 0).
		D32(0, uint32(56+len(name)+1+4)).D64(0).D32(7, 7).D64(at, at, 4, 1).Str(name).Zero(4).Done()
}

// TestDumpFiles has which mapped files are jitdump files, and how many are read.
func TestDumpFiles(t *testing.T) {
	p := newJITProcess(arch.AMD64)
	p.register(p.image(elfx.TypeRel, "good", jitText+0x800, 0x40, true))
	s := p.set(t)
	maps := func(name string, exec bool) {
		s.img.Mappings = append(s.img.Mappings, core.Mapping{Lo: jitStack + 0x2000, Hi: jitStack + 0x3000, Path: name, Exec: exec})
	}
	want := map[uint64]string{}
	put := func(at uint64, name string, exec bool, data []byte, by string) {
		write(t, s.opts.Sysroot, name, data)
		maps("/"+name, exec)
		want[at] = by
	}
	put(jitText+0x100, "a/jit-1.dump", true, dumpOf(jitText+0x100, "one"), "one by jit-1.dump")
	put(jitText+0x110, "a/jit-2.dump", false, dumpOf(jitText+0x110, "two"), "")
	put(jitText+0x120, "a/xjit-3.dump", true, dumpOf(jitText+0x120, "three"), "")
	put(jitText+0x130, "a/jit-4.dumpx", true, dumpOf(jitText+0x130, "four"), "")
	put(jitText+0x140, "a/jit-5.dump", true, []byte("no dump"), "")
	maps("/a/jit-6.dump", true) // which is gone
	for i := range uint64(14) {
		for range 2 { // a file counts once
			at := jitText + 0x200 + i*0x10
			name := fmt.Sprintf("many-%d", i)
			by := ""
			if i < 13 { // with the three before, 16 files
				by = fmt.Sprintf("%s by jit-1%02d.dump", name, i)
			}
			put(at, fmt.Sprintf("a/jit-1%02d.dump", i), true, dumpOf(at, name), by)
		}
	}
	for at, by := range want {
		if got := generatedAt(s, at); got != by {
			t.Errorf("%#x: got %q, want %q", at, got, by)
		}
	}
	if got := strings.ReplaceAll(texts(s.Problems()), s.opts.Sysroot, "ROOT"); got != "ROOT/a/jit-5.dump: this is no jitdump file" {
		t.Errorf("got problems %q", got)
	}
}

// TestPerfMapFiles has the perf map that the user names, one that is too long, and what
// is none.
func TestPerfMapFiles(t *testing.T) {
	const line = "2000000100 40 f\n"
	long := append([]byte(line), make([]byte, 64<<20+1-len(line))...)
	for name, tt := range map[string]struct {
		named, tmp []byte // nil for none
		want       string
		problem    string
	}{
		"none":                 {nil, nil, "", ""},
		"in /tmp":              {nil, []byte(line), "f by perf-7.map", ""},
		"named":                {[]byte("2000000100 40 g\n"), []byte(line), "g by perf-7.map", ""},
		"damaged":              {[]byte("2000000100 40 g\nx\n"), nil, "g by perf-7.map", "perf-7.map: 1 lines are not a start, a size and a name; the first is line 2"},
		"too long":             {nil, long, "f by perf-7.map", "perf-7.map: only the first 67108864 of 67108865 bytes are read"},
		"as long as it may be": {nil, long[:64<<20], "f by perf-7.map", "perf-7.map: 1 lines are not a start, a size and a name; the first is line 2"},
		"outside":              {nil, []byte("400000 2000 forged\n"), "", ""},
	} {
		p := newJITProcess(arch.AMD64)
		p.register(p.image(elfx.TypeRel, "good", jitText+0x800, 0x40, true))
		s := p.set(t)
		s.img.PID = 7
		if tt.named != nil {
			dir := t.TempDir()
			write(t, dir, "perf-7.map", tt.named)
			s.opts.Paths = []string{dir}
			s.files = newResolver(s.img, &s.opts)
		}
		if tt.tmp != nil {
			write(t, s.opts.Sysroot, "tmp/perf-7.map", tt.tmp)
		}
		if got := generatedAt(s, jitText+0x108); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
		if got := texts(s.Problems()); !strings.HasSuffix(got, tt.problem) || (got == "") != (tt.problem == "") {
			t.Errorf("%s: got problems %q, want %q", name, got, tt.problem)
		}
	}
	// A directory is no perf map, and this is said.
	p := newJITProcess(arch.AMD64)
	p.register(p.image(elfx.TypeRel, "good", jitText+0x800, 0x40, true))
	s := p.set(t)
	s.img.PID = 7
	write(t, s.opts.Sysroot, "tmp/perf-7.map/x", nil)
	if got := generatedAt(s, jitText+0x108); got != "" {
		t.Errorf("got %q", got)
	}
	n := namer{set: s, allowed: s.generatedCode()}
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if n.use(dir, jit.Dump) {
		t.Error("a directory is a jitdump file")
	}
	if got := texts(s.Problems()); strings.Count(got, "is a directory") != 2 {
		t.Errorf("got problems %q", got)
	}
}

// TestPerfMapAge has a perf map that was written a little after the core.
func TestPerfMapAge(t *testing.T) {
	for later, want := range map[time.Duration]bool{-time.Hour: true, 0: true, time.Second: true, 2 * time.Second: false} {
		p := newJITProcess(arch.AMD64)
		p.register(p.image(elfx.TypeRel, "good", jitText+0x800, 0x40, true))
		s := p.set(t)
		s.img.PID = 7
		s.img.Path = write(t, s.opts.Sysroot, "core", nil)
		file := perfMapOf(t, s, "2000000100 40 f\n")
		made := time.Now().Truncate(time.Second)
		for name, at := range map[string]time.Time{s.img.Path: made, file: made.Add(later)} {
			if err := os.Chtimes(name, at, at); err != nil {
				t.Fatal(err)
			}
		}
		if got := generatedAt(s, jitText+0x100); (got != "") != want {
			t.Errorf("%v later: got %q, %v", later, got, s.Problems())
		}
	}
}

// TestNamedBounds has how many functions of all sources have names.
func TestNamedBounds(t *testing.T) {
	s := &Set{img: &core.Image{}}
	n := namer{set: s, allowed: []unwind.Range{{Lo: 1, Hi: 9}}, funcs: make([]jit.Run[namedFunc], 1<<20-1)}
	if n.add("a", []jit.Run[jit.Func]{{Lo: 0, Hi: 1}, {Lo: 1, Hi: 2}}); len(n.funcs) != 1<<20 || n.funcs[1<<20-1].Of.source != "a" || len(s.Problems()) != 0 {
		t.Errorf("got %d functions, %v", len(n.funcs), s.Problems())
	}
	n.funcs = n.funcs[:1<<20-1]
	if n.add("a", []jit.Run[jit.Func]{{Lo: 8, Hi: 10}}); len(n.funcs) != 1<<20-1 {
		t.Errorf("got %d functions, of which one is elsewhere", len(n.funcs))
	}
	n.funcs = n.funcs[:1<<20]
	n.add("b", []jit.Run[jit.Func]{{Lo: 2, Hi: 3}})
	if got := texts(s.Problems()); len(n.funcs) != 1<<20 || got != "b: more than 1048576 functions of code made at run time are named; the rest is not read" {
		t.Errorf("got %d functions, %q", len(n.funcs), got)
	}
}
