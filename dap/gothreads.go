package dap

import (
	"context"
	"fmt"
	"path"
	"strings"

	godap "github.com/google/go-dap"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/delve/goroutines"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
)

const (
	// maxGoThreads bounds the goroutines in the list of threads: editors draw all of it.
	maxGoThreads = 10_000

	// firstGoroutine is the id of the first goroutine in the protocol. Those of threads
	// are below: Linux has at most 4194304 [linux/threads.h: PID_MAX_LIMIT]. Some clients
	// keep ids in 32 bits.
	firstGoroutine = 1 << 30
)

// goHeads are the goroutines of a snapshot.
type goHeads struct {
	list     []goroutines.Head
	byThread map[int]*goroutines.Head // by the id of the thread that runs it
	why      string                   // why the list is empty or not complete; "" if it is complete
}

// goroutineHeads returns the goroutines of the process; none if it is no Go program.
func (s *snapshot) goroutineHeads(ctx context.Context) *goHeads {
	if s.heads != nil {
		return s.heads
	}
	h := &goHeads{byThread: map[int]*goroutines.Head{}}
	if !process.IsGo(s.process) { // a library with goroutines is not worth opening all files for
		s.heads = h
		return h
	}
	list, more, err := goroutines.Heads(ctx, s.process, maxGoThreads)
	switch {
	case ctx.Err() != nil:
		return h // the next request asks again
	case err != nil:
		h.why = fmt.Sprintf("the goroutines are not among the threads: %v; the command goroutines may know them", err)
	case more:
		h.why = fmt.Sprintf("%d goroutines are among the threads, and there are more: the command goroutines lists them", len(list))
	}
	h.list = list
	for i := range list {
		if tid := list[i].TID; tid != 0 {
			h.byThread[tid] = &list[i]
		}
	}
	s.heads = h
	return h
}

// goroutine returns the goroutine that an id of the protocol stands for, or that the
// thread with this id runs; nil if there is none.
func (s *snapshot) goroutine(ctx context.Context, id int) *goroutines.Head {
	h := s.goroutineHeads(ctx)
	if i := id - firstGoroutine; i >= 0 {
		if i < len(h.list) {
			return &h.list[i]
		}
		return nil
	}
	if th := s.byID[id]; th != nil {
		return h.byThread[th.ID]
	}
	return nil
}

// goThreads are the threads of the protocol if goroutines are among them: the threads that
// run a goroutine, after the one that is shown first; the goroutines that no thread runs;
// and the other threads.
func (s *snapshot) goThreads(ctx context.Context) []godap.Thread {
	h := s.goroutineHeads(ctx)
	if len(h.list) == 0 {
		return s.threadList()
	}
	var running, waiting, idle []godap.Thread
	here := map[int]bool{}
	for i, th := range s.threads {
		g := h.byThread[th.ID]
		here[th.ID] = true
		switch {
		case g != nil:
			running = append(running, godap.Thread{Id: s.ids[th], Name: oneLine(fmt.Sprintf("goroutine %d, thread %s", g.ID, s.threadName(th)))})
		case i == 0:
			running = append(running, godap.Thread{Id: s.ids[th], Name: s.threadName(th)})
		default:
			idle = append(idle, godap.Thread{Id: s.ids[th], Name: s.threadName(th)})
		}
	}
	for i := range h.list {
		if g := &h.list[i]; !here[g.TID] {
			waiting = append(waiting, godap.Thread{Id: firstGoroutine + i, Name: goroutineName(&g.Goroutine)})
		}
	}
	return append(append(running, waiting...), idle...)
}

// goroutineName is the id of a goroutine, what it waits for, and its first function, or
// the go statement if that is one that the compiler made for it.
func goroutineName(g *report.Goroutine) string {
	name := fmt.Sprintf("goroutine %d", g.ID)
	if state := goroutineState(g); state != "" {
		name += " [" + state + "]"
	}
	switch {
	case g.Start == nil:
	case strings.Contains(g.Start.Function, ".gowrap") && g.Created != nil && g.Created.Line > 0:
		name += fmt.Sprintf(" from %s:%d", path.Base(g.Created.File), g.Created.Line)
	default:
		name += " " + g.Start.Function
	}
	return oneLine(name)
}

func goroutineState(g *report.Goroutine) string {
	if g.WaitReason != "" {
		return g.WaitReason
	}
	return g.Status
}

// walkGoroutine walks the stack of a goroutine that no thread runs.
func (s *snapshot) walkGoroutine(g *goroutines.Head, by *process.Walker) *process.Stack {
	walked, err := g.Walk(s.process, by)
	if err != nil {
		return &process.Stack{Thread: &core.Thread{}, Stop: unwind.Stop{Reason: unwind.NoUnwindInfo, Detail: err}}
	}
	return walked
}
