package crash

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/sfcore/sfcore/internal/crash/store"
	"github.com/sfcore/sfcore/internal/document"
	"github.com/sfcore/sfcore/internal/limit"
	"github.com/sfcore/sfcore/internal/sandbox"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/report/signature"
)

// Renamer names the stacks of a report that is kept again, by the files that are found
// now.
type Renamer struct {
	// In has the report. It is a regular file.
	In   *os.File
	User sandbox.Identity
	ReaderOptions
}

// renamed is the first line that a Renamer writes.
type renamed struct {
	Frames    int                  `json:"frames"`    // that got other names
	Signature *signature.Signature `json:"signature"` // nil if there is none
	Lacks     []string             `json:"lacks"`     // build-ids of modules without symbols or lines
}

// maxLacks bounds the modules of a report that are said to lack something.
const maxLacks = 1000

// Write writes a line, and then, if names have changed, the report as lines. It gives up
// all rights before it reads the report.
func (r *Renamer) Write(ctx context.Context, out io.Writer) error {
	if _, err := sandbox.EnterReading(r.User); err != nil {
		return err
	}
	if err := r.readable(); err != nil {
		return err
	}
	doc, err := document.ReadOneFile(r.In)
	if err != nil {
		return err
	}
	if doc == nil {
		return errors.New("this is not a report")
	}
	if doc.Modules == nil {
		return errors.New("the report is cut off, and stays as it is")
	}
	first := new(renamed)
	first.Frames, err = process.Rename(doc, process.Options{Paths: r.Paths, Sysroot: r.Sysroot, Context: ctx})
	if err != nil {
		return err
	}
	if first.Signature, err = signature.Of(doc, signature.Default()); err == nil {
		first.Signature.Frames = nil
	}
	first.Lacks = lacks(doc)
	w := bufio.NewWriterSize(out, 64<<10)
	if err := writeLine(w, first); err != nil || first.Frames == 0 {
		return err
	}
	_, _ = w.Write(document.HeadLine(doc))
	for i := range doc.Threads {
		_, _ = w.Write(document.AppendThreadLine(nil, &document.Thread{Thread: &doc.Threads[i]}))
	}
	_, _ = w.Write(document.TailLine(doc))
	return w.Flush()
}

// lacks returns the build-ids of the modules in stacks for which there are no lines.
func lacks(doc *report.Document) (ids []string) {
	used := map[string]bool{}
	for i := range doc.Threads {
		for j := range doc.Threads[i].Frames {
			used[doc.Threads[i].Frames[j].Module] = true
		}
	}
	for i := range doc.Modules {
		if m := &doc.Modules[i]; !m.Lines && used[m.BuildID] && isBuildID(m.BuildID) && len(ids) < maxLacks {
			ids = append(ids, m.BuildID)
		}
	}
	return ids
}

// RenameReport has a process of its own name the stacks of a report again, with start within
// limits, and returns the report as lines: nil if no names changed. It has up to most bytes.
// The report belongs to a user, as whom it is read.
func RenameReport(in *os.File, start func(args []string) *exec.Cmd, uid, gid int, reader ReaderOptions, limits limit.Limits, most int64) (*Named, []byte, error) {
	out, end, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer out.Close()
	cmd, why := start(reader.renameArgs(uid, gid, limits.Memory)), ""
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, end, newSaid(func(line string) { why = line })
	ended := run(cmd, end, limits)
	first := new(Named)
	lines := bufio.NewReaderSize(out, 64<<10)
	err = readLine(lines, first)
	text := new(bytes.Buffer)
	if err == nil && first.Frames > 0 {
		_, err = io.Copy(text, io.LimitReader(lines, most+1))
	}
	_, _ = io.Copy(io.Discard, lines) // or the reader could not end
	if err = errors.Join(ignoreEOF(err), <-ended); err != nil {
		if why != "" {
			err = fmt.Errorf("%s: %w", why, err)
		}
		return nil, nil, fmt.Errorf("no names: %w", err)
	}
	switch {
	case int64(text.Len()) > most:
		return nil, nil, fmt.Errorf("no names: the report has more than %v with them", limit.Size(most))
	case first.Frames == 0:
		return first, nil, nil
	}
	return first, text.Bytes(), nil
}

