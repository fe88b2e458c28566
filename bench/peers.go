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
	fmt.Fprint(b.out, `Every tool prints all frames of all threads. sfcore, gdb, lldb and eu-stack -s print source lines, eu-stack -m modules. gdb and lldb print
arguments, which can take most of their time: "gdb, no arguments" is gdb with "set print frame-arguments none". "gdb, cached index" has
"set index-cache enabled on", and its index from a run before. Without debug files, lldb is told another directory for these, but may look
in its own as well. Ratios are to sfcore with an empty cache. Files are in the system's cache.

| core | size | debug files | `+strings.Join(columns, " | ")+` | gdb / sfcore | gdb, no arguments / sfcore | eu-stack -m / sfcore |
|---|---|---|`+strings.Repeat("---|", len(columns)+3)+"\n")
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

// columns are the tools, in the order of the table.
var columns = []string{
	"sfcore, empty cache", "sfcore, again", "gdb", "gdb, no arguments", "gdb, cached index", "lldb", "eu-stack -m", "eu-stack -s",
}

// compareWith writes a row. The last arguments are flags of each tool.
func (b *bench) compareWith(name, core, exe, debug string, sfcore, gdb, euStack []string) error {
	st, err := os.Stat(core)
	if err != nil {
		return err
	}
	cache := filepath.Join(b.dir, "cache")
	env := []string{"XDG_CACHE_HOME=" + cache}
	words := append(append([]string{b.sfcore, "bt", "--frames", "all"}, sfcore...), core, exe)
	gdbWith := func(more ...string) tool {
		words := append(append([]string{"gdb", "-batch", "-nx", "-iex", "set debuginfod enabled off"}, gdb...), more...)
		return tool{words: append(words, "-ex", "thread apply all bt", exe, core), frame: "#", env: env}
	}
	lldb := []string{"lldb", "--batch", "--no-lldbinit"}
	if debug == "none" {
		lldb = append(lldb, "-O", "settings set target.debug-file-search-paths "+filepath.Join(b.dir, "none"))
	}
	stack := append([]string{"eu-stack", "-n", "0", "--core", core, "-e", exe}, euStack...)
	fmt.Fprintf(b.out, "| %s | %d MiB | %s ", name, st.Size()>>20, debug)
	var row []measurement
	for _, t := range []tool{
		{words: words, frame: "#", env: env, before: func() error { return os.RemoveAll(cache) }},
		{words: words, frame: "#", env: env},
		gdbWith(),
		gdbWith("-iex", "set print frame-arguments none"),
		gdbWith("-iex", "set index-cache enabled on"),
		{words: append(lldb, "-o", "thread backtrace all", "-c", core, exe), frame: "frame #"},
		{words: append(stack[:len(stack):len(stack)], "-m"), frame: "#"},
		{words: append(stack[:len(stack):len(stack)], "-s"), frame: "#"},
	} {
		m, err := b.measureTool(&t)
		if err != nil && t.words[0] == "lldb" { // it may not be installed, and crashes where a stack has 5,000 frames
			row = append(row, measurement{})
			fmt.Fprint(b.out, "| failed ")
			continue
		}
		if err != nil {
			return err
		}
		row = append(row, m)
		fmt.Fprintf(b.out, "| %v, %d frames ", m, m.frames)
	}
	_, err = fmt.Fprintf(b.out, "| %.0f | %.0f | %.1f |\n", ratio(row[2], row[0]), ratio(row[3], row[0]), ratio(row[6], row[0]))
	return err
}

func ratio(a, b measurement) float64 { return float64(a.time) / float64(b.time) }
