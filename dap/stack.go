package dap

import (
	"context"
	"fmt"
	"strings"

	"github.com/sfcore/sfcore/internal/delve/goroutines"
	"github.com/sfcore/sfcore/internal/display"
	"github.com/sfcore/sfcore/internal/funcname"
	"github.com/sfcore/sfcore/report"

	godap "github.com/google/go-dap"

	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/unwind"
)

// maxStacks bounds the stacks that are kept, and maxKeptFrames the frames of all but
// the newest: a frame takes 700 bytes, and clients ask for the stacks of all threads.
// One that is not kept is walked again.
const (
	maxStacks     = 256
	maxKeptFrames = 1 << 17
)

// maxLevels bounds the frames of one response, for clients that ask for all of a
// runaway recursion. The total tells them that there are more.
const maxLevels = 1000

// stack is a walked stack with names. Its frames include inlined ones.
type stack struct {
	report.Thread
	walked   *process.Stack
	physical []int32 // by frame, the index of its physical frame in walked
	sourced  bool    // a frame has a source file on this machine

	goroutine *goroutines.Head // nil if it is not the stack of one
	variables *goVariables     // nil before somebody asks
}

// frame returns the physical frame that frame i belongs to. A frame that is not on the
// stack has no registers but the pc.
func (st *stack) frame(i int) *unwind.Frame {
	if r := &st.Frames[i]; r.Method.Inferred() {
		return &unwind.Frame{PC: uint64(r.PC), Exact: r.Exact, Method: r.Method, Trust: r.Trust}
	}
	return &st.walked.Frames[st.physical[i]]
}

// innermost reports whether frame i has all registers of the thread.
func (st *stack) innermost(i int) bool {
	return st.physical[i] == 0 && !st.Frames[i].Method.Inferred()
}

// stack returns the stack of the thread with an id of the protocol.
func (s *session) stack(ctx context.Context, id int) (*stack, error) {
	snap := s.snap
	if st := snap.stacks[id]; st != nil {
		return st, nil
	}
	goroutine := snap.goroutine(ctx, id)
	th, err := snap.thread(id)
	if err != nil && goroutine == nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, errCancelled
	}
	snap.forget(maxStacks-1, maxKeptFrames)
	walker := snap.process.NewWalker()
	st := &stack{goroutine: goroutine}
	if th != nil {
		st.walked = walker.Walk(th)
	} else {
		st.walked = snap.walkGoroutine(goroutine, walker)
	}
	st.Thread = *walker.Describe(st.walked, false)
	walker.RecoverRegisters(st.walked)
	physical := int32(0)
	for i := range st.Frames {
		if i > 0 && !st.Frames[i-1].Inlined && !st.Frames[i].Method.Inferred() {
			physical++
		}
		st.physical = append(st.physical, physical)
		st.sourced = st.sourced || s.local(ctx, st.Frames[i].File) != ""
	}
	snap.stacks[id] = st
	snap.recent = append(snap.recent, id)
	return st, nil
}

// forget forgets the stacks that were walked first, down to so many stacks and frames.
func (s *snapshot) forget(stacks, frames int) {
	all := 0
	for _, st := range s.stacks {
		all += len(st.Frames)
	}
	for len(s.recent) > 0 && (len(s.recent) > stacks || all > frames) {
		all -= len(s.stacks[s.recent[0]].Frames)
		delete(s.stacks, s.recent[0])
		s.recent = s.recent[1:]
	}
}

func (s *session) stackTrace(ctx context.Context, args *godap.StackTraceArguments) (any, error) {
	snap, err := s.stopped()
	if err != nil {
		return nil, err
	}
	if args.StartFrame < 0 || args.Levels < 0 {
		return nil, newError(idArguments, "startFrame and levels must not be negative")
	}
	st, err := s.stack(ctx, args.ThreadId)
	if err != nil {
		return nil, err
	}
	total := len(st.Frames) + 1
	start, levels := min(args.StartFrame, total), maxLevels
	if args.Levels > 0 {
		levels = min(args.Levels, maxLevels)
	}
	body := &godap.StackTraceResponseBody{StackFrames: []godap.StackFrame{}, TotalFrames: total}
	for i := start; i < min(start+levels, total); i++ {
		f := godap.StackFrame{Id: snap.refs.id(ref{kind: refFrame, thread: args.ThreadId, frame: i})}
		if i < len(st.Frames) {
			s.describeFrame(ctx, &f, st, i, args.Format)
		} else {
			f.Name, f.PresentationHint = stopLabel(&st.Stop), "label"
		}
		body.StackFrames = append(body.StackFrames, f)
	}
	return body, cancelledOr(ctx, nil)
}

