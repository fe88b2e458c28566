package dap

import (
	"testing"

	godap "github.com/google/go-dap"
)

// The global variables of the unit are a scope of their own, which is not opened at once.
// They are not mistaken for local ones of the same name.
func TestGlobals(t *testing.T) {
	c, stopped := open(t, corpus("amd64-v3-threads"))
	f := c.frameNamed(stopped.ThreadId, "crash_leaf")
	var body godap.ScopesResponseBody
	c.do("scopes", map[string]any{"frameId": f.Id}, &body)
	names := ""
	for _, s := range body.Scopes {
		names += s.Name + " "
		if s.Expensive != (s.Name == "Globals") {
			t.Errorf("%s: expensive is %v", s.Name, s.Expensive)
		}
	}
	if names != "Arguments Locals Globals Registers Unwind " {
		t.Errorf("got scopes %s", names)
	}
	globals := c.variables(c.scope(f.Id, "Globals"))
	if len(globals) != 3 || globals["fut"].Value != "7" || globals["ready"].Value != "8" || globals["sink"].Type != "volatile int" {
		t.Errorf("got %v", globals)
	}
	for name, v := range globals {
		if v.EvaluateName != "::"+name {
			t.Errorf("%s: got %s to evaluate", name, v.EvaluateName)
		}
		if got := c.evaluate(f.Id, "watch", v.EvaluateName); got != v.Value {
			t.Errorf("%s: got %s as %s, want %s", name, got, v.EvaluateName, v.Value)
		}
	}
}
