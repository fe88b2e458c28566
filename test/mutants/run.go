package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"time"
)

// outcome is what became of a mutant.
type outcome string

const (
	killed   outcome = "killed"
	timedOut outcome = "timeout" // killed too
	survived outcome = "survived"
	broken   outcome = "broken" // the compiler refused it
)

type result struct {
	mutant  *mutant
	outcome outcome
}

// maxMemory bounds the address space of a test, in KiB: a mutant may allocate
// without end.
const maxMemory = 8 << 20

// leastTime is what a mutant's tests have at least, as a busy machine may stop
// them for that long.
const leastTime = 10 * time.Second

// test runs the tests of a package for each mutant.
func (o *options) test(p *pkg, mutants []*mutant) (results []result, err error) {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var selected []*mutant
	for _, m := range mutants {
		if !m.byItself() {
			selected = append(selected, m)
		}
	}
	texts, _ := p.schemas(selected)
	whole := filepath.Join(dir, "whole")
	if err := p.build(whole, texts); err != nil {
		return nil, err
	}
	start := time.Now()
	limit := 10 * time.Minute
	if out, err := o.run(p, whole, 0, limit); err != nil {
		return nil, fmt.Errorf("tests fail without a mutant (see -skip): %w\n%s", err, out)
	}
	if limit = o.limit; limit == 0 {
		limit = max(leastTime, 10*time.Since(start))
	}
	results = make([]result, len(mutants))
	errs := make([]error, len(mutants))
	slots := make(chan struct{}, max(1, o.parallel))
	var running sync.WaitGroup
	for i, m := range mutants {
		slots <- struct{}{}
		running.Go(func() {
			results[i].mutant = m
			results[i].outcome, errs[i] = o.one(p, dir, whole, m, limit)
			<-slots
		})
	}
	running.Wait()
	return results, errors.Join(errs...)
}

// one runs the tests for one mutant.
func (o *options) one(p *pkg, dir, program string, m *mutant, limit time.Duration) (outcome, error) {
	id := m.id
	if m.byItself() {
		program = filepath.Join(dir, strconv.Itoa(id))
		if err := p.build(program, map[*source][]byte{m.source: m.apply()}); err != nil {
			return broken, nil
		}
	}
	_, err := o.run(p, program, id, limit)
	if m.byItself() {
		if err := os.Remove(program); err != nil {
			return "", err
		}
	}
	var exit *exec.ExitError
	switch {
	case err == nil:
		return survived, nil
	case errors.Is(err, context.DeadlineExceeded):
		return timedOut, nil
	case errors.As(err, &exit):
		return killed, nil
	}
	return "", err
}

// build compiles the tests of the package with other texts in place of files.
func (p *pkg) build(program string, texts map[*source][]byte) error {
	dir := program + ".d"
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	replace := map[string]string{}
	put := func(path string, text []byte) error {
		replace[path] = filepath.Join(dir, filepath.Base(path))
		return os.WriteFile(replace[path], text, 0o644)
	}
	err := put(filepath.Join(p.Dir, switchFile), fmt.Appendf(nil, switchText, p.sources[0].file.Name.Name))
	for s, text := range texts {
		err = errors.Join(err, put(s.path, text))
	}
	list, err2 := json.Marshal(map[string]any{"Replace": replace})
	overlay := filepath.Join(dir, "overlay.json")
	if err = errors.Join(err, err2, os.WriteFile(overlay, list, 0o644)); err != nil {
		return err
	}
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", program, p.ImportPath)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go test -c: %w\n%s", err, out)
	}
	return nil
}

// run runs a test program with a mutant selected, 0 for none.
func (o *options) run(p *pkg, program string, id int, limit time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	args := []string{"-test.failfast", "-test.timeout=0", "-test.skip=" + o.skip}
	if o.skip == "" {
		args = args[:2]
	}
	cmd := exec.CommandContext(ctx, program, args...)
	if runtime.GOOS == "linux" {
		shell := fmt.Sprintf(`ulimit -v %d; exec "$0" "$@"`, maxMemory)
		cmd = exec.CommandContext(ctx, "sh", append([]string{"-c", shell, program}, args...)...)
	}
	cmd.Dir = p.Dir
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", switchName, id))
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if ctx.Err() != nil {
		return out.Bytes(), ctx.Err()
	}
	return out.Bytes(), err
}
