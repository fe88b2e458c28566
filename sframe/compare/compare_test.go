package compare_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/cfi"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/module"
	"github.com/sfcore/sfcore/sframe"
	"github.com/sfcore/sfcore/sframe/compare"
)

// opened is a file with both tables.
type opened struct {
	compare.Module
	code []elfx.Code
	t    *module.Set
}

// open opens a file; ok is false if it has not both tables.
func open(t testing.TB, path string) (m opened, ok bool) {
	t.Helper()
	tg, err := module.OpenFile(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tg.Close() })
	mod := tg.Only()
	tables := &mod.Tables
	if tables.SFrame == nil || len(tables.CFI) == 0 {
		return m, false
	}
	code := mod.Image().Code()
	return opened{compare.Module{
		Arch: tg.Image().Arch, SFrame: tables.SFrame, CFI: tables.CFI[0],
		Section: func(addr uint64) string {
			for _, c := range code {
				if addr-c.Lo < c.Hi-c.Lo {
					return c.Name
				}
			}
			return ""
		},
	}, code, tg}, true
}

// summarize lists how many differences there are of which cause and habit.
func summarize(r *compare.Result) []string {
	counts := map[string]int{}
	for _, d := range r.Differences {
		counts[string(d.Cause)+"/"+d.Habit]++
	}
	var s []string
	for k := range counts {
		s = append(s, k)
	}
	slices.Sort(s)
	return s
}

// The known bugs of assemblers and linkers are found in their output, by name,
// and nothing else is.
func TestVectors(t *testing.T) {
	clean := []string{}
	old := []string{"outermost mark/outermost-before-v3"}
	want := map[string][]string{
		"aarch64-v2/linked-exec.elf":         {"function missing/inexpressible", "outermost mark/outermost-before-v3"},
		"aarch64-v3/linked-exec.elf":         {"function missing/inexpressible"},
		"aarch64be-v3/linked-exec.elf":       {"function missing/inexpressible"},
		"aarch64be-v3/aarch64-odd.o":         {"function missing/inexpressible"},
		"amd64-lld-concat/lld-v2-noflag.elf": old,
		"amd64-lld-concat/mixed-v2e1-v3.elf": old,
		"amd64-v1/amd64-edges.o":             {"outermost mark/outermost-before-v3", "rule lost/cfa-register-ignored"},
		"amd64-v1/amd64-flex.o":              {"function missing/inexpressible", "rule lost/ra-rule-ignored"},
		"amd64-v1/amd64-outermost.o":         old,
		"amd64-v1/amd64-signal.o":            {"function missing/inexpressible"},
		"amd64-v1/linked-exec.elf":           old,
		"amd64-v2/amd64-edges.o":             {"function missing/inexpressible"},
		"amd64-v2/amd64-flex.o":              {"function missing/inexpressible", "rule lost/ra-rule-ignored"},
		"amd64-v2/amd64-outermost.o":         old,
		"amd64-v2/amd64-signal.o":            {"function missing/inexpressible"},
		"amd64-v2/linked-exec.elf":           old,
		"amd64-v2e1/amd64-edges.o":           {"function missing/inexpressible"},
		"amd64-v2e1/amd64-flex.o":            {"function missing/inexpressible", "rule lost/fp-register-ignored", "rule lost/ra-rule-ignored"},
		"amd64-v2e1/amd64-outermost.o":       old,
		"amd64-v2e1/amd64-signal.o":          {"function missing/inexpressible"},
		"amd64-v2e1/linked-exec.elf":         old,
		"amd64-v2e1/linked-reloc.elf":        old,
		"amd64-v3/amd64-outermost.o":         {"outermost mark/undefined-sticks"},
		"amd64-v3/amd64-signal.o":            {"row missing/signal-without-rows"},
	}
	files, err := filepath.Glob("../../testdata/objects/*/*")
	if err != nil || len(files) < 56 {
		t.Fatalf("got %d files, %v", len(files), err)
	}
	for _, path := range files {
		name, _ := filepath.Rel("../../testdata/objects", path)
		name = filepath.ToSlash(name)
		if name == "amd64-v1/linked-reloc.elf" || name == "amd64-v2/linked-reloc.elf" {
			continue // ld -r up to 2.44 displaces the relocations
		}
		m, ok := open(t, path)
		if !ok {
			continue
		}
		r := compare.Compare(m.Module)
		expected := clean
		if w := want[name]; w != nil {
			expected = w
		}
		if got := summarize(r); !slices.Equal(got, expected) {
			t.Errorf("%s: got %q, want %q", name, got, expected)
		}
		checkByLookup(t, name, &m, r)
	}
}

