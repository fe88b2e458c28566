package dap

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"

	godap "github.com/google/go-dap"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/dap/daptest"
	"github.com/sfcore/sfcore/process"
)

const cores = "../testdata/cores/"

// openCore opens core files as cmd/sfcore does.
func openCore(ctx context.Context, p Spec, progress func(done, total int64)) (*process.Process, error) {
	img, err := core.Open(ctx, p.Core, core.Options{Progress: progress}) //nolint:forbidigo // an opener is needed to test with
	if err != nil {
		return nil, err
	}
	return process.New(img, p.Options), nil
}

// tester is a client in a test.
type tester struct {
	*daptest.Client
	*testing.T
}

// connect begins a session with a server.
func connect(t *testing.T, server *Server) *tester {
	t.Helper()
	client, adapter := net.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- server.Serve(context.Background(), adapter, adapter)
		shut(adapter)
	}()
	t.Cleanup(func() {
		shut(client)
		select {
		case err := <-done:
			if err != nil && !errors.Is(err, ErrIdle) && !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("the session ended with: %v", err)
			}
		case <-time.After(daptest.Timeout):
			t.Error("the session does not end")
		}
	})
	return &tester{daptest.New(client, client), t}
}

// do sends a request that must succeed.
func (c *tester) do(command string, args, body any) {
	c.Helper()
	if err := c.Do(command, args, body); err != nil {
		c.Fatal(err)
	}
}

// refused sends a request that must not succeed, with an error of any number for 0.
func (c *tester) refused(command string, args any, id int) daptest.Refusal {
	c.Helper()
	err := c.Do(command, args, nil)
	refusal := (*daptest.Refusal)(nil)
	if !errors.As(err, &refusal) {
		c.Fatalf("%s: got error %v, want a refusal", command, err)
	}
	if id != 0 && refusal.ID != id {
		c.Errorf("%s: got error %d (%s), want %d", command, refusal.ID, refusal.Message, id)
	}
	return *refusal
}

func (c *tester) event(name string, body any) {
	c.Helper()
	if err := c.Event(name, body); err != nil {
		c.Fatal(err)
	}
}

// corpus is the launch configuration for a case of the corpus.
func corpus(name string) map[string]any {
	dir := filepath.Join(cores, name)
	return map[string]any{
		"coreFile": filepath.Join(dir, "core.zst"), "paths": []string{filepath.Join(dir, "exe")},
		"sysroot": filepath.Join(dir, "sysroot"),
	}
}

var initialize = map[string]any{"adapterID": "sfcore", "linesStartAt1": true, "columnsStartAt1": true, "supportsProgressReporting": true, "supportsInvalidatedEvent": true}

// open begins a session and opens a process.
func open(t *testing.T, config any) (*tester, godap.StoppedEventBody) {
	t.Helper()
	c := connect(t, &Server{Open: openCore})
	c.do("initialize", initialize, nil)
	c.do("attach", config, nil)
	c.event("initialized", nil)
	c.do("configurationDone", nil, nil)
	var stopped godap.StoppedEventBody
	c.event("stopped", &stopped)
	return c, stopped
}

// frames returns the whole stack of a thread.
func (c *tester) frames(thread int) []godap.StackFrame {
	c.Helper()
	var body godap.StackTraceResponseBody
	c.do("stackTrace", map[string]any{"threadId": thread}, &body)
	if body.TotalFrames != len(body.StackFrames) {
		c.Errorf("got %d frames, want all %d", len(body.StackFrames), body.TotalFrames)
	}
	return body.StackFrames
}

// variables returns the variables of a reference by name.
func (c *tester) variables(ref int) map[string]godap.Variable {
	c.Helper()
	var body godap.VariablesResponseBody
	c.do("variables", map[string]any{"variablesReference": ref}, &body)
	vars := map[string]godap.Variable{}
	for _, v := range body.Variables {
		vars[v.Name] = v
	}
	return vars
}

// scope returns the reference of a scope of a frame.
func (c *tester) scope(frame int, name string) int {
	c.Helper()
	var body godap.ScopesResponseBody
	c.do("scopes", map[string]any{"frameId": frame}, &body)
	for _, s := range body.Scopes {
		if s.Name == name {
			return s.VariablesReference
		}
	}
	c.Fatalf("frame %d has no scope %s: %v", frame, name, body.Scopes)
	return 0
}

// evaluate returns the value of an expression.
func (c *tester) evaluate(frame int, context, expression string) string {
	c.Helper()
	var body godap.EvaluateResponseBody
	c.do("evaluate", map[string]any{"expression": expression, "frameId": frame, "context": context}, &body)
	return body.Result
}

func mustJSON(t *testing.T, v any) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func absolute(t *testing.T, name string) string {
	t.Helper()
	abs, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}
