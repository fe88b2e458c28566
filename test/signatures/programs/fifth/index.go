//go:build ignore

// Both bugs write to a map that was not made in (*index).add: one index is a zero value,
// one was reset.
package main

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
)

type index struct {
	places map[string][]int
}

//go:noinline
func (x *index) add(word string, place int) {
	x.places[word] = append(x.places[word], place)
}

func (x *index) reset() { *x = index{} }

type page struct {
	title string
	words index
}

func (p *page) read(text string) {
	for i, w := range strings.Fields(text) {
		p.words.add(w, i)
	}
}

func search() {
	pages := []*page{{title: "a", words: index{map[string][]int{}}}, {title: "b"}}
	for _, p := range pages {
		p.read("one two")
	}
	println(len(pages))
}

type watcher struct {
	seen    *index
	changed func(file string)
}

func newWatcher() *watcher {
	w := &watcher{seen: &index{map[string][]int{}}}
	w.changed = func(file string) {
		if strings.HasSuffix(file, "/") {
			w.seen.reset()
			return
		}
		w.seen.add(file, len(file))
	}
	return w
}

func watch() {
	w := newWatcher()
	for _, file := range []string{"a", "b", "dir/", "c"} {
		w.changed(file)
	}
	println(len(w.seen.places))
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
	f := search
	if os.Args[1] == "2" {
		f = watch
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
