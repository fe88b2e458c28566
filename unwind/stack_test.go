package unwind

import (
	"testing"

	"github.com/sfcore/sfcore/memreader"
)

// TestStack walks stacks of which a part or all is copied, each into the same memory, and
// then one that is not copied.
func TestStack(t *testing.T) {
	for _, size := range []int{200, 4000} {
		u, regs := deepStack(50)
		deep, _ := u.Unwind(nil, regs)
		plain, _ := deepStack(50)
		copied := make([]byte, size)
		calls := 0
		u.Stack = func(sp uint64) []byte {
			if calls++; calls > 3 {
				return nil
			}
			n, _ := plain.Mem.ReadMem(copied, sp)
			return copied[:n]
		}
		for _, from := range []int{0, 10, 20, 21} {
			at := deep[from].Regs
			at.Set(u.Arch.PC, codeAt+0x10) // whose row the others have, too
			got, stop := u.Unwind(nil, &at)
			if len(got) != len(deep)-from || show(got[1:]) != show(deep[from+1:]) || stop.Reason != Outermost {
				t.Errorf("from frame %d: got %d frames, stop %v, want %d", from, len(got), stop, len(deep)-from)
			}
			clear(copied) // nobody may read it any more
		}
		if calls != 4 {
			t.Errorf("a copy was asked for %d times, want 4", calls)
		}
	}
}

// TestStackIsRead has memory that can be read from the copy alone.
func TestStackIsRead(t *testing.T) {
	u, regs := deepStack(50)
	stack, err := memreader.ReadFull(u.Mem, 0x100000, 32*51)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := u.Unwind(nil, regs)
	u, _ = deepStack(50)
	u.Mem = &shrunk{u.Mem, 0x100000, 0x100000 + 32*51}
	u.Stack = func(uint64) []byte { return stack }
	if got, stop := u.Unwind(nil, regs); len(got) != len(want) {
		t.Errorf("got %d frames, stop %v, want %d frames", len(got), stop, len(want))
	}
}
