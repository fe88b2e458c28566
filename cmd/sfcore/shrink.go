package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/sfcore/sfcore/internal/document"
	"github.com/sfcore/sfcore/internal/shrink"
)

type shrinkCommand struct {
	openFlags
	out    string
	format string
}

// shrunkDocument is what "shrink --format json" prints.
type shrunkDocument struct {
	Schema   string   `json:"schema"`
	File     string   `json:"file"`
	Bytes    int64    `json:"bytes"`     // of the file
	Core     uint64   `json:"coreBytes"` // of CORE
	Threads  int      `json:"threads"`
	Memory   uint64   `json:"memoryBytes"` // that the small core has
	Problems []string `json:"problems"`    // of CORE
	LeftOut  []string `json:"leftOut"`     // because of a limit
}

func newShrinkCommand() *cobra.Command {
	c := &shrinkCommand{}
	cmd := &cobra.Command{
		Use:   "shrink [flags] CORE [EXE] -o SMALL",
		Short: "Make a minimal core, which shows the same stacks",
		Long: `shrink writes a core file that has the notes of CORE and the part of its memory that
sfcore, gdb, eu-stack and lldb need to show the same stacks: the used part of every
stack, ELF headers, variables of programs and libraries, the dynamic linker's list,
and what registers and stack of the crashed thread point to. Other memory is left
out; docs/shrink.md says what that means to debuggers.

sfcore looks for programs and libraries as bt does, because they tell where stacks
end. The small core needs the same files as CORE.

If SMALL ends in .zst, it is compressed. If it is -, the core goes to standard output.
Like CORE, it may hold passwords and other secrets: only its owner may read it.

Exit status: 0, 1 if CORE is damaged or needed memory is left out because of a limit,
2 if nothing could be written.`,
		Example: `  sfcore shrink core.1234 -o small.core
  sfcore shrink --path ./build core.zst -o small.zst
  sfcore bt --path ./build small.zst
  sfcore shrink core.1234 -o - | ssh desk 'cat > small.core'`,
		Args:              files(1, 2),
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault),
		RunE:              c.run,
	}
	c.register(cmd)
	cmd.Flags().StringVarP(&c.out, "output", "o", "", "write the small core to the file `SMALL`")
	_ = cmd.MarkFlagRequired("output")
	eitherFormat(cmd, &c.format)
	return cmd
}

func (c *shrinkCommand) run(cmd *cobra.Command, args []string) error {
	if err := cmp.Or(checkEither(c.format), c.checkOut(cmd, args[0])); err != nil {
		return err
	}
	img, opts, err := c.image(cmd.Context(), args)
	if err != nil {
		return err
	}
	threads, size, damaged := len(img.Threads), img.Size, img.Truncated != nil
	var sum *shrink.Summary
	written := &counted{}
	write := func(w io.Writer) (err error) {
		written.w = w
		sum, err = c.write(cmd.Context(), written, func(ctx context.Context, w io.Writer) (*shrink.Summary, error) {
			return shrink.Core(ctx, w, img, opts)
		})
		return err
	}
	if c.out == "-" {
		err = write(cmd.OutOrStdout())
	} else {
		err = replaceFile(c.out, 0o600, write)
	}
	if err != nil {
		return err
	}
	for _, p := range slices.Concat(sum.Problems, sum.LeftOut) {
		fmt.Fprintf(cmd.ErrOrStderr(), "sfcore: %s\n", plain(p))
	}
	switch {
	case c.format == "json":
		err = document.Write(cmd.OutOrStdout(), &shrunkDocument{
			Schema: "sfcore.shrink/1", File: c.out, Bytes: written.n, Core: size, Threads: threads,
			Memory: sum.Kept, Problems: append([]string{}, sum.Problems...), LeftOut: append([]string{}, sum.LeftOut...),
		})
		if err != nil {
			return err
		}
	case c.out != "-":
		fmt.Fprintf(cmd.OutOrStdout(), "%s: %d bytes, of a core of %d: %s, %d bytes of memory\n", plain(c.out), written.n, size, count(threads, "thread"), sum.Kept)
	}
	if damaged || len(sum.LeftOut) > 0 {
		return incompleteError{}
	}
	return nil
}

// checkOut refuses what would destroy the core or fill a terminal.
func (c *shrinkCommand) checkOut(cmd *cobra.Command, core string) error {
	if c.out == "-" {
		if c.format == "json" {
			return errors.New("--format json tells of a file; name one with -o")
		}
		if f, ok := cmd.OutOrStdout().(*os.File); ok && term.IsTerminal(int(f.Fd())) {
			return errors.New("-o -: a core is not for a terminal: write it to a file or a pipe")
		}
		return nil
	}
	from, err1 := os.Stat(core)
	to, err2 := os.Stat(c.out)
	if err1 == nil && err2 == nil && os.SameFile(from, to) {
		return fmt.Errorf("-o %s: this is CORE, which would be lost", c.out)
	}
	return nil
}

// write writes the small core, compressed if its name says so.
func (c *shrinkCommand) write(ctx context.Context, w io.Writer, core func(context.Context, io.Writer) (*shrink.Summary, error)) (*shrink.Summary, error) {
	if !strings.HasSuffix(c.out, ".zst") {
		return core(ctx, w)
	}
	z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	sum, err := core(ctx, z)
	return sum, errors.Join(err, z.Close())
}

// counted counts what is written.
type counted struct {
	w io.Writer
	n int64
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
