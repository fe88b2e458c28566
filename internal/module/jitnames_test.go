package module

import (
	"encoding/binary"
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

// The functions of Erlang's records, and their lines, are bounded in all.
func TestErlangBounds(t *testing.T) {
	lines := make([]jit.Line, maxNamed/2)
	var f jitFinder
	for range 3 {
		if err := f.addErlang([]jit.Run[jit.Func]{{Lo: 1, Hi: 2, Of: jit.Func{Name: "f", Lines: lines}}}); err != nil {
			t.Fatal(err)
		}
	}
	if len(f.funcs) != 3 || f.funcs[1].Of.Lines == nil || f.funcs[2].Of.Lines != nil {
		t.Errorf("got %d functions; the third has %d lines", len(f.funcs), len(f.funcs[2].Of.Lines))
	}
	f.funcs = make([]jit.Run[jit.Func], maxNamed)
	if err := f.addErlang([]jit.Run[jit.Func]{{Lo: 1, Hi: 2}}); err == nil {
		t.Error("more functions than the limit were added")
	}
}
