package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// watched has the kernel write cores to a directory that "sfcore crash watch" watches, and
// compares the reports with the cores.
func (b *bench) watched() error {
	if err := b.configure("report", 1000); err != nil {
		return err
	}
	dir := filepath.Join(b.dir, "cores")
	if err := os.Mkdir(dir, 0o755); err != nil { //nolint:gosec // as others have it
		return err
	}
	var said strings.Builder
	watcher := exec.Command(b.dir+"/sfcore-crash", "--config", b.config(), "watch", dir)
	watcher.Stderr = &said
	if err := watcher.Start(); err != nil {
		return err
	}
	defer func() {
		_ = watcher.Process.Kill()
		_ = watcher.Wait()
	}()
	done, err := setPattern(dir+"/core.%p", 0)
	if err != nil {
		return err
	}
	fmt.Printf("\n| `watch` | frames | from the end of the process to the record | differences |\n|---|---|---|---|\n")
	failed := error(nil)
	for _, args := range [][]string{{"threads", "abort", "3", "20"}, {"threads", "segv", "100", "50"}, {"gopanic", "panic", "20"}} {
		name := strings.Join(args, " ")
		pid, err := b.crash("", args...)
		if err != nil {
			failed = errors.Join(failed, err)
			break
		}
		begun, file := time.Now(), fmt.Sprintf("%s/core.%d", dir, pid)
		id, err := b.waitFile(file)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w: %s", name, err, said.String()))
			break
		}
		took := time.Since(begun)
		crash, err1 := read(b.dir+"/sfcore", filepath.Join(b.store, id+".jsonl.zst"))
		core, err2 := read(b.dir+"/sfcore", file)
		if err := errors.Join(err1, err2); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", name, err))
			break
		}
		differences, frames := compare(crash, core)
		fmt.Printf("| `%s` | %d | %v | %d |\n", name, frames, took.Round(time.Millisecond), len(differences))
		if len(differences) > 0 {
			failed = errors.Join(failed, fmt.Errorf("%s: %s", name, strings.Join(differences[:min(5, len(differences))], "\n  ")))
		}
	}
	return errors.Join(failed, done())
}

// waitFile waits for the record of a core file, and returns its id.
func (b *bench) waitFile(file string) (string, error) {
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		names, err := filepath.Glob(filepath.Join(b.store, "*.json"))
		if err != nil {
			return "", err
		}
		for _, name := range names {
			var r struct{ ID, File string }
			text, err := os.ReadFile(name)
			if err == nil && json.Unmarshal(text, &r) == nil && r.File == file {
				return r.ID, nil
			}
		}
	}
	return "", fmt.Errorf("%s: no record was kept", file)
}
