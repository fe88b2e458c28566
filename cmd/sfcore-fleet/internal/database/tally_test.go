package database_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/sfcore/sfcore/internal/crash/index"
	"github.com/sfcore/sfcore/internal/crash/store"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/database"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/testkit"
)

// disagreements are queries for how many rows of the tallies differ from what the crashes say.
var disagreements = func() []string {
	const (
		tallied = "SELECT day, sig, program, signal, uid, place, n, first, last, oldest, newest FROM tallies WHERE day %s 0"
		counted = "SELECT %s, sig, program, signal, uid, place, count(*), min(time), max(time), min(id), max(id) FROM crashes GROUP BY %s sig, program, signal, uid, place"
	)
	var all []string
	for _, two := range [][2]string{
		{fmt.Sprintf(tallied, ">="), fmt.Sprintf(counted, "day", "day,")},
		{fmt.Sprintf(tallied, "<"), fmt.Sprintf(counted, "(SELECT min(day) FROM tallies)", "")},
		{"SELECT day, n FROM days", "SELECT day, count(*) FROM crashes GROUP BY day"},
		{
			"SELECT key, kept FROM groups WHERE kept > 0",
			"SELECT s.grp, count(*) FROM crashes c JOIN signatures s ON s.id = c.sig GROUP BY s.grp",
		},
	} {
		for n := range two {
			all = append(all, "SELECT count(*) FROM ("+two[n]+" EXCEPT "+two[1-n]+") AS different")
		}
	}
	return all
}()

// What is counted while crashes are written is what a count of the crashes gives, after writes,
// redeliveries, new names and deletions in any order.
func TestTallies(t *testing.T) {
	each(t, func(t *testing.T, name string) {
		db, seed := open(t, name), rand.Uint64()
		r := rand.New(rand.NewPCG(seed, 1))
		crash := func() database.Item {
			n := r.IntN(400)
			of := rand.New(rand.NewPCG(seed, uint64(n))) // the same crash always has the same
			record, _ := testkit.Crash(n, fmt.Sprint("f", of.IntN(9)), "main")
			record.Time = testkit.At.Add(time.Duration(of.IntN(5*24)) * time.Hour)
			record.ID = store.NewID(record.Time, uint64(n))
			record.Program, record.Signal = fmt.Sprint("/usr/bin/prog", of.IntN(3)), []string{"SIGSEGV", "SIGABRT"}[of.IntN(2)]
			record.UID, record.Unit, record.PodName, record.Host = of.IntN(2), fmt.Sprint("unit", of.IntN(2)), "", "web1"
			return database.Item{Record: record}
		}
		stored, removed := 0, 0
		for round := range 60 {
			switch r.IntN(6) {
			case 0:
				n, err := db.Trim(t.Context(), database.Retention{PerGroup: 5 + r.IntN(40)})
				if err != nil {
					t.Fatal(err)
				}
				removed += n
			case 1:
				again := crash()
				again.Record.Signature.Title, again.Record.Unit = "named "+fmt.Sprint(r.IntN(3)), "unit7"
				_ = db.Replace(t.Context(), again) // if it is there
			default:
				var items []database.Item
				for range r.IntN(30) {
					items = append(items, crash())
				}
				for _, n := range store1(t, db, items...) {
					stored += n
				}
			}
			if err := db.Index.Change(t.Context(), func(c *index.Change) error {
				for _, query := range disagreements {
					n := -1
					if c.Scan(query, nil, &n); n != 0 && c.Err() == nil {
						t.Errorf("seed %d, round %d: %d rows of %s", seed, round, n, query)
					}
				}
				return c.Err()
			}); err != nil {
				t.Fatal(err)
			}
		}
		if stored < 100 || removed == 0 {
			t.Errorf("seed %d: %d were stored, and %d removed", seed, stored, removed)
		}
		compare(t, db)
	})
}

// compare asks the same with and without the only host there is, which tallies do not have.
func compare(t *testing.T, db *database.DB) {
	t.Helper()
	day := testkit.At.Truncate(24 * time.Hour)
	user, page := 1, index.Page{Limit: 1000}
	for _, f := range []index.Filter{
		{Program: "prog1"},
		{Program: "/usr/bin/prog2", Signal: "SIGABRT"},
		{User: &user},
		{Text: "PROG1"},
		{Text: "unit1"},
		{Text: "in f3"},
		{Text: "named"},
		{Text: "nothing"},
		{Since: day.AddDate(0, 0, 1), Until: day.AddDate(0, 0, 3)},
		{Until: day.AddDate(0, 0, 2), Text: "unit"},
		{Signal: "SIGSEGV", Since: day.AddDate(0, 0, 2)},
	} {
		slow := f
		slow.Host = "web1"
		for what, ask := range map[string]func(index.Filter) (any, error){
			"groups":   func(f index.Filter) (any, error) { return db.Index.Groups(t.Context(), f, page) },
			"days":     func(f index.Filter) (any, error) { return db.Index.Days(t.Context(), f) },
			"programs": func(f index.Filter) (any, error) { return db.Index.Count(t.Context(), index.ByProgram, f, page) },
			"places":   func(f index.Filter) (any, error) { return db.Index.Count(t.Context(), index.ByPlace, f, page) },
		} {
			got, err := ask(f)
			want, err2 := ask(slow)
			if err != nil || err2 != nil || !sameRows(got, want) {
				t.Errorf("%s, %+v: got %v, %v, want %v, %v", what, f, got, err, want, err2)
			}
		}
	}
}

// sameRows reports whether two answers have the same rows, whatever the order of those that are equally frequent.
func sameRows(a, b any) bool {
	count := func(list any) map[string]int {
		all, v := map[string]int{}, reflect.ValueOf(list)
		for i := range v.Len() {
			all[fmt.Sprint(v.Index(i).Interface())]++
		}
		return all
	}
	return reflect.DeepEqual(count(a), count(b))
}
