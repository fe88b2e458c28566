package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	godap "github.com/google/go-dap"
	goplugin "github.com/hashicorp/go-plugin"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/dap"
	"github.com/sfcore/sfcore/dap/daptest"
	"github.com/sfcore/sfcore/internal/delve/delvetest"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/plugin"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/report"
)

// shownFrame is what every front end shows of a frame.
type shownFrame struct{ pc, name, method, trust, evidence, cfa, rule, skipped string }

// shownStack is what every front end shows of a stack.
type shownStack struct {
	frames []shownFrame
	stop   string
}

// shownStacks are stacks by thread id.
type shownStacks map[int]shownStack

// Every front end shows the same of every core: the frames, how they were found,
// how far they are trusted and why, and why stacks end.
func TestFrontEndsAgree(t *testing.T) {
	service := inProcessPlugin(t)
	frames := 0
	testkit.EachCase(t, coresDir, func(t *testing.T, name string) {
		dir := filepath.Join(coresDir, name)
		report := reportByJSON(t, caseArgs(t, name))
		want := shown(report)
		for _, th := range want {
			frames += len(th.frames)
		}
		compareShown(t, "debug adapter", stacksByDAP(t, dir), want)
		byPlugin := reportByPlugin(t, service, plugin.Spec{Core: filepath.Join(dir, "core.zst"), Options: optionsOf(dir)})
		compareShown(t, "plugin", shown(byPlugin), want)
		if !reflect.DeepEqual(byPlugin.Waiting, report.Waiting) {
			t.Errorf("plugin: got %+v, want %+v", byPlugin.Waiting, report.Waiting)
		}
	})
	if frames < 1000 {
		t.Errorf("got %d frames in all", frames)
	}
}

func compareShown(t *testing.T, by string, got, want shownStacks) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: got %d threads, want %d", by, len(got), len(want))
	}
	for tid, w := range want {
		g := got[tid]
		if len(g.frames) != len(w.frames) || g.stop != w.stop {
			t.Errorf("%s: thread %d: got %d frames, %q, want %d, %q", by, tid, len(g.frames), g.stop, len(w.frames), w.stop)
			continue
		}
		for i := range w.frames {
			if w.frames[i].name == "" {
				g.frames[i].name = "" // the debug adapter shows the address in place of a name
			}
			if g.frames[i] != w.frames[i] {
				t.Errorf("%s: thread %d frame %d:\ngot  %+v\nwant %+v", by, tid, i, g.frames[i], w.frames[i])
			}
		}
	}
}

// optionsOf names the directories of a case that are there: the plugin refuses others.
func optionsOf(dir string) (o process.Options) {
	there := func(name string) (string, bool) {
		path := filepath.Join(dir, name)
		_, err := os.Stat(path)
		return path, err == nil
	}
	for _, name := range []string{"exe", "debug"} {
		if path, ok := there(name); ok {
			o.Paths = append(o.Paths, path)
		}
	}
	if path, ok := there("sysroot"); ok {
		o.Sysroot = path
	}
	return o
}

// shown returns what a report shows.
func shown(r *report.Document) shownStacks {
	stacks := shownStacks{}
	for i := range r.Threads {
		th := &r.Threads[i]
		s := shownStack{stop: th.Stop.Reason.String() + " " + th.Stop.Detail}
		for j := range th.Frames {
			f := &th.Frames[j]
			shown := shownFrame{
				fmt.Sprintf("%#x", uint64(f.PC)), f.Function, f.Method.String(), f.Trust.String(), f.Evidence.String(), "", f.Rule, f.Skipped,
			}
			if f.CFA.Known {
				shown.cfa = fmt.Sprintf("%#x", uint64(f.CFA.Addr))
			}
			s.frames = append(s.frames, shown)
		}
		stacks[th.TID] = s
	}
	return stacks
}

func reportByJSON(t *testing.T, args []string) *report.Document {
	t.Helper()
	stdout, stderr, code := sfcore(append([]string{"bt", "-v", "--format", "json"}, args...)...)
	var r report.Document
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatalf("exit status %d, %s: %v", code, stderr, err)
	}
	return &r
}

