package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/internal/document"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/module"
	"github.com/sfcore/sfcore/sframe"
	"github.com/sfcore/sfcore/sframe/synth"
)

type synthCommand struct {
	limits
	out     string
	force   bool
	version int
	format  string
}

func newSynthCommand() *cobra.Command {
	c := &synthCommand{}
	cmd := &cobra.Command{
		Use:   "synth [flags] FILE -o OUT",
		Short: "Make .sframe from .eh_frame, in a separate file",
		Long: `synth translates the .eh_frame of a program or library to an .sframe section. OUT
is an ELF file that has only that section and FILE's build-id. If OUT is a
directory, the file in it is called <build-id>.sframe, which is where
bt --sframe-dir looks. synth replaces a file only if synth has written it; --force
replaces any.

If SFrame cannot express a rule, synth leaves out the whole function, and counts
it by cause. FILE is not changed.

Exit status: 0, or 2 if nothing could be written.`,
		Example: `  sfcore sframe synth /usr/lib/x86_64-linux-gnu/libc.so.6 -o sidecars/
  sfcore bt --sframe-dir sidecars core.1234`,
		Args: files(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.run(cmd, args[0])
		},
	}
	c.register(cmd)
	f := cmd.Flags()
	f.StringVarP(&c.out, "output", "o", "", "write to the file or directory `OUT`")
	f.IntVar(&c.version, "sframe-version", 3, "write this version of SFrame: 2 or 3")
	eitherFormat(cmd, &c.format)
	f.BoolVar(&c.force, "force", false, "replace OUT also if it is something else than what synth has written")
	_ = cmd.MarkFlagRequired("output")
	return cmd
}

func (c *synthCommand) run(cmd *cobra.Command, file string) error {
	err := checkEither(c.format)
	switch {
	case err != nil:
		return err
	case c.version != 2 && c.version != 3:
		return fmt.Errorf("--sframe-version %d: use 2 or 3", c.version)
	}
	t, err := module.OpenFile(file, nil)
	if err != nil {
		return err
	}
	defer t.Close()
	side, report, err := synthesise(t, sframe.Version(c.version))
	if err != nil {
		return err
	}
	name := c.out
	if st, err := os.Stat(name); err == nil && st.IsDir() {
		name = filepath.Join(name, side.BuildID+module.SidecarSuffix)
	}
	if !c.force && !replaceable(name) {
		return fmt.Errorf("%s: this file is not one that synth has written, so it is not replaced; name another file, or add --force", name)
	}
	if err := replaceFile(name, 0o644, func(w io.Writer) error { _, err := side.WriteTo(w); return err }); err != nil {
		return err
	}
	return c.say(cmd.OutOrStdout(), name, report)
}

// replaceable reports whether a file can be written without the loss of anything: it does
// not exist, is empty, is a device or a pipe, or has only what a sidecar has.
func replaceable(name string) bool {
	st, err := os.Stat(name)
	if err != nil || !st.Mode().IsRegular() || st.Size() == 0 {
		return true
	}
	f, release, err := elfx.Open(name, nil)
	if err != nil {
		return false
	}
	defer release()
	sections, err := f.Sections()
	return err == nil && f.BuildID() != "" && f.SFrameSection() != nil && len(sections) == synth.SidecarSections
}

// pageSize is a multiple of the page sizes of all architectures. A section after
// the image begins at a multiple of it.
const pageSize = 64 << 10

// synthesise makes the sidecar of the only module of t.
func synthesise(t *module.Set, version sframe.Version) (*synth.Sidecar, *synth.Result, error) {
	m := t.Only()
	tables := &m.Tables
	switch {
	case m.BuildID == "":
		return nil, nil, fmt.Errorf("%s: no build-id; without one the sidecar could not be found", m.Path)
	case len(tables.CFI) == 0 && len(m.Problems()) > 0:
		return nil, nil, m.Problems()[0]
	case len(tables.CFI) == 0:
		return nil, nil, fmt.Errorf("%s: no .eh_frame", m.Path)
	}
	side := &synth.Sidecar{Arch: t.Image().Arch, BuildID: m.BuildID, Addr: (m.Hi + pageSize - 1) &^ (pageSize - 1)}
	var (
		report *synth.Result
		err    error
	)
	side.SFrame, report, err = synth.Section(side.Arch, tables.CFI[0], version, side.Addr)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", m.Path, err)
	}
	if report.Written == 0 {
		return nil, nil, fmt.Errorf("%s: SFrame cannot express any of %s", m.Path, count(report.FDEs, "FDE"))
	}
	return side, report, nil
}

// replaceFile writes a file, and replaces an existing one only when the new one is
// complete. It writes directly to a device or a pipe.
func replaceFile(name string, mode os.FileMode, write func(io.Writer) error) error {
	if st, err := os.Stat(name); err == nil && !st.Mode().IsRegular() {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: there is no directory %s; make it first", name, filepath.Dir(name))
	} else if err != nil {
		return err
	}
	err = errors.Join(write(f), f.Chmod(mode), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

type jsonSynth struct {
	Schema    string         `json:"schema"`
	File      string         `json:"file"`
	FDEs      int            `json:"fdes"`
	Written   int            `json:"written"`
	Functions int            `json:"functions"`
	Rows      int            `json:"rows"`
	LeftOut   map[string]int `json:"leftOut"`
	Problems  []string       `json:"problems"`
}

// say prints what was written and what was left out.
func (c *synthCommand) say(out io.Writer, name string, r *synth.Result) error {
	if c.format == "json" {
		j := jsonSynth{"sfcore.sframe-synth/1", name, r.FDEs, r.Written, r.Functions, r.Rows, map[string]int{}, []string{}}
		for cause, n := range r.LeftOut {
			j.LeftOut[string(cause)] = n
		}
		for _, p := range r.Problems {
			j.Problems = append(j.Problems, p.Error())
		}
		return document.Write(out, &j)
	}
	fmt.Fprintf(out, "%s: %d of %s written: %s, %s\n", plain(name), r.Written, count(r.FDEs, "FDE"), count(r.Functions, "function"), count(r.Rows, "row"))
	for _, cause := range synth.Causes {
		if n := r.LeftOut[cause]; n > 0 {
			fmt.Fprintf(out, "  left out: %d, %s\n", n, cause)
		}
	}
	for _, p := range r.Problems {
		fmt.Fprintf(out, "  %s\n", plain(p.Error()))
	}
	return nil
}
