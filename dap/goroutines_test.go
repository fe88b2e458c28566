package dap

import (
	"strings"
	"testing"

	godap "github.com/google/go-dap"
)

func TestGoroutinesRefused(t *testing.T) {
	c, _ := open(t, corpus("amd64-v3-deep"))
	for command, want := range map[string]string{
		"goroutines":      "no Go program was found",
		"goroutines some": `no argument but all, not "some"`,
	} {
		var body godap.EvaluateResponseBody
		err := c.Do("evaluate", map[string]any{"expression": command, "context": "repl"}, &body)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, %q", command, err, body.Result)
		}
	}
}
