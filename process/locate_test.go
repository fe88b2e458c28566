package process

import (
	"testing"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/symbol"
)

// TestFunction has what a location says of a function, and which function has the code.
func TestFunction(t *testing.T) {
	at := symbol.Location{Func: "_Z1fv", Offset: 8, File: "a.c", Line: 2, Column: 3, Inlined: true}
	if got, want := function(&at), (Function{Name: "f()", LinkageName: "_Z1fv", Offset: 8, File: "a.c", Line: 2, Column: 3, Inlined: true}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got, want := function(&symbol.Location{Func: "f"}), (Function{Name: "f"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	two := Location{Functions: []Function{{Name: "inner", Inlined: true}, {Name: "outer"}}}
	if got := two.Function(); got != &two.Functions[1] {
		t.Errorf("got %+v", got)
	}
	for name, l := range map[string]Location{"none": {}, "without a name": {Functions: []Function{{Name: "inner", Inlined: true}, {}}}} {
		if got := l.Function(); got != nil {
			t.Errorf("%s: got %+v", name, got)
		}
	}
	p := newProcess(t, &core.Image{Mappings: []core.Mapping{{Lo: 0x1000, Hi: 0x2000, Path: "/lib/x", Exec: true}}})
	if got := p.Locate(0x1008); got.Module != "/lib/x" || got.ModuleName != "x" || got.ModulePath != "/lib/x" || got.ModuleOffset != 8 || got.Tables == nil || got.Functions != nil {
		t.Errorf("got %+v", got)
	}
	if got := p.Locate(0x2000); got.Module != "" || got.ModuleName != "" || got.ModulePath != "" || got.ModuleOffset != 0 || got.Tables != nil || got.Functions != nil {
		t.Errorf("got %+v in no module", got)
	}
	if got := p.codeName(0x1008); got != "" {
		t.Errorf("got %q for code without a name", got)
	}
}
