package unwind

import (
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/cfi"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/sframe"
	"github.com/sfcore/sfcore/unwind/pclntab"
)

// goTable is the table of testkit.GoTable with its functions at codeAt.
func goTable(t *testing.T, a *arch.Arch) *pclntab.Table {
	t.Helper()
	order := (&process{arch: a}).order()
	table, err := pclntab.Parse(testkit.GoTable(order, testkit.GoMagic120, 0), order)
	if err != nil {
		t.Fatal(err)
	}
	return table.At(codeAt)
}

// moduleOf returns u with all addresses in a module.
func moduleOf(u *Unwinder, m *Module) *Unwinder {
	find := u.Find
	u.Find = func(addr uint64) Place {
		place := find(addr)
		place.Module = m
		return place
	}
	u.start()
	return u
}

// Each kind of table tells where the function at an address begins and ends, and how
// far its CFA is from SP there. What a table does not tell is not known, even if
// another table has it: the tables of a module are asked in a fixed order.
func TestDescribed(t *testing.T) {
	a := arch.AMD64
	inner := arch.Row{CFA: arch.RegOffset(a.SP, 24), RA: arch.AtCFA(-8), FP: arch.SameValue(a.FP)}
	both := disputed(t, sframe.V2, inner, 16, 0).module // 32 bytes at codeAt
	onlyCFI := &Module{CFI: both.CFI}
	onlyGo := &Module{Go: goTable(t, a)}
	type want struct {
		lo, size uint64 // 0 if no table describes the code
		cfa      int64  // from SP; 0 if no table tells
	}
	for _, tt := range []struct {
		name   string
		module *Module
		addr   uint64
		want   want
	}{
		{"call frame information", onlyCFI, codeAt, want{codeAt, 32, 16}},
		{"its last address", onlyCFI, codeAt + 31, want{codeAt, 32, 16}},
		{"behind it", onlyCFI, codeAt + 32, want{}},
		{"two sections", &Module{CFI: []*cfi.Section{emptyCFI(t), both.CFI[0]}}, codeAt + 31, want{codeAt, 32, 16}},
		{".sframe comes first", both, codeAt + 4, want{codeAt, 32, 24}},
		{"call frame information where .sframe has none", &Module{SFrame: promising(t, a).SFrame, CFI: both.CFI}, codeAt + 4, want{codeAt, 32, 16}},
		{"Go's table before call frame information", &Module{Go: onlyGo.Go, CFI: both.CFI}, codeAt + 4, want{codeAt, 0x40, 32}},
		{"Go, before SP moves", onlyGo, codeAt + 3, want{codeAt, 0x40, 8}},
		{"Go, after SP moved", onlyGo, codeAt + 4, want{codeAt, 0x40, 32}},
		{"Go, a function without SP", onlyGo, codeAt + 0x40, want{codeAt + 0x40, 0x20, 0}},
		{"behind Go's functions", onlyGo, codeAt + 0x60, want{}},
		{"no tables", &Module{}, codeAt, want{}},
		{"no module", nil, codeAt, want{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			u := moduleOf(newProcess(a).unwinder(), tt.module)
			f, ok := u.functionAt(tt.module, tt.addr)
			if f != (function{tt.want.lo, tt.want.size}) || ok != (tt.want.size != 0) {
				t.Errorf("function: got %+v, %v, want %+v", f, ok, tt.want)
			}
			cfa, ok := u.cfaAt(tt.addr)
			if ok != (tt.want.cfa != 0) || ok && cfa != arch.RegOffset(a.SP, tt.want.cfa) {
				t.Errorf("CFA: got %+v, %v, want SP+%d", cfa, ok, tt.want.cfa)
			}
		})
	}
}

// emptyCFI is call frame information that describes nothing.
func emptyCFI(t *testing.T) *cfi.Section {
	t.Helper()
	c, err := cfi.ParseEHFrame(arch.AMD64, make([]byte, 4), dataAt, nil, 0, cfi.Bases{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// On s390x a CFA is 160 above SP at the start of a function, so that it is that much
// above where Go's table says that SP has moved.
func TestDescribedByGoS390X(t *testing.T) {
	a := arch.S390X
	m := &Module{Go: goTable(t, a)}
	u := moduleOf(newProcess(a).unwinder(), m)
	for addr, want := range map[uint64]int64{codeAt: 160, codeAt + 4: 184} {
		if cfa, ok := u.cfaAt(addr); !ok || cfa != arch.RegOffset(a.SP, want) {
			t.Errorf("%#x: got %+v, %v, want SP+%d", addr, cfa, ok, want)
		}
	}
}

// A jump is the last instruction of a function, or one to another part of it, only if
// the CFA is where it is at the start, or the same on both sides.
func TestJumpsByCFA(t *testing.T) {
	p, m := callProcess(t)
	u := moduleOf(p.unwinder(), m)
	for _, tt := range []struct {
		at, target uint64
		ends, same bool
	}{
		{callee, called, true, true},
		{callee + 20, called + 20, false, true},
		{callee + 20, called, false, false},
		{callee, called + 20, true, false},
		{codeAt + 0xf00, called + 20, true, true},  // nothing tells
		{callee + 20, codeAt + 0xf00, false, true}, // nothing tells
	} {
		if got := u.endsFunction(tt.at); got != tt.ends {
			t.Errorf("%#x ends its function: got %v", tt.at, got)
		}
		if got := u.sameFrame(tt.at, tt.target); got != tt.same {
			t.Errorf("%#x and %#x have the same frame: got %v", tt.at, tt.target, got)
		}
	}
}
