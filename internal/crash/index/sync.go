package index

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/sfcore/sfcore/internal/crash/store"
	"github.com/sfcore/sfcore/report/signature"
)

const (
	// settled is for how long a directory must have been as it is, so that its time tells
	// that nothing has changed since: clocks of file systems tick.
	settled = time.Second
	// usualRecord is what a record may have, and maxLarge what those that have more may
	// have beyond that together, in bytes. A record belongs to a user, who may write
	// anything.
	usualRecord = 8 << 10
	maxLarge    = 16 << 20
	// maxText bounds what is taken of a name, in bytes.
	maxText = 4096
)

// Sync brings the index up to date with the files of the store. If nothing has changed it
// looks at the time of the directory only, and of [Over] at nothing.
func (ix *Index) Sync(ctx context.Context) error {
	if ix.store == nil {
		return nil
	}
	changed, err := ix.store.Changed()
	if err != nil {
		return err
	}
	var before int64
	if err := ix.db.QueryRowContext(ctx, "SELECT changed FROM state").Scan(&before); err != nil {
		return err
	}
	if before == changed.UnixNano() {
		return nil
	}
	ix.mu.Lock()
	defer ix.mu.Unlock()
	tx, err := ix.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if time.Since(changed) < settled {
		changed = time.Unix(0, 0)
	}
	ids, err := ix.store.IDs()
	if err != nil {
		return err
	}
	known, err := column(ctx, tx, "SELECT id FROM crashes ORDER BY id")
	if err != nil {
		return err
	}
	w := ix.writer(ctx, tx)
	come, gone := difference(ids, known)
	for _, id := range gone {
		w.remove(id)
	}
	ix.denied, ix.left = 0, 0
	for left := int64(maxLarge); len(come) > 0 && w.err == nil; come = come[1:] {
		r, size, err := ix.store.Get(come[0], usualRecord+max(0, left))
		switch {
		case err == nil:
			w.add(r, size)
			left -= max(0, min(size, 1<<20)-usualRecord)
		case errors.Is(err, fs.ErrNotExist): // removed meanwhile
		case errors.Is(err, fs.ErrPermission):
			ix.denied++
		default:
			ix.left++
		}
	}
	w.regroup()
	w.exec("UPDATE state SET changed = ?", changed.UnixNano())
	if w.err != nil {
		return w.err
	}
	return tx.Commit()
}

// Add adds a crash that was kept now, and its files of so many bytes. The index need not
// know that: Sync finds it, too.
func (ix *Index) Add(ctx context.Context, r *store.Record, size int64) error {
	return ix.change(ctx, func(w *writer) {
		w.remove(r.ID)
		w.add(r, size)
	})
}

// Forget has the index read crashes again.
func (ix *Index) Forget(ctx context.Context, ids ...string) error {
	return ix.change(ctx, func(w *writer) {
		for _, id := range ids {
			w.remove(id)
		}
		w.exec("UPDATE state SET changed = 0")
	})
}

func (ix *Index) change(ctx context.Context, change func(*writer)) error {
	tx, err := ix.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	w := ix.writer(ctx, tx)
	change(w)
	w.regroup()
	if w.err != nil {
		return w.err
	}
	return tx.Commit()
}

func (ix *Index) writer(ctx context.Context, tx *sql.Tx) *writer {
	return &writer{ctx: ctx, tx: tx, dialect: ix.dialect, programs: map[string]int64{}, sigs: map[string]int64{}, lost: map[int64]bool{}, counts: newCounts(), sums: map[int64]*sum{}}
}

// difference returns what is only in the first of two sorted lists, and only in the
// second.
func difference(a, b []string) (onlyA, onlyB []string) {
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0] < b[0]:
			onlyA, a = append(onlyA, a[0]), a[1:]
		case len(a) == 0 || b[0] < a[0]:
			onlyB, b = append(onlyB, b[0]), b[1:]
		default:
			a, b = a[1:], b[1:]
		}
	}
	return onlyA, onlyB
}

func column(ctx context.Context, tx *sql.Tx, query string, args ...any) (all []string, err error) {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, rows.Err()
}

// writer changes the index in a transaction. After an error it does nothing.
type writer struct {
	ctx      context.Context
	tx       *sql.Tx
	dialect  Dialect
	programs map[string]int64 // by path
	sigs     map[string]int64 // by their hashes
	added    bool             // a signature that was not there
	touched  []int64          // signatures
	lost     map[int64]bool   // those that have lost crashes
	counts   counts
	rows     [][]any        // crashes that are not inserted yet
	sums     map[int64]*sum // of them, by signature
	err      error
}