func reportByPlugin(t *testing.T, c *plugin.Client, spec plugin.Spec) *report.Document {
	t.Helper()
	s, err := c.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Report(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	return r
}

// The plugin says the same of threads that wait as the command line does, also of
// owners that are inferred.
func TestFrontEndsAgreeOnWaits(t *testing.T) {
	service := inProcessPlugin(t)
	for _, name := range []string{"amd64-O0", "amd64-Og"} {
		dir := filepath.Join("../../testdata/guards", name)
		corePath, exe := filepath.Join(dir, "core.zst"), filepath.Join(dir, "prog")
		want := reportByJSON(t, []string{corePath, exe}).Waiting
		got := reportByPlugin(t, service, plugin.Spec{Core: corePath, Options: process.Options{Exe: exe}}).Waiting
		if len(want.Waits) < 12 || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
}

// inProcessPlugin returns a client of a plugin in this program.
func inProcessPlugin(t *testing.T) *plugin.Client {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	configs, done := make(chan *goplugin.ReattachConfig, 1), make(chan struct{})
	server := &plugin.Server{Open: func(ctx context.Context, s plugin.Spec) (*process.Process, error) {
		img, err := core.Open(ctx, s.Core, core.Options{})
		if err != nil {
			return nil, err
		}
		return process.New(img, s.Options), nil
	}}
	go server.ServeTest(ctx, &goplugin.ServeTestConfig{Context: ctx, ReattachConfigCh: configs, CloseCh: done})
	c, err := plugin.Reattach(t.Context(), <-configs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		cancel()
		<-done
	})
	return c
}

// doRequest sends a request that must succeed.
type doRequest func(command string, args, body any)

// withDAP calls f with a session of a debug adapter that shows a core.
func withDAP(t *testing.T, dir string, f func(doRequest)) {
	t.Helper()
	client, adapter := net.Pipe()
	server := &dap.Server{Open: openForDAP}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(context.Background(), adapter, adapter)
		_ = adapter.Close()
	}()
	defer func() {
		_ = client.Close()
		<-ended
	}()
	c := daptest.New(client, client)
	do := func(command string, args, body any) {
		t.Helper()
		if err := c.Do(command, args, body); err != nil {
			t.Fatal(err)
		}
	}
	o := optionsOf(dir)
	do("initialize", map[string]any{"adapterID": "sfcore"}, nil)
	do("attach", map[string]any{"coreFile": filepath.Join(dir, "core.zst"), "paths": o.Paths, "sysroot": o.Sysroot}, nil)
	do("configurationDone", nil, nil)
	f(do)
}

func stacksByDAP(t *testing.T, dir string) shownStacks {
	t.Helper()
	stacks := shownStacks{}
	withDAP(t, dir, func(do doRequest) {
		var threads godap.ThreadsResponseBody
		do("threads", nil, &threads)
		for _, th := range threads.Threads {
			var s shownStack
			for {
				var part godap.StackTraceResponseBody
				do("stackTrace", map[string]any{"threadId": th.Id, "startFrame": len(s.frames), "format": map[string]any{"parameters": true}}, &part)
				for i := range part.StackFrames {
					f := &part.StackFrames[i]
					if f.PresentationHint == "label" {
						s.stop = f.Name
						break
					}
					s.frames = append(s.frames, shownByDAP(do, f))
				}
				if s.stop != "" || len(part.StackFrames) == 0 {
					break
				}
			}
			s.stop = stopOfLabel(s.stop)
			stacks[th.Id] = s
		}
	})
	return stacks
}

// stopOfLabel returns the reason and the detail of the label that ends a stack.
func stopOfLabel(label string) string {
	text := strings.Trim(label, "— ")
	if rest, ok := strings.CutPrefix(text, "the stack ends here: "); ok {
		text = rest
	} else {
		text = "outermost" + strings.TrimPrefix(text, "end of the stack")
	}
	reason, detail, _ := strings.Cut(text, " (")
	return reason + " " + strings.TrimSuffix(detail, ")")
}