// partial are the cases of the corpus of which some objects were built without
// .sframe, with the functions or the start of their names. Everything else
// that .sframe lacks or says differently is explained by a habit.
var partial = map[string]string{
	"allfp": "nosf_", "mixedfp": "nosf_", "mixednofp": "nosf_", "mixed": "nosf_",
	"cxx":     "",       // libstdc++ and libc are linked statically
	"cpio":    "",       // only the objects of crt have .sframe
	"libcdyn": "_start", // crt1.o
	"gm":      "_start",
	"gm2":     "_start",
}

// For every module of the corpus, SFrame and CFI agree at every pc, or the
// difference is a documented one.
func TestCorpus(t *testing.T) {
	var files []string
	for _, pattern := range []string{"exe/*", "sysroot/usr/lib/*/*", "sysroot/lib/*"} {
		found, err := filepath.Glob("../../testdata/cores/*/" + pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	compared, habits := 0, map[string]int{}
	for _, path := range files {
		if st, err := os.Stat(path); err != nil || st.IsDir() {
			continue
		}
		m, ok := open(t, path)
		if !ok {
			continue
		}
		compared++
		r := compare.Compare(m.Module)
		if len(r.Problems) > 0 {
			t.Errorf("%s: got problems %v", path, r.Problems)
		}
		names := m.t.Only().Symbols()
		prefix, isPartial := partial[filepath.Base(path)]
		for _, d := range r.Differences {
			habits[d.Habit]++
			if d.Habit != "" {
				continue
			}
			name := ""
			if locs := names.Lookup(d.Func, nil); len(locs) > 0 {
				name = locs[0].Func
			}
			if !isPartial || d.Cause != compare.FunctionMissing || !strings.HasPrefix(name, prefix) {
				t.Errorf("%s: %s at %#x <%s>: sframe %v, cfi %v", path, d.Cause, d.Lo, name, d.SFrame, d.CFI)
			}
		}
		checkByLookup(t, path, &m, r)
	}
	if compared < 186 {
		t.Errorf("only %d files have both tables", compared)
	}
	for _, id := range []string{"outermost-before-v3", "signal-without-rows", "plt-got-offset", "plt-sec-offset", "plt-missing"} {
		if habits[id] == 0 {
			t.Errorf("no file of the corpus has %s", id)
		}
	}
}

// checkByLookup looks every pc up in both tables and compares with what Compare
// said about it.
func checkByLookup(t *testing.T, name string, m *opened, r *compare.Result) {
	t.Helper()
	var differing []compare.Range
	for _, d := range r.Differences {
		differing = append(differing, compare.Range{Lo: d.Lo, Hi: d.Hi})
	}
	reported := compare.NewRanges(differing)
	var machine cfi.Machine
	var regs arch.Regs
	for _, c := range m.code {
		for pc := c.Lo; pc < c.Hi; pc++ {
			regs.Set(m.Arch.PC, pc)
			regs.Set(m.Arch.SP, 0x10000)
			var s, want arch.Row
			haveCFI, err := machine.Find(m.CFI, pc, &regs, nil, &want)
			if err != nil || !haveCFI {
				continue
			}
			haveSFrame, err := m.SFrame.Find(pc, &s)
			same := err == nil && haveSFrame && sameRow(m, pc, &s, &want)
			if same == reported.Has(pc) {
				t.Errorf("%s: %#x: sframe %v %s, cfi %s: got a difference: %v", name, pc, haveSFrame, s.Format(m.Arch), want.Format(m.Arch), !same)
				return
			}
		}
	}
}

// sameRow compares rows at a pc, knowing SP and no memory.
func sameRow(m *opened, pc uint64, s, want *arch.Row) bool {
	if s.Outermost() || want.Outermost() {
		return s.Outermost() == want.Outermost()
	}
	cfa := s.CFA
	if want.CFA.Base == arch.Absolute && cfa.Base == arch.Register && cfa.Reg == m.Arch.SP {
		cfa = arch.Rule{Base: arch.Absolute, Off: cfa.Off + 0x10000}
	}
	f, _, _ := m.SFrame.Lookup(pc)
	if v3 := f.Table() != nil && f.Table().Version == sframe.V3; v3 && s.Signal != want.Signal {
		return false
	}
	return cfa == want.CFA && s.RA == want.RA && s.SignedRA == want.SignedRA && (s.FP == want.FP || want.FP.Base == arch.Undefined)
}
