package dap

import (
	"testing"

	godap "github.com/google/go-dap"
)

// Lines and columns begin with the number that the client says, or else with 1.
func TestNumbering(t *testing.T) {
	for name, tt := range map[string]struct {
		settings     map[string]any
		line, column int
	}{
		"as by default": {map[string]any{}, 61, 1},
		"from 1":        {map[string]any{"linesStartAt1": true, "columnsStartAt1": true}, 61, 1},
		"from 0":        {map[string]any{"linesStartAt1": false, "columnsStartAt1": false}, 60, 0},
	} {
		t.Run(name, func(t *testing.T) {
			tt.settings["adapterID"] = "sfcore"
			c := connect(t, &Server{Open: openCore})
			c.do("initialize", tt.settings, nil)
			config := corpus("amd64-v3-threads")
			config["sourceMap"] = [][]string{{"/srv/corpus/src", absolute(t, cores+"amd64-v3-threads/src")}}
			c.do("attach", config, nil)
			c.do("configurationDone", nil, nil)
			var stopped godap.StoppedEventBody
			c.event("stopped", &stopped)
			f := c.frames(stopped.ThreadId)[0]
			if f.Source.Path == "" || f.Line != tt.line || f.Column != tt.column {
				t.Errorf("got %+v:%d:%d, want %d:%d", f.Source, f.Line, f.Column, tt.line, tt.column)
			}
			var code godap.DisassembleResponseBody
			c.do("disassemble", map[string]any{"memoryReference": f.InstructionPointerReference, "instructionCount": 1}, &code)
			if got := code.Instructions[0].Line; got != tt.line {
				t.Errorf("got line %d of the instruction, want %d", got, tt.line)
			}
			for before, want := range map[int]int{0: 0, 3: 3} { // characters before the caret
				var body godap.CompletionsResponseBody
				c.do("completions", map[string]any{"text": "inf", "column": before + tt.column}, &body)
				if len(body.Targets) == 0 || body.Targets[0].Length != want {
					t.Errorf("%d before the caret: got %+v, want to replace %d", before, body.Targets, want)
				}
			}
		})
	}
}
