//go:build linux

package main

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// axis is one property of cores that grows tenfold from each to the next.
type axis struct {
	name string
	exe  string
	from int
	make func(dir string, n int) (core string, err error)
}

// steps is how many cores an axis has.
const steps = 3

func axes(small bool) []axis {
	threads, depth, modules, segments, mib := 100, 500, 10, 600, 1<<10
	if small {
		threads, depth, modules, segments, mib = 1, 5, 1, 2, 1
	}
	return []axis{
		{"threads", "threads", threads, func(dir string, n int) (string, error) { return threadsCore(dir, n, 20, "-Wa,--gsframe") }},
		{"frames of a thread", "threads", depth, func(dir string, n int) (string, error) { return threadsCore(dir, 1, n, "-Wa,--gsframe") }},
		{"modules", "modules", modules, modulesCore},
		{"segments", "mappings", segments, func(dir string, n int) (string, error) { return mappingsCore(dir, n/2, 0) }},
		{"MiB, sparse", "mappings", mib, func(dir string, n int) (string, error) { return mappingsCore(dir, 1, n) }},
	}
}

// series is what was measured along an axis.
type series struct {
	name  string
	from  int
	times [steps]time.Duration
}

// growth measures how the time grows with what is in a core.
func (b *bench) growth(small bool, plot string) error {
	b.heading("How the time of sfcore bt grows")
	fmt.Fprintln(b.out, "| of | n | time, memory | 10 n | time, memory | times | 100 n | time, memory | times |\n|---|---|---|---|---|---|---|---|---|")
	var all []series
	for _, a := range axes(small) {
		if !strings.Contains(a.name, b.only) {
			continue
		}
		s := series{name: a.name, from: a.from}
		fmt.Fprintf(b.out, "| %s ", a.name)
		for i, n := 0, a.from; i < steps; i, n = i+1, n*10 {
			c := benchCase{name: fmt.Sprint(n, " ", a.name), exe: a.exe, make: func(dir string) (string, error) { return a.make(dir, n) }}
			err := b.measureCase(&c, func(core, exe string) error {
				m, err := b.measure([]string{b.sfcore, "bt", core, exe}, "  #")
				s.times[i] = m.time
				fmt.Fprintf(b.out, "| %d | %v ", n, m)
				return err
			})
			if err != nil {
				return err
			}
			if i > 0 {
				fmt.Fprintf(b.out, "| %.1f ", float64(s.times[i])/float64(s.times[i-1]))
			}
		}
		fmt.Fprintln(b.out, "|")
		all = append(all, s)
	}
	if plot == "" {
		return nil
	}
	return os.WriteFile(plot, draw(all), 0o644)
}
