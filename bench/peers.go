//go:build linux

package main

import (
	"fmt"
	"os"
	"strings"
)

// peers measures sfcore and the other tools.
func (b *bench) peers(small bool) error {
	b.heading("sfcore beside gdb and eu-stack", []string{"gdb", "--version"}, []string{"eu-stack", "--version"})
	fmt.Fprintln(b.out, "| core | size | frames | sfcore | gdb | eu-stack | gdb / sfcore | eu-stack / sfcore |\n|---|---|---|---|---|---|---|---|")
	for _, c := range cases(small) {
		if !strings.Contains(c.name, b.only) {
			continue
		}
		if err := b.measureCase(&c, func(core, exe string) error { return b.compare(c.name, core, exe) }); err != nil {
			return err
		}
	}
	return nil
}

// compare writes the table's row of a core.
func (b *bench) compare(name, core, exe string) error {
	st, err := os.Stat(core)
	if err != nil {
		return err
	}
	var row [3]measurement
	for i, tool := range []struct {
		frame string
		words []string
	}{
		{"  #", []string{b.sfcore, "bt", core, exe}},
		{"#", []string{"gdb", "-batch", "-nx", "-iex", "set debuginfod enabled off", "-ex", "thread apply all bt", exe, core}},
		{"#", []string{"eu-stack", "-m", "-n", "0", "--core", core, "-e", exe}},
	} {
		if row[i], err = b.measure(tool.words, tool.frame); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(b.out, "| %s | %d MiB | %d | %v | %v | %v | %.0f | %.0f |\n", name, st.Size()>>20, row[0].frames,
		row[0], row[1], row[2], ratio(row[1], row[0]), ratio(row[2], row[0]))
	return err
}

func ratio(a, b measurement) float64 { return float64(a.time) / float64(b.time) }
