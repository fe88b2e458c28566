package cfi

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/dwarf/expr"
)

// An error tells the section, the place and the field.
func TestErrorText(t *testing.T) {
	for debug, section := range map[bool]string{false: ".eh_frame", true: ".debug_frame"} {
		s := &Section{arch: arch.AMD64, debug: debug}
		err := s.formatError(0x12, "length", "it is wrong")
		checkFormatError(t, err, "length", 0x12)
		for _, word := range []string{section, "0x12", "length", "it is wrong"} {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("got %q without %q", err, word)
			}
		}
	}
}

// A table that is not sorted is not used. The error tells the first entry that is not
// above the one before.
func TestUnsortedTable(t *testing.T) {
	a := arch.AMD64
	frame, entries := someFDEs(a)
	for i := 1; i < len(entries); i++ {
		bad := append([][2]uint64(nil), entries...)
		bad[i][0] = bad[i-1][0]
		s, err := ParseEHFrame(a, frame, testFrame, usualHdr(bad).build(a), testHdr, Bases{})
		if err != nil {
			t.Fatal(err)
		}
		if _, found, err := findRow(s, 0x3000, numbered(), nil); !found || err != nil {
			t.Errorf("entry %d: got %v, %v", i, found, err)
		}
		checkFormatError(t, s.Problem(), "initial_location", 12+8*i)
	}
	// An encoding without a fixed size cannot be searched.
	h := usualHdr(entries)
	h.enc = peULEB128
	s, err := ParseEHFrame(a, frame, testFrame, h.build(a), testHdr, Bases{})
	if err != nil {
		t.Fatal(err)
	}
	if _, found, err := findRow(s, 0x3000, numbered(), nil); !found || err != nil {
		t.Errorf("got %v, %v", found, err)
	}
	checkFormatError(t, s.Problem(), "table_enc", 3)
}

// A row is of one frame only if an expression was evaluated for it. What programs and
// expressions cost is counted.
func TestEvaluatedAndWork(t *testing.T) {
	program := []byte{byte(cfaDefCFAOffset), 16, byte(cfaAdvanceLoc | 4), byte(cfaValExpression), 19, 2, expr.OpPlusUconst, 8}
	s := oneFDE(t, arch.AArch64, cieText{initial: initialSP}, program)
	var m Machine
	var row arch.Row
	for _, tt := range []struct {
		pc        uint64
		evaluated bool
		work      int
	}{
		{testText, false, len(initialSP) + 3}, // up to the next row
		{testText, false, 3},                  // the CIE is remembered
		{testText + 16, true, len(program) + 2},
	} {
		before := m.Work
		if found, err := m.Find(s, tt.pc, numbered(), nil, &row); !found || err != nil {
			t.Fatal(found, err)
		}
		if row.Evaluated != tt.evaluated || m.Work-before != tt.work {
			t.Errorf("%#x: evaluated %v, work %d; want %v, %d", tt.pc, row.Evaluated, m.Work-before, tt.evaluated, tt.work)
		}
	}
	bad := oneFDE(t, arch.AArch64, cieText{initial: initialSP}, []byte{byte(cfaNop), 0x3f})
	before := m.Work
	if found, err := m.Find(bad, testText, numbered(), nil, &row); found || err == nil || m.Work-before != len(initialSP)+2 {
		t.Errorf("a damaged program: got %v, %v, work %d", found, err, m.Work-before)
	}
}

// The letters of an augmentation are those of FDEs.
func TestLetters(t *testing.T) {
	for aug, want := range map[string]FDE{"z": {}, "zS": {Signal: true}, "zB": {KeyB: true}, "zSB": {Signal: true, KeyB: true}, "zG": {}} {
		s := oneFDE(t, arch.AArch64, cieText{augmentation: aug}, []byte{0})
		if f := allFDEs(t, s)[0]; f.Signal != want.Signal || f.KeyB != want.KeyB {
			t.Errorf("%s: got %+v", aug, f)
		}
	}
}

