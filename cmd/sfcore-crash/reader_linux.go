package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/sfcore/sfcore/internal/crash"
	"github.com/sfcore/sfcore/internal/limit"
)

// readers returns a function that makes the processes that read crashes, which are this
// program again. They end when ctx does, or this process, and have no other variables
// than environ.
func readers(ctx context.Context, environ ...string) (func(args []string) *exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	environ = append(slices.Clone(environ), limit.Watched+"="+strconv.Itoa(os.Getpid()))
	return func(args []string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, self, args...)
		cmd.Env = environ
		return cmd
	}, nil
}

// absolute makes the paths of options absolute.
func absolute(o *crash.ReaderOptions) (err error) {
	for i := range o.Paths {
		if o.Paths[i], err = filepath.Abs(o.Paths[i]); err != nil {
			return err
		}
	}
	if o.Sysroot != "" {
		o.Sysroot, err = filepath.Abs(o.Sysroot)
	}
	return err
}
