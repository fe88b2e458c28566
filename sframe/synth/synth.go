// Package synth makes .sframe sections from call frame information, for modules
// that were built without .sframe. What SFrame cannot express is left out and
// counted, never approximated.
//
// SFrame recovers only SP, FP and the return address. That is enough to walk
// through most functions. It is not enough for a frame that a signal
// interrupted, which may need any register, so trampolines are left out.
package synth

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/cfi"
	"github.com/sfcore/sfcore/sframe"
)

// Cause is why a function is left out.
type Cause string

// The causes.
const (
	Expression  Cause = "expression"                  // a rule is an expression that is no register and offset
	Elsewhere   Cause = "rule without words"          // a rule for which the version has no words
	Signal      Cause = "signal trampoline"           // all registers are needed there
	OtherSP     Cause = "stack pointer elsewhere"     // the caller's SP is not at a fixed distance from the CFA
	UndefinedFP Cause = "frame pointer undefined"     // SFrame can only say that it is unchanged
	Outermost   Cause = "outermost frame"             // which the version cannot mark
	Unusable    Cause = "no rule, or damaged"         // CFI itself has no row there
	TooLarge    Cause = "too large"                   // 4 GiB, or more rows than can be counted
	Duplicate   Cause = "covered by another function" // two FDEs begin at the same address
)

// Causes are all causes, in the order in which they are reported.
var Causes = []Cause{Expression, Elsewhere, Signal, OtherSP, UndefinedFP, Outermost, Unusable, TooLarge, Duplicate}

// Result counts what was written of a module's functions.
type Result struct {
	FDEs      int // all that cover code
	Written   int // of the FDEs
	Functions int // in .sframe; a PLT is two
	Rows      int
	LeftOut   map[Cause]int // of the FDEs
	Problems  []error       // damage in the call frame information; at most 100
}

// maxProblems bounds Result.Problems.
const maxProblems = 100

// Section makes a section of a version, V2 or V3, that will be at address addr, for
// the functions in call frame information. All addresses must be of the same kind:
// link-time addresses for a file. Damaged entries are left out, as the Result says.
// There is an error if SFrame has no ABI for the architecture, or cannot express the
// rest.
func Section(a *arch.Arch, s *cfi.Section, version sframe.Version, addr uint64) ([]byte, *Result, error) {
	if a.SFrame.ABI == 0 {
		return nil, nil, fmt.Errorf("SFrame has no ABI for %s", a.Name)
	}
	b := &builder{
		Builder: sframe.Builder{Version: version, ABI: sframe.ABI(a.SFrame.ABI), FixedRA: a.SFrame.FixedRA},
		arch:    a, addr: addr, result: &Result{LeftOut: map[Cause]int{}},
	}
	b.readFDEs(s)
	data, err := b.Append(nil, addr)
	return data, b.result, err
}

type builder struct {
	sframe.Builder
	arch    *arch.Arch
	addr    uint64
	result  *Result
	machine cfi.Machine
	scratch []byte
}

// readFDEs turns every FDE into functions, or counts the cause why it cannot.
func (b *builder) readFDEs(s *cfi.Section) {
	var fdes []cfi.FDE
	for f, err := range s.FDEs() {
		if err != nil {
			b.problem(err)
		} else if f.Size > 0 {
			fdes = append(fdes, f)
		}
	}
	slices.SortStableFunc(fdes, func(x, y cfi.FDE) int { return cmp.Compare(x.Start, y.Start) })
	for i, f := range fdes {
		b.result.FDEs++
		end := f.Start + min(f.Size, -f.Start-1)
		if i > 0 && fdes[i-1].Start == f.Start {
			b.result.LeftOut[Duplicate]++
			continue
		}
		if i+1 < len(fdes) && fdes[i+1].Start != f.Start {
			end = min(end, fdes[i+1].Start)
		}
		funcs, why := b.functions(s, f, end)
		if why != "" {
			b.result.LeftOut[why]++
			continue
		}
		b.result.Written++
		b.result.Functions += len(funcs)
		for _, f := range funcs {
			b.result.Rows += len(f.Rows)
		}
		b.Funcs = append(b.Funcs, funcs...)
	}
}