func (w *writer) exec(query string, args ...any) {
	if w.err == nil {
		_, w.err = w.tx.ExecContext(w.ctx, w.dialect.Text(query), args...)
	}
}

func (w *writer) row(query string, args ...any) *sql.Row {
	return w.tx.QueryRowContext(w.ctx, w.dialect.Text(query), args...)
}

func (w *writer) touch(sig int64) {
	if n := len(w.touched); n == 0 || w.touched[n-1] != sig {
		w.touched = append(w.touched, sig)
	}
}

// remove removes a crash, if it is there.
func (w *writer) remove(id string) {
	w.flush()
	if w.err != nil {
		return
	}
	var c cell
	err := w.row("DELETE FROM crashes WHERE id = ? RETURNING day, sig, program, signal, uid, place", id).Scan(&c.day, &c.sig, &c.program, &c.signal, &c.uid, &c.place)
	if errors.Is(err, sql.ErrNoRows) {
		return
	}
	w.err = err
	w.touch(c.sig)
	w.lost[c.sig] = true
	w.counts.remove(c)
}

// add adds a crash that is not there.
func (w *writer) add(r *store.Record, size int64) {
	program, sig := w.program(cut(r.Program)), w.signature(r)
	at := r.Time.UnixNano()
	c := cell{r.Time.Unix() / daySeconds, sig, program, cut(r.Signal), int64(r.UID), cut(place(r))}
	w.rows = append(w.rows, []any{r.ID, at, c.day, sig, program, r.PID, r.UID, c.signal, cut(r.Build), cut(r.Host), c.place, r.Number, string(r.Kept), size})
	w.counts.add(c, at, r.ID)
	if w.sums[sig] == nil {
		w.sums[sig] = new(sum)
	}
	w.sums[sig].add(at, r.ID, r.Number, size)
	w.touch(sig)
}

// place says in a word where a process ran, besides the machine.
func place(r *store.Record) string {
	switch {
	case r.PodName != "":
		return r.Namespace + "/" + r.PodName
	case r.Container != "":
		return r.Container
	}
	return r.Unit
}

// cut bounds what comes from a record, which anybody may have written. Every database
// takes what it returns: UTF-8 without null bytes.
func cut(s string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(s[:min(len(s), maxText)], "\x00", ""), "\uFFFD")
}

func (w *writer) program(file string) int64 {
	return w.id(w.programs, file, "programs", "path", func() {
		w.exec("INSERT INTO programs (path, name) VALUES (?, ?)", file, path.Base(file))
	})
}

func (w *writer) signature(r *store.Record) int64 {
	s := r.Signature
	if s == nil {
		s = new(signature.Signature)
	}
	hashes := fmt.Sprintf("%s %s %s %s %s", cut(s.Address), cut(s.Alias), cut(s.Fine), cut(s.Coarse), cut(r.Kind))
	return w.id(w.sigs, hashes, "signatures", "hashes", func() {
		w.exec("INSERT INTO signatures (hashes, address, alias, fine, coarse, kind, fault, title) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", hashes,
			cut(s.Address), cut(s.Alias), cut(s.Fine), cut(s.Coarse), cut(r.Kind), cut(s.Fault), cut(r.Title()))
		w.added = true
	})
}

// id returns the id of a row by its key, and has it inserted if there is none.
func (w *writer) id(known map[string]int64, key, table, by string, insert func()) int64 {
	if id, ok := known[key]; ok || w.err != nil {
		return id
	}
	var id int64
	find := func() error {
		return w.row("SELECT id FROM "+table+" WHERE "+by+" = ?", key).Scan(&id)
	}
	err := find()
	if errors.Is(err, sql.ErrNoRows) {
		if insert(); w.err == nil {
			err = find()
		}
	}
	if w.err == nil {
		w.err = err
	}
	known[key] = id
	return id
}

