//go:build ignore

// Both bugs take from an empty queue in (*queue[T]).pop: one worker takes one more than was
// counted, one list is merged with itself.
package main

import (
	"cmp"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
)

type queue[T any] struct {
	items []T
	less  func(a, b T) bool
}

func (q *queue[T]) push(items ...T) { q.items = append(q.items, items...) }

//go:noinline
func (q *queue[T]) pop() T {
	least := 0
	for i := range q.items {
		if q.less(q.items[i], q.items[least]) {
			least = i
		}
	}
	item := q.items[least]
	q.items = slices.Delete(q.items, least, least+1)
	return item
}

type job struct {
	name     string
	priority int
}

type workers struct{ jobs queue[job] }

func (w *workers) next() job { return w.jobs.pop() }

func (w *workers) run(n int) (done []string) {
	for range n {
		done = append(done, w.next().name)
	}
	return done
}

func drain() {
	w := workers{queue[job]{less: func(a, b job) bool { return a.priority < b.priority }}}
	w.jobs.push(job{"a", 2}, job{"b", 1})
	println(len(w.run(3)))
}

func merge[T cmp.Ordered](a, b *queue[T]) (all []T) {
	for n := len(a.items) + len(b.items); n > 0; n-- {
		from := a
		if len(a.items) == 0 {
			from = b
		}
		all = append(all, from.pop())
	}
	return all
}

func median(a, b []int) int {
	q := &queue[int]{items: a, less: func(a, b int) bool { return a < b }}
	other := q
	if len(b) > 0 {
		other = &queue[int]{items: b, less: q.less}
	}
	return merge(q, other)[0]
}

func compare() {
	println(median([]int{3, 1, 2}, nil))
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
	f := drain
	if os.Args[1] == "2" {
		f = compare
	}
	seed, _ := strconv.Atoi(os.Args[2])
	switch seed % 3 {
	case 0:
		f()
	case 1:
		var wg sync.WaitGroup
		wg.Go(f)
		wg.Wait()
	default:
		println(descend(1+seed/3%50, f))
	}
}
