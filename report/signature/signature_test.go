package signature

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
)

// stack makes a complete stack of functions in one module, the innermost first. "?"
// before a name makes the frame a guess, "+" an inlined one.
func stack(names ...string) *report.Thread {
	th := &report.Thread{Crashed: true, Stop: report.Stop{Reason: unwind.Outermost}}
	for i, name := range names {
		f := report.Frame{Index: i, Method: unwind.CFI, Trust: unwind.Full, Module: "b1d", ModuleOffset: report.Known(uint64(0x1000 + len(name)*64 + int(name[0])))}
		switch name[0] {
		case '?':
			f.Trust, name = unwind.Guess, name[1:]
		case '+':
			f.Inlined, name = true, name[1:]
		}
		f.Function = name
		th.Frames = append(th.Frames, f)
	}
	return th
}

var segv = &report.Signal{Name: "SIGSEGV", Fault: report.FaultNullAccess}

func sign(th *report.Thread) *Signature { return Stack(segv, th, Default()) }

// What is equal on which level, and what is not.
func TestLevels(t *testing.T) {
	base := sign(stack("parse<int>(int)", "handle(char)", "main"))
	other := func(th *report.Thread, s *report.Signal) *Signature { return Stack(s, th, Default()) }
	elsewhere := stack("parse<int>(int)", "handle(char)", "main")
	for i := range elsewhere.Frames {
		elsewhere.Frames[i].Module = "an07e4"
	}
	stripped := stack("parse<int>(int)", "handle(char)", "main")
	for i := range stripped.Frames {
		stripped.Frames[i].Function = ""
	}
	half := stack("parse<int>(int)", "handle(char)", "main")
	half.Frames[1].Function = ""
	tail := stack("parse<int>(int)", "handle(char)", "main")
	tail.Frames[1].Method = unwind.TailCall
	for _, tt := range []struct {
		name   string
		got    *Signature
		levels string // on which it is equal to base
	}{
		{"the same", sign(stack("parse<int>(int)", "handle(char)", "main")), "afc"},
		{"another build", other(elsewhere, segv), "fc"},
		{"another fault", other(stack("parse<int>(int)", "handle(char)", "main"), &report.Signal{Name: "SIGSEGV"}), "ac"},
		{"no signal", other(stack("parse<int>(int)", "handle(char)", "main"), nil), "ac"},
		{"other template arguments", sign(stack("parse<str>(int)", "handle(char)", "main")), "ac"},
		{"a clone", sign(func() *report.Thread {
			th := stack("parse<int>(int)", "handle(char)", "main")
			th.Frames[0].Function = "parse<int>(int) [clone .cold]"
			return th
		}()), "afc"},
		{"stripped", sign(stripped), "a"},
		{"partly stripped", sign(half), "a"},
		{"another caller", sign(stack("parse<int>(int)", "other(char)", "main")), ""},
		{"a guess behind", sign(stack("parse<int>(int)", "handle(char)", "main", "?x", "y")), "afc"},
		{"a start behind", sign(stack("parse<int>(int)", "handle(char)", "main", "__libc_start_main")), "fc"},
		{"raised and aborted", sign(stack("raise", "abort", "parse<int>(int)", "handle(char)", "main")), "fc"},
		{"a tail call", sign(tail), "fc"},
	} {
		var equal strings.Builder
		for _, l := range []struct{ level, a, b string }{{"a", base.Address, tt.got.Address}, {"f", base.Fine, tt.got.Fine}, {"c", base.Coarse, tt.got.Coarse}} {
			if l.a == l.b && l.a != "" {
				equal.WriteString(l.level)
			}
		}
		if equal.String() != tt.levels {
			t.Errorf("%s: equal on %q, want %q: %+v", tt.name, equal.String(), tt.levels, tt.got)
		}
	}
	if got := sign(stripped); got.Coarse != "" || got.Fine == "" || got.Title != "null-access in b1d+1430 < b1d+1368 < b1d+116d" {
		t.Errorf("stripped: got %+v", got)
	}
}

// Only so many frames count, and recursion counts once.
func TestDepth(t *testing.T) {
	base := sign(stack("a", "b", "c", "d", "e"))
	if got := sign(stack("a", "b", "c", "d", "e", "f", "g")); got.Fine != base.Fine || got.Coarse != base.Coarse || got.Address == base.Address {
		t.Errorf("more callers: got %+v, want %+v", got, base)
	}
	if got := sign(stack("a", "b", "b", "b", "c", "d", "c", "d", "e")); got.Fine != base.Fine || got.Address != base.Address {
		t.Errorf("recursion: got %+v, want %+v", got, base)
	}
	if got := sign(stack("a", "b", "c", "d")); got.Fine == base.Fine {
		t.Error("one frame less is the same")
	}
}

// A stack of nothing but what the rules leave out still has a signature.
func TestNothingRelevant(t *testing.T) {
	a, b := sign(stack("raise", "abort", "_start")), sign(stack("kill", "_start"))
	if a.Fine == "" || a.Fine == b.Fine || !a.Frames[0].Named {
		t.Errorf("got %+v and %+v", a, b)
	}
	none := sign(stack("?a", "b"))
	if none.Fine+none.Coarse+none.Address != "" || none.Title != "null-access, no trusted frame" {
		t.Errorf("without trust: got %+v", none)
	}
	if got := sign(&report.Thread{}); got.Title != "null-access, no trusted frame" {
		t.Errorf("without frames: got %+v", got)
	}
}

