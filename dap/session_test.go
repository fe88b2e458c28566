package dap

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	godap "github.com/google/go-dap"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/dap/daptest"
	"github.com/sfcore/sfcore/process"
)

func TestCapabilities(t *testing.T) {
	c := connect(t, &Server{Open: openCore})
	if r := c.refused("threads", nil, idState); !strings.Contains(r.Message, "initialize") {
		t.Errorf("got %q, want it to name initialize", r.Message)
	}
	var got godap.Capabilities
	c.do("initialize", initialize, &got)
	if !got.SupportsReadMemoryRequest || !got.SupportsDisassembleRequest || !got.SupportsCancelRequest {
		t.Errorf("got %+v", got)
	}
	if got.SupportsWriteMemoryRequest || got.SupportsSetVariable || got.SupportsStepBack || got.SupportsTerminateRequest ||
		got.SupportsFunctionBreakpoints || got.SupportsInstructionBreakpoints || got.SupportTerminateDebuggee {
		t.Errorf("got %+v, want nothing that is always refused", got)
	}
	c.refused("initialize", initialize, idState)
	c.refused("threads", nil, idState)
	c.refused("configurationDone", nil, idState)
	c.refused("pause", map[string]any{"threadId": 1}, idState)
	c.refused("continue", map[string]any{"threadId": 1}, idState)
	c.refused("frobnicate", nil, idCommand)
}

func TestRefusals(t *testing.T) {
	c, stopped := open(t, corpus("amd64-v3-threads"))
	for _, command := range []string{
		"continue", "pause", "next", "stepIn", "stepOut", "stepBack", "reverseContinue", "goto", "restartFrame",
		"setFunctionBreakpoints", "setDataBreakpoints", "setInstructionBreakpoints", "setVariable", "setExpression",
		"writeMemory", "terminate", "restart",
	} {
		r := c.refused(command, map[string]any{"threadId": stopped.ThreadId}, idExecution)
		if !r.Show || !strings.Contains(r.Message, " ") || strings.Contains(r.Message, "\n") {
			t.Errorf("%s: got %q, shown: %v, want a sentence that is shown", command, r.Message, r.Show)
		}
	}
	var body godap.SetBreakpointsResponseBody
	c.do("setBreakpoints", map[string]any{"source": map[string]any{"path": "/a.c"}, "breakpoints": []any{map[string]any{"line": 7}}}, &body)
	if len(body.Breakpoints) != 1 || body.Breakpoints[0].Verified || body.Breakpoints[0].Message == "" {
		t.Errorf("got %+v, want one that is not verified, and why", body.Breakpoints)
	}
	c.do("setExceptionBreakpoints", map[string]any{"filters": []string{}}, nil)
	c.refused("setExceptionBreakpoints", map[string]any{"filters": []string{"cpp"}}, idExecution)
	c.refused("attach", corpus("amd64-v3-deep"), idState)
	c.do("disconnect", map[string]any{"terminateDebuggee": true}, nil)
}

