package unwind

import (
	"encoding/binary"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/sframe"
)

const (
	entryAt = codeAt + 0x900 // an entry of a linkage table
	slot    = dataAt + 0x100
	short   = codeAt + 0xb00 // of 16 bytes, before called2
	called2 = codeAt + 0xb40
)

// linkedProcess is callProcess with a linkage table, and functions written in
// assembly.
func linkedProcess(t *testing.T) (*process, *Module, *Unwinder) {
	t.Helper()
	p, m := callProcess(t)
	entry := arch.Row{CFA: arch.RegOffset(p.arch.SP, 8), RA: arch.AtCFA(-8), FP: arch.SameValue(p.arch.FP)}
	below := arch.Row{CFA: arch.RegOffset(p.arch.SP, 24), RA: arch.AtCFA(-8), FP: arch.SameValue(p.arch.FP)}
	b := sframe.Builder{Version: sframe.V2, ABI: sframe.AMD64LE, FixedRA: -8, Funcs: []sframe.FuncRows{
		{Start: callee, Size: 64, Rows: []sframe.RowAt{{At: 0, Row: entry}, {At: 16, Row: below}, {At: 48, Row: entry}}},
		{Start: called, Size: 64, Rows: []sframe.RowAt{{At: 0, Row: entry}}},
		{Start: entryAt - 16, Size: 64, Rows: []sframe.RowAt{{At: 0, Row: below}, {At: 16, Row: entry}}}, // the linkage table
		{Start: short, Size: 16, Rows: []sframe.RowAt{{At: 0, Row: entry}}},
		{Start: called2, Size: 64, Rows: []sframe.RowAt{{At: 0, Row: entry}}},
	}}
	data, err := b.Append(nil, dataAt)
	if err != nil {
		t.Fatal(err)
	}
	if m.SFrame, err = sframe.Parse(data, dataAt, sframe.Options{}); err != nil {
		t.Fatal(err)
	}
	m.Slots = []Range{{slot, slot + 8}}
	p.code(entryAt, "\xf3\x0f\x1e\xfa\xff\x25"+rel32(entryAt+10, slot))
	u := p.unwinder()
	find := u.Find
	u.Find = func(addr uint64) Place {
		place := find(addr)
		place.Module = m
		return place
	}
	u.start()
	return p, m, u
}

func rel32(next, to uint64) string {
	return string(binary.LittleEndian.AppendUint32(nil, uint32(to-next)))
}

// A call by a linkage table goes to the function that its slot holds, and to
// where jumps from there lead.
func TestLinkedCalls(t *testing.T) {
	const jmpRAX, je = "\xff\xe0", "\x74"
	tests := []struct {
		name string
		held uint64 // in the slot
		pc   uint64
		code map[uint64]string
		want bool
	}{
		{"the function", callee, callee + 20, nil, true},
		{"another function", called, callee + 20, nil, false},
		{"a tail call", called, callee + 20, map[uint64]string{called + 50: jump(called+50, callee)}, true},
		{"a tail call by a register", called, callee + 20, map[uint64]string{called + 50: jmpRAX}, true},
		{"not bound", entryAt + 16, callee + 20, nil, true},
		{"not a function's start", called + 1, callee + 20, nil, true},
		{"not code", dataAt, callee + 20, nil, true},
		{"the linkage table itself", callee, entryAt + 4, nil, true},
		{"what binds it leaves by a jump", called, called2 + 20, map[uint64]string{called2 + 50: jmpRAX}, true},
		{"what binds it is entered with a frame", called, entryAt + 20, nil, true},
		{"a short function that runs on", short, called2 + 20, nil, true},
		{"a short function that runs on into another", short, callee + 20, nil, false},
		{"a long function that does not", called2, callee + 20, nil, false},
		{"a short jump into the middle of the next", short, called2 + 20, map[uint64]string{short + 4: je + "\x40"}, true},
		{
			"a jump into the middle of another, which leads on", called, called2 + 20,
			map[uint64]string{called + 8: jump(called+8, callee+4), callee + 50: jump(callee+50, called2)},
			true,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, _, u := linkedProcess(t)
			p.poke(slot, tt.held)
			for at, code := range tt.code {
				p.code(at, code)
			}
			for name, code := range map[string]string{
				"by an entry": "\xe8" + rel32(codeAt+0x605, entryAt),
				"in place":    "\xff\x15" + rel32(codeAt+0x606, slot),
			} {
				c := u.callAt([]byte(code), codeAt+0x600+uint64(len(code)))
				got := !c.known || u.calls(&c, &Frame{PC: tt.pc, Exact: true, Module: u.Find(tt.pc).Module}) == yes
				if got != tt.want {
					t.Errorf("%s: got %v, want %v", name, got, tt.want)
				}
			}
		})
	}
}

// A word that is no slot may have changed since: it says nothing.
func TestSlots(t *testing.T) {
	p, m, u := linkedProcess(t)
	p.poke(slot, called)
	for _, tt := range []struct {
		name  string
		slots []Range
		want  bool // whether a wrong call is found
	}{
		{"a table", []Range{{dataAt, dataAt + 8}, {slot - 8, slot + 16}}, true},
		{"no tables", nil, false},
		{"another table", []Range{{dataAt, slot}}, false},
		{"half a slot", []Range{{dataAt, slot + 7}}, false},
		{"a table that ends before it begins", []Range{{slot + 8, slot}}, false},
		{"a table of all memory", []Range{{0, ^uint64(0)}}, true},
	} {
		m.Slots = tt.slots
		c := u.callAt([]byte("\xe8"+rel32(codeAt+0x605, entryAt)), codeAt+0x605)
		if got := u.calls(&c, &Frame{PC: callee + 20, Exact: true, Module: m}) == no; got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}