// stopLabel says why a stack ends.
func stopLabel(stop *report.Stop) string {
	text := "end of the stack"
	if stop.Reason != unwind.Outermost {
		text = "the stack ends here: " + stop.Reason.String()
	}
	if stop.Detail != "" {
		text += " (" + stop.Detail + ")"
	}
	return "— " + oneLine(text) + " —"
}

func (s *session) describeFrame(ctx context.Context, f *godap.StackFrame, st *stack, i int, format *godap.StackFrameFormat) {
	r := &st.Frames[i]
	f.Name = frameName(r, format)
	if s.config.ShowMethods {
		f.Name = withMethod(f.Name, r)
	}
	f.InstructionPointerReference = address(uint64(r.PC))
	if r.Module != "" {
		f.ModuleId = r.Module
	}
	f.Source, f.Line = s.sourceOf(ctx, st, i)
	switch runtime := ofGoRuntime(r.Function); {
	case runtime || startsProcess[r.Function] || r.Trust == unwind.Guess || r.Trust != unwind.Full && r.Method != unwind.Pclntab:
		f.PresentationHint = "subtle"
		if runtime && f.Source != nil {
			f.Source.PresentationHint = "deemphasize" // so that editors show the program's own frame
		}
	}
	f.Line, f.Column = f.Line-1+s.firstLine, s.firstColumn
}

// startsProcess has the functions that the system puts below main or below a
// thread's function.
var startsProcess = map[string]bool{
	"_start": true, "__libc_start_main": true, "__libc_start_call_main": true, "__libc_start_main_impl": true,
	"start_thread": true, "clone": true, "clone3": true, "__clone": true, "__clone3": true, "thread_start": true,
}

// ofGoRuntime reports whether a function is of Go's runtime.
func ofGoRuntime(function string) bool {
	return strings.HasPrefix(function, "runtime.") || strings.HasPrefix(function, "internal/runtime/")
}

// frameName is the name of a frame: short, or with what a format asks for.
func frameName(r *report.Frame, format *godap.StackFrameFormat) string {
	if format == nil {
		format = &godap.StackFrameFormat{}
	}
	name := r.Function
	switch {
	case name == "" && r.ModuleName != "" && !format.Module:
		name = fmt.Sprintf("%#x in %s", uint64(r.PC), r.ModuleName)
	case name == "":
		name = address(uint64(r.PC))
	case !format.Parameters && !format.IncludeAll:
		name = shortName(name)
	}
	if (format.Module || format.IncludeAll) && r.ModuleName != "" {
		name = r.ModuleName + "!" + name
	}
	if (format.Line || format.IncludeAll) && r.Line > 0 {
		name = fmt.Sprintf("%s:%d", name, r.Line)
	}
	if r.SignalFrame {
		name += " <signal handler called>"
	}
	if r.Inlined {
		name += " [inlined]"
	}
	return oneLine(name)
}

// shortName is the name of a function as people say it.
func shortName(name string) string { return oneLine(funcname.Short(name)) }

// withMethod adds to the name of a frame by which method it was found, and the trust in
// it if that is not full.
func withMethod(name string, r *report.Frame) string {
	if r.Trust == unwind.Full {
		return fmt.Sprintf("%s [%s]", name, r.Method)
	}
	return fmt.Sprintf("%s [%s, %s]", name, r.Method, r.Trust)
}

// frameOf returns the stack of a frame id of the protocol, and the index of the
// frame: len(Frames) is the label behind the last.
func (s *session) frameOf(ctx context.Context, id int) (*stack, ref, error) {
	r, ok := s.snap.refs.get(id, refFrame)
	if !ok {
		return nil, r, newError(idReference, "frame %d is no longer valid", id)
	}
	st, err := s.stack(ctx, r.thread)
	return st, r, err
}

// address is an address as the protocol has it: a memory reference.
func address(a uint64) string { return fmt.Sprintf("0x%x", a) }

// oneLine makes text safe to display on one line: names in a core may contain
// anything.
func oneLine(text string) string {
	return strings.TrimSpace(display.Text(strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, text)))
}

// lines is oneLine for text that may have several.
func lines(text string) string {
	all := strings.Split(text, "\n")
	for i, line := range all {
		all[i] = display.Text(line)
	}
	return strings.Join(all, "\n")
}
