package process

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/unwind"
)

const (
	tailBias = 0x7000_0000_0000
	// Functions at run time. caller calls the others, f jumps to g, and g to h, of which
	// only the symbol table tells. far jumps to a function of no name, part tells of some
	// of its jumps only.
	tailText   = tailBias + 0x11000
	tailCaller = tailText
	tailF      = tailText + 0x100
	tailG      = tailText + 0x200
	tailH      = tailText + 0x300
	tailPart   = tailText + 0x400
	tailFar    = tailText + 0x500
	tailStub   = tailText + 0x600
	tailBoth   = tailText + 0x700 // jumps to far and to g
	tailLoop   = tailText + 0x800 // jumps to itself
	tailSlot   = tailBias + 0x13000
	tailNames  = `unit 5
compile_unit language=12 low_pc=0x11000 high_pc=0x1000
  base_type #int name=int byte_size=4 encoding=5
  subprogram #h name=h declaration=1
  subprogram #gone name=gone declaration=1
  subprogram #caller name=caller low_pc=0x11000 high_pc=0x100
    variable name=v type=#int const_value=7
  subprogram #in name=in
  subprogram #g name=g low_pc=0x11200 high_pc=0x40 call_all_calls=1
    call_site call_return_pc=0x11220 call_origin=#h call_tail_call=1
  subprogram name=f low_pc=0x11100 high_pc=0x40 call_all_tail_calls=1
    variable name=no type=#int const_value=1
    inlined_subroutine abstract_origin=#in low_pc=0x11110 high_pc=0x10
    call_site call_pc=0x11118 call_origin=#g call_tail_call=1
    call_site call_return_pc=0x11130 call_origin=#caller
  subprogram name=part low_pc=0x11400 high_pc=0x40
    call_site call_pc=0x11410 call_origin=#g call_tail_call=1
  subprogram #far name=far low_pc=0x11500 high_pc=0x40 call_all_calls=1
    call_site call_pc=0x11510 call_origin=#gone call_tail_call=1
  subprogram name=both low_pc=0x11700 high_pc=0x40 call_all_calls=1
    call_site call_pc=0x11710 call_origin=#far call_tail_call=1
    call_site call_pc=0x11720 call_origin=#g call_tail_call=1
  subprogram #loop name=loop low_pc=0x11800 high_pc=0x40 call_all_calls=1
    call_site call_pc=0x11810 call_origin=#loop call_tail_call=1
`
)

// The calls of caller, by what they are: the address that each returns to.
var tailCallsTo = map[string]uint64{
	"f": tailText + 0x20, "by slot": tailText + 0x30, "linked": tailText + 0x40, "h": tailText + 0x50, "part": tailText + 0x60,
	"far": tailText + 0x70, "in f": tailText + 0x80, "no function": tailText + 0x90, "by register": tailText + 0xa0, "g": tailText + 0xb0, "both": tailText + 0xc0, "loop": tailText + 0xd0,
}

// tailProcess makes a process of a program with tail calls.
func tailProcess(t *testing.T) *Process {
	t.Helper()
	text := slices.Repeat([]byte{0x90}, 0x1000)
	rel := func(end, to uint64) {
		binary.LittleEndian.PutUint32(text[end-4-tailText:], uint32(to-end))
	}
	for call, to := range map[string]uint64{
		"f": tailF, "linked": tailStub, "h": tailH, "part": tailPart, "far": tailFar, "in f": tailF + 4, "no function": tailText + 0x900, "g": tailG, "both": tailBoth, "loop": tailLoop,
	} {
		end := tailCallsTo[call]
		text[end-5-tailText] = 0xe8
		rel(end, to)
	}
	copy(text[tailCallsTo["by slot"]-6-tailText:], "\xff\x15")
	rel(tailCallsTo["by slot"], tailSlot)
	copy(text[tailCallsTo["by register"]-2-tailText:], "\xff\xd0")
	copy(text[tailStub-tailText:], "\xff\x25")
	rel(tailStub+6, tailSlot)
	dwarf := testkit.DWARF{Order: binary.LittleEndian, Text: tailNames}
	exe := testkit.ELF{Order: binary.LittleEndian, Type: 3, Machine: arch.EMX86_64, Base: 0x10000, Sections: append([]testkit.ELFSection{
		{Name: ".text", Type: 1, Flags: 6, Addr: 0x11000, Data: text, Align: 0x1000},
		{Name: ".data", Type: 1, Flags: 3, Addr: 0x13000, Data: binary.LittleEndian.AppendUint64(nil, tailF), Align: 0x1000},
	}, dwarf.Sections()...), Symbols: []testkit.ELFSymbol{{Name: "h", Info: 0x12, Section: ".text", Value: 0x11300, Size: 0x40}}}
	name := filepath.Join(t.TempDir(), "exe")
	if err := os.WriteFile(name, exe.File(), 0o600); err != nil {
		t.Fatal(err)
	}
	mem := exe.Memory()
	lo := uint64(tailBias + 0x10000)
	p := New(&core.Image{
		Arch: arch.AMD64, Mem: memreader.NewSpace([]memreader.Segment{{Addr: lo, Size: uint64(len(mem)), Data: mem}}),
		Mappings: []core.Mapping{{Lo: lo, Hi: lo + 0x4000, Path: name, Exec: true}},
	}, Options{})
	t.Cleanup(func() { p.Close() })
	return p
}

