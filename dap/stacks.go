package dap

import (
	"context"
	"fmt"
	"strings"

	"github.com/sfcore/sfcore/internal/display"
	"github.com/sfcore/sfcore/report"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/process"
)

const (
	// maxOutput bounds a stack as text, and an answer with stacks, but that the last one
	// is whole.
	maxOutput = 1 << 20
	// maxStacksText bounds all stacks as text. A thousand threads have 2 to 6 MB.
	maxStacksText = 64 << 20
)

// allStacksArguments are the arguments of a request that is sfcore's own: allStacks
// writes the stacks of all threads, for documents.
type allStacksArguments struct {
	Group bool `json:"group"` // stacks that are equal are written once
	From  int  `json:"from"`  // the first stack: Next of the answer before; 0 at the beginning
}

type allStacksBody struct {
	Text    string `json:"text"`
	Threads int    `json:"threads"`
	Stacks  int    `json:"stacks"`         // groups, or threads
	Next    int    `json:"next,omitempty"` // From of the next request; 0 after the last stack
}

func (s *session) allStacks(ctx context.Context, args *allStacksArguments) (any, error) {
	snap, err := s.stopped()
	if err != nil {
		return nil, err
	}
	groups := snap.groups(ctx, args.Group)
	if args.From < 0 || args.From > len(groups) {
		return nil, newError(idArguments, "from: there are %d stacks, so none has the number %d", len(groups), args.From)
	}
	body := &allStacksBody{Threads: len(snap.threads), Stacks: len(groups)}
	progress := s.startProgress("Walking all stacks")
	defer progress.end()
	var b strings.Builder
	done := args.From
	for text := range snap.stackTexts(ctx, groups[args.From:]) {
		b.WriteString(text)
		done++
		progress.update(int64(done), int64(len(groups)))
		if b.Len() > maxOutput && done < len(groups) {
			body.Next = done
			break
		}
	}
	body.Text = b.String()
	return body, cancelledOr(ctx, nil)
}

// groups returns the threads in groups of equal stacks, or each alone.
func (s *snapshot) groups(ctx context.Context, equal bool) [][]*core.Thread {
	if !equal {
		groups := make([][]*core.Thread, len(s.threads))
		for i := range s.threads {
			groups[i] = s.threads[i : i+1]
		}
		return groups
	}
	if s.grouped == nil {
		groups := process.Group(ctx, s.process, s.threads)
		if ctx.Err() != nil {
			return groups
		}
		s.grouped = groups
	}
	return s.grouped
}

// stackTexts yields the stack of each group as text.
func (s *snapshot) stackTexts(ctx context.Context, groups [][]*core.Thread) func(yield func(string) bool) {
	var first []*core.Thread
	of := make(map[*core.Thread][]*core.Thread, len(groups))
	for _, group := range groups {
		first = append(first, group[0])
		of[group[0]] = group
	}
	return process.Parallel(ctx, s.process, first, func(w *process.Walker, th *core.Thread) string {
		var b strings.Builder
		s.writeStack(&b, w.Describe(w.Walk(th), false), of[th])
		return b.String()
	})
}

// backtrace writes the stack of the selected thread, of one, or those of all, of which
// it sends all but the end ahead.
func (s *session) backtrace(ctx context.Context, at *place, args string) (string, error) {
	var b strings.Builder
	group := false
	switch args {
	case "--group", "group", "all --group", "--group all", "all group":
		group = true
	case "all":
	default:
		st := at.stack
		if args != "" {
			tid, err := at.address(args)
			if err != nil {
				return "", err
			}
			if _, err := s.snap.thread(int(tid)); err != nil && st != nil && tid <= uint64(len(st.Frames)) {
				part := st.Thread // bt N of gdb
				part.Frames = part.Frames[:tid]
				s.snap.writeStack(&b, &part, nil)
				return b.String(), nil
			}
			if st, err = s.stack(ctx, int(tid)); err != nil {
				return "", err
			}
		}
		switch {
		case st == nil:
			return "", newError(idReference, "the process has no threads")
		case st.goroutine != nil && st.walked.Thread.ID == 0:
			s.snap.writeGoroutine(&b, &st.goroutine.Goroutine, &st.Thread)
		default:
			s.snap.writeStack(&b, &st.Thread, nil)
		}
		return b.String(), nil
	}
	progress := s.startProgress("Walking all stacks")
	defer progress.end()
	groups := s.snap.groups(ctx, group)
	done, sent := 0, 0
	for text := range s.snap.stackTexts(ctx, groups) {
		if sent+b.Len() > maxStacksText {
			fmt.Fprintf(&b, "... and the stacks of %d more; bt TID shows one\n", len(groups)-done)
			break
		}
		if b.Len() > maxPiece {
			s.output("console", "%s", strings.TrimSuffix(b.String(), "\n"))
			sent += b.Len()
			b.Reset()
		}
		b.WriteString(text)
		done++
		progress.update(int64(done), int64(len(groups)))
	}
	if group {
		fmt.Fprintf(&b, "%d threads, %d different stacks\n", len(s.snap.threads), len(groups))
	}
	return b.String(), cancelledOr(ctx, nil)
}

// maxPiece bounds the text that is sent to the console at once, but that the last stack
// is whole.
const maxPiece = 64 << 10

// writeStack writes a stack, up to maxOutput bytes. same are the threads that have it, if
// there are several.
func (s *snapshot) writeStack(b *strings.Builder, r *report.Thread, same []*core.Thread) {
	if len(same) > 1 {
		ids := make([]int, len(same))
		name := r.Name
		for i, th := range same {
			if ids[i] = th.ID; th.Name != name {
				name = ""
			}
		}
		fmt.Fprintf(b, "%d threads", len(same))
		if name != "" {
			fmt.Fprintf(b, " %s", oneLine(name))
		}
		fmt.Fprintf(b, ", ids %s\n", display.IDs(ids))
	} else {
		fmt.Fprintf(b, "thread %d", r.TID)
		if r.Name != "" {
			fmt.Fprintf(b, " %s", oneLine(r.Name))
		}
		if signal := s.process.Image().Signal; r.Crashed && signal != nil {
			fmt.Fprintf(b, ", %s", signal.Name)
		}
		b.WriteByte('\n')
	}
	s.writeFrames(b, r)
}

// writeFrames writes the frames of a stack and why it ends.
func (s *snapshot) writeFrames(b *strings.Builder, r *report.Thread) {
	for i := range r.Frames {
		f := &r.Frames[i]
		if b.Len() > maxOutput {
			fmt.Fprintf(b, "... %d more frames\n", len(r.Frames)-i)
			break
		}
		fmt.Fprintf(b, "%3d  0x%016x  %-13s %-7s  %s\n", f.Index, uint64(f.PC), f.Method, f.Trust, framePlace(f))
	}
	fmt.Fprintf(b, "     %s\n", stopLabel(&r.Stop))
}

// framePlace is where a frame is, for the console: in which function, module and line.
func framePlace(f *report.Frame) string {
	place := frameName(f, nil)
	if f.Function != "" {
		function := shortName(f.Function)
		place = fmt.Sprintf("%s+%d%s", function, uint64(f.FunctionOffset.Addr), strings.TrimPrefix(place, function))
		if f.ModuleName != "" {
			place += fmt.Sprintf(" (%s)", oneLine(f.ModuleName))
		}
	}
	if f.Line > 0 {
		place += fmt.Sprintf(" %s:%d", oneLine(f.File), f.Line)
	}
	return place
}
