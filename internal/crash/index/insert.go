package index

import (
	"iter"
	"strings"
)

// sum is what crashes add to their signature.
type sum struct {
	come
	number int
	bytes  int64
}

func (s *sum) add(at int64, id string, number int, bytes int64) {
	if s.n == 0 {
		s.come = come{0, at, at, id, id}
	}
	s.come.add(at, id)
	s.number, s.bytes = max(s.number, number), s.bytes+bytes
}

// flush writes the crashes that were added, and what they add to their signatures.
func (w *writer) flush() {
	w.insert("crashes", w.rows, "")
	for sig, s := range w.sums {
		w.exec(`UPDATE signatures SET kept = kept + ?2, bytes = bytes + ?3, number = greatest(number, ?4),
			first = CASE WHEN first = 0 THEN ?5 ELSE least(first, ?5) END, last = greatest(last, ?6),
			oldest = CASE WHEN oldest = '' THEN ?7 ELSE least(oldest, ?7) END, newest = greatest(newest, ?8) WHERE id = ?1`,
			sig, s.n, s.bytes, s.number, s.first, s.last, s.oldest, s.newest)
	}
	w.rows = nil
	clear(w.sums)
}

// insert inserts rows of equally many values. It returns what conflict, which follows the
// values, returns of each row.
func (w *writer) insert(table string, rows [][]any, conflict string) (returned []string) {
	for part := range parts(rows) {
		var args []any
		for _, row := range part {
			args = append(args, row...)
		}
		one := ", (" + marks(len(part[0])) + ")"
		returned = append(returned, w.column("INSERT INTO "+table+" VALUES "+strings.Repeat(one, len(part))[2:]+" "+conflict, args...)...)
	}
	return returned
}

// mostRows is how many rows a statement is about. Their numbers are powers of 2, so that there
// are few statements, which drivers prepare once.
const mostRows = 64

// parts cuts a list into parts for one statement each.
func parts[T any](all []T) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		for n := mostRows; len(all) > 0; all = all[n:] {
			for n > len(all) {
				n /= 2
			}
			if !yield(all[:n]) {
				return
			}
		}
	}
}

// marks are so many parameters.
func marks(n int) string { return strings.Repeat(", ?", n)[2:] }

// column returns what a statement returns in its only column, if it has one.
func (w *writer) column(query string, args ...any) (all []string) {
	if w.err != nil {
		return nil
	}
	all, w.err = column(w.ctx, w.tx, w.dialect.Text(query), args...)
	return all
}
