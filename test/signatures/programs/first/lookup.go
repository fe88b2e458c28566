//go:build ignore

// Both bugs index past the end in row.field: one line of the input is short, one column
// is counted from 1.
package main

import (
	"os"
	"runtime/debug"
	"sort"
	"strconv"
	"strings"
	"sync"
)

type row struct{ fields []string }

//go:noinline
func (r *row) field(n int) string { return r.fields[n] }

type table struct{ rows []row }

func (t *table) parse(text string) {
	for _, line := range strings.Split(text, "\n") {
		t.rows = append(t.rows, row{strings.Fields(line)})
	}
}

func (t *table) sum(column int) (sum int) {
	for i := range t.rows {
		n, _ := strconv.Atoi(t.rows[i].field(column))
		sum += n
	}
	return sum
}

func totals() {
	var t table
	t.parse("a 1\nb 2\nc")
	println(t.sum(1))
}

type byField struct {
	*table
	column int
}

func (b byField) Len() int           { return len(b.rows) }
func (b byField) Swap(i, j int)      { b.rows[i], b.rows[j] = b.rows[j], b.rows[i] }
func (b byField) Less(i, j int) bool { return b.rows[i].field(b.column) < b.rows[j].field(b.column) }

func sorted() {
	var t table
	t.parse("a 1\nb 2\nc 3")
	sort.Sort(byField{&t, len(t.rows[0].fields)})
	println(t.rows[0].field(0))
}

//go:noinline
func descend(depth int, f func()) int {
	if depth == 0 {
		f()
		return 0
	}
	return descend(depth-1, f) + 1
}

func main() {
	debug.SetTraceback("crash")
	job := totals
	if os.Args[1] == "2" {
		job = sorted
	}
	seed, _ := strconv.Atoi(os.Args[2])
	switch seed % 3 {
	case 0:
		job()
	case 1:
		var wg sync.WaitGroup
		wg.Add(1)
		go func() {
			job()
			wg.Done() // not deferred: main would end before the panic does
		}()
		wg.Wait()
	default:
		println(descend(1+seed/3%50, job))
	}
}
