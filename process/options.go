package process

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sfcore/sfcore/internal/debuginfod"
	"github.com/sfcore/sfcore/internal/module"
	"github.com/sfcore/sfcore/internal/resolve"
	"github.com/sfcore/sfcore/unwind"
	"github.com/sfcore/sfcore/unwind/codewalk"
	"github.com/sfcore/sfcore/unwind/gostack"
)

// Options say where the files of a process are looked for and how its stacks are
// walked. The zero value looks at recorded paths and uses every method. Every
// front end offers all of them.
type Options struct {
	// Exe is the file of the main program, "" to search for it.
	Exe string
	// Sysroot is the directory that recorded paths are taken to be below.
	Sysroot string
	// Paths are files, and directories with files, to match with modules by
	// build-id, then by name and program headers.
	Paths []string
	// DebugDirs are directories of debug files; nil for those of the system.
	DebugDirs []string
	// SFrameDirs are directories with sidecars: files called <build-id>.sframe
	// with an .sframe section for modules that have none.
	SFrameDirs []string
	// SourceMap says where source files are that are not at the path that debug
	// information has.
	SourceMap []Substitution
	// Debuginfod has files that are not at hand fetched from the servers that the
	// environment names [debuginfod(8)], which learn the build-ids.
	Debuginfod bool
	// Progress, if not nil, is told how many bytes of how many, 0 if unknown, of a
	// file were fetched.
	Progress func(done, total int64)
	// Context ends what is fetched; nil for context.Background(). Other work goes
	// on.
	Context context.Context
	// CacheDir is where the build-ids of files below Paths are kept; "" not to
	// keep them.
	CacheDir string
	// Methods are the methods to try, in this order, of [Methods]; nil for all.
	Methods []string
	// MaxFrames bounds a stack; 0 for unwind.DefaultMaxFrames.
	MaxFrames int
	// MaxTime bounds the walk of a stack; 0 for no bound.
	MaxTime time.Duration
}

// Substitution replaces the beginning of source paths. From matches whole
// elements; an empty one matches paths that are not absolute.
type Substitution struct{ From, To string }

// OptionError says what is wrong with an option.
type OptionError struct {
	Option string // the name of the field of [Options]
	Err    error
}

func (e *OptionError) Error() string { return e.Option + ": " + e.Err.Error() }
func (e *OptionError) Unwrap() error { return e.Err }

// Methods returns the names that Options.Methods may have, in the order that is
// used if it has none.
func Methods() []string { return []string{"go", "sframe", "cfi", "code", "fp"} }

// Check returns what is wrong with the options, as an [*OptionError]. Front ends
// say it in their own names of options.
func (o *Options) Check() error {
	wrong := func(option, format string, args ...any) error {
		return &OptionError{option, fmt.Errorf(format, args...)}
	}
	for _, name := range o.Methods {
		if !slices.Contains(Methods(), name) {
			return wrong("Methods", "unknown method %q; use %s", name, strings.Join(Methods(), ", "))
		}
	}
	switch {
	case o.MaxFrames < 0:
		return wrong("MaxFrames", "%d is negative", o.MaxFrames)
	case o.MaxTime < 0:
		return wrong("MaxTime", "%v is negative", o.MaxTime)
	}
	if _, err := o.servers(); err != nil {
		return wrong("Debuginfod", "%w", err)
	}
	return nil
}

// servers returns what fetches files; nil if none are to be fetched.
func (o *Options) servers() (*debuginfod.Client, error) {
	if !o.Debuginfod {
		return nil, nil
	}
	ctx := o.Context
	if ctx == nil {
		ctx = context.Background()
	}
	client, err := debuginfod.FromEnvironment(ctx)
	if err != nil {
		return nil, err
	}
	client.Progress = o.Progress
	return client, nil
}

// module returns what package module is told of the options.
func (o *Options) module() module.Options {
	return module.Options{
		Exe: o.Exe, Sysroot: o.Sysroot, Paths: o.Paths, DebugDirs: o.DebugDirs, CacheDir: o.CacheDir, SFrameDirs: o.SFrameDirs,
	}
}

func (o *Options) substitutions() []resolve.Substitution {
	list := make([]resolve.Substitution, len(o.SourceMap))
	for i, s := range o.SourceMap {
		list[i] = resolve.Substitution(s)
	}
	return list
}

// DefaultSteppers returns the steppers of [Methods].
func DefaultSteppers() []unwind.Stepper { return new(Options).steppers()() }

// steppers returns what makes the steppers of an unwinder, each time new ones.
func (o *Options) steppers() func() []unwind.Stepper {
	names := o.Methods
	if names == nil {
		names = Methods()
	}
	return func() []unwind.Stepper {
		var steppers []unwind.Stepper
		for _, name := range names {
			switch name {
			case "go":
				steppers = append(steppers, new(gostack.Stepper))
			case "sframe":
				steppers = append(steppers, unwind.NewSFrame())
				// Where a module promises frame pointers they come before call
				// frame information, whatever their own place in the list.
				if slices.Contains(names, "fp") {
					steppers = append(steppers, unwind.NewPromisedFramePointer())
				}
			case "cfi":
				steppers = append(steppers, unwind.NewCFI())
			case "code":
				steppers = append(steppers, new(codewalk.Stepper))
			case "fp":
				steppers = append(steppers, unwind.NewFramePointer())
			}
		}
		return steppers
	}
}
