package signature

import (
	"errors"
	"fmt"
	"math/rand/v2"
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
	base := sign(stack("a", "b", "c", "d"))
	if got := sign(stack("a", "b", "c", "d", "e", "f")); got.Fine != base.Fine || got.Coarse != base.Coarse || got.Address == base.Address {
		t.Errorf("more callers: got %+v, want %+v", got, base)
	}
	if got := sign(stack("a", "b", "b", "b", "c", "d", "c", "d")); got.Fine != base.Fine || got.Address != base.Address {
		t.Errorf("recursion: got %+v, want %+v", got, base)
	}
	if got := sign(stack("a", "b")); got.Fine == base.Fine {
		t.Error("one frame less is the same")
	}
}

// Where few functions are known, the file tells programs apart, the build does not.
func TestShort(t *testing.T) {
	in := func(build, file string, names ...string) *Signature {
		th := stack(names...)
		for i := range th.Frames {
			th.Frames[i].Module, th.Frames[i].ModuleName = build, file
		}
		return sign(th)
	}
	for _, tt := range []struct {
		names []string
		equal bool // in another program
	}{
		{[]string{"main", "_start"}, false},
		{[]string{"parse", "main", "?x"}, false},
		{[]string{"read", "parse", "main"}, true},
	} {
		a := in("b1d", "nginx", tt.names...)
		if b := in("b2d", "nginx", tt.names...); a.Fine != b.Fine || a.Coarse != b.Coarse || a.Coarse == "" {
			t.Errorf("%v in another build: got %+v and %+v", tt.names, a, b)
		}
		if b := in("b3d", "redis", tt.names...); (a.Fine == b.Fine) != tt.equal || (a.Coarse == b.Coarse) != tt.equal {
			t.Errorf("%v in another program: got %+v and %+v", tt.names, a, b)
		}
	}
}

// A stack of nothing but what the rules leave out still has a signature.
func TestNothingRelevant(t *testing.T) {
	a, b := sign(stack("raise", "abort", "_start")), sign(stack("kill", "_start"))
	if a.Fine == "" || a.Fine == b.Fine || !a.Frames[0].Named || a.Coarse != "" {
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

// Frames that are not trusted never change a signature, whatever they are, and whether
// they are there at all.
func TestUntrusted(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 1))
	names := []string{"a", "b", "c<int>(x)", "abort", "memcpy", "main", "runtime.newstack", ""}
	for range 5000 {
		signal := &report.Signal{Name: "SIGSEGV", Fault: []report.Fault{report.FaultNullAccess, report.FaultStackOverflow, report.FaultAbort}[rng.IntN(3)]}
		var trusted []string
		for range rng.IntN(20) {
			trusted = append(trusted, names[rng.IntN(1+rng.IntN(len(names)-1))])
		}
		at := rng.IntN(20)
		var seen []*Signature
		for n := range 4 {
			th := stack(trusted...)
			if at < len(trusted) {
				th.Frames[at].SignalFrame = true
			}
			if n > 0 {
				th.Frames = append(th.Frames, stack("?x").Frames...)
				th.Frames[len(trusted)].Function = names[rng.IntN(len(names))]
				th.Frames[len(trusted)].SignalFrame = rng.IntN(4) == 0
			}
			for range n * rng.IntN(6) {
				th.Frames = append(th.Frames, report.Frame{
					Function: names[rng.IntN(len(names))], Trust: unwind.Trust(rng.IntN(3)), Method: unwind.Method(rng.IntN(10)),
					Module: []string{"", "b1d"}[rng.IntN(2)], ModuleOffset: report.Known(rng.Uint64()), Inlined: rng.IntN(2) == 0,
					SignalFrame: rng.IntN(4) == 0,
				})
			}
			th.Stop.Reason = unwind.Reason(rng.IntN(3))
			seen = append(seen, Stack(signal, th, Default()))
		}
		for _, s := range seen[1:] {
			if s.Fine != seen[0].Fine || s.Coarse != seen[0].Coarse || s.Address != seen[0].Address || s.Alias != seen[0].Alias || s.Title != seen[0].Title {
				t.Fatalf("behind %q: got %+v and %+v", trusted, s, seen[0])
			}
		}
	}
}

// A crash without symbols has the alias of the same crash with them among its own, also
// with another outer end. What is in the runtime libraries does not count.
func TestAlias(t *testing.T) {
	named := stack("abort", "+inline", "f", "g", "g", "main", "__libc_start_main")
	for _, i := range []int{0, 6} {
		named.Frames[i].Module, named.Frames[i].ModuleName = "11bc", "libc.so.6"
	}
	bare := stack("abort", "f", "g", "g", "main", "__libc_start_main")
	for i := range bare.Frames {
		f := &bare.Frames[i]
		f.Function = ""
		if i == 0 || i == 5 {
			f.Module, f.ModuleName = "11bc", "libc.so.6"
		}
	}
	a, b := sign(named), sign(bare)
	if b := strings.Fields(b.Alias); len(b) != 3 || b[1] != a.Alias {
		t.Errorf("got aliases %q and %q", a.Alias, b)
	}
	if a.Coarse == "" || b.Coarse != "" || a.Title != "null-access in inline < f < g" || b.Title != "null-access in b1d+10a6 < b1d+10a7 < b1d+116d" {
		t.Errorf("got %+v and %+v", a, b)
	}
	long, other := stack("a", "b", "b", "+c", "d", "e", "f", "g"), stack("a", "b", "b", "d", "e", "f", "h", "i", "j")
	for i := range other.Frames {
		other.Frames[i].Function = ""
	}
	if a, b := sign(long), strings.Fields(sign(other).Alias); len(b) != 8 || b[2] != a.Alias {
		t.Errorf("with another outer end: got %+v and %q", a, b)
	}
	bare.Frames[5].ModuleName, bare.Frames[0].ModuleName = "", ""
	if got := sign(bare); strings.Contains(got.Alias, a.Alias) || !got.Frames[0].Named {
		t.Errorf("with libraries: got %+v", got)
	}
}