// stackInH is a stack of two frames: h, and the caller that the call returns to.
func stackInH(ret uint64) []unwind.Frame {
	return []unwind.Frame{
		{PC: tailH + 0x10, CFA: 0x7fff0010, Exact: true, Trust: unwind.Full},
		{PC: ret, CFA: 0x7fff0100, Method: unwind.CFI, Trust: unwind.Checked, Evidence: unwind.Jumped},
	}
}

// TestTailWays has the jumps between a call and a function, where debug information
// leaves no doubt.
func TestTailWays(t *testing.T) {
	all := []tailCall{{tailG + 0x20, false}, {tailF + 0x18, true}}
	for _, tt := range []struct {
		name, call string
		change     func(f, caller *unwind.Frame)
		want       []tailCall
	}{
		{"a call", "f", nil, all},
		{"a call by a word of memory", "by slot", nil, all},
		{"a call of a linkage table", "linked", nil, all},
		{"a call in the middle of the way", "g", nil, all[:1]},
		{"a call of the function itself", "h", nil, nil},
		{"jumps of which not all are known", "part", nil, nil},
		{"a jump to what is nowhere", "far", nil, nil},
		{"a jump to what is nowhere, among others", "both", nil, nil},
		{"a call of a function that jumps to itself", "loop", func(f, _ *unwind.Frame) { f.PC = tailLoop + 4 }, nil},
		{"a call behind the start of a function", "in f", nil, nil},
		{"a call of no function", "no function", nil, nil},
		{"a call by a register", "by register", nil, nil},
		{"a signal", "f", func(f, _ *unwind.Frame) { f.Signal = true }, nil},
		{"a call that goes where the frame is", "f", func(_, c *unwind.Frame) { c.Evidence = 0 }, nil},
		{"a call that does not fit", "f", func(_, c *unwind.Frame) { c.Evidence |= unwind.CallMismatch }, nil},
		{"a frame in no function", "f", func(f, _ *unwind.Frame) { f.PC = tailText + 0x900 }, nil},
		{"a frame in no module", "f", func(f, _ *unwind.Frame) { f.PC = 8 }, nil},
		{"a caller in no memory", "f", func(_, c *unwind.Frame) { c.PC = 0x1000 }, nil},
	} {
		p, frames := tailProcess(t), stackInH(tailCallsTo[tt.call])
		if tt.change != nil {
			tt.change(&frames[0], &frames[1])
		}
		for range 2 { // the second time from memory
			if got := p.between(&frames[0], &frames[1]); !slices.Equal(got, tt.want) {
				t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
			}
		}
		if got := p.Problems(); len(got) > 0 {
			t.Errorf("%s: got problems %q", tt.name, got)
		}
	}
}

// What was found out of tail calls is remembered, within bounds.
func TestTailsRemembered(t *testing.T) {
	p, frames := tailProcess(t), stackInH(tailCallsTo["f"])
	key := tailKey{frames[1].PC, frames[0].LookupPC()}
	if got := p.between(&frames[0], &frames[1]); len(got) != 2 || len(p.tails.memo) != 1 || len(p.tails.memo[key]) != 2 {
		t.Errorf("got %v, remembered %v", got, p.tails.memo)
	}
	if p.between(&frames[1], &frames[1]); len(p.tails.memo) != 2 {
		t.Errorf("got %d ways remembered, want two", len(p.tails.memo))
	}
	delete(p.tails.memo, tailKey{frames[1].PC, frames[1].LookupPC()})
	if h := p.tails.names[tailName{p.modules.At(tailH), "h"}]; h != tailH {
		t.Errorf("got h at %#x, want %#x", h, uint64(tailH))
	}
	known := []tailCall{{pc: 1}}
	p.tails.memo[key] = known
	if got := p.between(&frames[0], &frames[1]); !slices.Equal(got, known) {
		t.Errorf("got %v, want what is remembered", got)
	}
	for i := uint64(0); len(p.tails.memo) < 16384; i++ {
		p.tails.memo[tailKey{pc: i}] = nil
	}
	if got := p.between(&frames[0], &frames[1]); !slices.Equal(got, known) || len(p.tails.memo) != 16384 {
		t.Errorf("got %v of %d ways", got, len(p.tails.memo))
	}
	other := frames[0]
	other.PC++
	if p.between(&other, &frames[1]); len(p.tails.memo) != 1 {
		t.Errorf("got %d ways remembered after too many, want one", len(p.tails.memo))
	}
	m := p.modules.At(tailH)
	for i := 0; len(p.tails.names) < 64; i++ {
		p.tails.names[tailName{m, fmt.Sprint(i)}] = 0
	}
	delete(p.tails.names, tailName{m, "0"})
	if got := p.namedFunction(tailName{m, "none"}); got != 0 || len(p.tails.names) != 64 {
		t.Errorf("got %#x, %d names, the last that is looked for", got, len(p.tails.names))
	}
	if got := p.namedFunction(tailName{m, "h"}); got != tailH {
		t.Errorf("got %#x for a name that is remembered", got)
	}
	delete(p.tails.names, tailName{m, "h"})
	p.tails.names[tailName{m, "full"}] = 0
	if got := p.namedFunction(tailName{m, "h"}); got != 0 {
		t.Errorf("got %#x for one name more than are looked for", got)
	}
}

// A function of another module is found by its name there.
func TestTailNameElsewhere(t *testing.T) {
	p := tailProcess(t)
	other := newProcess(t, &core.Image{Mappings: []core.Mapping{{Lo: 0x1000, Hi: 0x2000, Path: "/lib/x", Exec: true}}})
	if got := p.namedFunction(tailName{other.modules.At(0x1008), "h"}); got != tailH {
		t.Errorf("got %#x, want %#x", got, uint64(tailH))
	}
}
