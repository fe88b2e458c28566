package cfi

import (
	"errors"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/dwarf/expr"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/memreader"
)

// fuzzArchs are indexed by a byte of the input.
var fuzzArchs = []*arch.Arch{arch.AMD64, arch.AArch64, arch.AArch64BE, arch.S390X}

// checkOutcome fails unless a lookup had exactly one of the three outcomes,
// and its error one of the documented types.
func checkOutcome(t *testing.T, found bool, err error) {
	t.Helper()
	if err == nil {
		return
	}
	if found {
		t.Fatalf("found, and error %v", err)
	}
	_, format := errors.AsType[*FormatError](err)
	_, register := errors.AsType[*RegisterError](err)
	_, fault := errors.AsType[*memreader.FaultError](err)
	if !format && !register && !fault {
		t.Fatalf("error %v (%T) is of no documented type", err, err)
	}
}

// linearFind is the oracle for lookups: it tries every FDE in turn, and keeps
// the last to begin; of those, the first in the section.
func linearFind(s *Section, pc uint64) (best FDE, found bool) {
	for f, err := range s.FDEs() {
		if err == nil && f.Size > 0 && f.Start <= pc && (!found || f.Start > best.Start) {
			best, found = f, true
		}
	}
	return best, found && pc-best.Start < best.Size
}

// FuzzEntry parses any bytes as a section, and compares a lookup by index with
// a search of every FDE, and the row found with the listed one.
func FuzzEntry(f *testing.F) {
	for i, a := range fuzzArchs {
		frame, _ := someFDEs(a)
		f.Add(uint8(i), false, uint64(testFrame), uint64(0x3010), frame)
		b := newBuilder(a)
		b.debug, b.long = true, true
		b.cie("cie", cieText{version: 4, initial: initialSP})
		b.fde("fde", "cie", testText, testSize, []byte{byte(cfaAdvanceLoc | 1), byte(cfaDefCFAOffset), 16})
		f.Add(uint8(i), true, uint64(0), uint64(testText+4), b.Done())
	}
	f.Fuzz(func(t *testing.T, archIndex uint8, debug bool, addr, pc uint64, data []byte) {
		a := fuzzArchs[archIndex%uint8(len(fuzzArchs))]
		var s *Section
		var err error
		if debug {
			s, err = ParseDebugFrame(a, data, addr)
		} else {
			s, err = ParseEHFrame(a, data, addr, nil, 0, Bases{})
		}
		if (s == nil) == (err == nil) {
			t.Fatalf("got section %v and error %v", s != nil, err)
		}
		if err != nil {
			return
		}
		var m Machine
		var row arch.Row
		fdes := 0
		for fde, err := range s.FDEs() {
			if fdes++; fdes > len(data)/4+1 {
				t.Fatal("more FDEs than fit")
			}
			if err != nil {
				checkOutcome(t, false, err)
				continue
			}
			for r, err := range m.Rows(s, fde) {
				checkOutcome(t, false, err)
				if err == nil && (r.Lo-fde.Start >= fde.Size || r.Hi-fde.Start > fde.Size || r.Hi == r.Lo) {
					t.Fatalf("row [%#x, %#x) of FDE [%#x, +%#x)", r.Lo, r.Hi, fde.Start, fde.Size)
				}
			}
		}
		found, err := m.Find(s, pc, numbered(), nil, &row)
		checkOutcome(t, found, err)
		best, covered := linearFind(s, pc)
		if found && !covered {
			t.Fatalf("found a row at %#x, which no FDE covers", pc)
		}
		if covered && !found && err == nil {
			t.Fatalf("found nothing at %#x, which FDE %#x covers", pc, best.Off)
		}
		if covered {
			compareListed(t, &m, s, best, pc, found, &row)
		}
	})
}

// compareListed compares the row that was found at pc with the listed one.
func compareListed(t *testing.T, m *Machine, s *Section, f FDE, pc uint64, found bool, row *arch.Row) {
	t.Helper()
	ra, fp, cfa := row.RA, row.FP, row.CFA
	for r, err := range m.Rows(s, f) {
		if err != nil || pc-r.Lo >= r.Hi-r.Lo {
			continue
		}
		if !found {
			if len(r.Exprs) == 0 {
				t.Fatalf("found nothing at %#x, where %s is listed", pc, r.Format(s.arch))
			}
			return
		}
		for _, e := range r.Exprs { // these have been evaluated
			switch e.Reg {
			case arch.NoReg:
				cfa = arch.Rule{}
			case s.arch.PC:
				ra = arch.Rule{}
			case s.arch.FP:
				fp = arch.Rule{}
			}
		}
		if cfa != r.CFA || ra != r.RA || fp != r.FP {
			t.Fatalf("found %s at %#x, where %s is listed", row.Format(s.arch), pc, r.Format(s.arch))
		}
		return
	}
}