func (b *builder) problem(err error) {
	if len(b.result.Problems) < maxProblems {
		b.result.Problems = append(b.result.Problems, err)
	}
}

// functions returns an FDE's rows up to end as a function. A PLT within it, whose
// rows repeat, becomes another function.
func (b *builder) functions(s *cfi.Section, f cfi.FDE, end uint64) ([]sframe.FuncRows, Cause) {
	var funcs []sframe.FuncRows
	for r, err := range b.machine.Rows(s, f) {
		if err != nil {
			return nil, Unusable
		}
		hi := end
		if r.Hi > r.Lo { // unless it wraps around
			hi = min(r.Hi, end)
		}
		if r.Lo >= hi {
			break
		}
		row, plt, why := b.row(&r)
		if why != "" {
			return nil, why
		}
		if plt != 0 {
			if r.Lo%pltBlock != 0 {
				return nil, Expression
			}
			funcs = append(funcs, pltFunc(r.Lo, row, plt))
		} else if n := len(funcs); n == 0 || funcs[n-1].RepSize != 0 {
			funcs = append(funcs, sframe.FuncRows{Start: r.Lo, Rows: []sframe.RowAt{{Row: row}}})
		} else if last := &funcs[n-1]; !sameRow(&last.Rows[len(last.Rows)-1].Row, &row) {
			last.Rows = append(last.Rows, sframe.RowAt{At: uint32(r.Lo - last.Start), Row: row})
		}
		last := &funcs[len(funcs)-1]
		if hi-last.Start > math.MaxUint32 || len(last.Rows) > math.MaxUint16 {
			return nil, TooLarge
		}
		last.Size = uint32(hi - last.Start)
	}
	for i := range funcs {
		funcs[i].KeyB = f.KeyB && b.arch.PAC
	}
	return funcs, b.check(funcs)
}

// sameRow compares rows without Extra.
func sameRow(a, b *arch.Row) bool {
	return a.CFA == b.CFA && a.RA == b.RA && a.FP == b.FP && a.SignedRA == b.SignedRA
}

// pltBlock is the size of the entries of a PLT [cfi.Expr.PLT].
const pltBlock = 16

// pltFunc is a PLT from lo on, with entries that push one word before at.
func pltFunc(lo uint64, row arch.Row, at uint32) sframe.FuncRows {
	pushed := row
	pushed.CFA.Off += 8
	return sframe.FuncRows{Start: lo, RepSize: pltBlock, Rows: []sframe.RowAt{{Row: row}, {At: at, Row: pushed}}}
}

// row translates a row; plt is where its CFA changes in every block, or 0.
func (b *builder) row(r *cfi.Row) (row arch.Row, plt uint32, why Cause) {
	full, rest := r.Simple(b.arch)
	for i := range rest {
		e := &rest[i]
		rule, at, ok := e.PLT(b.arch)
		switch {
		case e.Reg == arch.NoReg && ok && at > 0:
			full.CFA, plt = rule, at
		case e.Reg == arch.NoReg, e.Reg == b.arch.PC, e.Reg == b.arch.FP, e.Reg == b.arch.SP:
			return row, 0, Expression
		}
	}
	row = arch.Row{CFA: full.CFA, RA: full.RA, FP: full.FP, SignedRA: full.SignedRA}
	switch {
	case full.Signal:
		return row, 0, Signal
	case row.Outermost() && b.Version < sframe.V3:
		return row, 0, Outermost
	case row.Outermost():
		return arch.Row{}, 0, ""
	case row.FP.Base == arch.Undefined:
		return row, 0, UndefinedFP
	}
	for _, x := range full.Extra {
		if x.Reg == b.arch.SP && x.Rule != (arch.Rule{Base: arch.CFA, Off: b.arch.SPFromCFA}) {
			return row, 0, OtherSP
		}
	}
	return row, plt, ""
}

// check reports whether functions can be written.
func (b *builder) check(funcs []sframe.FuncRows) Cause {
	try := b.Builder
	try.Funcs = funcs
	data, err := try.Append(b.scratch[:0], b.addr)
	if err != nil {
		return Elsewhere
	}
	b.scratch = data
	return ""
}