// shownByDAP reads the scope Unwind of a frame.
func shownByDAP(do doRequest, f *godap.StackFrame) shownFrame {
	var scopes godap.ScopesResponseBody
	do("scopes", map[string]any{"frameId": f.Id}, &scopes)
	var vars godap.VariablesResponseBody
	do("variables", map[string]any{"variablesReference": scopes.Scopes[len(scopes.Scopes)-1].VariablesReference}, &vars)
	values := map[string]string{}
	for _, v := range vars.Variables {
		values[v.Name] = v.Value
	}
	evidence := values["evidence"]
	if evidence == "the thread's own registers" {
		evidence = "none"
	}
	pc, _, _ := strings.Cut(values["pc"], " ") // the name of the code follows
	return shownFrame{
		pc, strings.TrimSuffix(strings.TrimSuffix(f.Name, " [inlined]"), " <signal handler called>"),
		values["method"], values["trust"], evidence, values["CFA"], values["row"], values["skipped"],
	}
}

// shownGoroutines are the stacks of goroutines by id, of which pc, method and
// trust are kept.
type shownGoroutines map[int64][]shownFrame

func shownGoroutine(g *report.Goroutine) []shownFrame {
	var frames []shownFrame
	for i := range g.Frames {
		f := &g.Frames[i]
		frames = append(frames, shownFrame{pc: fmt.Sprintf("%#x", uint64(f.PC)), method: f.Method.String(), trust: f.Trust.String()})
	}
	return append(frames, shownFrame{name: g.Stop.Reason.String()})
}

// Every front end lists the same goroutines, with the same trust.
func TestFrontEndsAgreeOnGoroutines(t *testing.T) {
	if binary.NativeEndian.Uint16([]byte{0, 1}) == 1 {
		t.Skip("delve takes the context of a signal for one of the host's byte order, and says so below the stack")
	}
	delvetest.Here(t)
	service := inProcessPlugin(t)
	for _, name := range []string{"amd64", "aarch64"} {
		t.Run(name, func(t *testing.T) {
			var document struct{ Goroutines []report.Goroutine }
			stdout, stderr, _ := sfcore(goroutinesOf(name, "--format", "json")...)
			if err := json.Unmarshal([]byte(stdout), &document); err != nil {
				t.Fatalf("%s: %v", stderr, err)
			}
			want := shownGoroutines{}
			for i := range document.Goroutines {
				want[document.Goroutines[i].ID] = shownGoroutine(&document.Goroutines[i])
			}
			dir := filepath.Join(goroutinesDir, name)
			if len(want) < 10 {
				t.Errorf("got %d goroutines", len(want))
			}
			if got := goroutinesByPlugin(t, service, dir); !reflect.DeepEqual(got, want) {
				t.Errorf("plugin: got %v\nwant %v", got, want)
			}
			if got := goroutinesByDAP(t, dir); !reflect.DeepEqual(got, want) {
				t.Errorf("debug adapter: got %v\nwant %v", got, want)
			}
		})
	}
}

func goroutinesByPlugin(t *testing.T, c *plugin.Client, dir string) shownGoroutines {
	t.Helper()
	s, err := c.Open(t.Context(), plugin.Spec{Core: filepath.Join(dir, "core.zst"), Options: optionsOf(dir)})
	if err != nil {
		t.Fatal(err)
	}
	got := shownGoroutines{}
	for g, err := range s.Goroutines(t.Context(), plugin.GoroutineOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		got[g.ID] = shownGoroutine(g)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	return got
}

// goroutinesByDAP reads what the debug console prints.
func goroutinesByDAP(t *testing.T, dir string) shownGoroutines {
	t.Helper()
	got := shownGoroutines{}
	withDAP(t, dir, func(do doRequest) {
		var reply godap.EvaluateResponseBody
		do("evaluate", map[string]any{"expression": "goroutines", "context": "repl"}, &reply)
		id := int64(0)
		for line := range strings.Lines(reply.Result) {
			words := strings.Fields(line)
			switch {
			case words[0] == "goroutine":
				id, _ = strconv.ParseInt(words[1], 10, 64)
			case words[0] == "—":
				got[id] = append(got[id], shownFrame{name: strings.Fields(stopOfLabel(strings.TrimSpace(line)))[0]})
			case strings.HasPrefix(words[1], "0x"):
				pc, err := strconv.ParseUint(words[1], 0, 64)
				if err != nil {
					t.Fatal(err)
				}
				got[id] = append(got[id], shownFrame{pc: fmt.Sprintf("%#x", pc), method: words[2], trust: words[3]})
			}
		}
	})
	return got
}
