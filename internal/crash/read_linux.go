package crash

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/document"
	"github.com/sfcore/sfcore/internal/sandbox"
	"github.com/sfcore/sfcore/internal/shrink"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/report/signature"
)

// outline is the first line that the reader writes, when it does not need the process
// any more: what the handler decides by.
type outline struct {
	Signal  string `json:"signal"`
	Kind    string `json:"kind"` // the signature by addresses, "" if there is none
	Threads int    `json:"threads"`
	Program string `json:"program"`
	PID     int    `json:"pid"`
}

const (
	// eachStack and allStacks are how much is copied of stacks at once, in bytes. What
	// is beyond is read piece by piece.
	eachStack = 64 << 10
	allStacks = 16 << 20
	// maxKeptFrames is how many frames are walked before the first is named. A frame
	// takes 424 bytes.
	maxKeptFrames = 50000
	// maxFrames ends a stack. One that has overflowed has 100,000 frames or more, and
	// the first tell all that is known.
	maxFrames = 20000
)

// Reader reads one process that the kernel dumps, or a core file.
type Reader struct {
	PID  int // 0 for a core file
	User sandbox.Identity
	// Time is how long the walks may take.
	Time time.Duration
	// Open opens the head of the dump or the core file, as [core.Open] does.
	Open func(context.Context) (*core.Image, error)
	// Small takes a small core, nil if none can be wanted.
	Small *Small
	ReaderOptions
}

// Read writes a line with an outline, and then the report of the process as lines. It
// first opens what it needs of the process, and gives up all other rights before it
// looks at the dump.
func (r *Reader) Read(ctx context.Context, out io.Writer) error {
	deadline := time.Now().Add(r.Time)
	var dying *core.Dying
	if r.PID != 0 {
		var err error
		if dying, err = core.OpenDying(r.PID); err != nil {
			return err
		}
	}
	lacks, err := sandbox.EnterReading(r.User)
	var img *core.Image
	if err == nil {
		img, err = r.Open(ctx)
	}
	if err != nil {
		if dying != nil {
			dying.Close()
		}
		return err
	}
	if dying != nil {
		img = dying.Image(img, eachStack, allStacks, deadline)
	}
	if lacks != nil {
		img.Problems = append(img.Problems, fmt.Errorf("read without all of the sandbox: %w", lacks))
	}
	if err := r.readable(); err != nil {
		img.Problems = append(img.Problems, err)
	}
	of, beside := r.beside(img)
	p := process.New(of, process.Options{Methods: process.Methods(), MaxFrames: maxFrames, MaxTotalTime: r.Time, Paths: r.Paths, Sysroot: r.Sysroot, Context: ctx})
	defer p.Close()
	beside.process = p
	return writeReportWith(ctx, out, p, maxKeptFrames, beside)
}

// steps are what is done beside the report.
type steps struct {
	process *process.Process
	walked  func(*process.Stack) // with each stack, by several goroutines; nil for nothing
	leave   func() []string      // when no more is read of the process; returns problems
}

// walked is a stack that is to be named, or was as it was too long to be kept.
type walked struct {
	stack *process.Stack
	line  []byte
}

// beside returns the image to make a process of, and what is done with that.
func (r *Reader) beside(img *core.Image) (*core.Image, *steps) {
	if r.Small == nil {
		return img, &steps{leave: func() []string { img.Leave(); return nil }}
	}
	s := shrink.New(img)
	do := &steps{walked: s.Add}
	do.leave = func() []string {
		defer img.Leave()
		return r.Small.make(s, do.process)
	}
	return s.Image(), do
}

