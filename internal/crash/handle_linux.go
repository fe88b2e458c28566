package crash

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/crash/store"
	"github.com/sfcore/sfcore/internal/limit"
)

// Handler handles one crash.
type Handler struct {
	Config *Config
	// Dump is what the kernel writes. The process stays until it is closed.
	Dump io.ReadCloser
	// Stream is the form in which the dump comes.
	Stream Stream
	// Reader makes a process that reads a crash, as [Reader] does. The arguments are
	// those of [ReaderArgs].
	Reader func(args []string) *exec.Cmd
	// Counted is set if the budget was asked before.
	Counted bool
	// Journal is the socket of the journal, which takes what the store does not; "" for
	// the usual one.
	Journal string
	// Say tells of what goes wrong, in one line.
	Say func(string)

	begun  time.Time
	store  *store.Store
	rec    *store.Record
	text   headOf // of the report, in case that the store does not take it
	unkept bool   // the store did not take the report
	told   bool   // the journal has it

	importing bool // see [Handler.Import]
}

// source is what a crash is read from.
type source struct {
	args    []string         // of the reader
	file    *os.File         // its standard input
	core    func() io.Reader // the whole core
	size    int64            // of that, 0 if unknown
	letGo   func()           // called when no more is read
	scratch *os.File         // to unpack a core to, nil for none
	// asks says that the budget is asked when the program is known, as the reader tells
	// it.
	asks bool
}

// Handle reads the process, decides what is kept of it, lets it go, and keeps that.
// It returns what it kept, nil if the crash was only counted.
func (h *Handler) Handle(ctx context.Context, v *Victim) (*store.Record, error) {
	h.begun = time.Now()
	if h.Stream.Records {
		h.Dump = newDumpRecords(h.Dump)
	}
	defer h.Dump.Close()
	v.closeOnExec()
	uid, gid := v.Owner()
	h.rec = &store.Record{
		Schema: store.Schema, ID: store.NewID(h.begun, uint64(v.PID)), Time: h.begun.UTC(), PID: v.PID, UID: uid, GID: gid,
		Program: v.program(), Signal: core.SignalName(v.Signal), Place: v.place(),
	}
	h.store = h.Config.open()
	if err := v.Check(); err != nil {
		return nil, h.lost(err)
	}
	if !h.Counted && !h.store.Within(h.Config.Rate.budget(), h.rec.Program, h.rec.UID, h.begun, h.Say) {
		return nil, nil
	}
	head, begin, err := h.head()
	if err != nil {
		return nil, h.lost(err)
	}
	defer head.Close()
	err = h.read(ctx, &source{
		args: ReaderArgs(v.PID, uid, gid, h.Config.Time.Duration),
		file: head,
		core: func() io.Reader { return io.MultiReader(newHead(head, begin), h.Dump) },
		letGo: func() {
			h.Dump.Close()
			h.rec.Held = time.Since(h.begun).Nanoseconds()
		},
	})
	return h.rec, err
}

// lost counts a crash that could not be read.
func (h *Handler) lost(err error) error {
	if h.store != nil {
		err = errors.Join(err, h.store.Update(func(c *store.Counts) { c.Lost++ }))
	}
	return fmt.Errorf("crash of process %d (%s, %s): %w", h.rec.PID, h.rec.Program, h.rec.Signal, err)
}

// head copies the head of the dump to a file in memory, within the time that is
// allowed.
func (h *Handler) head() (*os.File, []byte, error) {
	fd, err := unix.MemfdCreate("head", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, nil, fmt.Errorf("memfd_create: %w", err)
	}
	head := os.NewFile(uintptr(fd), "the head of the dump")
	type result struct {
		begin []byte
		err   error
	}
	done := make(chan result, 1)
	go func() {
		begin, _, err := core.CopyDumpHead(head, h.Dump)
		done <- result{begin, err}
	}()
	select {
	case r := <-done:
		if r.err != nil {
			return nil, nil, errors.Join(r.err, head.Close())
		}
		_, err := head.Seek(0, io.SeekStart)
		return head, r.begin, err
	case <-time.After(h.Config.Time.Duration):
		return nil, nil, fmt.Errorf("the kernel did not write the registers in %v", h.Config.Time)
	}
}

