package module

import (
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/unwind"
	"github.com/sfcore/sfcore/unwind/codewalk"
)

// FuzzJIT registers any bytes as two images. The code that is believed ascends,
// does not overlap and is where generated code may be, and a stack in it can be
// walked and named.
func FuzzJIT(f *testing.F) {
	arches := []*arch.Arch{arch.AMD64, arch.AArch64, arch.AArch64BE, arch.S390X}
	for i, a := range arches {
		p := newJITProcess(a)
		for _, typ := range []uint16{elfx.TypeRel, elfx.TypeExec, elfx.TypeDyn} {
			f.Add(uint8(i), p.image(typ, "first", jitText+0x100, 0x40, true).File(), p.image(typ, "second", jitText+0x120, 0x40, true).File())
		}
	}
	root := f.TempDir()
	f.Fuzz(func(t *testing.T, which uint8, first, second []byte) {
		const most = 1 << 14
		if len(first) > most || len(second) > most {
			return
		}
		a := arches[int(which)%len(arches)]
		p := newJITProcess(a)
		p.images, p.root = [][]byte{first, second}, root
		copy(p.stack[jitFrame-8:], p.order.AppendUint64(nil, p.call(jitText+0x130)))
		set := p.set(t)
		end := uint64(jitText)
		for i, c := range set.codeOfJIT() {
			if c.Lo < end || c.Lo >= c.Hi || c.Hi > jitText+jitTextSize || c.Of == nil {
				t.Fatalf("run %d: %#x to %#x after %#x", i, c.Lo, c.Hi, end)
			}
			end = c.Hi
			for _, addr := range []uint64{c.Lo, c.Hi - 1} {
				if m := set.At(addr); m != c.Of.open() || m.Lo > c.Lo || m.Hi < c.Hi {
					t.Errorf("run %d: %+v", i, m)
				}
			}
		}
		if m := set.At(jitProgram + 0x1000); m == nil || m.Path == jitName {
			t.Errorf("the program is in %+v", m)
		}
		th := &set.img.Threads[0]
		th.Regs.Set(a.PC, jitText+0x108)
		th.Regs.Set(a.SP, jitStack)
		frames, _ := walk(set)
		if len(frames) > 1 && frames[1].Trust == unwind.Full && frames[1].Method != unwind.Entry {
			t.Errorf("got %+v", frames[1])
		}
		for i := range frames {
			set.Locate(frames[i].LookupPC(), nil)
		}
		for m := range set.All() {
			set.Describe(m)
		}
	})
}

// walk walks the stack of the only thread.
func walk(s *Set) ([]unwind.Frame, unwind.Stop) {
	u := unwind.Unwinder{Arch: s.img.Arch, Mem: s.Memory(), Find: s.Place, Steppers: []unwind.Stepper{
		unwind.NewSFrame(), unwind.NewPromisedFramePointer(), unwind.NewCFI(),
		new(codewalk.Stepper), unwind.NewFramePointer(),
	}}
	return u.Unwind(nil, &s.img.Threads[0].Regs)
}
