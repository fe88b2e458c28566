package sframe

import "github.com/sfcore/sfcore/arch"

// Lookup returns the function that pc is in. Functions that overlap are not
// legal. Of several it returns the one that starts last, and of those with the same
// start the largest. It never returns empty functions.
//
// It returns false and no error if the section has no function there. The
// error is a [*FormatError] if the function's FDE is damaged, or if there is
// no function and a damaged table may have had it. The first lookup in a
// section reads all FDEs; every other takes time logarithmic in their number.
func (s *Section) Lookup(pc uint64) (f Func, found bool, err error) {
	if found, err = s.lookupInto(pc, &f); !found {
		return Func{}, false, err
	}
	return f, true, nil
}

func (s *Section) lookupInto(pc uint64, f *Func) (found bool, err error) {
	s.once.Do(s.load)
	t, i, ok := s.lookup.nearest(pc)
	if !ok {
		return false, s.lookup.damage
	}
	t.span(i, f)
	if pc-f.Start >= uint64(f.Size) {
		return false, s.lookup.damage
	}
	if err := f.attributes(); err != nil {
		return false, err
	}
	return true, nil
}

// Find fills in row with the rules that recover the caller of the frame at pc. It
// has three outcomes:
//
//   - true: row is filled in. Its RA is undefined in an outermost frame.
//   - false and no error: the section has nothing for pc.
//   - false and an error, which is a [*FormatError] or [ErrSignalContext]:
//     the section has something for pc, but it cannot be used.
//
// For a return address, pass the address of the byte before it, which is in the
// call. Rules with registers other than SP and FP need a frame where these are
// known: the innermost frame, or one that a signal interrupted. Find allocates only
// if it fails.
func (s *Section) Find(pc uint64, row *arch.Row) (found bool, err error) {
	rows := 0
	return s.FindCounting(pc, row, &rows)
}

// FindCounting is like Find, and adds to rows how many rows it looked at: a function
// may have any number, which are searched from the first on.
func (s *Section) FindCounting(pc uint64, row *arch.Row, rows *int) (found bool, err error) {
	var f Func
	if found, err := s.lookupInto(pc, &f); !found {
		return false, err
	}
	if f.NumFREs == 0 {
		return f.withoutRows(row)
	}
	var e FRE
	found, ferr := f.find(uint32(pc-f.Start), &e, rows)
	if ferr != nil {
		return false, ferr
	}
	if !found {
		return false, nil
	}
	if err := f.Row(&e, row); err != nil {
		return false, err
	}
	return true, nil
}

// withoutRows is the outcome for a function that has no rows. In V3 it is the
// outermost one [SFrame 3, 2.3], or a signal trampoline that gas could not
// describe. Before V3 it says nothing.
func (f *Func) withoutRows(row *arch.Row) (found bool, err error) {
	switch {
	case f.Signal():
		return false, ErrSignalContext
	case f.table.Version < V3:
		return false, nil
	}
	*row = arch.Row{}
	return true, nil
}

// FramePointers reports whether all functions of the program keep a frame
// pointer, those without rows too: SFRAME_F_FRAME_POINTER is set in every
// table. V3 has no such flag.
func (s *Section) FramePointers() bool {
	s.once.Do(s.load)
	return s.lookup.framePointers
}
