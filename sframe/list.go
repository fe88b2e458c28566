package sframe

import "iter"

// Tables yields the tables of the section in order. For a damaged header, or data
// that is not a table, it yields a [*FormatError] and a Table with the fields that
// could be decoded. It then continues with the next table that it finds.
func (s *Section) Tables() iter.Seq2[Table, error] {
	return func(yield func(Table, error) bool) {
		s.walk(func(t *Table, err *FormatError) bool {
			switch {
			case t == nil:
				return yield(Table{}, err)
			case err != nil:
				return yield(*t, err)
			}
			return yield(*t, nil)
		})
	}
}

// Funcs yields the functions of all tables, as written and in the order of the
// section. A [*FormatError] comes with the damaged function, which has no
// rows, or for damage between functions with a zero Func, whose methods must not
// be called.
func (s *Section) Funcs() iter.Seq2[Func, error] {
	return func(yield func(Func, error) bool) {
		s.walk(func(t *Table, err *FormatError) bool {
			if err != nil {
				return yield(Func{}, err)
			}
			for i := range int(t.NumFDEs) {
				var f Func
				err := t.fn(i, &f)
				if err == nil && !yield(f, nil) || err != nil && !yield(f, err) {
					return false
				}
			}
			return true
		})
	}
}

// FREs yields the rows of a function that [Section.Funcs] or [Section.Lookup]
// returned without an error, in their order. A [*FormatError] is the last
// thing yielded. A row that damage makes unusable to Find, like one out of
// order, is yielded nevertheless: see [Section.Validate].
func (s *Section) FREs(f Func) iter.Seq2[FRE, error] {
	return func(yield func(FRE, error) bool) {
		if f.table == nil {
			return
		}
		if err := f.check(); err != nil {
			yield(FRE{}, err)
			return
		}
		for r := f.first(); ; {
			var e FRE
			ok, err := r.next(&e)
			if err != nil {
				yield(e, err)
			}
			if !ok || !yield(e, nil) {
				return
			}
		}
	}
}
