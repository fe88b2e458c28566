package signature

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
)

// Whatever a report says, it has a signature, which frames that are not trusted do not
// change, and of which address and alias need no names.
func FuzzStack(f *testing.F) {
	deep := stack("abort", "handler", "main")
	deep.Frames[1].SignalFrame = true
	for _, th := range []*report.Thread{stack("a", "b", "?c", "d"), deep, stack("a<int>(x)", "runtime.newstack", "b", "b", "b", "+std::f")} {
		b, err := json.Marshal(th)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, string(report.FaultAbort), "libc.so.6")
		f.Add(b, string(report.FaultStackOverflow), "")
	}
	f.Fuzz(func(t *testing.T, doc []byte, fault, module string) {
		var th report.Thread
		if json.Unmarshal(doc, &th) != nil {
			t.Skip("this is no thread")
		}
		for i := range th.Frames {
			if i%2 == 0 {
				th.Frames[i].ModuleName = module
			}
		}
		signal := &report.Signal{Fault: report.Fault(fault)}
		want := Stack(signal, &th, Default())
		if a := Address(&th, signal.Fault); a != want.Address {
			t.Errorf("by itself, the address is %s, not %s", a, want.Address)
		}
		for _, hash := range []string{want.Address, want.Fine, want.Coarse} {
			if hash != "" && (len(hash) != 32 || strings.Trim(hash, "0123456789abcdef") != "") {
				t.Errorf("a hash is %q", hash)
			}
		}
		trusted := th
		for i, frame := range th.Frames {
			if frame.Trust == unwind.Guess {
				trusted.Frames = th.Frames[:i]
				break
			}
		}
		if got := Stack(signal, &trusted, Default()); got.Address != want.Address || got.Fine != want.Fine || got.Coarse != want.Coarse || got.Alias != want.Alias {
			t.Errorf("without the frames that are not trusted: got %+v, want %+v", got, want)
		}
		for i := range th.Frames {
			th.Frames[i].Function = ""
		}
		got := Stack(signal, &th, Default())
		if joined := want.Coarse == "" || slices.Contains(strings.Split(got.Alias, " "), want.Alias); got.Address != want.Address || !joined {
			t.Errorf("without names: got %+v, want %+v", got, want)
		}
	})
}

// Rules are read or refused with a line; those that are read leave out what they say.
func FuzzReadRules(f *testing.F) {
	f.Add("version 1\nskip a b*c\nmodule x lib*.so\n", "bac")
	f.Add("# c\nversion 1\nskip a f#1 # x\nskip a *\n", "f")
	f.Add(shipped, "memcpy")
	f.Fuzz(func(t *testing.T, text, name string) {
		r, err := ReadRules("r", strings.NewReader(text))
		if (r == nil) == (err == nil) {
			t.Fatalf("got %v and %v", r, err)
		}
		if err != nil {
			if !strings.HasPrefix(err.Error(), "r:") {
				t.Errorf("got %v, which does not say where", err)
			}
			return
		}
		for _, p := range []*patterns{&r.functions, &r.modules} {
			for pattern, rule := range p.exact {
				if rule.line < 1 || rule.reason == "" {
					t.Errorf("got rule %+v", rule)
				}
				if p.match(strings.ReplaceAll(pattern, "*", "")) == nil || p.match(strings.ReplaceAll(pattern, "*", name)) == nil {
					t.Errorf("no rule matches %q, of which * is %q", pattern, name)
				}
			}
		}
	})
}