func TestConfigurations(t *testing.T) {
	dir := filepath.Join(cores, "amd64-v3-deep")
	file, exe := filepath.Join(dir, "core.zst"), filepath.Join(dir, "exe/deep")
	for name, config := range map[string]map[string]any{
		"own":      {"coreFile": file, "program": exe},
		"relative": {"coreFile": "core.zst", "program": "exe/deep", "cwd": dir},
		"cppdbg":   {"type": "cppdbg", "coreDumpPath": file, "program": exe, "MIMode": "gdb", "sourceFileMap": map[string]any{"/a": map[string]any{"editorPath": "/b"}}},
		"delve":    {"mode": "core", "coreFilePath": file, "program": exe, "substitutePath": []any{map[string]any{"from": "/a", "to": "/b"}}},
		"codelldb": {"type": "lldb", "targetCreateCommands": []string{"target create " + exe + " --core '" + file + "'"}, "program": exe, "sourceMap": map[string]any{"/a": nil}},
		"lldb-dap": {"coreFile": file, "program": exe, "sourceMap": [][]string{{"/a", "/b"}}, "initCommands": []string{"settings set x y"}, "sourcePath": dir},
		"lldb":     {"attachCommands": []string{"target create -c " + file + " " + exe}, "program": exe},
		"so paths": {"coreDumpPath": file, "additionalSOLibSearchPath": "/none; " + filepath.Join(dir, "exe")},
	} {
		t.Run(name, func(t *testing.T) {
			c, stopped := open(t, config)
			if frames := c.frames(stopped.ThreadId); len(frames) < 5 || frames[0].Name == frames[0].InstructionPointerReference {
				t.Errorf("got %+v, want frames with names", frames)
			}
		})
	}
	for name, tt := range map[string]struct {
		config any
		id     int
		want   string
	}{
		"nothing":        {nil, idLaunch, `"coreFile"`},
		"empty":          {map[string]any{}, idLaunch, `"coreFile"`},
		"two":            {map[string]any{"coreFile": "a", "pid": 1}, idLaunch, `"coreFile" and "pid"`},
		"negative":       {map[string]any{"pid": -1}, idLaunch, "-1"},
		"debug mode":     {map[string]any{"mode": "debug", "program": "."}, idLaunch, `"debug"`},
		"dlv and core":   {map[string]any{"coreFile": "a", "dlv": "localhost:1"}, idLaunch, `"coreFile" and "dlv"`},
		"remote":         {map[string]any{"mode": "remote", "host": "h"}, idLaunch, `"dlv"`},
		"wrong type":     {map[string]any{"coreFile": 7}, idLaunch, `"coreFile"`},
		"wrong map":      {map[string]any{"coreFile": "a", "sourceMap": []int{1}}, idLaunch, `"sourceMap"`},
		"not an id":      {map[string]any{"pid": "init"}, idLaunch, "init"},
		"no object":      {[]int{1}, idLaunch, "not a value of the kind array"},
		"no such file":   {map[string]any{"coreFile": "/no/such/core"}, idOpen, "there is no file /no/such/core"},
		"not a core":     {map[string]any{"coreFile": exe}, idOpen, "executable"},
		"standard input": {map[string]any{"coreFile": "-"}, idOpen, "there is no file ./-"},
		"no program":     {map[string]any{"coreFile": file, "program": "/no/such"}, idLaunch, `"program": there is no file /no/such`},
		"a directory":    {map[string]any{"coreFile": file, "program": dir}, idLaunch, "is a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			c := connect(t, &Server{Open: openCore})
			c.do("initialize", initialize, nil)
			r := c.refused("launch", tt.config, tt.id)
			if !strings.Contains(r.Message, tt.want) || strings.Contains(r.Message, "\n") || !r.Show {
				t.Errorf("got %q, shown: %v, want a sentence with %q", r.Message, r.Show, tt.want)
			}
			c.do("attach", corpus("amd64-v3-deep"), nil)
		})
	}
}

func TestSourceMap(t *testing.T) {
	c, err := parseConfig(mustJSON(t, map[string]any{
		"sourceMap":      map[string]any{"/build": "/home/me", "/build/lib": "/lib"},
		"sourceFileMap":  map[string]any{"/src/": "/mine"},
		"substitutePath": []any{map[string]any{"from": "/go", "to": "/gone"}},
	}))
	if err != nil {
		t.Fatal(err)
	}
	for from, want := range map[string]string{
		"/build/a.c": "/home/me/a.c", "/build/lib/a.c": "/lib/a.c", "/buildings/a.c": "/buildings/a.c",
		"/src/a.c": "/mine/a.c", "/go/a.go": "/gone/a.go", "a.c": "a.c", "": "",
	} {
		if got := c.localSource(from); got != want {
			t.Errorf("%s: got %s, want %s", from, got, want)
		}
	}
}