// Named is what is known of a report whose stacks were named.
type Named = renamed

// Renamed says what came of a report whose stacks were named again.
type Renamed struct {
	Frames  int  // that got other names
	Changed bool // the record or the report is another one
	// Lacks are the build-ids of the modules in its stacks for which no lines were found.
	Lacks []string
}

// ErrNoReport is for a crash of which no report is kept.
var ErrNoReport = errors.New("no report of it is kept")

// Rename has a process of its own name the stacks of a crash again, with h.Reader within
// limits, and keeps the report and the signature if they are other ones. The kind and what was
// counted stay. It changes r. The error is [ErrNoReport], or says what is wrong with the
// report or the store; the crash is then as it was.
func (h *Handler) Rename(r *store.Record, reader ReaderOptions, limits limit.Limits) (*Renamed, error) {
	h.rec, h.store = r, h.Config.open()
	name := h.store.Report(r.ID)
	if name == "" {
		return nil, fmt.Errorf("%s: %w", r.ID, ErrNoReport)
	}
	in, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	out, end, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd := h.Reader(reader.renameArgs(r.UID, r.GID, limits.Memory))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, end, newSaid(h.Say)
	ended := run(cmd, end, limits)
	lines, first := bufio.NewReaderSize(out, 64<<10), new(renamed)
	if err := readLine(lines, first); err != nil {
		out.Close()
		return nil, fmt.Errorf("%s: no names: %w", name, errors.Join(<-ended, ignoreEOF(err)))
	}
	return h.keepRenamed(in, lines, first, ended)
}

// keepRenamed keeps what a Renamer has written.
func (h *Handler) keepRenamed(before *os.File, lines *bufio.Reader, first *renamed, ended <-chan error) (*Renamed, error) {
	did := &Renamed{Frames: first.Frames, Changed: first.Frames > 0, Lacks: first.Lacks}
	var p *store.Part
	var err error
	if first.Frames > 0 {
		if p, err = h.store.ReplaceReport(h.rec.ID, before); err == nil {
			err = copyReport(p, lines, int64(h.Config.Size))
		}
	}
	_, _ = io.Copy(io.Discard, lines) // or the reader could not end
	if err = errors.Join(err, <-ended); err == nil && !h.store.Has(h.rec.ID) {
		err = fmt.Errorf("%s: %w: it was removed meanwhile", h.rec.ID, store.ErrNone)
	}
	if p != nil && err == nil {
		err = p.Finish(h.rec.UID, h.rec.GID)
	} else if p != nil {
		p.Abandon()
	}
	if err != nil {
		return nil, err
	}
	if !sameSignature(h.rec.Signature, first.Signature) && first.Signature != nil {
		h.rec.Signature, did.Changed = first.Signature, true
		return did, h.store.Put(h.rec)
	}
	return did, nil
}

// copyReport writes a report of up to most bytes.
func copyReport(p *store.Part, lines io.Reader, most int64) error {
	n, err := io.Copy(p, io.LimitReader(lines, most))
	if err == nil && n == most {
		err = fmt.Errorf("it has more than the %v of the store", limit.Size(most))
	}
	return err
}

func sameSignature(a, b *signature.Signature) bool {
	one, _ := json.Marshal(a)
	other, _ := json.Marshal(b)
	return string(one) == string(other)
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// renameArgs are the arguments of the program that names a report.
func (o *ReaderOptions) renameArgs(uid, gid int, memory limit.Size) []string {
	args := []string{"rename", "--sysroot=" + o.Sysroot, "--max-memory=" + memory.String()}
	for _, p := range o.Paths {
		args = append(args, "--path="+p)
	}
	return append(args, "--", strconv.Itoa(uid), strconv.Itoa(gid))
}

// RenameTime is how long the naming of a report may take by default, and RenameMemory how
// much memory, in bytes: no process waits for it. A report of 1,000 threads of 50 frames
// takes 0.15 GiB.
const (
	RenameTime   = time.Minute
	RenameMemory = 512 << 20
)