// Frames that are not trusted never change a signature, whatever they are.
func TestUntrusted(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 1))
	names := []string{"a", "b", "c<int>(x)", "abort", "memcpy", "main", ""}
	for range 2000 {
		var trusted []string
		for range rng.IntN(8) {
			trusted = append(trusted, names[rng.IntN(len(names)-1)])
		}
		var seen []*Signature
		for range 3 {
			th := stack(append(slices.Clone(trusted), "?x")...)
			for range rng.IntN(6) {
				f := report.Frame{
					Function: names[rng.IntN(len(names))], Trust: unwind.Trust(rng.IntN(3)), Method: unwind.Method(rng.IntN(10)),
					Module: []string{"", "b1d"}[rng.IntN(2)], ModuleOffset: report.Known(rng.Uint64()), Inlined: rng.IntN(2) == 0,
				}
				th.Frames = append(th.Frames, f)
			}
			th.Frames[len(trusted)].Function = names[rng.IntN(len(names))]
			th.Stop.Reason = unwind.Reason(rng.IntN(3))
			seen = append(seen, sign(th))
		}
		for _, s := range seen[1:] {
			if s.Fine != seen[0].Fine || s.Coarse != seen[0].Coarse || s.Address != seen[0].Address || s.Title != seen[0].Title {
				t.Fatalf("behind %q: got %+v and %+v", trusted, s, seen[0])
			}
		}
	}
}

// The address level is the same with and without names, and by its own function.
func TestAddressNeedsNoNames(t *testing.T) {
	named := stack("+inline", "f", "g", "g", "g", "main")
	bare := stack("f", "g", "g", "g", "main")
	for i := range bare.Frames {
		bare.Frames[i].Function = ""
	}
	if a, b := sign(named).Address, sign(bare).Address; a != b || a != Address(bare, segv.Fault) || a != Address(named, segv.Fault) || a == "" {
		t.Errorf("got %s, %s, %s", a, b, Address(bare, segv.Fault))
	}
}

func TestOf(t *testing.T) {
	r := &report.Document{Threads: []report.Thread{{}, *stack("f")}, Process: report.Process{Signal: segv}}
	got, err := Of(r, Default())
	if err != nil || got.Fine != sign(stack("f")).Fine || got.Schema != Schema || got.Rules != Default().Version {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := Of(&report.Document{Threads: r.Threads[:1]}, Default()); !errors.Is(err, ErrNoCrash) {
		t.Errorf("without a crash: got %v", err)
	}
}

func TestReadRules(t *testing.T) {
	good := "# c\nversion 7\n\nskip heap my *alloc*er # x\nskip abort die\n"
	r, err := ReadRules("r", strings.NewReader(good))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"my allocer": "heap", "my big allocxer": "heap", "my allo": "", "die": "abort", "dies": "", "my allocallocer": "heap"} {
		got := ""
		if m := r.match(name); m != nil {
			got = m.reason
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if r.Version != "7" {
		t.Errorf("got version %q", r.Version)
	}
	for text, want := range map[string]string{
		"":                                      `r: there is no line "version NAME"`,
		"version":                               `r:1: the line must be "version NAME", once`,
		"version 1\nversion 2":                  `r:2: the line must be "version NAME", once`,
		"version 1 2":                           `r:1: the line must be "version NAME", once`,
		"version 1\n\nkeep a b":                 `r:3: a line begins with "keep"; use version or skip`,
		"version 1\nskip heap":                  `r:2: the line must be "skip REASON PATTERN"`,
		"version 1\nskip a " + long(maxPattern): `r:2: bufio.Scanner: token too long`,
		"version 1" + strings.Repeat("\nskip a b*", maxRules+1): fmt.Sprintf("r:%d: there are more than %d rules", maxRules+2, maxRules),
	} {
		if _, err := ReadRules("r", strings.NewReader(text)); err == nil || err.Error() != want {
			t.Errorf("%.40q: got %v, want %s", text, err, want)
		}
	}
}

func long(n int) string { return strings.Repeat("x", n) }

// Each of the rules that are shipped leaves out what it says.
func TestShippedRules(t *testing.T) {
	for name, want := range map[string]string{
		"abort": "abort", "__GI_raise": "abort", "__assert_fail_base": "assert", "std::terminate()": "throw",
		"std::__throw_out_of_range_fmt(char const*, ...)": "throw", "core::panicking::panic_fmt": "panic",
		"core::option::Option<T>::unwrap": "panic", "runtime.gopanic": "panic", "_int_free_merge_chunk": "heap",
		"operator new(unsigned long)": "heap", "__memmove_avx_unaligned_erms": "bytes", "__strlen_sse2": "bytes",
		"strncpy": "bytes", "__libc_start_main@@GLIBC_2.34": "start", "start_thread": "start", "main": "", "my_abort": "", "strange": "",
	} {
		got := ""
		if m := Default().match(functionOf(name).plain); m != nil {
			got = m.reason
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func BenchmarkAddress(b *testing.B) {
	var names []string
	for i := range 50 {
		names = append(names, fmt.Sprintf("%cfunction%d", 'a'+i%26, i))
	}
	th := stack(names...)
	b.ReportAllocs()
	for b.Loop() {
		Address(th, segv.Fault)
	}
}

func BenchmarkStack(b *testing.B) {
	var names []string
	for i := range 50 {
		names = append(names, fmt.Sprintf("%cfunction%d<int>(char, a::b<c>)", 'a'+i%26, i))
	}
	th := stack(names...)
	for b.Loop() {
		sign(th)
	}
}