// TestLive checks that a live process runs between snapshots.
func TestLive(t *testing.T) {
	taken := 0
	c := connect(t, &Server{Open: func(ctx context.Context, p Spec, progress func(done, total int64)) (*process.Process, error) {
		if taken++; p.PID != 4711 {
			return nil, errors.New("no such process")
		}
		config, err := parseConfig(mustJSON(t, corpus("amd64-v3-threads")))
		if err != nil {
			return nil, err
		}
		if p, err = config.spec(); err != nil {
			return nil, err
		}
		tgt, err := openCore(ctx, p, progress)
		if err == nil {
			tgt.Image().Live = &core.Snapshot{Started: uint64(1 + taken/3), StoppedFor: time.Millisecond}
		}
		return tgt, err
	}})
	c.do("initialize", initialize, nil)
	if r := c.refused("attach", map[string]any{"pid": 4712}, idOpen); r.Message != "no such process" {
		t.Errorf("got %q", r.Message)
	}
	taken = 0
	c.do("attach", map[string]any{"processId": "4711"}, nil)
	c.do("configurationDone", nil, nil)
	var stopped godap.StoppedEventBody
	c.event("stopped", &stopped)
	if stopped.Reason != "pause" || !strings.Contains(stopped.Text, "1ms") {
		t.Errorf("got %+v, want a pause of 1ms", stopped)
	}
	old := c.frames(stopped.ThreadId)[0]
	c.do("continue", map[string]any{"threadId": stopped.ThreadId}, nil)
	c.refused("stackTrace", map[string]any{"threadId": stopped.ThreadId}, idState)
	c.refused("scopes", map[string]any{"frameId": old.Id}, idState)
	c.refused("continue", map[string]any{"threadId": stopped.ThreadId}, idState)
	var threads godap.ThreadsResponseBody
	c.do("threads", nil, &threads)
	if len(threads.Threads) != 10 {
		t.Errorf("got %d threads while it runs, want 10", len(threads.Threads))
	}
	c.do("pause", map[string]any{"threadId": stopped.ThreadId}, nil)
	c.event("stopped", &stopped)
	c.refused("scopes", map[string]any{"frameId": old.Id}, idReference)
	if taken != 2 || c.frames(stopped.ThreadId)[0].Id == old.Id {
		t.Errorf("got %d snapshots, or a number that was used before", taken)
	}
	if r := c.refused("pause", map[string]any{"threadId": stopped.ThreadId}, idOpen); !strings.Contains(r.Message, "has ended") {
		t.Errorf("got %q, want that the process has ended", r.Message)
	}
	c.do("disconnect", nil, nil)
}

// TestDlv looks at a process that a dlv has stopped, and again where dlv has
// stopped it next.
func TestDlv(t *testing.T) {
	for name, config := range map[string]any{
		"dlv":  map[string]any{"dlv": "127.0.0.1:4040"},
		"Go's": map[string]any{"mode": "remote", "port": 4040},
	} {
		t.Run(name, func(t *testing.T) {
			taken, running := 0, false
			c := connect(t, &Server{Open: func(ctx context.Context, p Spec, progress func(done, total int64)) (*process.Process, error) {
				if p.Dlv != "127.0.0.1:4040" || p.PID != 0 || p.Core != "" {
					t.Errorf("got %+v, want dlv's address alone", p)
				}
				if running {
					return nil, errors.New("the process runs")
				}
				taken++
				config, err := parseConfig(mustJSON(t, corpus("amd64-v3-threads")))
				if err != nil {
					return nil, err
				}
				if p, err = config.spec(); err != nil {
					return nil, err
				}
				return openCore(ctx, p, progress)
			}})
			c.do("initialize", initialize, nil)
			c.do("attach", config, nil)
			c.do("configurationDone", nil, nil)
			var stopped godap.StoppedEventBody
			c.event("stopped", &stopped)
			if stopped.Reason != "pause" || len(c.frames(stopped.ThreadId)) == 0 {
				t.Errorf("got %+v, want a pause and frames", stopped)
			}
			if r := c.refused("continue", map[string]any{"threadId": stopped.ThreadId}, idExecution); !strings.Contains(r.Message, "dlv holds") {
				t.Errorf("got %q", r.Message)
			}
			c.do("pause", map[string]any{"threadId": stopped.ThreadId}, nil)
			c.event("stopped", &stopped)
			if running = true; taken != 2 {
				t.Errorf("opened %d times, want 2", taken)
			}
			if r := c.refused("pause", map[string]any{"threadId": stopped.ThreadId}, idOpen); r.Message != "the process runs" {
				t.Errorf("got %q", r.Message)
			}
			if len(c.frames(stopped.ThreadId)) == 0 {
				t.Error("the last snapshot is gone")
			}
			c.do("disconnect", nil, nil)
		})
	}
}

