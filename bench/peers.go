//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// peers measures sfcore and the other tools.
func (b *bench) peers(small bool) error {
	b.heading("sfcore beside gdb and eu-stack", []string{"gdb", "--version"}, []string{"eu-stack", "--version"})
	fmt.Fprint(b.out, `sfcore and gdb print source lines, eu-stack does so with -s. Ratios are to sfcore with an empty cache.

| core | size | frames | debug files | sfcore, empty cache | sfcore, again | gdb | eu-stack -m | eu-stack -s | gdb / sfcore | eu-stack -m / sfcore | eu-stack -s / sfcore |
|---|---|---|---|---|---|---|---|---|---|---|---|
`)
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

// compare writes the table's rows of a core: with the debug files of this machine, if
// libc has one, and without any.
func (b *bench) compare(name, core, exe string) error {
	none := filepath.Join(b.dir, "none")
	if err := os.MkdirAll(none, 0o700); err != nil {
		return err
	}
	libc, err := b.libcDebug(core, exe)
	if err != nil {
		return err
	}
	if libc {
		if err := b.compareWith(name, core, exe, "of libc", nil, nil, nil); err != nil {
			return err
		}
	}
	return b.compareWith(name, core, exe, "none", []string{"--debug-dir", none}, []string{"-iex", "set debug-file-directory " + none}, []string{"--debuginfo-path=" + none})
}

// libcDebug reports whether sfcore finds a debug file of the C library of a core.
func (b *bench) libcDebug(core, exe string) (bool, error) {
	text, err := exec.Command(b.sfcore, "info", "--format", "json", core, exe).Output()
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		return false, fmt.Errorf("sfcore info: %w", err)
	}
	var doc struct {
		Modules []struct {
			Path  string `json:"path"`
			Debug string `json:"debugFile"`
		} `json:"modules"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return false, fmt.Errorf("sfcore info: %w", err)
	}
	for _, m := range doc.Modules {
		if strings.HasPrefix(filepath.Base(m.Path), "libc.so") && m.Debug != "" {
			return true, nil
		}
	}
	return false, nil
}

// compareWith writes a row. The last arguments are flags of each tool.
func (b *bench) compareWith(name, core, exe, debug string, sfcore, gdb, euStack []string) error {
	st, err := os.Stat(core)
	if err != nil {
		return err
	}
	cache := filepath.Join(b.dir, "cache")
	env := []string{"XDG_CACHE_HOME=" + cache}
	words := append(append([]string{b.sfcore, "bt"}, sfcore...), core, exe)
	stack := append([]string{"eu-stack", "-n", "0", "--core", core, "-e", exe}, euStack...)
	var row [5]measurement
	for i, t := range []tool{
		{words: words, frame: "  #", env: env, before: func() error { return os.RemoveAll(cache) }},
		{words: words, frame: "  #", env: env},
		{words: append(append([]string{"gdb", "-batch", "-nx", "-iex", "set debuginfod enabled off"}, gdb...), "-ex", "thread apply all bt", exe, core), frame: "#"},
		{words: append(stack[:len(stack):len(stack)], "-m"), frame: "#"},
		{words: append(stack[:len(stack):len(stack)], "-s"), frame: "#"},
	} {
		if row[i], err = b.measureTool(&t); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(b.out, "| %s | %d MiB | %d | %s | %v | %v | %v | %v | %v | %.0f | %.1f | %.1f |\n", name, st.Size()>>20, row[0].frames, debug,
		row[0], row[1], row[2], row[3], row[4], ratio(row[2], row[0]), ratio(row[3], row[0]), ratio(row[4], row[0]))
	return err
}

func ratio(a, b measurement) float64 { return float64(a.time) / float64(b.time) }
