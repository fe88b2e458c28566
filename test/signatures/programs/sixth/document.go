//go:build ignore

// Both bugs take a value of another type for a number in document.number: one file has its
// port in quotes, one default is an int.
package main

import (
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
)

type document map[string]any

//go:noinline
func (d document) number(key string) float64 {
	return d[key].(float64)
}

func (d document) child(key string) document {
	c, _ := d[key].(map[string]any)
	return c
}

type address struct {
	host string
	port int
}

type decoder[T any] interface {
	decode(d document) (T, error)
}

type addresses struct{}

func (addresses) decode(d document) (address, error) {
	a := address{port: int(d.number("port"))}
	a.host, _ = d["host"].(string)
	return a, nil
}

func load[T any](text string, names []string, with decoder[T]) ([]T, error) {
	var root document
	if err := json.Unmarshal([]byte(text), &root); err != nil {
		return nil, err
	}
	var all []T
	for _, name := range names {
		t, err := with.decode(root.child(name))
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

func readServers() {
	text := `{"web": {"host": "a", "port": 80}, "mail": {"host": "b", "port": "25"}}`
	all, err := load(text, []string{"web", "mail"}, addresses{})
	println(len(all), err == nil)
}

type option func(document)

func withDefault(key string, value any) option {
	return func(d document) {
		if _, ok := d[key]; !ok {
			d[key] = value
		}
	}
}

type theme struct {
	layers []document
	weight string
}

func (t *theme) add(d document, options ...option) {
	d = maps.Clone(d)
	for _, o := range options {
		o(d)
	}
	t.layers = append(t.layers, d)
}

func (t *theme) compare(a, b document) int {
	return cmp.Compare(a.number(t.weight), b.number(t.weight))
}

func (t *theme) order() []document {
	layers := slices.Clone(t.layers)
	slices.SortStableFunc(layers, t.compare)
	return layers
}

func (t *theme) draw(on func(document)) {
	for _, l := range t.order() {
		on(l)
	}
}

func paint() {
	t := &theme{weight: "z"}
	level := withDefault("z", len(os.Args)-2)
	t.add(document{"z": 2.5}, level)
	t.add(document{"name": "shadow"}, level)
	t.add(document{"z": 0.5}, level)
	n := 0
	t.draw(func(d document) { n += len(d) })
	println(n)
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
	f := readServers
	if os.Args[1] == "2" {
		f = paint
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
