package process

import (
	"context"
	"fmt"
	"os"
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

// Options say where to look for the files of a process and how to walk its stacks.
// With the zero value, files are expected at their recorded paths and every method
// is used. Every front end offers all options, but for those that say otherwise.
type Options struct {
	// Exe is the file of the main program; "" to search for it.
	Exe string
	// Sysroot is a directory. Recorded paths are looked up below it.
	Sysroot string
	// Paths are files, and directories with files. They are matched with modules by
	// build-id, then by name and program headers.
	Paths []string
	// DebugDirs are directories of debug files; nil for the system's directories.
	DebugDirs []string
	// SFrameDirs are directories with sidecars: files called <build-id>.sframe
	// with an .sframe section for modules without one.
	SFrameDirs []string
	// SourceMap says where to find source files that are not at the path in debug
	// information.
	SourceMap []Substitution
	// Debuginfod is set to fetch files that are not on this machine from the servers
	// that the environment names [debuginfod(8)]. The servers learn the build-ids.
	Debuginfod bool
	// DebuginfodServers and DebuginfodTimeout replace the servers of the environment, and
	// how long one may be silent, if they are not zero. The debug adapter and the plugin
	// offer them, since editors and hosts may lack the shell's environment.
	DebuginfodServers []string
	DebuginfodTimeout time.Duration
	// Progress, if not nil, is called while a file is fetched. done is the number of
	// bytes that have arrived, and total is the size of the file, 0 if unknown.
	Progress func(done, total int64)
	// Searching, if not nil, is called for each file that is looked at below Paths, with
	// how many there are so far, and with -1 at the end; also concurrently.
	Searching func(files int)
	// Context, when it ends, ends the fetching of files; nil for
	// context.Background(). Other work continues.
	Context context.Context
	// CacheDir is the directory for what saves time in the next run: the build-ids of
	// files below Paths, and what was found in debug information. If it is "", nothing
	// is kept.
	CacheDir string
	// Methods are names from [Methods], in the order in which to try the methods;
	// nil for all.
	Methods []string
	// MaxFrames bounds the frames of a stack; 0 for unwind.DefaultMaxFrames.
	MaxFrames int
	// MaxTime bounds the walk of a stack; 0 for no bound.
	MaxTime time.Duration
	// MaxTotalTime bounds the walks of all stacks, added up; 0 for no bound.
	MaxTotalTime time.Duration
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

// Methods returns the names that Options.Methods may contain, in the order that is
// used if Options.Methods is nil.
func Methods() []string { return []string{"go", "sframe", "cfi", "code", "fp"} }

// shortMethod is the name in [Methods] of a method that may have the name that reports give
// to its frames.
func shortMethod(name string) string {
	switch name {
	case unwind.FramePointer.String():
		return "fp"
	case unwind.Pclntab.String(), unwind.Goroutine.String():
		return "go"
	}
	return name
}

// Check returns what is wrong with the options, as an [*OptionError]. Front ends
// replace the name of the field with their own name of the option.
func (o *Options) Check() error {
	wrong := func(option, format string, args ...any) error {
		return &OptionError{option, fmt.Errorf(format, args...)}
	}
	for _, name := range o.Methods {
		if !slices.Contains(Methods(), shortMethod(name)) {
			return wrong("Methods", "unknown method %q; use %s", name, strings.Join(Methods(), ", "))
		}
	}
	switch {
	case o.MaxFrames < 0:
		return wrong("MaxFrames", "%d is negative", o.MaxFrames)
	case o.MaxTime < 0:
		return wrong("MaxTime", "%v is negative", o.MaxTime)
	case o.DebuginfodTimeout < 0:
		return wrong("DebuginfodTimeout", "%v is negative", o.DebuginfodTimeout)
	case o.MaxTotalTime < 0:
		return wrong("MaxTotalTime", "%v is negative", o.MaxTotalTime)
	}
	if _, err := o.servers(); err != nil {
		return wrong("Debuginfod", "%w", err)
	}
	return nil
}

// CheckFiles returns what is wrong with the files and directories that the options name,
// as an [*OptionError]: one that is not there would be searched in silence.
func (o *Options) CheckFiles() error {
	for _, named := range []struct {
		option string
		paths  []string
		dirs   bool
	}{
		{"Exe", []string{o.Exe}, false},
		{"Sysroot", []string{o.Sysroot}, true},
		{"Paths", o.Paths, false},
		{"DebugDirs", o.DebugDirs, true},
		{"SFrameDirs", o.SFrameDirs, true},
	} {
		for _, path := range named.paths {
			if path == "" {
				continue
			}
			switch st, err := os.Stat(path); {
			case err != nil:
				return &OptionError{named.option, err}
			case named.dirs && !st.IsDir():
				return &OptionError{named.option, fmt.Errorf("%s is not a directory", path)}
			case named.option == "Exe" && !st.Mode().IsRegular():
				return &OptionError{named.option, fmt.Errorf("%s is not a file", path)}
			}
		}
	}
	return nil
}

// servers returns the client that fetches files. It returns nil if no files are to
// be fetched.
func (o *Options) servers() (*debuginfod.Client, error) {
	if !o.Debuginfod {
		return nil, nil
	}
	ctx := o.Context
	if ctx == nil {
		ctx = context.Background()
	}
	client, err := debuginfod.New(ctx, o.DebuginfodServers, o.DebuginfodTimeout)
	if err != nil {
		return nil, err
	}
	client.Progress = o.Progress
	return client, nil
}

// module returns the options that package module needs.
func (o *Options) module() module.Options {
	return module.Options{
		Exe: o.Exe, Sysroot: o.Sysroot, Paths: o.Paths, DebugDirs: o.DebugDirs, CacheDir: o.CacheDir, SFrameDirs: o.SFrameDirs, Searching: o.Searching,
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

// steppers returns a function that makes the steppers of an unwinder. Each call
// makes new ones.
func (o *Options) steppers() func() []unwind.Stepper {
	names := Methods()
	if o.Methods != nil {
		names = nil
		for _, name := range o.Methods {
			if short := shortMethod(name); !slices.Contains(names, short) {
				names = append(names, short)
			}
		}
	}
	return func() []unwind.Stepper {
		var steppers []unwind.Stepper
		for _, name := range names {
			switch name {
			case "go":
				steppers = append(steppers, new(gostack.Stepper))
			case "sframe":
				steppers = append(steppers, unwind.NewSFrame())
				// If a module promises frame pointers, they come before call frame
				// information, regardless of the position of "fp" in the list.
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