// TestOrder checks that requests sent at once are answered in their order.
func TestOrder(t *testing.T) {
	c, stopped := open(t, corpus("amd64-v3-threads"))
	var want []int
	var last <-chan *daptest.Message
	for i := range 200 {
		command := []string{"threads", "stackTrace", "modules", "nonsense"}[i%4]
		seq, ch, err := c.Send(command, map[string]any{"threadId": stopped.ThreadId})
		if err != nil {
			t.Fatal(err)
		}
		want, last = append(want, seq), ch
	}
	if _, err := c.Wait(last); err != nil {
		t.Fatal(err)
	}
	got := c.Answered()
	if got = got[len(got)-len(want):]; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got answers to %v, want %v", got, want)
	}
}

// TestCancel checks that what is slow, and what waits behind it, can be
// cancelled by number and by progress, and that disconnect does not wait.
func TestCancel(t *testing.T) {
	slow := func(ctx context.Context, _ Spec, progress func(done, total int64)) (*process.Process, error) {
		for done := int64(0); ; done++ {
			progress(done, 1000)
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(10 * time.Millisecond):
			}
		}
	}
	for _, how := range []string{"request", "progress", "disconnect"} {
		t.Run(how, func(t *testing.T) {
			c := connect(t, &Server{Open: slow})
			c.do("initialize", initialize, nil)
			opening, opened, err := c.Send("attach", map[string]any{"coreFile": "slow"})
			if err != nil {
				t.Fatal(err)
			}
			waiting, waited, err := c.Send("threads", nil)
			if err != nil {
				t.Fatal(err)
			}
			var start godap.ProgressStartEventBody
			c.event("progressStart", &start)
			if start.RequestId != opening || !start.Cancellable || !strings.Contains(start.Title, "slow") {
				t.Errorf("got %+v, want a cancellable one for %d", start, opening)
			}
			switch how {
			case "request":
				c.do("cancel", map[string]any{"requestId": waiting}, nil)
				c.do("cancel", map[string]any{"requestId": opening}, nil)
			case "progress":
				c.do("cancel", map[string]any{"requestId": waiting}, nil)
				c.do("cancel", map[string]any{"progressId": "nonsense"}, nil)
				c.do("cancel", map[string]any{"progressId": start.ProgressId}, nil)
			case "disconnect":
				c.do("disconnect", nil, nil)
			}
			for _, ch := range []<-chan *daptest.Message{opened, waited} {
				m, err := c.Wait(ch)
				if err != nil || m.Success || m.Message != "cancelled" {
					t.Errorf("got %+v, %v, want cancelled", m, err)
				}
			}
			c.event("progressEnd", nil)
		})
	}
}

func TestIdle(t *testing.T) {
	c := connect(t, &Server{Open: openCore, Idle: 50 * time.Millisecond})
	c.event("terminated", nil)
}

func TestListener(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- (&Server{Open: openCore}).ServeListener(ctx, l) }()
	var sessions []*tester
	for range 3 {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer shut(conn)
		c := &tester{daptest.New(conn, conn), t}
		c.do("initialize", initialize, nil)
		sessions = append(sessions, c)
	}
	for _, c := range sessions {
		c.do("attach", corpus("amd64-v3-threads"), nil)
	}
	sessions[0].do("disconnect", nil, nil)
	<-sessions[0].Ended()
	sessions[1].do("threads", nil, nil)
	cancel()
	<-sessions[1].Ended()
	<-sessions[2].Ended()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestDamagedMessages checks that a session goes on after messages that it
