package picture

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
)

// Stacks merge from the innermost frame on, by name, whatever their addresses are.
func TestIcicle(t *testing.T) {
	c := New(Threads, false)
	for i, stack := range []struct {
		frames string // the innermost first
		stop   unwind.Reason
	}{
		{"parse read main", unwind.Outermost},
		{"parse read main", unwind.Outermost},
		{"parse write main", unwind.Outermost},
		{"parse ?write", unwind.NoUnwindInfo},
		{"abort", unwind.Outermost},
		{"- main", unwind.Outermost},
		{"- main", unwind.Outermost},
	} {
		th := Thread{ID: int64(i), Stop: report.Stop{Reason: stack.stop}}
		for j, name := range strings.Fields(stack.frames) {
			f := report.Frame{Index: j, PC: report.Addr(0x1000*i + j), Trust: unwind.Full, Function: strings.TrimPrefix(name, "?"), File: "a.c", Line: j + 1, ModuleName: fmt.Sprint("m", i/4)}
			switch name[0] {
			case '?':
				f.Trust = unwind.Guess
			case '-': // a call of an address where nothing is
				f = report.Frame{Index: j, PC: f.PC, Trust: unwind.Full}
			}
			th.Frames = append(th.Frames, f)
		}
		if err := c.Add(&th); err != nil {
			t.Fatal(err)
		}
	}
	const want = `0+4 parse full a.c:1 m0
0+2 . read full a.c:2 m0
0+2 . . main full a.c:3 m0
2+2 . write guess a.c:2 m0
2+1 . . [no-unwind-info]   
3+1 . . main full a.c:3 m0
4+2 ? full  
4+2 . main full a.c:2 m1
6+1 abort full a.c:1 m1
`
	var got strings.Builder
	for _, b := range c.Icicle(10) {
		fmt.Fprintf(&got, "%d+%d %s%s %s %s %s\n", b.First, b.Stacks, strings.Repeat(". ", b.Level), b.Name, b.Trust, b.Place, b.Module)
	}
	if got.String() != want {
		t.Errorf("got\n%swant\n%s", got.String(), want)
	}
	if got := c.Icicle(1); len(got) != 3 {
		t.Errorf("one level: got %+v", got)
	}
	if got := New(Threads, false).Icicle(10); got != nil {
		t.Errorf("no stacks: got %+v", got)
	}
}
