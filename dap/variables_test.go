package dap

import (
	"strings"
	"testing"

	godap "github.com/google/go-dap"
)

// locals opens a core with variables, and returns its frames without the label.
func locals(t *testing.T, name string) (*tester, []godap.StackFrame) {
	t.Helper()
	dir := "../testdata/locals/" + name
	c, stopped := open(t, map[string]any{"coreFile": dir + "/core.zst", "program": dir + "/prog"})
	frames := c.frames(stopped.ThreadId)
	return c, frames[:len(frames)-1]
}

func TestVariables(t *testing.T) {
	for _, arch := range []string{"amd64", "aarch64", "s390x"} {
		t.Run(arch, func(t *testing.T) {
			c, frames := locals(t, arch+"-O0")
			if inlined := c.variables(c.scope(frames[0].Id, "Arguments")); inlined["what"].Value != "201" {
				t.Errorf("got %+v, want what = 201", inlined)
			}
			args := c.variables(c.scope(frames[1].Id, "Arguments"))
			if n := args["n"]; n.Type != "struct node *" || n.MemoryReference != n.Value || n.VariablesReference == 0 {
				t.Errorf("got %+v, want a pointer", n)
			}
			node := c.variables(args["n"].VariablesReference)["*n"]
			first := c.variables(node.VariablesReference)
			if first["name"].Value != `"first\n\x1b[1m"` || first["wide_bits"].Value != "1099511627775" {
				t.Errorf("got %+v", first)
			}
			second := c.variables(c.variables(first["next"].VariablesReference)["*next"].VariablesReference)
			if second["id"].Value != "2" || second["next"].VariablesReference != 0 {
				t.Errorf("got %+v, want the last node", second)
			}
			vars := c.variables(c.scope(frames[1].Id, "Locals"))
			if r := vars["copy"]; !strings.HasPrefix(r.Value, "{id = 1, next = 0x") || r.MemoryReference == "" {
				t.Errorf("got %+v", r)
			}
			table := vars["table"]
			if table.IndexedVariables != 6 || table.EvaluateName != "table" {
				t.Errorf("got %+v, want 6 elements", table)
			}
			var page godap.VariablesResponseBody
			args2 := map[string]any{"variablesReference": table.VariablesReference, "filter": "indexed", "start": 4, "count": 5, "format": map[string]any{"hex": true}}
			c.do("variables", args2, &page)
			if v := page.Variables; len(v) != 2 || v[1].Name != "[5]" || v[1].Value != "0x1" {
				t.Errorf("got %+v, want elements 4 and 5", v)
			}
		})
	}
}

func TestMissingVariables(t *testing.T) {
	c, frames := locals(t, "amd64-O2")
	vars := c.variables(c.scope(frames[1].Id, "Locals"))
	if v := vars["table"]; v.Value != "<optimised out>" || v.VariablesReference != 0 || v.MemoryReference != "" {
		t.Errorf("got %+v, want it to be optimised out", v)
	}
	if v := c.variables(vars["copy"].VariablesReference); v["id"].Value != "1" || v["next"].Value != "<optimised out>" {
		t.Errorf("got %+v, want one member", v)
	}
}

func TestEvaluateVariable(t *testing.T) {
	c, frames := locals(t, "amd64-O0")
	for expression, want := range map[string]string{"count": "1", "c": "BLUE", "third": "0.5", "h": "0x401000 <twice>"} {
		if got := c.evaluate(frames[1].Id, "watch", expression); got != want {
			t.Errorf("%s: got %s, want %s", expression, got, want)
		}
	}
	if got := c.evaluate(frames[2].Id, "hover", "depth"); got != "0" {
		t.Errorf("depth: got %s, want 0", got)
	}
	c.refused("setVariable", map[string]any{"variablesReference": 1, "name": "count", "value": "2"}, idExecution)
}
