package main

import (
	"bufio"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/module"
	"github.com/sfcore/sfcore/sframe"
)

type dumpCommand struct {
	fileFlags
	rawFlags
	pc string
	fn string
}

func newDumpCommand() *cobra.Command {
	c := &dumpCommand{}
	cmd := &cobra.Command{
		Use:   "dump [flags] FILE",
		Short: "List the tables of .sframe sections",
		Long: `dump lists every table of a file's .sframe section, its functions and their rows,
in the layout and notation of objdump --sframe:

  sp+16, fp+16, r10+8   base register and offset
  c-16                  stored at that offset from the CFA
  (fp-8)                stored at that address
  f                     stored at the offset that the header fixes
  u, U                  unchanged; U if a zero word says so
  [s]                   signed

FILE is a program, library, object file or core; with --raw it is the bytes of a
section. docs/sframe-json.md describes the output of --format json.`,
		Example: `  sfcore sframe dump /usr/bin/cpio
  sfcore sframe dump --func main --format json a.out
  sfcore sframe dump --raw --address 0x4020d0 section.bin`,
		Args: files(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.run(cmd, args[0])
		},
	}
	c.fileFlags.register(cmd)
	c.rawFlags.register(cmd)
	f := cmd.Flags()
	f.StringVar(&c.pc, "pc", "", "list only the rows for the instruction at `ADDR`")
	f.StringVar(&c.fn, "func", "", "list only the function called `NAME`")
	return cmd
}

// listed is a section to list.
type listed struct {
	file, format string
	section      *sframe.Section
	module       *module.Module // nil if there is only the section
	code         []elfx.Code    // of an object: addresses are shown relative to these
}

// shown returns the address that a listing has for addr.
func (l *listed) shown(addr uint64) uint64 {
	for _, c := range l.code {
		if addr-c.Lo < c.Hi-c.Lo {
			return addr - c.Lo
		}
	}
	return addr
}

func (l *listed) name(addr uint64) string {
	if l.module == nil {
		return ""
	}
	return functionName(l.module, addr)
}

func (c *dumpCommand) run(cmd *cobra.Command, name string) error {
	if err := c.check(); err != nil {
		return err
	}
	defer paged(cmd)()
	only, err := c.filter()
	if err != nil {
		return err
	}
	sections, problems, done, err := c.sections(cmd, name)
	if err != nil {
		return err
	}
	defer done()
	out := bufio.NewWriterSize(cmd.OutOrStdout(), 64<<10)
	d := &dumper{only: only, problems: problems}
	if c.format == "json" {
		d.lister = newJSONLister(out, name)
	} else {
		d.lister = &textLister{out: out}
	}
	for i := range sections {
		d.section(&sections[i])
	}
	d.lister.end(d.problems)
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	if d.functions == 0 && (c.pc != "" || c.fn != "") {
		d.problems = append(d.problems, fmt.Sprintf("%s: no function of .sframe is asked for by %s", name, c.asked()))
	}
	for _, p := range d.problems {
		fmt.Fprintf(cmd.ErrOrStderr(), "sfcore: %s\n", plain(p))
	}
	if len(d.problems) > 0 {
		return incompleteError{}
	}
	return nil
}

func (c *dumpCommand) asked() string {
	if c.pc != "" {
		return "--pc " + c.pc
	}
	return "--func " + c.fn
}

// filter says whether a function, and which of its rows, are to be listed.
type filter struct {
	pc   *uint64
	name string
}

func (c *dumpCommand) filter() (filter, error) {
	f := filter{name: c.fn}
	if c.pc != "" {
		pc, err := parseAddress("--pc", c.pc)
		if err != nil {
			return f, err
		}
		f.pc = &pc
	}
	return f, nil
}

// sections opens the file. The sections are valid until done is called.
func (c *dumpCommand) sections(cmd *cobra.Command, name string) (list []listed, problems []string, done func(), err error) {
	if c.raw {
		data, addr, err := c.read(name)
		if err != nil {
			return nil, nil, nil, err
		}
		s, err := sframe.Parse(data, addr, sframe.Options{})
		if err != nil {
			return nil, nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		return []listed{{file: name, format: "binary", section: s}}, nil, func() {}, nil
	}
	t, err := c.open(cmd.Context(), name)
	if err != nil {
		return nil, nil, nil, err
	}
	for m := range t.All() {
		if s := m.Tables.SFrame; s != nil {
			l := listed{file: m.Path, format: bfdName(m.Image()), section: s, module: m}
			if m.Image().Type == elfx.TypeRel {
				l.code = m.Image().Code()
			}
			list = append(list, l)
		}
	}
	if len(list) == 0 {
		defer t.Close()
		return nil, nil, nil, noSFrame(t)
	}
	for _, p := range problemsOf(t) {
		problems = append(problems, p.Error())
	}
	return list, problems, func() { t.Close() }, nil
}

// bfdName is the name that binutils have for the format of a file.
func bfdName(f *elfx.File) string {
	if a, ok := arch.ForMachine(f.Machine, f.BigEndian); ok {
		return a.BFD
	}
	return "binary"
}