// regroup decides of which group each signature is, if there are new ones, and counts
// the groups that have changed.
func (w *writer) regroup() {
	w.flush()
	w.tally()
	slices.Sort(w.touched)
	w.touched = slices.Compact(w.touched)
	for sig := range w.lost { // what was counted stays, with its times
		w.exec(`UPDATE signatures SET (kept, bytes, first, last, oldest, newest) =
			(SELECT count(*), coalesce(sum(bytes), 0), CASE WHEN counted > 0 THEN first ELSE coalesce(min(time), 0) END,
			CASE WHEN counted > 0 THEN last ELSE coalesce(max(time), 0) END, coalesce(min(id), ''), coalesce(max(id), '') FROM crashes WHERE sig = ?1) WHERE id = ?1`, sig)
	}
	changed := map[string]bool{}
	for sig := range w.lost {
		var key string
		if w.err != nil {
			return
		}
		switch err := w.row("DELETE FROM signatures WHERE id = ? AND kept = 0 AND counted = 0 RETURNING grp", sig).Scan(&key); {
		case err == nil:
			changed[key], w.added = true, true
		case !errors.Is(err, sql.ErrNoRows):
			w.err = err
		}
	}
	if w.added && w.err == nil {
		w.err = w.assign(changed)
	}
	var touched, keys []any
	for _, sig := range w.touched {
		touched = append(touched, sig)
	}
	for part := range parts(touched) {
		for _, key := range w.column("SELECT grp FROM signatures WHERE id IN ("+marks(len(part))+")", part...) {
			changed[key] = true
		}
	}
	for key := range changed {
		keys = append(keys, key)
	}
	for part := range parts(keys) {
		in := "IN (" + marks(len(part)) + ")"
		w.exec("DELETE FROM groups WHERE key "+in, part...)
		w.exec(`INSERT INTO groups SELECT s.grp,
			(SELECT title FROM signatures t WHERE t.grp = s.grp ORDER BY coarse = '', newest DESC LIMIT 1),
			(SELECT fault FROM signatures t WHERE t.grp = s.grp ORDER BY coarse = '', newest DESC LIMIT 1),
			(SELECT sum(most) FROM (SELECT greatest(max(number), sum(kept)) + sum(counted) AS most FROM signatures t WHERE t.grp = s.grp GROUP BY kind) AS kinds),
			sum(kept), coalesce(min(CASE WHEN first <> 0 THEN first END), 0), max(last), coalesce(min(CASE WHEN oldest <> '' THEN oldest END), ''), max(newest), sum(bytes)
			FROM signatures s WHERE s.grp `+in+" GROUP BY s.grp", part...)
	}
}

// assign gives every signature its group, and notes the groups that have changed.
func (w *writer) assign(changed map[string]bool) error {
	rows, err := w.tx.QueryContext(w.ctx, "SELECT id, address, alias, fine, coarse, fault, kind, grp FROM signatures ORDER BY oldest, id")
	if err != nil {
		return err
	}
	var sigs []*signature.Signature
	var ids []int64
	var before []string
	for rows.Next() {
		var id int64
		var kind, grp string
		s := new(signature.Signature)
		if err := rows.Scan(&id, &s.Address, &s.Alias, &s.Fine, &s.Coarse, &s.Fault, &kind, &grp); err != nil {
			return errors.Join(err, rows.Close())
		}
		if s.Address == "" && s.Alias == "" && s.Fine == "" && s.Coarse == "" {
			s.Fine = kind // the program and the signal
		}
		sigs, ids, before = append(sigs, s), append(ids, id), append(before, grp)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	_, groups := signature.Group(sigs)
	keys, taken := map[int]string{}, map[string]bool{}
	for n, group := range groups {
		if _, ok := keys[group]; !ok {
			keys[group] = keyOf(sigs[n], taken)
		}
		key := keys[group]
		if key == before[n] {
			continue
		}
		changed[key], changed[before[n]] = true, true
		w.exec("UPDATE signatures SET grp = ? WHERE id = ?", key, ids[n])
	}
	return w.err
}

// keyOf names a group by the signature of its first crash: a name that lasts, also when
// the index is made again.
func keyOf(s *signature.Signature, taken map[string]bool) string {
	key := ""
	for _, key = range []string{s.Coarse, s.Key(), s.Address} {
		if key != "" && !taken[key] {
			break
		}
	}
	if len(key) != 32 || strings.Trim(key, "0123456789abcdef") != "" || taken[key] {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %s %s", s.Coarse, s.Alias, s.Fine, s.Address))
		key = hex.EncodeToString(sum[:16])
	}
	taken[key] = true
	return key
}
