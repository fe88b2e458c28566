package gate

import (
	"cmp"
	"slices"

	"github.com/sfcore/sfcore/cfi"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/sframe"
	"github.com/sfcore/sfcore/sframe/compare"
)

// functions checks where the functions of the section are. What a linker has left out,
// by --gc-sections or as a second copy of a COMDAT group, must not be in the table.
func (e *examination) functions(s *sframe.Section) {
	starts := e.cfiFunctions()
	for f, err := range s.Funcs() {
		if f.Table() == nil || err != nil {
			continue
		}
		e.Functions++
		if f.Size == 0 || f.Start+uint64(f.Size) < f.Start { // which check finds
			continue
		}
		end := f.Start + uint64(f.Size)
		at := codeAt(e.code, f.Start)
		if at == nil {
			e.about(f, "function-outside-code", "the function of %d bytes at %#x is in no executable section", f.Size, f.Start)
			continue
		}
		if end > at.Hi {
			e.about(f, "function-leaves-section", "the function of %d bytes at %#x ends beyond section %s", f.Size, f.Start, at.Name)
		}
		if in, ok := within(starts, f.Start); ok && !plt(at.Name) {
			e.about(f, "function-start-inside", "the function at %#x begins within the function of .eh_frame at %#x", f.Start, in)
		}
	}
}

// about adds a finding about a function.
func (e *examination) about(f sframe.Func, id, format string, args ...any) {
	before := len(e.Findings)
	e.found(id, "sfde_func_start_address", format, args...)
	if len(e.Findings) > before {
		added := &e.Findings[before]
		added.Addr, added.Off = f.Start, f.Off
	}
}

// plt reports whether the linker describes a section in other pieces than .eh_frame.
func plt(section string) bool { return len(section) >= 4 && section[:4] == ".plt" }

// codeAt returns the code that contains an address, or nil.
func codeAt(code []elfx.Code, addr uint64) *elfx.Code {
	i, ok := slices.BinarySearchFunc(code, addr, func(c elfx.Code, a uint64) int {
		switch {
		case a < c.Lo:
			return 1
		case a >= c.Hi:
			return -1
		}
		return 0
	})
	if !ok {
		return nil
	}
	return &code[i]
}

// cfiFunctions returns the ranges of the functions of call frame information by
// ascending address.
func (e *examination) cfiFunctions() []compare.Range {
	var list []compare.Range
	for _, s := range e.module.Tables.CFI {
		list = appendFDEs(list, s)
	}
	slices.SortFunc(list, func(a, b compare.Range) int { return cmp.Compare(a.Lo, b.Lo) })
	return list
}

func appendFDEs(list []compare.Range, s *cfi.Section) []compare.Range {
	for f, err := range s.FDEs() {
		if err == nil && f.Size > 0 {
			list = append(list, compare.Range{Lo: f.Start, Hi: f.Start + min(f.Size, -f.Start-1)})
		}
	}
	return list
}

// within returns the start of the function that contains an address other than its
// first.
func within(starts []compare.Range, addr uint64) (start uint64, ok bool) {
	i, exact := slices.BinarySearchFunc(starts, addr, func(r compare.Range, a uint64) int { return cmp.Compare(r.Lo, a) })
	if exact || i == 0 || addr >= starts[i-1].Hi {
		return 0, false
	}
	return starts[i-1].Lo, true
}
