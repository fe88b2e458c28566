package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/debuginfod"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/module"
	"github.com/sfcore/sfcore/sframe"
)

func newSFrameCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sframe",
		Short: "Show, check, compare and judge .sframe sections",
		Long: `sframe works on the .sframe sections of programs, libraries, object files (it
applies their relocations) and all modules of a core file. It reads every
version: 1, 2 with its errata, and 3, for amd64, aarch64 and s390x.

Exit status: 0 if all is well, 1 if the output reports something, 2 if a file
cannot be read.`,
	}
	cmd.AddCommand(newCheckCommand(), newCompareCommand(), newCoverageCommand(), newGateCommand(), newSurveyCommand())
	for _, one := range []*cobra.Command{newDumpCommand(), newSynthCommand(), newPerfCommand()} { // each reads one file
		run := one.RunE
		one.RunE = func(cmd *cobra.Command, args []string) error {
			return guarded(args[0], func() error { return run(cmd, args) })
		}
		cmd.AddCommand(one)
	}
	return cmd
}

// fileFlags are the flags of every sframe command.
type fileFlags struct {
	searchFlags
	format string
}

func (o *fileFlags) register(cmd *cobra.Command) {
	o.searchFlags.register(cmd, "for a core: ")
	eitherFormat(cmd, &o.format)
}

func (o *fileFlags) check() error {
	if err := checkEither(o.format); err != nil {
		return err
	}
	return o.searchFlags.check()
}

// open opens a program, library, object or core file, and loads its modules.
// It first tries the file as an ELF file; any other file may be a compressed core.
func (o *fileFlags) open(ctx context.Context, name string) (*module.Set, error) {
	t, err := module.OpenFile(name, o.sidecar)
	var format *elfx.FormatError
	switch {
	case err == nil:
	case name == "-", errors.Is(err, module.ErrCore), errors.As(err, &format) && format.Field == "e_ident":
		t, err = o.openCore(ctx, name)
		if other, ok := errors.AsType[*elfx.FormatError](err); ok && other.Field == "e_ident" {
			err = fmt.Errorf("%s: %s; a program, library, object or core file is needed", name, other.Msg)
		}
		if err != nil {
			return nil, err
		}
	default:
		return nil, err
	}
	for range t.All() { // opens their files
	}
	return t, nil
}

func (o *fileFlags) openCore(ctx context.Context, name string) (*module.Set, error) {
	opts := module.Options{Sysroot: o.sysroot, Paths: o.paths, DebugDirs: o.debug, SFrameDirs: o.sidecar, CacheDir: o.cacheDir()}
	if o.fetch {
		client, err := debuginfod.FromEnvironment(ctx)
		if err != nil {
			return nil, fmt.Errorf("--debuginfod: %w", err)
		}
		client.Progress = newProgress().fetching
		opts.Debuginfod = client
	}
	progress := newProgress()
	img, err := core.Open(ctx, name, core.Options{Progress: progress.update, MaxDecompressed: int64(o.size)})
	progress.clear()
	if err != nil {
		return nil, err
	}
	return module.Find(img, opts), nil
}

// sayFileProblems prints the problems of a file outside its section, and reports
// whether there are any. It leaves the problems of a core's modules to bt.
func sayFileProblems(stderr io.Writer, t *module.Set) bool {
	said := false
	for _, p := range problemsOf(t) {
		if format := (*sframe.FormatError)(nil); len(t.Image().Threads) > 0 || errors.As(p, &format) {
			continue
		}
		fmt.Fprintf(stderr, "sfcore: %s\n", plain(p.Error()))
		said = true
	}
	return said
}

// problemsOf returns what is wrong with an image and its modules.
func problemsOf(t *module.Set) []error { return slices.Concat(t.Image().Problems, t.Problems()) }

// noSFrame says why a file has no usable .sframe section.
func noSFrame(t *module.Set) error {
	var missing []string // modules of a core without a file
	for m := range t.All() {
		if lacksFile(m.Match) {
			missing = append(missing, m.Path)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%s: no module has a .sframe section, and there is no file for %s: copy the missing files from the machine of the process and add --path DIR, or set DEBUGINFOD_URLS and add --debuginfod",
			plain(t.Image().Path), baseNames(missing))
	}
	for _, p := range problemsOf(t) {
		return p
	}
	return fmt.Errorf("%s: no .sframe section", t.Image().Path)
}

// functionName returns the name of the function at an address of a module, ""
// if it is unknown.
func functionName(m *module.Module, addr uint64) string {
	names := m.Symbols()
	if names == nil {
		return ""
	}
	locs := names.Lookup(addr-m.Bias, nil)
	if len(locs) == 0 || locs[0].Offset != 0 {
		return ""
	}
	return locs[0].Func
}

// guarded calls f, which reads the file called name. Another program may shrink it
// at the same time.
func guarded(name string, f func() error) (err error) {
	if fault := module.Guard(func() { err = f() }); fault != nil {
		return fmt.Errorf("%s: %w", name, fault)
	}
	return err
}

// eachName runs f for every file. The exit status is 1 if f finds something in one
// of them, and 2 if a file cannot be read. The other files are read in any case.
func (*fileFlags) eachName(cmd *cobra.Command, names []string, f func(name string, out *bufio.Writer) (found bool, err error)) error {
	out := bufio.NewWriterSize(cmd.OutOrStdout(), 64<<10)
	var failed error
	anything := false
	for _, name := range names {
		err := guarded(name, func() error {
			found, err := f(name, out)
			anything = anything || found
			return err
		})
		if err == nil {
			continue
		}
		if failed != nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "sfcore: %s\n", plain(failed.Error()))
		}
		failed = err
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	switch {
	case failed != nil:
		return failed
	case anything:
		return incompleteError{}
	}
	return nil
}

// eachFile is eachName with the files open.
func (o *fileFlags) eachFile(cmd *cobra.Command, names []string, f func(*module.Set, *bufio.Writer) (found bool, err error)) error {
	return o.eachName(cmd, names, func(name string, out *bufio.Writer) (bool, error) {
		t, err := o.open(cmd.Context(), name)
		if err != nil {
			return false, err
		}
		defer t.Close()
		return f(t, out)
	})
}