// FuzzTable looks up through a table of any bytes, and compares with a search
// of every FDE: where both find something, it must be the same.
func FuzzTable(f *testing.F) {
	for i, a := range fuzzArchs {
		_, entries := someFDEs(a)
		f.Add(uint8(i), uint64(0x3010), usualHdr(entries).build(a))
		f.Add(uint8(i), uint64(0x1010), hdrText{enc: peAbsPtr, entries: entries}.build(a))
	}
	f.Fuzz(func(t *testing.T, archIndex uint8, pc uint64, hdr []byte) {
		a := fuzzArchs[archIndex%uint8(len(fuzzArchs))]
		frame, _ := someFDEs(a)
		s, err := ParseEHFrame(a, frame, testFrame, hdr, testHdr, Bases{})
		if err != nil {
			t.Fatal(err)
		}
		var m Machine
		var row arch.Row
		found, err := m.Find(s, pc, numbered(), nil, &row)
		if err != nil {
			t.Fatalf("at %#x: %v, although .eh_frame is sound", pc, err)
		}
		best, covered := linearFind(s, pc)
		if found != covered && (found || s.Problem() != nil) {
			t.Fatalf("at %#x: found %v, covered %v, problem %v", pc, found, covered, s.Problem())
		}
		if found {
			compareListed(t, &m, s, best, pc, found, &row)
		}
	})
}

// FuzzProgram runs any bytes as a program, after any as initial instructions,
// and compares lookups with the rows listed.
func FuzzProgram(f *testing.F) {
	f.Add(uint8(0), []byte{byte(cfaDefCFA), 7, 8, byte(cfaOffset | 16), 1}, []byte{byte(cfaAdvanceLoc | 1), byte(cfaDefCFAOffset), 16})
	f.Add(uint8(1), initialSP, []byte{byte(cfaNegateRAState), byte(cfaAdvanceLoc | 3), byte(cfaRememberState), byte(cfaOffset | 30), 2, byte(cfaAdvanceLoc1), 9, byte(cfaRestoreState)})
	f.Add(uint8(2), initialSP, []byte{byte(cfaExpression), 19, 2, expr.OpPlusUconst, 8, byte(cfaAdvanceLoc2), 0, 1, byte(cfaRestore | 19)})
	f.Add(uint8(3), []byte{byte(cfaDefCFA), 15, 0xa0, 1}, []byte{byte(cfaRegister), 14, 16, byte(cfaValOffsetSF), 15, 0x7c})
	f.Fuzz(func(t *testing.T, archIndex uint8, initial, program []byte) {
		a := fuzzArchs[archIndex%uint8(len(fuzzArchs))]
		if len(initial) > maxInitial-8 || len(program) > maxProgram {
			return
		}
		s := oneFDE(t, a, cieText{ra: uint64(a.RA()), codeAlign: 1, initial: initial}, program)
		var m Machine
		rows, lo := 0, uint64(testText)
		for _, fde := range allFDEs(t, s) {
			for r, err := range m.Rows(s, fde) {
				if checkOutcome(t, false, err); r.Hi == 0 {
					break
				}
				if rows++; r.Lo != lo || rows > testSize {
					t.Fatalf("row %d begins at %#x, want %#x", rows, r.Lo, lo)
				}
				lo = r.Hi
			}
			for pc := uint64(testText); pc < testText+testSize; pc += 5 {
				var row arch.Row
				found, err := m.Find(s, pc, numbered(), nil, &row)
				checkOutcome(t, found, err)
				if found {
					compareListed(t, &m, s, fde, pc, found, &row)
				}
			}
		}
	})
}

// FuzzExpression evaluates any bytes as the CFA, as a register's address, and
// as a value. It must end, and depend on nothing but its input.
func FuzzExpression(f *testing.F) {
	f.Add(uint8(0), []byte{expr.OpBreg0 + 7, 8, expr.OpBreg0 + 16, 0, expr.OpLit0 + 15, expr.OpAnd, expr.OpLit0 + 11, expr.OpGe, expr.OpLit0 + 3, expr.OpShl, expr.OpPlus})
	f.Add(uint8(1), []byte{expr.OpLit0 + 5, expr.OpLit0 + 1, expr.OpMinus, expr.OpDup, expr.OpBra, 0xfa, 0xff})
	f.Add(uint8(2), []byte{expr.OpConst4u, 0, 1, 0, 0, expr.OpDup, expr.OpDeref, expr.OpSwap, expr.OpDerefSize, 4, expr.OpRot, expr.OpPick, 1, expr.OpDiv})
	f.Fuzz(func(t *testing.T, archIndex uint8, text []byte) {
		a := fuzzArchs[archIndex%uint8(len(fuzzArchs))]
		sp := uint64(a.SP)
		s := oneFDE(t, a, cieText{version: 3, ra: uint64(a.RA())}, code(a, func(b *testkit.Bytes) {
			b.D8(byte(cfaDefCFAExpression)).ULEB(uint64(len(text))).Raw(text)
			b.D8(byte(cfaExpression)).ULEB(uint64(a.RA()), uint64(len(text))).Raw(text)
			b.D8(byte(cfaValExpression)).ULEB(sp, uint64(len(text))).Raw(text)
		}))
		regs := numbered()
		regs.Set(a.SP, testStack)
		mem := &memreader.Words{R: exprMemory(a), BigEndian: a.BigEndian}
		var m Machine
		var row, again arch.Row
		found, err := m.Find(s, testText, regs, mem, &row)
		checkOutcome(t, found, err)
		if found && (row.CFA.Base != arch.Absolute || row.RA.Base != arch.Absolute || !row.RA.Deref) {
			t.Fatalf("got %s", row.Format(a))
		}
		shown := row.Format(a)
		found2, err2 := m.Find(s, testText, regs, mem, &again)
		if found2 != found || (err == nil) != (err2 == nil) || again.Format(a) != shown && found {
			t.Fatalf("got %s, %v and then %s, %v", shown, err, again.Format(a), err2)
		}
	})
}
