package index

// allDays is the day of what is counted of all days together: before any that a record can have.
const allDays = -1 << 30

// cell is what crashes have in common that are counted together.
type cell struct {
	day, sig, program int64
	signal            string
	uid               int64
	place             string
}

// together is the cell of all days that a cell is a part of.
func (c cell) together() cell {
	c.day = allDays
	return c
}

// come is what a change has added to a cell.
type come struct {
	n              int
	first, last    int64
	oldest, newest string
}

// counts are what a change adds to tallies and days, and the cells that lose crashes, which
// are counted again.
type counts struct {
	come map[cell]*come
	lost map[cell]bool
	days map[int64]int
}

func newCounts() counts {
	return counts{map[cell]*come{}, map[cell]bool{}, map[int64]int{}}
}

func (t *counts) add(c cell, at int64, id string) {
	t.days[c.day]++
	for _, c := range []cell{c, c.together()} {
		p := t.come[c]
		if p == nil {
			p = &come{0, at, at, id, id}
			t.come[c] = p
		}
		p.add(at, id)
	}
}

func (p *come) add(at int64, id string) {
	p.n++
	p.first, p.last, p.oldest, p.newest = min(p.first, at), max(p.last, at), min(p.oldest, id), max(p.newest, id)
}

func (t *counts) remove(c cell) {
	t.days[c.day]--
	t.lost[c], t.lost[c.together()] = true, true
}

// tally writes what the change has counted.
func (w *writer) tally() {
	for c := range w.counts.lost {
		delete(w.counts.come, c)
		w.exec("DELETE FROM tallies WHERE day = ? AND sig = ? AND program = ? AND signal = ? AND uid = ? AND place = ?", c.day, c.sig, c.program, c.signal, c.uid, c.place)
		w.exec(`INSERT INTO tallies SELECT CAST(?1 AS INTEGER), sig, program, signal, uid, place, count(*), min(time), max(time), min(id), max(id) FROM crashes
			WHERE sig = ?2 AND program = ?3 AND signal = ?4 AND uid = ?5 AND place = ?6 AND ?1 IN (day, ?7) GROUP BY sig, program, signal, uid, place`,
			c.day, c.sig, c.program, c.signal, c.uid, c.place, int64(allDays))
	}
	var rows [][]any
	for c, p := range w.counts.come {
		rows = append(rows, []any{c.day, c.sig, c.program, c.signal, c.uid, c.place, p.n, p.first, p.last, p.oldest, p.newest})
	}
	w.insert("tallies", rows, `ON CONFLICT (day, sig, program, signal, uid, place) DO UPDATE SET
		n = tallies.n + excluded.n, first = least(tallies.first, excluded.first), last = greatest(tallies.last, excluded.last),
		oldest = least(tallies.oldest, excluded.oldest), newest = greatest(tallies.newest, excluded.newest)`)
	for day, n := range w.counts.days {
		w.exec("INSERT INTO days VALUES (?, ?) ON CONFLICT (day) DO UPDATE SET n = days.n + excluded.n", day, n)
	}
	if len(w.counts.lost) > 0 {
		w.exec("DELETE FROM days WHERE n = 0")
	}
}