// read has a process of its own read the crash, and keeps what it says.
func (h *Handler) read(ctx context.Context, src *source) error {
	out, in, err := os.Pipe()
	if err != nil {
		return h.lost(err)
	}
	defer out.Close()
	args := src.args
	small := h.Config.mayKeep(store.KeepSmall)
	if small {
		args = slices.Insert(slices.Clone(args), 1, "--small")
	}
	if src.scratch != nil {
		fd := 3
		if small {
			fd += smallFiles
		}
		args = slices.Insert(slices.Clone(args), 1, fmt.Sprintf("--scratch=%d", fd))
	}
	cmd := h.Reader(args)
	var pipes *smallCore
	if small {
		if pipes, err = openSmall(cmd); err != nil {
			return h.lost(errors.Join(err, in.Close()))
		}
		defer pipes.close()
	}
	if src.scratch != nil {
		cmd.ExtraFiles = append(cmd.ExtraFiles, src.scratch)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = src.file, in, newSaid(h.Say)
	ended := run(cmd, in, limit.Limits{Memory: limit.Size(h.Config.Memory), Total: h.Config.Time.Duration})

	lines, o := bufio.NewReaderSize(out, 64<<10), new(outline)
	if err := readLine(lines, o); err != nil {
		src.letGo()
		return h.withoutReport(errors.Join(fmt.Errorf("no stack was read: %w", err), <-ended))
	}
	h.learn(o)
	if src.asks && !h.store.Within(h.Config.Rate.budget(), h.rec.Program, h.rec.UID, h.begun, h.Say) {
		src.letGo()
		h.rec = nil
		if pipes != nil {
			pipes.decide(false) // or it would wait
		}
		out.Close() // which ends the reader
		<-ended     //nolint:errcheck // it was cut off
		return nil
	}
	h.decide()
	keep, said := h.rec.Kept, make(chan answer, 1)
	if pipes != nil {
		pipes.decide(keep == store.KeepSmall)
	}
	go func() { said <- h.listen(lines, keep) }() // also while a core is written
	if keep == store.KeepCore {
		h.problem("the core", h.core(ctx, src))
	} else if keep == store.KeepSmall {
		pipes.copy(ctx, h)
	}
	src.letGo()
	a := <-said
	if keep == store.KeepSmall {
		if err := pipes.finish(h, a.named); err != nil {
			h.problem("the small core", err)
			h.rec.Kept = store.KeepReport
		}
	}
	h.rec.Signature = a.Signature
	if isBuildID(a.Build) {
		h.rec.Build = a.Build
	}
	if a.err != nil {
		h.problem("the report", a.err)
		h.rec.Kept = store.KeepLine
	}
	h.problem("the reader", <-ended)
	return h.finish()
}

// run runs a reader that writes to in, which it closes, and says on the channel how the
// reader ended.
func run(cmd *exec.Cmd, in *os.File, limits limit.Limits) <-chan error {
	ended := make(chan error, 1)
	go func() {
		err := limits.Run(cmd, "the reader")
		if err == nil && !cmd.ProcessState.Success() {
			err = fmt.Errorf("the reader ended: %v", cmd.ProcessState)
		}
		in.Close()
		ended <- err
	}()
	return ended
}

// answer is what the reader says after it needs the process no more.
type answer struct {
	known
	named bool  // it came so far
	err   error // why no report is kept
}

// isBuildID reports whether a text is a build-id. A stranger's process may have made the
// reader say it.
func isBuildID(text string) bool {
	id, err := hex.DecodeString(text)
	return err == nil && len(id) > 0 && len(id) <= maxBuildID
}

// maxBuildID bounds a build-id, in bytes: they are hashes.
const maxBuildID = 64

// listen reads it to the end, and keeps the report if that is to be kept.
func (h *Handler) listen(lines *bufio.Reader, keep store.Keep) (a answer) {
	defer func() { _, _ = io.Copy(io.Discard, lines) }() // or the reader could not end
	if err := readLine(lines, &a.known); err != nil {
		return answer{err: fmt.Errorf("nothing was named: %w", err)}
	}
	a.named = true
	if keep != store.KeepLine {
		a.err = h.report(lines)
	}
	return a
}

// learn takes over what the reader tells and is not known yet.
func (h *Handler) learn(o *outline) {
	r := h.rec
	r.Threads, r.Kind = o.Threads, o.Kind
	if o.Signal != "" {
		r.Signal = o.Signal // which old kernels do not tell of a socket's peer
	}
	if r.Program == "" {
		r.Program = o.Program
	}
	if r.PID == 0 {
		r.PID = o.PID
	}
}

// decide counts the crash, and says what is kept of it.
func (h *Handler) decide() {
	h.count()
	h.rec.Kept = h.Config.decide(h.rec)
}

func (h *Handler) count() {
	r := h.rec
	if r.Kind == "" {
		r.Kind = r.Program + " " + r.Signal
	}
	h.problem("the counts", h.store.Update(func(c *store.Counts) { r.Number = c.Count(r.Kind, r.ID, h.begun) }))
}

func (h *Handler) problem(what string, err error) {
	if err != nil {
		h.rec.Problems = append(h.rec.Problems, fmt.Sprintf("%s: %v", what, err))
	}
}

// withoutReport keeps the line of a crash whose process could not be read.
func (h *Handler) withoutReport(err error) error {
	if h.importing {
		return err
	}
	h.problem("the report", err)
	if h.rec.Number == 0 {
		h.count()
	}
	h.rec.Kept = store.KeepLine
	return errors.Join(h.finish(), h.store.Update(func(c *store.Counts) { c.Lost++ }))
}

// report keeps the report, which is what the reader writes.
func (h *Handler) report(lines io.Reader) error {
	lines = io.TeeReader(lines, &h.text)
	p, err := h.store.CreateReport(h.rec.ID)
	if err == nil {
		err = h.fill(p, lines)
	}
	if err != nil {
		h.unkept = true
		_, _ = io.CopyN(io.Discard, lines, maxUnkept) // for the text
	}
	return err
}

// fill writes the report.
func (h *Handler) fill(p *store.Part, lines io.Reader) error {
	if err := copyReport(p, lines, int64(h.Config.Size)); err != nil {
		p.Abandon()
		return err
	}
	return p.Finish(h.rec.UID, h.rec.GID)
}

// core keeps the whole core: what was read of it, and what the kernel still writes.
func (h *Handler) core(ctx context.Context, src *source) error {
	if src.size > int64(h.Config.CoreSize) {
		return fmt.Errorf("larger than the %v of core-size", limit.Size(h.Config.CoreSize))
	}
	if h.Stream.Bare {
		return errors.New("the daemon has asked the kernel for no memory; restart it, so that it reads the configuration again")
	}
	p, err := h.store.CreateCore(h.rec.ID)
	if err != nil {
		return err
	}
	err = copyCore(ctx, p, src.core(), int64(h.Config.CoreSize))
	if errors.Is(err, errCut) {
		return errors.Join(err, p.Finish(h.rec.UID, h.rec.GID))
	} else if err != nil {
		p.Abandon()
		return err
	}
	return p.Finish(h.rec.UID, h.rec.GID)
}

// copyCore copies up to most bytes. More are an error.
func copyCore(ctx context.Context, w io.Writer, core io.Reader, most int64) error {
	n, err := io.Copy(w, io.LimitReader(interruptible{ctx, core}, most+1))
	if err == nil && n > most {
		err = fmt.Errorf("larger than the %v of core-size", limit.Size(most))
	}
	return err
}

type interruptible struct {
	ctx context.Context
	r   io.Reader
}

func (i interruptible) Read(p []byte) (int, error) {
	if err := i.ctx.Err(); err != nil {
		return 0, err
	}
	return i.r.Read(p)
}

// newHead reads the head of the dump as the kernel wrote it.
func newHead(head *os.File, begin []byte) io.Reader {
	st, err := head.Stat()
	if err != nil {
		return bytes.NewReader(nil)
	}
	size := int64(len(begin))
	return io.MultiReader(bytes.NewReader(begin), io.NewSectionReader(head, size, st.Size()-size))
}

// finish keeps the record, and keeps the store within its bounds. What the store does not
// take goes to the journal.
func (h *Handler) finish() error {
	if h.importing {
		return h.store.Put(h.rec)
	}
	addNames(&h.rec.Place, "/")
	if h.unkept {
		h.tell()
	}
	if err := h.store.Put(h.rec); err != nil {
		h.problem("the store", err)
		if !h.told {
			h.tell()
		}
		return nil //nolint:nilerr // it was said with the crash
	}
	return h.store.Trim()
}

// ReaderArgs are the arguments of the program that reads a process.
func ReaderArgs(pid, uid, gid int, time time.Duration) []string {
	return []string{"read", strconv.Itoa(pid), strconv.Itoa(uid), strconv.Itoa(gid), time.String()}
}
