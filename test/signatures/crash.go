package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/report/signature"
)

// crash is one crash of a bug.
type crash struct {
	bug     string
	run     string // the build, and what led to the bug
	program string // path
	signal  *report.Signal
	thread  *report.Thread
	sig     *signature.Signature
}

// seeds are how many ways lead to a bug.
const seeds = 200

// generated builds the programs of a part, and crashes each bug of each build runs times
// with symbols, and runs times without.
func generated(ctx context.Context, dir, part string, runs int) (all []crash, err error) {
	builds, err := buildAll(ctx, dir, part)
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(21, uint64(len(part))))
	for _, b := range builds {
		for _, bug := range []int{1, 2} {
			for n := range 2 * runs {
				exe, symbols, options := b.exe, "", process.Options{}
				if n >= runs {
					exe, symbols = b.stripped, ", stripped"
					options.DebugDirs = []string{filepath.Join(dir, "none")}
				}
				seed := rng.IntN(seeds)
				c := crash{bug: fmt.Sprintf("%s/%s %d", part, filepath.Base(exe), bug), program: exe}
				c.run = fmt.Sprintf("%s%s, seed %d", b.name, symbols, seed)
				file, err := coreOf(ctx, dir, exe, strconv.Itoa(bug), strconv.Itoa(seed))
				if err != nil {
					return nil, err
				}
				if err := c.read(ctx, file, options); err != nil {
					return nil, err
				}
				all = append(all, c)
			}
		}
	}
	return all, nil
}

// coreOf runs a program without an environment, in a directory of its own, until it has
// dumped its core. It returns the core's file, which the next call replaces.
func coreOf(ctx context.Context, dir, exe string, args ...string) (string, error) {
	pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	if err != nil {
		return "", err
	}
	if strings.TrimSpace(string(pattern)) != "core" {
		return "", fmt.Errorf("kernel.core_pattern is %q; it must be \"core\"", pattern)
	}
	dir = filepath.Join(dir, "run")
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", append([]string{"-c", `ulimit -c unlimited; exec "$0" "$@"`, exe}, args...)...)
	cmd.Dir, cmd.Env = dir, []string{}
	err = cmd.Run()
	files, globErr := filepath.Glob(filepath.Join(dir, "core*"))
	if globErr != nil || len(files) != 1 {
		return "", fmt.Errorf("%s %s left %d cores: %w", exe, strings.Join(args, " "), len(files), err)
	}
	return files[0], nil
}

// read fills in what a core tells.
func (c *crash) read(ctx context.Context, file string, options process.Options) error {
	img, err := core.Open(ctx, file, core.Options{})
	if err != nil {
		return err
	}
	options.MaxFrames = 2000 // a stack that overflowed has 100,000
	p := process.New(img, options)
	defer p.Close()
	c.signal = p.Head().Process.Signal
	w := p.NewWalker()
	for _, th := range p.Threads() {
		if th.Crashed {
			c.thread = w.Describe(w.Walk(th), false)
			c.sig = signature.Stack(c.signal, c.thread, signature.Default())
			return nil
		}
	}
	return fmt.Errorf("%s: %w", c.run, signature.ErrNoCrash)
}