// The augmentation data of an FDE are no instructions, and the return address of
// version 1 takes one byte, whatever that is.
func TestWhereInstructionsBegin(t *testing.T) {
	a := arch.AArch64
	b := newBuilder(a)
	b.cie("cie", cieText{augmentation: "z", initial: initialSP})
	b.entry("fde", "cie", func() {
		b.D64(testText, testSize).ULEB(2).D8(byte(cfaDefCFAOffset), 99, byte(cfaDefCFAOffset), 16)
	})
	row, found, err := findRow(b.section(t, a), testText, numbered(), nil)
	if got := row.Format(a); !found || err != nil || got != "cfa=sp+16 ra=x30 fp=x29" {
		t.Errorf("got %v, %v, %s", found, err, got)
	}
	s := oneFDE(t, a, cieText{version: 1, ra: 0x90, initial: []byte{byte(cfaDefCFA), 31, 0, byte(cfaOffsetExtended), 0x90, 1, 2}}, nil)
	row, found, err = findRow(s, testText, numbered(), nil)
	if got := row.Format(a); !found || err != nil || got != "cfa=sp ra=*(c-16) fp=x29" {
		t.Errorf("return address in column 0x90: got %v, %v, %s", found, err, got)
	}
}

// Limits may be reached, but not passed.
func TestProgramLimits(t *testing.T) {
	a := arch.AArch64
	pad := func(size int) []byte { return append(bytes.Clone(initialSP), make([]byte, size-len(initialSP))...) }
	for _, tt := range []struct {
		initial, program int
		field            string // "" if it is within the limits
	}{
		{4 << 10, 0, ""},
		{4<<10 + 1, 0, "initial_instructions"},
		{3, 1 << 20, ""},
		{3, 1<<20 + 1, "instructions"},
	} {
		s := oneFDE(t, a, cieText{initial: pad(tt.initial)}, make([]byte, tt.program))
		_, found, err := findRow(s, testText, numbered(), nil)
		if found != (tt.field == "") {
			t.Errorf("%+v: got %v, %v", tt, found, err)
		}
		if tt.field != "" {
			checkFormatError(t, err, tt.field, -1)
		}
	}
	const most = 16
	for n, ok := range map[int]bool{most: true, most + 1: false} {
		s := oneFDE(t, a, cieText{initial: initialSP}, bytes.Repeat([]byte{byte(cfaRememberState)}, n))
		if _, found, err := findRow(s, testText, numbered(), nil); found != ok {
			t.Errorf("%d states: got %v, %v", n, found, err)
		}
	}
}

// Lookup and Find have the same errors.
func TestLookupErrors(t *testing.T) {
	a := arch.AArch64
	b := newBuilder(a)
	b.entry("cie", "", func() { b.D8(2).Str("").D8(1, 0x78, 30) })
	b.fde("fde", "cie", testText, testSize, nil)
	s := b.section(t, a)
	f, found, err := new(Machine).Lookup(s, testText)
	if found || f != (FDE{}) {
		t.Errorf("got %+v, %v", f, found)
	}
	checkFormatError(t, err, "version", -1)
	rows := 0
	for _, err := range new(Machine).Rows(s, FDE{Off: uint64(b.Pos("fde"))}) {
		checkFormatError(t, err, "version", -1)
		rows++
	}
	if rows != 1 {
		t.Errorf("got %d rows of a damaged FDE, want one error", rows)
	}
}

// After a failed read all others give 0, and the error is that of the first.
func TestCursorFails(t *testing.T) {
	for _, big := range []bool{false, true} {
		for name, read := range map[string]func(c *cursor) uint64{
			"u8":   func(c *cursor) uint64 { return uint64(c.u8("x")) },
			"u16":  func(c *cursor) uint64 { return uint64(c.u16("x")) },
			"u32":  func(c *cursor) uint64 { return uint64(c.u32("x")) },
			"u64":  func(c *cursor) uint64 { return c.u64("x") },
			"uleb": func(c *cursor) uint64 { return c.uleb("x") },
			"sleb": func(c *cursor) uint64 { return uint64(c.sleb("x")) },
		} {
			c := &cursor{data: []byte{1}, pos: 1, big: big}
			if v := read(c); v != 0 || !c.failed() || c.fault.at != 1 || c.fault.field != "x" {
				t.Errorf("%s: got %d, %+v", name, v, c.fault)
			}
			if v := read(c); v != 0 || c.fault.at != 1 {
				t.Errorf("%s, again: got %d, %+v", name, v, c.fault)
			}
		}
	}
}
