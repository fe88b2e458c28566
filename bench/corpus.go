//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// coresDir holds the cases that corpus measures.
const coresDir = "testdata/cores"

// maxFrames is more than the recorded stacks have. Without a limit eu-stack
// 0.188 does not end where a damaged stack leads to itself.
const maxFrames = "4096"

// recorded is a case of testdata/cores.
type recorded struct {
	name      string
	core, exe string
	sysroot   string // "" if it has none
}

// corpus measures all tools on the recorded cores, which are small: what counts
// is how fast a program starts. A tool that finds no frames in a core is left
// out there.
func (b *bench) corpus(small bool) error {
	cases, err := b.recordedCases()
	if err != nil {
		return err
	}
	if small {
		cases = cases[:min(2, len(cases))]
	}
	b.heading("sfcore beside gdb and eu-stack on testdata/cores", []string{"gdb", "--version"}, []string{"eu-stack", "--version"})
	fmt.Fprintln(b.out, "| case | frames: sfcore | gdb | eu-stack | sfcore | gdb | eu-stack | gdb / sfcore | eu-stack / sfcore |\n|---|---|---|---|---|---|---|---|---|")
	var faster [3][]float64
	for i := range cases {
		row, err := b.compareRecorded(&cases[i])
		if err != nil {
			return fmt.Errorf("%s: %w", cases[i].name, err)
		}
		for j, m := range row {
			if m.frames > 0 {
				faster[j] = append(faster[j], ratio(m, row[0]))
			}
		}
	}
	fmt.Fprintln(b.out)
	for j, tool := range []string{"sfcore", "gdb", "eu-stack"} {
		if r := faster[j]; j > 0 && len(r) > 0 {
			slices.Sort(r)
			fmt.Fprintf(b.out, "%s takes %.1f to %.1f times as long, %.1f in the median, of the %d cores in which it finds frames.\n", tool, r[0], r[len(r)-1], r[len(r)/2], len(r))
		}
	}
	return nil
}

// compareRecorded writes the table's row of a recorded core.
func (b *bench) compareRecorded(c *recorded) (row [3]measurement, err error) {
	gdb := []string{"gdb", "-batch", "-nx", "-iex", "set debuginfod enabled off"}
	sfcore := []string{b.sfcore, "bt", "--path", filepath.Dir(c.exe)}
	if c.sysroot != "" {
		gdb = append(gdb, "-iex", "set sysroot "+c.sysroot)
		sfcore = append(sfcore, "--sysroot", c.sysroot)
	}
	gdb = append(gdb, "-iex", "set solib-search-path "+filepath.Dir(c.exe), "-ex", "thread apply all bt", c.exe, c.core)
	if row[0], err = b.measure(append(sfcore, c.core), "#"); err != nil {
		return row, err
	}
	fmt.Fprintf(b.out, "| %s | %d ", c.name, row[0].frames)
	for i, words := range [][]string{gdb, {"eu-stack", "-m", "-n", maxFrames, "--core", c.core, "-e", c.exe}} {
		if m, err := b.measure(words, "#"); err == nil {
			row[i+1] = m
		}
		fmt.Fprintf(b.out, "| %d ", row[i+1].frames)
	}
	for _, m := range row {
		fmt.Fprintf(b.out, "| %s ", seconds(m.time))
	}
	_, err = fmt.Fprintf(b.out, "| %.1f | %.1f |\n", ratio(row[1], row[0]), ratio(row[2], row[0]))
	return row, err
}

// recordedCases decompresses the recorded cores, which the other tools cannot.
func (b *bench) recordedCases() ([]recorded, error) {
	files, err := filepath.Glob(filepath.Join(coresDir, "*", "meta.json"))
	if err != nil {
		return nil, err
	}
	var cases []recorded
	for _, file := range files {
		dir := filepath.Dir(file)
		name := filepath.Base(dir)
		if !strings.Contains(name, b.only) {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var meta struct{ Exe string }
		if err := json.Unmarshal(data, &meta); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		c := recorded{name: name, core: filepath.Join(b.dir, name), exe: filepath.Join(dir, "exe", filepath.Base(meta.Exe))}
		if sysroot := filepath.Join(dir, "sysroot"); isDir(sysroot) {
			c.sysroot = sysroot
		}
		if err := command(".", "zstd", "-q", "-d", filepath.Join(dir, "core.zst"), "-o", c.core); err != nil {
			return nil, err
		}
		cases = append(cases, c)
	}
	return cases, nil
}

func isDir(name string) bool {
	st, err := os.Stat(name)
	return err == nil && st.IsDir()
}