// cannot understand, and ends with an error where it cannot know where the next
// begins.
func TestDamagedMessages(t *testing.T) {
	frame := func(content string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(content), content) }
	hello := frame(`{"seq":1,"type":"request","command":"initialize","arguments":{"adapterID":"x"}}`)
	bye := frame(`{"seq":9,"type":"request","command":"disconnect"}`)
	tests := []struct {
		name, input string
		answers     string // commands answered, with + or -
		wantErr     bool
	}{
		{"good", hello + bye, "initialize+ disconnect+", false},
		{"end of input", hello, "initialize+", false},
		{"not JSON", hello + frame("{") + bye, "initialize+ disconnect+", false},
		{"not an object", hello + frame("[1]") + frame("null") + bye, "initialize+ disconnect+", false},
		{"not a request", hello + frame(`{"type":"event","event":"x"}`) + bye, "initialize+ disconnect+", false},
		{"command of the wrong type", hello + frame(`{"seq":2,"type":"request","command":7}`) + bye, "initialize+ disconnect+", false},
		{"type of the wrong type", hello + frame(`{"seq":2,"type":7,"command":"x"}`) + bye, "initialize+ x- disconnect+", false},
		{"arguments of the wrong type", hello + frame(`{"seq":2,"type":"request","command":"threads","arguments":7}`) + bye, "initialize+ threads- disconnect+", false},
		{"more fields", "content-type: x\r\n" + hello + bye, "initialize+ disconnect+", false},
		{"too large", hello + frame(strings.Repeat(" ", maxMessage+1)) + bye, "initialize+ disconnect+", false},
		{"too large, of VS Code", hello + frame(`{"command":"evaluate","arguments":{"expression":"`+strings.Repeat("x", maxMessage)+`","seq":9},"type":"request","seq":2}`) + bye, "initialize+ evaluate- disconnect+", false},
		{"too large, with brackets", hello + frame(`{"seq":2,"arguments":{"expression":"`+strings.Repeat(`\"}],`, maxMessage/5)+`"},"type":"request","command":"evaluate"}`) + bye, "initialize+ evaluate- disconnect+", false},
		{"too large, no request", hello + frame(`{"type":"event","event":"`+strings.Repeat("x", maxMessage)+`"}`) + bye, "initialize+ disconnect+", false},
		{"no size", "Content-Length: x\r\n\r\n{}", "", true},
		{"negative size", "Content-Length: -1\r\n\r\n{}", "", true},
		{"huge size", "Content-Length: 99999999999999\r\n\r\n{}", "", true},
		{"another protocol", "GET / HTTP/1.1\r\n\r\n", "", true},
		{"a web page's request", "POST /a:b HTTP/1.1\r\n" + hello, "", true},
		{"a web page's fields", "Origin: null\r\n" + hello, "", true},
		{"endless header", strings.Repeat("x", 1<<20), "", true},
		{"endless fields", strings.Repeat("a: b\r\n", 1<<16), "", true},
		{"cut off", hello + "Content-Length: 100\r\n\r\n{", "initialize+", true},
		{"cut off in a header", hello + "Content-Le", "initialize+", true},
	}
	for _, tt := range tests {
		for how, server := range map[string]*Server{"": {Open: openCore}, ", relayed": relaying(nil)} {
			t.Run(tt.name+how, func(t *testing.T) {
				var out bytes.Buffer
				err := server.Serve(context.Background(), strings.NewReader(tt.input), &out)
				if (err != nil) != tt.wantErr {
					t.Errorf("got error %v, want one: %v", err, tt.wantErr)
				}
				if got := strings.Join(answers(t, &out), " "); got != tt.answers {
					t.Errorf("got answers %q, want %q", got, tt.answers)
				}
			})
		}
	}
}

// answers returns the commands of the responses in an adapter's output.
func answers(t *testing.T, out io.Reader) []string {
	t.Helper()
	var commands []string
	for _, m := range messages(t, out) {
		if m.Type == "response" {
			commands = append(commands, m.Command+map[bool]string{true: "+", false: "-"}[m.Success])
		}
	}
	return commands
}

// messages decodes an adapter's output, which must be well formed and numbered.
func messages(t *testing.T, out io.Reader) []daptest.Message {
	t.Helper()
	var all []daptest.Message
	for r := bufio.NewReader(out); ; {
		content, err := godap.ReadBaseMessage(r)
		if errors.Is(err, io.EOF) {
			return all
		}
		var m daptest.Message
		if err == nil {
			err = json.Unmarshal(content, &m)
		}
		if err != nil {
			t.Fatal(err)
		}
		if all = append(all, m); m.Seq != len(all) {
			t.Fatalf("got message %d, want %d", m.Seq, len(all))
		}
	}
}
