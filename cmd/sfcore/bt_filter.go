package main

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/report"
)

// stackFilter chooses stacks. The zero value takes all.
type stackFilter struct {
	crashed, incomplete bool
	name, function      string
	module              string

	names, functions, modules *regexp.Regexp // nil for any
}

// maxPattern bounds the patterns of a filter, in bytes.
const maxPattern = 1000

func (f *stackFilter) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.crashed, "crashed", false, "print only the thread that crashed")
	flags.StringVar(&f.name, "name", "", "print only threads called `PATTERN`, in which * stands for any characters")
	flags.StringVar(&f.function, "function", "", "print only stacks with a function that matches the regular expression `RE`")
	flags.StringVar(&f.module, "module", "", "print only stacks with a frame in a file called `PATTERN`, such as libssl*")
	flags.BoolVar(&f.incomplete, "incomplete", false, "print only stacks that are not complete")
}

func (f *stackFilter) check() (err error) {
	if max(len(f.name), len(f.function), len(f.module)) > maxPattern {
		return fmt.Errorf("a pattern may have up to %d bytes", maxPattern)
	}
	if f.name != "" {
		f.names = wildcard(f.name)
	}
	if f.module != "" {
		f.modules = wildcard(f.module)
	}
	if f.function != "" {
		if f.functions, err = regexp.Compile(f.function); err != nil {
			return fmt.Errorf("--function: %w", err)
		}
	}
	return nil
}

// errNoCrash is for --crashed where nothing has.
var errNoCrash = errors.New("--crashed: no thread of the process has crashed")

// thread reports whether the stack of a thread is worth a walk.
func (f *stackFilter) thread(name string, crashed bool) bool {
	return (crashed || !f.crashed) && (f.names == nil || f.names.MatchString(name))
}

// stack reports whether a stack is to be printed.
func (f *stackFilter) stack(th *report.Thread, complete bool) bool {
	if f.incomplete && complete {
		return false
	}
	return (f.functions == nil || anyFrame(th, f.inFunction)) && (f.modules == nil || anyFrame(th, f.inModule))
}

func anyFrame(th *report.Thread, is func(*report.Frame) bool) bool {
	for i := range th.Frames {
		if is(&th.Frames[i]) {
			return true
		}
	}
	return false
}

func (f *stackFilter) inFunction(fr *report.Frame) bool {
	return fr.Function != "" && (f.functions.MatchString(fr.Function) || f.functions.MatchString(fr.LinkageName))
}

func (f *stackFilter) inModule(fr *report.Frame) bool {
	return fr.ModuleName != "" && f.modules.MatchString(fr.ModuleName)
}

// wildcard is a pattern in which * stands for any characters.
func wildcard(pattern string) *regexp.Regexp {
	return regexp.MustCompile("^(?s:" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + ")$")
}

// String is the filter as flags.
func (f *stackFilter) String() string {
	var flags []string
	for _, flag := range []struct {
		name, value string
	}{{"--name", f.name}, {"--function", f.function}, {"--module", f.module}} {
		if flag.value != "" {
			flags = append(flags, flag.name+" "+plain(strconv.Quote(flag.value)))
		}
	}
	if f.crashed {
		flags = append(flags, "--crashed")
	}
	if f.incomplete {
		flags = append(flags, "--incomplete")
	}
	return strings.Join(flags, " ")
}

// say says how much of a process is not shown.
func (f *stackFilter) say(stderr io.Writer, shown, all int) {
	switch {
	case *f == (stackFilter{}):
	case shown == 0 && f.incomplete && f.names == nil && f.functions == nil && f.modules == nil && !f.crashed:
		fmt.Fprintf(stderr, "sfcore: all stacks are complete (--incomplete), of %s\n", count(all, "thread"))
	case shown == 0:
		fmt.Fprintf(stderr, "sfcore: nothing is shown: no stack of %s fits %s\n", count(all, "thread"), f)
	default:
		fmt.Fprintf(stderr, "sfcore: %d of %d threads are shown\n", shown, all)
	}
}