// writeReportWith walks all stacks, of which it keeps up to so many frames unnamed,
// writes the outline, and then names what it has walked.
func writeReportWith(ctx context.Context, out io.Writer, p *process.Process, maxKept int, beside *steps) error {
	w := bufio.NewWriterSize(out, 64<<10)
	threads, waits := p.Threads(), process.NewWaits(p)
	if len(threads) == 0 {
		return errors.New("the dump has no threads")
	}
	render := func(w *process.Walker, s *process.Stack) []byte {
		r := w.Describe(s, true)
		waits.Add(r, s.Thread)
		return document.AppendThreadLine(nil, &document.Thread{Thread: r})
	}
	o := outline{Threads: len(threads), Program: p.Image().Executable, PID: p.Image().PID}
	if s := p.Image().Signal; s != nil {
		o.Signal = s.Name
	}
	stacks, frames := map[*core.Thread]walked{}, 0
	for s := range process.Parallel(ctx, p, threads, func(w *process.Walker, th *core.Thread) walked {
		s := w.Walk(th)
		if beside.walked != nil {
			beside.walked(s)
		}
		if th.Crashed {
			o.Kind = signature.Address(w.Outline(s), faultOf(p.Signal()))
		}
		if len(s.Frames) > maxKept {
			return walked{s, render(w, s)}
		}
		return walked{s.Clone(), nil}
	}) {
		if frames += len(s.stack.Frames); frames > maxKept && s.line == nil {
			s.line = render(p.NewWalker(), s.stack)
		}
		th := s.stack.Thread
		if s.line != nil {
			s.stack = nil
		}
		stacks[th] = s
	}
	if err := writeLine(w, &o); err != nil {
		return err
	}
	problems := beside.leave()

	doc, named := p.Head(), known{Build: programBuild(p)}
	if s := stacks[threads[0]]; s.stack != nil && threads[0].Crashed {
		r := p.NewWalker().Describe(s.stack, true)
		waits.Add(r, threads[0])
		named.Signature = signature.Stack(doc.Process.Signal, r, signature.Default())
		named.Signature.Frames = nil
		stacks[threads[0]] = walked{line: document.AppendThreadLine(nil, &document.Thread{Thread: r})}
	}
	if err := writeLine(w, &named); err != nil {
		return err
	}
	_, _ = w.Write(document.HeadLine(&doc))
	for line := range process.Parallel(ctx, p, threads, func(w *process.Walker, th *core.Thread) []byte {
		if s := stacks[th]; s.stack != nil {
			return render(w, s.stack)
		}
		return stacks[th].line
	}) {
		_, _ = w.Write(line)
		if err := w.Flush(); err != nil {
			return err
		}
	}
	doc.Waiting = waits.Waiting()
	doc.Modules = slices.AppendSeq([]report.Module{}, p.Modules())
	doc.Problems = append(p.Problems(), problems...) // also those of modules that were opened for the list
	_, _ = w.Write(document.TailLine(&doc))
	return w.Flush()
}

// known is what a reader says when stacks have names.
type known struct {
	Signature *signature.Signature `json:"signature"` // nil if there is none
	Build     string               `json:"build"`     // the build-id of the program, "" if it is not known
}

// programBuild returns the build-id of the module that has the program's entry point, ""
// if it has none.
func programBuild(p *process.Process) string {
	entry, ok := p.Image().Auxv.Get(core.ATEntry)
	if !ok {
		return ""
	}
	m := p.Locate(entry)
	if m.Module == m.ModulePath {
		return ""
	}
	return m.Module
}

func writeLine(w *bufio.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, _ = w.Write(append(b, '\n'))
	return w.Flush()
}

// faultOf is the fault by which a signature tells overflows of a stack.
func faultOf(s *report.Signal) report.Fault {
	if s == nil {
		return ""
	}
	return s.Fault
}

// maxLine bounds the lines that the handler reads itself, in bytes.
const maxLine = 1 << 20

// readLine reads a line of a reader.
func readLine(in *bufio.Reader, v any) error {
	line, err := readBounded(in, maxLine)
	if err != nil {
		return err
	}
	return json.Unmarshal(line, v)
}

var errLong = errors.New("a line is too long")

// readBounded reads a line, with its end.
func readBounded(in *bufio.Reader, most int) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > most {
			return nil, errLong
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}
