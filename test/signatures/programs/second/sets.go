//go:build ignore

// Both bugs write to a map that was never made, in (*set).add: one set is copied without
// it, one is the zero value of a field.
package main

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
)

type set struct{ members map[string]bool }

//go:noinline
func (s *set) add(member string) { s.members[member] = true }

type index struct {
	words  set
	titles set
}

func (x *index) addText(text string) {
	for _, word := range strings.Fields(text) {
		x.words.add(word)
	}
}

func (x *index) addPage(title, text string) {
	x.addText(text)
	x.titles.add(title)
}

func crawl() {
	x := index{words: set{map[string]bool{}}}
	for _, page := range []string{"one", "two"} {
		x.addPage(page, "a b c")
	}
	println(len(x.words.members))
}

type visitor interface{ visit(name string) }

type unique struct{ seen *set }

func (u unique) visit(name string) { u.seen.add(name) }

func walk(names []string, v visitor) {
	for _, name := range names {
		v.visit(name)
	}
}

func without(s set) set {
	s.members = nil
	return s
}

func dedup() {
	s := without(set{map[string]bool{}})
	walk([]string{"a", "a"}, unique{&s})
	println(len(s.members))
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
	job := crawl
	if os.Args[1] == "2" {
		job = dedup
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
			wg.Done()
		}()
		wg.Wait()
	default:
		println(descend(1+seed/3%50, job))
	}
}