// A handler that ends the process is not the crash; a handler that crashes is.
func TestHandler(t *testing.T) {
	of := func(fault report.Fault, names ...string) *Signature {
		th := stack(names...)
		for i := range th.Frames {
			th.Frames[i].SignalFrame = th.Frames[i].Function == "trampoline"
		}
		return Stack(&report.Signal{Name: "SIGX", Fault: fault}, th, Default())
	}
	f := report.FaultAbort
	want := of(f, "parse", "main")
	for _, tt := range []struct {
		fault report.Fault
		names []string
		equal bool
	}{
		{f, []string{"abort", "on_crash", "trampoline", "parse", "main"}, true},
		{f, []string{"abort", "print", "other_handler", "trampoline", "parse", "main"}, true},
		{report.FaultSelf, []string{"raise", "on_crash", "trampoline", "parse", "main"}, true},
		{report.FaultNullAccess, []string{"on_alarm", "trampoline", "parse", "main"}, false},
		{f, []string{"abort", "on_crash", "trampoline", "?parse", "main"}, false},
		{f, []string{"parse", "main", "trampoline"}, true},
	} {
		if got := of(tt.fault, tt.names...); (got.Coarse == want.Coarse) != tt.equal {
			t.Errorf("%s %q: got %+v, want equal: %v: %+v", tt.fault, tt.names, got, tt.equal, want)
		}
	}
}

// The stack overflowed, though the signal does not tell.
func TestOverflowByName(t *testing.T) {
	recursing := func(inner ...string) *Signature {
		for i := range 100 {
			inner = append(inner, []string{"main.walk", "main.visit"}[i%2])
		}
		return Stack(&report.Signal{Name: "SIGABRT", Fault: report.FaultAbort}, stack(append(inner, "main.main")...), Default())
	}
	a, b := recursing("runtime.throw", "runtime.newstack", "runtime.morestack"), recursing("runtime.throw", "runtime.newstack", "runtime.morestack", "main.leaf")
	if a.Coarse != b.Coarse || a.Coarse == "" || a.Title != "abort in main.visit < main.walk" {
		t.Errorf("got %+v and %+v", a, b)
	}
	if c := recursing("runtime.throw", "main.leaf"); c.Coarse == a.Coarse {
		t.Errorf("without an overflow: got %+v", c)
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
	good := "# c\nversion 7\n\nskip heap my *alloc*er # x\nskip\tabort  die\nmodule lib die # y\nskip x f#1\n"
	r, err := ReadRules("r", strings.NewReader(good))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"my allocer": "heap", "my big allocxer": "heap", "my allo": "", "die": "abort", "dies": "", "f#1": "x", "f": "", "my allocallocer": "heap"} {
		got := ""
		if m := r.functions.match(name); m != nil {
			got = m.reason
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if m := r.modules.match("die"); r.Version != "7" || m == nil || m.String() != "rule lib: die (r:6)" {
		t.Errorf("got version %q, %v", r.Version, m)
	}
	for text, want := range map[string]string{
		"":                                      `r: there is no line "version NAME"`,
		"version":                               `r:1: the line must be "version NAME", once`,
		"version 1\nversion 2":                  `r:2: the line must be "version NAME", once`,
		"version 1 2":                           `r:1: the line must be "version NAME", once`,
		"version 1\n\nkeep a b":                 `r:3: a line begins with "keep"; use version, skip or module`,
		"version 1\nmodule heap":                `r:2: the line must be "module REASON PATTERN"`,
		"version 1\nskip a b*\nskip c b*":       `r:3: pattern "b*" is that of line 2`,
		"version 1\nskip heap":                  `r:2: the line must be "skip REASON PATTERN"`,
		"version 1\nskip a " + long(maxPattern): `r:2: bufio.Scanner: token too long`,
		"version 1" + many(maxRules+1):          fmt.Sprintf("r:%d: there are more than %d rules", maxRules+2, maxRules),
	} {
		if _, err := ReadRules("r", strings.NewReader(text)); err == nil || err.Error() != want {
			t.Errorf("%.40q: got %v, want %s", text, err, want)
		}
	}
}

func many(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "\nskip a b%d*", i)
	}
	return b.String()
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
		"std::vector<int, std::allocator<int> >::at(unsigned long)": "library", "<T as core::convert::Into<U>>::into": "library",
		"<app::Item as core::fmt::Display>::fmt": "", "runtime.mapassign_faststr": "library", "runtime.newstack": "overflow",
		"std::sys::pal::unix::stack_overflow::imp::signal_handler": "overflow", "mystd::f": "",
	} {
		got := ""
		if m := Default().functions.match(functionOf(name).plain); m != nil {
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
