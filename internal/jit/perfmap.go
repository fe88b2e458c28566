package jit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// PerfMap reads a perf map, /tmp/perf-PID.map, the newest function first. Each line
// has the start and the size of a function in hexadecimal, and its name. The error
// tells how many lines were not read; the functions of the others come with it
// [linux tools/perf/Documentation/jit-interface.txt].
func PerfMap(text string) ([]Run[Func], error) {
	var funcs []Run[Func]
	var damaged, number, first int
	for line := range strings.Lines(text) {
		number++
		f, ok := perfMapLine(strings.TrimRight(line, "\r\n"))
		switch {
		case !ok:
			if damaged++; damaged == 1 {
				first = number
			}
		case len(funcs) == maxFuncs:
			slices.Reverse(funcs)
			return funcs, fmt.Errorf("only the first %d functions are read", maxFuncs)
		default:
			funcs = append(funcs, f)
		}
	}
	slices.Reverse(funcs)
	if damaged > 0 {
		return funcs, fmt.Errorf("%d lines are not a start, a size and a name; the first is line %d", damaged, first)
	}
	return funcs, nil
}

func perfMapLine(line string) (f Run[Func], ok bool) {
	start, rest, _ := strings.Cut(line, " ")
	size, name, _ := strings.Cut(rest, " ")
	lo, err1 := strconv.ParseUint(strings.TrimPrefix(start, "0x"), 16, 64)
	n, err2 := strconv.ParseUint(strings.TrimPrefix(size, "0x"), 16, 64)
	if err1 != nil || err2 != nil || lo+n < lo || name == "" {
		return f, false
	}
	return Run[Func]{Lo: lo, Hi: lo + n, Of: Func{Name: shorten(name)}}, true
}
