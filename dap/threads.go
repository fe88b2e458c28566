package dap

import (
	"context"
	"fmt"

	godap "github.com/google/go-dap"

	"github.com/sfcore/sfcore/core"
)

func (s *session) threadList(ctx context.Context, _ *none) (any, error) {
	body := &godap.ThreadsResponseBody{Threads: s.threads}
	snap, err := s.stopped()
	switch {
	case err == nil && s.spec.Goroutines:
		body.Threads = snap.goThreads(ctx)
		if why := snap.goroutineHeads(ctx).why; why != "" {
			snap.problem(s.output, why)
		}
	case err == nil:
		body.Threads = snap.threadList()
	case s.config == nil:
		return nil, err
	}
	return body, cancelledOr(ctx, nil)
}

func (s *snapshot) threadList() []godap.Thread {
	threads := make([]godap.Thread, 0, len(s.threads))
	for _, th := range s.threads {
		threads = append(threads, godap.Thread{Id: s.ids[th], Name: s.threadName(th)})
	}
	return threads
}

// threadName is the name of a thread, its id, and the signal that ended the
// process if the thread got it.
func (s *snapshot) threadName(th *core.Thread) string {
	img := s.process.Image()
	name := th.Name
	if name == "" && th.ID == img.PID {
		name = img.Name
	}
	text := fmt.Sprintf("%d", th.ID)
	if name != "" {
		text = fmt.Sprintf("%s (%d)", name, th.ID)
	}
	if th.Crashed && img.Signal != nil {
		text += " " + img.Signal.Name
	}
	return oneLine(text)
}

// thread returns the thread with an id of the protocol.
func (s *snapshot) thread(id int) (*core.Thread, error) {
	th := s.byID[id]
	if th == nil {
		return nil, newError(idReference, "there is no thread %d", id)
	}
	return th, nil
}

func (s *session) exceptionInfo(ctx context.Context, args *godap.ExceptionInfoArguments) (any, error) {
	snap, err := s.stopped()
	if err != nil {
		return nil, err
	}
	if g := snap.goroutine(ctx, args.ThreadId); g != nil && snap.byID[args.ThreadId] == nil {
		return nil, newError(idState, "no thread runs goroutine %d, so it got no signal", g.ID)
	}
	th, err := snap.thread(args.ThreadId)
	if err != nil {
		return nil, err
	}
	signal := snap.process.Image().Signal
	switch {
	case signal == nil:
		return nil, newError(idState, "no signal stopped the process")
	case !th.Crashed && th.ID != signal.Thread:
		return nil, newError(idState, "thread %d got no signal; the process was stopped by %s in thread %d", th.ID, signal.Name, signal.Thread)
	}
	return snap.exception(signal), nil
}

// exception describes the signal that stopped the process. Clients show the
// description, few the details.
func (s *snapshot) exception(signal *core.Signal) *godap.ExceptionInfoResponseBody {
	what := signal.Name
	if signal.CodeName != "" {
		what += " (" + signal.CodeName + ")"
	}
	if signal.HasAddress {
		what += fmt.Sprintf(" at %#x", signal.Address)
	}
	meaning := oneLine(s.process.Signal().Meaning)
	if text := s.abortMessage(); text != "" && signal.Name == "SIGABRT" {
		meaning += ": " + text
	}
	body := &godap.ExceptionInfoResponseBody{
		ExceptionId: signal.Name, Description: what, BreakMode: "unhandled",
		Details: &godap.ExceptionDetails{TypeName: signal.Name, FullTypeName: what, Message: what},
	}
	if meaning != "" {
		body.Description += ": " + meaning
		body.Details.Message = meaning
	}
	return body
}

// maxAbortMessage bounds the text that is shown of an abort message.
const maxAbortMessage = 1024

// abortMessage returns what glibc printed before it called abort: a failed
// assertion, for example. It keeps that for debuggers in __abort_msg, a pointer
// to its size in 4 bytes and its text [glibc include/stdlib.h: struct
// abort_msg_s].
func (s *snapshot) abortMessage() string {
	at, ok := s.process.Address("__abort_msg")
	if !ok {
		return ""
	}
	words := s.words()
	msg, err := words.Uint64(at)
	if err != nil || msg == 0 {
		return ""
	}
	text, _ := words.CString(msg+4, maxAbortMessage)
	return oneLine(text)
}
