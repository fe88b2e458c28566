package process_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/symbol"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/unwind"
)

// named reports whether got is the symbol of the frame: the one that gdb found,
// or that of eu-stack where it names another one at the same address. What is
// made of a C++ symbol is what the GNU demangler, which both use, makes of it.
// Names are normalised: see testdata/cores/README.md.
func (f *expectedFrame) named(got string) bool {
	if f.Demangled != "" && normal(symbol.Demangle(got)) != normal(f.Demangled) {
		return false
	}
	return normal(got) == normal(*f.Func) || f.EuFunc != nil && normal(got) == normal(*f.EuFunc)
}

// normal returns a name without the version of a symbol, and with one spelling
// of nested template arguments.
func normal(name string) string {
	if base, version, ok := strings.Cut(name, "@"); ok && version != "plt" {
		name = base
	}
	return strings.ReplaceAll(name, "> >", ">>")
}

// A wrong name is noticed, also one of C++.
func TestNamed(t *testing.T) {
	const mangled, demangled = "_ZN1a1bISt6vectorIiEEEvi.cold", "void a::b<std::vector<int> >(int) [clone .cold]"
	tests := []struct {
		frame expectedFrame
		got   string
		want  bool
	}{
		{expectedFrame{Func: new("f")}, "f", true},
		{expectedFrame{Func: new("f")}, "g", false},
		{expectedFrame{Func: new("f")}, "", false},
		{expectedFrame{Func: new("f"), EuFunc: new("g")}, "g", true},
		{expectedFrame{Func: new("f@plt")}, "f@plt", true},
		{expectedFrame{Func: new("f@plt")}, "f", false},
		{expectedFrame{Func: new("f@@GLIBC_2.34")}, "f", true},
		{expectedFrame{Func: new("f(int)")}, "f(long)", false},
		{expectedFrame{Func: new(mangled), Demangled: demangled}, mangled, true},
		{expectedFrame{Func: new(mangled), Demangled: demangled}, "_ZN1a1bISt6vectorIiEEEvl.cold", false},
		{expectedFrame{Func: new(mangled), Demangled: "void a::c(int)"}, mangled, false},
	}
	for _, tt := range tests {
		if got := tt.frame.named(tt.got); got != tt.want {
			t.Errorf("%q for %q, %q: got %v, want %v", tt.got, *tt.frame.Func, tt.frame.Demangled, got, tt.want)
		}
	}
}

// Every C++ symbol of the cores has the name that the GNU demangler gives it.
func TestDemangledExpected(t *testing.T) {
	mangled := 0
	cases(t, func(t *testing.T, _ string, want *expected) {
		for _, th := range want.Threads {
			for _, f := range th.Frames {
				if f.Func != nil && strings.HasPrefix(*f.Func, "_Z") {
					mangled++
					if f.Demangled == "" {
						t.Errorf("%s has no demangled name", *f.Func)
					}
				}
			}
		}
	})
	if mangled < 16 {
		t.Errorf("got %d C++ symbols", mangled)
	}
}

// The frames of tail calls in a core, between frames of the stack.
func TestTailCalls(t *testing.T) {
	p := openCase(t, "amd64-none-tailcalls", process.Options{})
	w := p.NewWalker()
	s := w.Walk(&p.Image().Threads[0])
	r := w.Describe(s, false)
	var names []string
	onStack := 0
	for i := range r.Frames {
		f := &r.Frames[i]
		if f.Index != i {
			t.Errorf("frame %d: got index %d", i, f.Index)
		}
		if !f.Inlined && !f.Method.Inferred() {
			if f.Method != s.Frames[onStack].Method || uint64(f.PC) != s.Frames[onStack].PC {
				t.Errorf("frame %d: got %v, %#x", i, f.Method, f.PC)
			}
			onStack++
		}
		if f.Method == unwind.TailCall {
			names = append(names, f.Function)
			if f.SP.Known || f.CFA.Known || f.Trust != unwind.Full {
				t.Errorf("frame %d: got %+v", i, f)
			}
		}
	}
	if onStack != len(s.Frames) {
		t.Errorf("got %d frames on the stack, want %d", onStack, len(s.Frames))
	}
	if want := []string{"visit24", "visit", "visit17", "visit", "visit10", "visit"}; len(names) < len(want) || !slices.Equal(names[:len(want)], want) {
		t.Errorf("got %q", names)
	}
}
