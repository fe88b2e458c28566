package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/document"
	"github.com/sfcore/sfcore/internal/picture"
	"github.com/sfcore/sfcore/internal/version"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/report"
)

// newPicture returns a collection for a format; nil if the format is not a picture.
// paths are those that the user has named.
func newPicture(format string, kind picture.Kind, redact bool, paths ...string) *picture.Collection {
	if !slices.Contains(pictures, format) {
		return nil
	}
	c := picture.New(kind, redact)
	c.Hide(paths...)
	return c
}

// hidden returns the files and directories that the user has named.
func (o *openFlags) hidden(args []string) (names []string) {
	names = slices.Clone(args)
	for _, dir := range slices.Concat(o.paths, o.debug, o.sidecar, []string{o.sysroot}) {
		names = append(names, filepath.Join(dir, "file"))
	}
	for _, s := range o.sources {
		names = append(names, filepath.Join(s.From, "file"), filepath.Join(s.To, "file"))
	}
	return names
}

// hideMappings makes the directories of the files of a process known to a picture.
func hideMappings(c *picture.Collection, t *process.Process) {
	for i := range t.Image().Mappings {
		c.Hide(t.Image().Mappings[i].Path)
	}
}

// pictured copies what a picture needs of a thread; frames is memory to use again.
func pictured(frames []report.Frame, r *report.Thread, complete bool) picture.Thread {
	return picture.Thread{
		ID: int64(r.TID), Name: r.Name, State: r.State, Crashed: r.Crashed, Complete: complete,
		Frames: append(frames, r.Frames...), Stop: r.Stop,
	}
}

// crashSources returns the source lines of the innermost frames of a thread.
func crashSources(t *process.Process, r *report.Thread, around int) (lines [][]picture.SourceLine) {
	for i := range r.Frames[:min(len(r.Frames), maxCrashSources)] {
		f := &r.Frames[i]
		var frame []picture.SourceLine
		if f.File != "" && f.Line != 0 {
			for _, l := range t.SourceLines(f.File, f.Module, f.Line, around) {
				frame = append(frame, picture.SourceLine{Number: l.Number, Text: strings.TrimRight(l.Text, " \t\r"), Here: l.Number == f.Line})
			}
		}
		lines = append(lines, frame)
	}
	return lines
}

const (
	// maxCrashSources bounds the frames whose source lines a page shows: each may be in
	// a file of its own.
	maxCrashSources = 50

	// sourcesAround is how many lines before and after that of a frame a page shows
	// unless --source says otherwise.
	sourcesAround = 2
)

// pictured makes a goroutine one of a picture. It has crashed if it is on a thread that
// has.
func (l *goroutineLister) pictured(r *report.Goroutine, complete bool) *picture.Thread {
	t := &picture.Thread{ID: r.ID, State: cmp.Or(r.WaitReason, r.Status), Complete: complete, Stop: r.Stop}
	if r.Start != nil {
		t.Name = r.Start.Function
	}
	t.Frames = make([]report.Frame, 0, len(r.Frames))
	for i := range r.Frames {
		f := r.Frames[i].Frame
		for _, v := range r.Frames[i].Variables {
			f.Variables = append(f.Variables, report.Variable{Name: v.Name, Type: v.Type, Argument: v.Argument, Value: v.Value, Missing: v.Err})
		}
		t.Frames = append(t.Frames, f)
	}
	t.Crashed = slices.ContainsFunc(l.process.Image().Threads, func(th core.Thread) bool { return th.Crashed && th.ID == r.TID })
	if t.Crashed && l.command.format == "html" {
		t.Lines = crashSources(l.process, &report.Thread{Frames: t.Frames}, sourcesAround)
	}
	return t
}

// drawPicture writes the picture, if there is one, after stacks were collected with
// the given error. If that says that the result is incomplete, so is the picture.
func drawPicture(cmd *cobra.Command, c *picture.Collection, format string, collected error) error {
	full := errors.Is(collected, picture.ErrTooMuch)
	if c == nil || collected != nil && !full && !errors.As(collected, new(incompleteError)) {
		return collected
	}
	if full {
		fmt.Fprintf(cmd.ErrOrStderr(), "sfcore: %v\n", collected)
		collected = incompleteError{}
	}
	if f, ok := cmd.OutOrStdout().(*os.File); ok && format == "pprof" && term.IsTerminal(int(f.Fd())) {
		return errors.New("--format pprof is not for a terminal: write it to a file, as with > stacks.pb.gz")
	}
	out, err := bufio.NewWriterSize(cmd.OutOrStdout(), 64<<10), error(nil)
	switch format {
	case "html":
		err = c.WriteHTML(out, version.Get().String())
	case "pprof":
		err = c.WritePprof(out)
	case "speedscope":
		err = c.WriteSpeedscope(out)
	}
	if err = cmp.Or(err, out.Flush()); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	return collected
}

// pictureFormat prints nothing for a thread: a picture is drawn when all are known.
type pictureFormat struct{}

func (pictureFormat) head(*report.Document) []byte { return nil }

func (pictureFormat) thread(b []byte, _ *document.Thread) []byte { return b }

func (pictureFormat) separator() string { return "" }

func (pictureFormat) tail(*report.Document) []byte { return nil }

// goroutinePicture is the same for goroutines.
type goroutinePicture struct{}

func (goroutinePicture) head(*report.Document) []byte { return nil }

func (goroutinePicture) goroutine(*report.Goroutine) []byte { return nil }

func (goroutinePicture) separator() string { return "" }

func (goroutinePicture) tail(*process.Process, *goroutineTail) []byte { return nil }
