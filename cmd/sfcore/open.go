package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/limit"
	"github.com/sfcore/sfcore/internal/sandbox"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
)

// openFlags are the flags of every command that shows a process.
type openFlags struct {
	searchFlags
	sources sourceMap
	methods string
	frames  int
	time    time.Duration // of a stack
	sandbox bool
	user    sandbox.Identity // that the sandbox becomes
}

func (o *openFlags) register(cmd *cobra.Command) {
	o.searchFlags.register(cmd, "")
	f := cmd.Flags()
	f.Var(&o.sources, "map", "look in TO for source files that are recorded below FROM (repeatable)")
	f.StringVar(&o.methods, "unwind", strings.Join(process.Methods(), ","), "try the methods in `LIST`, in this order")
	f.IntVar(&o.frames, "max-frames", unwind.DefaultMaxFrames, "end a stack after `N` frames")
	f.DurationVar(&o.time, "max-time", 0, "end a stack after `DURATION`, for example 500ms (default no limit)")
}

// open opens the core in args[0], with the program in args[1] if it is given.
func (o *openFlags) open(ctx context.Context, args []string) (*process.Process, error) {
	img, opts, err := o.image(ctx, args)
	if err != nil {
		return nil, err
	}
	return newProcess(img, opts, args[1:])
}

// newProcess returns the process of an image, which it closes if exe, the program that was
// named, is not that of the process.
func newProcess(img *core.Image, opts process.Options, exe []string) (*process.Process, error) {
	t := process.New(img, opts)
	if len(exe) > 0 {
		if err := used(t, exe[0]); err != nil {
			return nil, errors.Join(err, t.Close())
		}
	}
	return t, nil
}

// used checks that the file that was named as the program is that of the process.
func used(t *process.Process, exe string) error {
	entry, _ := t.Image().Auxv.Get(core.ATEntry)
	for m := range t.Modules() {
		if report.Addr(entry) < m.Base || report.Addr(entry) >= m.End || sameFile(m.File, exe) {
			continue
		}
		for _, why := range m.Problems {
			if strings.Contains(why, "not used: "+exe) {
				return fmt.Errorf("%s is not the program of this process: %s", exe, why)
			}
		}
		return fmt.Errorf("%s is not the program of this process, which is %s with build-id %s", exe, m.Path, orUnknown(m.BuildID, "none"))
	}
	return nil
}

// image opens the core in args[0], and returns the options for its process.
func (o *openFlags) image(ctx context.Context, args []string) (*core.Image, process.Options, error) {
	var (
		file *os.File
		none process.Options
	)
	if o.sandbox {
		var err error
		if file, err = o.enterSandbox(args[0]); err != nil {
			return nil, none, err
		}
		defer file.Close()
	}
	opts, err := o.options(ctx, args[1:]...)
	if o.sandbox && errors.Is(err, fs.ErrPermission) {
		return nil, none, fmt.Errorf("%w; in the sandbox sfcore has only the rights of its user, or of --user if that is given", err)
	} else if err != nil {
		return nil, none, err
	}
	collectLater(args[0])
	progress := newProgress()
	img, err := core.Open(ctx, args[0], core.Options{Progress: progress.update, MaxDecompressed: int64(o.size), File: file})
	progress.clear()
	if err != nil {
		return nil, none, err
	}
	if o.sandbox {
		opts.CacheDir = "" // which would be written to
		if err := sandbox.Finish(); err != nil {
			return nil, none, errors.Join(err, img.Close())
		}
	}
	return img, opts, nil
}

// sameFile reports whether two names are of the same file.
func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	other, bad := os.Stat(b)
	return err == nil && bad == nil && os.SameFile(one, other)
}

// enterSandbox opens the file of a core, which may need the rights that are given
// up then.
func (o *openFlags) enterSandbox(name string) (*os.File, error) {
	if o.fetch {
		return nil, errors.New("--sandbox cannot be combined with --debuginfod: the sandbox blocks the network")
	}
	file := os.Stdin
	if name != "-" {
		var err error
		if file, err = elfx.OpenRegular(name); err != nil {
			return nil, err
		}
	}
	return file, sandbox.Enter(core.SpoolDir(), o.user)
}

// largeCore is the size of a core file, in bytes, whose stacks and names may take more
// memory than the 4 MiB at which Go begins to collect garbage. Most of it is in use
// until the end.
const largeCore = 1 << 20

// enoughMemory is where the collector stops being patient, in bytes. Most cores need
// a tenth of it.
const enoughMemory = 512 << 20

// collectLater makes the garbage collector start at 16 MiB and run less often for a
// large core: at twice the memory it takes a third of the time. For a small core the
// setting takes longer than it saves.
func collectLater(name string) {
	if info, err := os.Stat(name); err == nil && info.Size() >= largeCore && os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
		limit.CollectFrom(enoughMemory)
	}
}

func (o *openFlags) check() error {
	switch {
	case o.frames < 1:
		return fmt.Errorf("--max-frames %d: a stack has at least one frame", o.frames)
	case o.time < 0:
		return fmt.Errorf("--max-time %v: must not be negative", o.time)
	}
	return cmp.Or(o.limits.Check(), o.searchFlags.check())
}

// options are what the flags say of a process, with its program if that is given.
func (o *openFlags) options(ctx context.Context, program ...string) (process.Options, error) {
	if err := o.check(); err != nil {
		return process.Options{}, err
	}
	exe := ""
	if len(program) > 0 {
		exe = program[0]
		if err := checkProgram(exe); err != nil {
			return process.Options{}, err
		}
	}
	opts := process.Options{
		Exe: exe, Sysroot: o.sysroot, Paths: o.paths, DebugDirs: o.debug, SFrameDirs: o.sidecar, SourceMap: o.sources, CacheDir: o.cacheDir(),
		Methods: strings.Split(o.methods, ","), MaxFrames: o.frames, MaxTime: o.time, MaxTotalTime: o.walking(), Debuginfod: o.fetch, Context: ctx,
	}
	if o.fetch {
		opts.Progress = newProgress().fetching
	}
	if len(o.paths) > 0 {
		opts.Searching = newProgress().searching
	}
	return opts, flagError(opts.Check())
}

// optionFlags are the flags that set the options which can be wrong.
var optionFlags = map[string]string{"Methods": "--unwind", "MaxFrames": "--max-frames", "MaxTime": "--max-time", "MaxTotalTime": "--max-total-time", "Debuginfod": "--debuginfod"}

// flagError says what is wrong with a flag.
func flagError(err error) error {
	if wrong, ok := errors.AsType[*process.OptionError](err); ok {
		return fmt.Errorf("%s: %w", optionFlags[wrong.Option], wrong.Err)
	}
	return err
}
