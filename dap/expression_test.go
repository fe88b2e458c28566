package dap

import (
	"strings"
	"testing"

	godap "github.com/google/go-dap"
)

func TestExpressionsOfVariables(t *testing.T) {
	for _, arch := range []string{"amd64", "aarch64", "s390x"} {
		c, frames := locals(t, arch+"-O0")
		for text, want := range map[string]string{
			"n->name":                   `"first\n\x1b[1m"`,
			"n->next->id":               "2",
			"copy.at[1].y":              "-400",
			"table[5]":                  "1",
			"table[4..6]":               "{0, 1}",
			"c == BLUE":                 "1",
			"byte + 100":                "300",
			"ratio * 2":                 "3",
			"(int)ratio":                "1",
			"sizeof table":              "24",
			"count + r":                 "1",
			"yes && !r":                 "1",
			"byte,x":                    "0xc8",
			"(struct node *)n == &copy": "0",
		} {
			for _, use := range []string{"watch", "hover", "repl", "variables"} {
				if got := c.evaluate(frames[1].Id, use, text); got != want {
					t.Errorf("%s: %s: %s: got %s, want %s", arch, use, text, got, want)
				}
			}
		}
		for _, text := range []string{"nosuch", "n->nosuch", "table()", "r = 1", "*r", "rip", "sp"} {
			c.refused("evaluate", map[string]any{"expression": text, "frameId": frames[1].Id, "context": "hover"}, idExpression)
		}
		// A function is no variable: what is below the mouse may be any word.
		c.refused("evaluate", map[string]any{"expression": "crash", "frameId": frames[1].Id, "context": "hover"}, idExpression)
		if got := c.evaluate(frames[1].Id, "watch", "crash"); !strings.HasSuffix(got, "<crash>") {
			t.Errorf("got crash %s", got)
		}
	}
}

// Every part has an expression, which stands for the same.
func TestEvaluateNames(t *testing.T) {
	c, frames := locals(t, "amd64-O0")
	seen := 0
	var check func(v *godap.Variable, depth int)
	check = func(v *godap.Variable, depth int) {
		if seen++; v.EvaluateName == "" {
			t.Errorf("%s has no expression", v.Name)
			return
		}
		if strings.HasPrefix(v.Value, "<") {
			return
		}
		var got godap.EvaluateResponseBody
		c.do("evaluate", map[string]any{"expression": v.EvaluateName, "frameId": frames[1].Id, "context": "watch"}, &got)
		if got.Result != v.Value || got.MemoryReference != v.MemoryReference || got.IndexedVariables != v.IndexedVariables {
			t.Errorf("%s: got %+v, want %+v", v.EvaluateName, got, v)
		}
		if v.VariablesReference == 0 || depth == 0 {
			return
		}
		again := map[string]godap.Variable{}
		for _, part := range c.variables(got.VariablesReference) {
			again[part.EvaluateName] = part
		}
		for name, part := range c.variables(v.VariablesReference) {
			if other, ok := again[part.EvaluateName]; !ok || other.Value != part.Value {
				t.Errorf("%s of %s: got %+v, want %+v", name, v.EvaluateName, other, part)
			}
			check(&part, depth-1)
		}
	}
	for _, scope := range []string{"Arguments", "Locals"} {
		for _, v := range c.variables(c.scope(frames[1].Id, scope)) {
			check(&v, 3)
		}
	}
	if seen < 50 {
		t.Errorf("got %d parts", seen)
	}
}

func TestClipboard(t *testing.T) {
	c, frames := locals(t, "amd64-O0")
	if got, want := c.evaluate(frames[1].Id, "clipboard", "why"), `"null pointer"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := c.evaluate(frames[1].Id, "clipboard", "copy.id"), "1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
