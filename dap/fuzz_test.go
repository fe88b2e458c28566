package dap

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/process"
)

// fuzzArguments are arguments that requests are made with, whether they fit or
// not.
var fuzzArguments = []string{
	"", "null", "{}", "7", `[1]`, `"x"`,
	`{"adapterID":"x","linesStartAt1":true,"columnsStartAt1":true,"supportsProgressReporting":true}`,
	`{"coreFile":"` + cores + `amd64-v3-threads/core.zst","paths":["` + cores + `amd64-v3-threads/exe"]}`,
	`{"pid":1}`, `{"coreFile":"/no/such/file"}`,
	`{"threadId":1,"startFrame":1,"levels":2}`, `{"threadId":-1,"startFrame":9223372036854775807,"levels":9223372036854775807}`,
	`{"frameId":1,"variablesReference":2,"sourceReference":3,"requestId":4}`,
	`{"frameId":5,"variablesReference":6,"sourceReference":7,"requestId":8,"start":1,"count":1}`,
	`{"variablesReference":3,"start":9223372036854775807,"count":9223372036854775807}`,
	`{"memoryReference":"0x401000","offset":-8,"count":64,"instructionOffset":-10,"instructionCount":20,"resolveSymbols":true}`,
	`{"memoryReference":"0xffffffffffffffff","offset":9223372036854775807,"count":1,"instructionOffset":16384,"instructionCount":16384}`,
	`{"memoryReference":"0","offset":-9223372036854775808,"count":9223372036854775807,"instructionOffset":-9223372036854775808,"instructionCount":9223372036854775807}`,
	`{"expression":"bt all","context":"repl"}`, `{"expression":"x/16i $pc","context":"repl"}`, `{"expression":"sframe","context":"repl","frameId":1}`,
	`{"expression":"*($sp+8)","frameId":1}`, `{"text":"print $r","column":9}`, `{"text":"","column":-9223372036854775808}`,
	`{"breakpoints":[{"line":1}],"filters":["x"]}`,
}

// FuzzSession sends requests in any order, with arguments that fit or not, and
// messages that are none. Every request must be answered once, in its order.
func FuzzSession(f *testing.F) {
	var names []string
	for name := range handlers {
		names = append(names, name)
	}
	slices.Sort(names)
	names = append(names, "cancel", "nonsense")
	index := func(name string) byte { return byte(slices.Index(names, name)) }
	start := []byte{index("initialize"), 6, index("attach"), 7, index("configurationDone"), 0}
	f.Add(append(start, index("threads"), 0, index("stackTrace"), 10, index("scopes"), 12, index("variables"), 13, index("variables"), 12, index("disconnect"), 0))
	f.Add(append(start, index("disassemble"), 15, index("disassemble"), 16, index("readMemory"), 15, index("evaluate"), 18, index("evaluate"), 19))
	f.Add(append(start, index("source"), 12, index("modules"), 0, index("loadedSources"), 0, index("completions"), 22, 255, 3, index("pause"), 10))
	f.Add([]byte{index("threads"), 0, 255, 0, index("disconnect"), 0, index("threads"), 0})
	open := openOnce(f, cores+"amd64-v3-threads/core.zst")
	f.Fuzz(func(t *testing.T, program []byte) {
		var input bytes.Buffer
		var want []int
		for seq := 1; len(program) >= 2 && seq < 24; seq, program = seq+1, program[2:] {
			if program[0] == 255 { // a message that is none
				garbage := program[2:min(len(program), 2+int(program[1]))]
				if json.Unmarshal(garbage, &struct{ Seq, Command any }{}) != nil {
					fmt.Fprintf(&input, "Content-Length: %d\r\n\r\n%s", len(garbage), garbage)
				}
				continue
			}
			command := names[int(program[0])%len(names)]
			content := fmt.Sprintf(`{"seq":%d,"type":"request","command":%q}`, seq, command)
			if args := fuzzArguments[int(program[1])%len(fuzzArguments)]; args != "" {
				content = fmt.Sprintf(`{"seq":%d,"type":"request","command":%q,"arguments":%s}`, seq, command, args)
			}
			fmt.Fprintf(&input, "Content-Length: %d\r\n\r\n%s", len(content), content)
			if command != "cancel" { // which overtakes
				want = append(want, seq)
			}
		}
		var out bytes.Buffer
		if err := (&Server{Open: open}).Serve(context.Background(), &input, &out); err != nil {
			t.Fatalf("got error %v", err)
		}
		var got []int
		over := false
		for _, m := range messages(t, &out) {
			if m.Type == "response" && m.Command != "cancel" {
				got = append(got, m.RequestSeq)
				if over {
					t.Errorf("%s was answered after disconnect", m.Command)
				}
				over = m.Command == "disconnect" && m.Success
			}
		}
		if len(got) > len(want) || !over && len(got) < len(want) || !slices.Equal(got, want[:len(got)]) {
			t.Errorf("got answers to %v, want %v", got, want)
		}
	})
}

// openOnce opens a core for all sessions: images do not change, and unpacking one takes
// longer than a session. There is no other core.
func openOnce(f *testing.F, name string) func(context.Context, Spec, func(done, total int64)) (*process.Process, error) {
	img, err := core.Open(f.Context(), name, core.Options{}) //nolint:forbidigo // as openCore
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(img.OnClose)
	img.OnClose = nil // sessions end, and the image stays
	return func(_ context.Context, p Spec, _ func(done, total int64)) (*process.Process, error) {
		if p.Core != name {
			return nil, os.ErrNotExist
		}
		return process.New(img, p.Options), nil
	}
}

// FuzzMessages gives any bytes to the adapter. It ends, and what it answers are
// messages of the protocol.
func FuzzMessages(f *testing.F) {
	initialize := `{"seq":1,"type":"request","command":"initialize","arguments":{"adapterID":"x"}}`
	frame := func(header, content string) string {
		return fmt.Sprintf("%s: %d\r\n\r\n%s", header, len(content), content)
	}
	f.Add([]byte(frame("Content-Length", initialize) + frame("content-length", `{"seq":2,"type":"request","command":"disconnect"}`)))
	f.Add([]byte(frame("X: y\r\nContent-Length", `[]`) + frame("Content-Length", `{"type":"event"}`) + frame("Content-Length", `"`)))
	f.Add([]byte("Content-Length: 4194305\r\n\r\nx"))
	f.Add([]byte("Content-Length: -1\r\n\r\n"))
	f.Add([]byte("Content-Length: 99999999999999999999\r\n\r\n"))
	f.Add(bytes.Repeat([]byte("A: b\r\n"), 20))
	f.Fuzz(func(t *testing.T, input []byte) {
		var out bytes.Buffer
		_ = (&Server{Open: openCore}).Serve(context.Background(), bytes.NewReader(input), &out)
		if n := len(messages(t, &out)); n > 2*bytes.Count(input, []byte("\n"))+8 {
			t.Errorf("%d messages to %d bytes", n, len(input))
		}
	})
}
