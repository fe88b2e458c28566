package dap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	godap "github.com/google/go-dap"
)

// initializeArguments tell what the client leaves out from what it sets to false.
type initializeArguments struct {
	godap.InitializeRequestArguments
	LinesStartAt1   *bool `json:"linesStartAt1"`
	ColumnsStartAt1 *bool `json:"columnsStartAt1"`
}

// fromOne returns the number that lines or columns begin with; 1 if the client does not
// say.
func fromOne(set *bool) int {
	if set != nil && !*set {
		return 0
	}
	return 1
}

func (s *session) initialize(_ context.Context, args *initializeArguments) (any, error) {
	if s.greeted {
		return nil, newError(idState, "initialize was already sent")
	}
	if args.PathFormat != "" && args.PathFormat != "path" {
		return nil, newError(idArguments, "paths cannot be written in the format %q", args.PathFormat)
	}
	s.greeted, s.client = true, args.InitializeRequestArguments
	s.firstLine, s.firstColumn = fromOne(args.LinesStartAt1), fromOne(args.ColumnsStartAt1)
	return &godap.Capabilities{
		SupportsConfigurationDoneRequest: true,
		SupportsEvaluateForHovers:        true,
		SupportsCompletionsRequest:       true,
		SupportsClipboardContext:         true,
		CompletionTriggerCharacters:      []string{"$"},
		SupportsModulesRequest:           true,
		AdditionalModuleColumns: []godap.ColumnDescriptor{
			{AttributeName: "unwind", Label: "Unwind source", Type: "string"},
			{AttributeName: "match", Label: "Match", Type: "string"},
		},
		SupportsValueFormattingOptions:   true,
		SupportsExceptionInfoRequest:     true,
		SupportsDelayedStackTraceLoading: true,
		SupportsLoadedSourcesRequest:     true,
		SupportsReadMemoryRequest:        true,
		SupportsDisassembleRequest:       true,
		SupportsCancelRequest:            true,
	}, nil
}

// open fulfils launch and attach, which are the same: nothing is started.
func (s *session) open(ctx context.Context, raw json.RawMessage) (any, error) {
	if s.config != nil {
		return nil, newError(idState, "a process is open already; end this session first")
	}
	c, err := parseConfig(raw)
	if err != nil {
		return nil, err
	}
	p, err := c.spec()
	if err != nil {
		return nil, err
	}
	if err := checkProgram(p.Options.Exe); err != nil {
		return nil, err
	}
	for _, warning := range c.warnings {
		s.output("important", "%s", warning)
	}
	s.sources = &workspace{dirs: c.sourceDirs()}
	if err := s.take(ctx, p); err != nil {
		return nil, err
	}
	s.config = c
	s.event("process", &godap.ProcessEventBody{
		Name: s.snap.name(), SystemProcessId: p.PID, IsLocalProcess: p.Dlv == "", StartMethod: "attach", PointerSize: 64,
	})
	s.then(func() { s.event("initialized", nil) })
	return nil, nil
}

// take opens the process, which replaces the snapshot there was.
func (s *session) take(ctx context.Context, p Spec) error {
	name := p.Core
	switch {
	case p.PID != 0:
		name = fmt.Sprintf("process %d", p.PID)
	case p.Dlv != "":
		name = "the process of dlv at " + p.Dlv
	}
	use, stop := context.WithCancel(context.Background())
	p.Options.Context = use
	s.queue.onCancelAll(stop)
	progress := s.startProgress("Opening " + name)
	t, err := s.server.Open(ctx, p, progress.update)
	progress.end()
	if err != nil {
		stop()
	}
	missing := (*fs.PathError)(nil)
	switch {
	case errors.Is(err, fs.ErrNotExist) && errors.As(err, &missing) && p.Core != "":
		return newError(idOpen, "there is no file %s", missing.Path)
	case errors.Is(err, context.Canceled) || ctx.Err() != nil && err != nil:
		return errCancelled
	case err != nil:
		return newError(idOpen, "%v", err)
	}
	if live := t.Image().Live; live != nil {
		if s.started != 0 && live.Started != s.started {
			stop()
			t.Close()
			return newError(idOpen, "process %d has ended; another process has its id now", p.PID)
		}
		s.started = live.Started
	}
	s.drop()
	s.spec, s.snap = p, newSnapshot(use, stop, t, s.base, s.sources)
	if !p.Goroutines {
		s.snap.heads = new(goHeads) // nobody looks for them
	}
	return nil
}

// drop forgets the snapshot.
func (s *session) drop() {
	if s.snap == nil {
		return
	}
	s.snap.stop()
	s.background.Wait()
	s.base = s.snap.refs.end()
	s.snap.process.Close()
	s.snap = nil
}

func (s *session) configurationDone(context.Context, *none) (any, error) {
	if _, err := s.stopped(); err != nil {
		return nil, err
	}
	if !s.configured {
		s.configured = true
		s.then(s.announce)
	}
	return nil, nil
}

// announce tells the client that the process has stopped, then what it is made
// of.
func (s *session) announce() {
	snap := s.snap
	s.event("stopped", s.whyStopped())
	s.banner()
	for _, problem := range snap.process.Problems() {
		snap.problem(s.output, problem)
	}
	fetches := s.config.Debuginfod.on
	s.background.Go(func() { s.sendModules(snap, "new", fetches) })
}

// whyStopped says why the process stands still, and which thread to show.
func (s *session) whyStopped() *godap.StoppedEventBody {
	snap := s.snap
	body := &godap.StoppedEventBody{Reason: "pause", AllThreadsStopped: true, ThreadId: snap.selected()}
	switch {
	case s.spec.PID != 0:
		body.Description = "Snapshot"
		body.Text = fmt.Sprintf("a snapshot of process %d, which continues to run", s.spec.PID)
		if live := snap.process.Image().Live; live != nil {
			body.Text += fmt.Sprintf("; it stood still for %v", live.StoppedFor.Round(time.Microsecond))
		}
	case s.spec.Dlv != "":
		body.Description, body.Text = "Stopped by dlv", "dlv has stopped the process; only dlv can continue it"
	case snap.process.Image().Signal != nil:
		info := snap.exception(snap.process.Image().Signal)
		body.Reason, body.Description, body.Text = "exception", info.Details.FullTypeName, info.Details.Message
	default:
		body.Description, body.Text = "Core file", "the core file names no signal"
	}
	return body
}

// stopped returns the snapshot, or why there is none.
func (s *session) stopped() (*snapshot, error) {
	switch {
	case s.snap != nil:
		return s.snap, nil
	case s.config == nil:
		return nil, newError(idState, "no process is open; send launch or attach first")
	}
	return nil, newError(idState, "the process is running; pause to take a snapshot of it")
}

func (s *session) resume(ctx context.Context, args *godap.ContinueArguments) (any, error) {
	snap, err := s.stopped()
	switch {
	case err != nil:
		return nil, err
	case s.spec.Dlv != "":
		s.standStill(args.ThreadId)
		return nil, newError(idExecution, "dlv holds the process: continue it there; pause then shows where it stopped next")
	case s.spec.PID == 0:
		s.standStill(args.ThreadId)
		return nil, newError(idExecution, "a core file is of a process that has ended: it cannot be continued")
	}
	s.threads = snap.threadList()
	if s.spec.Goroutines {
		s.threads = snap.goThreads(ctx)
	}
	s.drop()
	return &godap.ContinueResponseBody{AllThreadsContinued: true}, nil
}

// standStill tells a client, after a request that was refused, that the process still
// stands. Some take it to run as soon as they ask.
func (s *session) standStill(thread int) {
	s.then(func() {
		if s.snap == nil {
			return
		}
		body := s.whyStopped()
		if s.snap.byID[thread] != nil || s.snap.goroutine(s.snap.ctx, thread) != nil {
			body.ThreadId = thread
		}
		body.PreserveFocusHint = true
		s.event("stopped", body)
	})
}

// step refuses to step.
func (s *session) step(_ context.Context, args *godap.NextArguments) (any, error) {
	s.standStill(args.ThreadId)
	return nil, newError(idExecution, "sfcore shows the process and does not execute it, so there is no stepping")
}

func (s *session) pause(ctx context.Context, _ *none) (any, error) {
	switch {
	case s.config == nil:
		return nil, newError(idState, "no process is open; send launch or attach first")
	case s.spec.Core != "":
		return nil, newError(idExecution, "a core file does not run, so it cannot be paused")
	}
	if err := s.take(ctx, s.spec); err != nil {
		return nil, err
	}
	s.then(s.announce)
	return nil, nil
}

func (s *session) disconnect(_ context.Context, args *godap.DisconnectArguments) (any, error) {
	if args.TerminateDebuggee && s.spec.PID != 0 {
		s.output("console", "sfcore did not start the process, and leaves it alone.")
	}
	s.over = true
	return nil, nil
}

// setBreakpoints answers that breakpoints will not be reached: editors send
// those that they have to every session.
func (s *session) setBreakpoints(_ context.Context, args *godap.SetBreakpointsArguments) (any, error) {
	body := &godap.SetBreakpointsResponseBody{Breakpoints: []godap.Breakpoint{}}
	for i := range args.Breakpoints {
		body.Breakpoints = append(body.Breakpoints, godap.Breakpoint{
			Source: &args.Source, Line: args.Breakpoints[i].Line,
			Message: "sfcore does not execute the process, so this breakpoint will not be reached",
		})
	}
	return body, nil
}

func (s *session) setExceptionBreakpoints(_ context.Context, args *godap.SetExceptionBreakpointsArguments) (any, error) {
	if len(args.Filters)+len(args.FilterOptions)+len(args.ExceptionOptions) > 0 {
		return nil, newError(idExecution, "sfcore does not execute the process, so no exception will occur")
	}
	return nil, nil
}
