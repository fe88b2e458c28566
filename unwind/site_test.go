package unwind

import (
	"slices"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/memreader"
)

// Both sides of a return address count: a call may be the last instruction of a
// mapping, and a trampoline the first of one.
func TestLook(t *testing.T) {
	a := arch.AMD64
	trampoline := string(a.SignalFrames[0].Code)
	for _, tt := range []struct {
		name   string
		ra     uint64
		code   map[uint64]string
		unread uint64
		module bool
		want   Evidence
		tramp  bool
	}{
		{"a call", codeAt + 0x105, map[uint64]string{codeAt + 0x100: calls["amd64"]}, 0, true, Executable | AfterCall, false},
		{"a call at the end of its mapping", codeAt + areaSize, map[uint64]string{codeAt + areaSize - 5: calls["amd64"]}, 0, true, Executable | AfterCall, false},
		{"no call", codeAt + 0x105, nil, 0, true, Executable, false},
		{"a trampoline", codeAt + 0x200, map[uint64]string{codeAt + 0x200: trampoline}, 0, true, Executable | AtTrampoline, true},
		{"a trampoline at the start of its mapping", codeAt, map[uint64]string{codeAt: trampoline}, 0, true, Executable | CodeUnread | AtTrampoline, true},
		{"data", dataAt + 0x100, nil, 0, true, 0, false},
		{"behind data", dataAt + areaSize, nil, 0, true, 0, false},
		{"code that cannot be read", codeAt + 0x105, nil, codeAt + 0x104, true, Executable | CodeUnread, false},
		{"code of no module that cannot be read", codeAt + 0x105, nil, codeAt + 0x104, false, Executable | CodeUnread, true},
		{"code of no module", codeAt + 0x105, nil, 0, false, Executable, false},
	} {
		p := newProcess(a)
		for at, code := range tt.code {
			p.code(at, code)
		}
		if tt.module {
			p.module = new(Module)
		}
		if tt.unread != 0 {
			p.mem.Faults = map[uint64]int{tt.unread: 0}
		}
		u := p.unwinder()
		u.start()
		var s site
		u.look(&s, tt.ra)
		if s.evidence != tt.want || (s.trampoline != nil) != tt.tramp || tt.want != 0 && tt.ra != codeAt && (s.module != nil) != tt.module {
			t.Errorf("%s: got %v, trampoline %v, module %v", tt.name, s.evidence, s.trampoline != nil, s.module != nil)
		}
	}
}

// A thread may stop at any instruction of a trampoline, but not before or behind it.
func TestTrampolineAround(t *testing.T) {
	a := arch.AMD64
	const at = codeAt + 0x300
	code := a.SignalFrames[0].Code
	p := newProcess(a)
	p.code(at, string(code))
	u := p.unwinder()
	u.start()
	for pc := uint64(at - 10); pc < at+uint64(len(code))+10; pc++ {
		want := pc >= at && pc < at+uint64(len(code))
		if got := u.trampolineAround(pc); (got == &a.SignalFrames[0]) != want {
			t.Errorf("at %d: got %v", int64(pc)-at, got != nil)
		}
	}
}

// What is remembered about a return address is used at that address only, and not
// where the code there is being executed.
func TestSiteAt(t *testing.T) {
	p := newProcess(arch.AMD64)
	ra := p.call(codeAt + 0x100)
	u := p.unwinder()
	u.start()
	s := u.site(ra, &Frame{PC: 1})
	for _, tt := range []struct {
		name string
		f    Frame
		want *site
	}{
		{"the address", Frame{PC: ra}, s},
		{"being executed", Frame{PC: ra, Exact: true}, nil},
		{"another address", Frame{PC: ra + 1}, nil},
		{"another address of the same cell", Frame{PC: ra ^ 1<<9 ^ 1}, nil},
	} {
		if got := u.siteAt(&tt.f); got != tt.want {
			t.Errorf("%s: got %p, want %p", tt.name, got, tt.want)
		}
	}
	if u.site(ra, &Frame{PC: 1}) != s || u.site(0, &Frame{PC: 1}).evidence != 0 {
		t.Error("an address is not remembered, or 0 is code")
	}
	// The site is another one's afterwards, with nothing of the first.
	row := arch.Row{Extra: []arch.RegRule{{Reg: 3}}}
	s.remember(&row, CFI)
	row.Extra[0].Reg = 5 // the stepper's own
	if !s.found || s.method != CFI || s.row.Extra[0].Reg != 3 {
		t.Errorf("got %+v", s)
	}
	at := uint64(codeAt + 0x200)
	for u.cell(at) != s {
		at++
	}
	if again := u.site(at, &Frame{PC: 1}); again != s || again.found || len(again.row.Extra) != 0 || again.evidence&AfterCall != 0 {
		t.Errorf("got %+v of another address", again)
	}
}

// walks is a stepper that notes the number of the walk.
type walks struct{ seen *[]uint64 }

func (walks) Method() Method { return SFrame }

func (w walks) Row(c *Cursor, _ *arch.Row) (bool, error) {
	*w.seen = append(*w.seen, c.Walk)
	return false, nil
}

// Frames are appended to those that are there, which do not count, and what the memory
// behind them held before does not show.
func TestUnwindAppends(t *testing.T) {
	p, regs := amd64Stack()
	for _, tt := range []struct {
		most, frames int
		reason       Reason
		detail       string
	}{
		{0, 3, Outermost, ""},
		{3, 3, Limit, "the end of the stack was not reached after 3 frames"},
		{2, 2, Limit, "the end of the stack was not reached after 2 frames"},
		{1, 1, Limit, "the end of the stack was not reached after 1 frames"},
		{4, 3, Outermost, ""},
	} {
		u := p.unwinder()
		u.MaxFrames = tt.most
		before := make([]Frame, 5, 20)
		for i := range before[:cap(before)] {
			before[:cap(before)][i].Row = arch.Row{Signal: true}
			before[:cap(before)][i].PC = 77
		}
		frames, stop := u.Unwind(before, regs)
		if len(frames) != 5+tt.frames || stop.Reason != tt.reason || tt.detail != "" && stop.Detail.Error() != tt.detail {
			t.Errorf("%d: got %d frames, %v", tt.most, len(frames)-5, stop)
			continue
		}
		for i := range 5 {
			if frames[i].PC != 77 {
				t.Errorf("%d: frame %d was changed", tt.most, i)
			}
		}
		if last := &frames[len(frames)-1]; last.Row.Signal {
			t.Errorf("%d: the last frame has the row of another walk", tt.most)
		}
	}

	delete(p.rows, codeAt+0x104)
	used := make([]Frame, 4)
	for i := range used {
		used[i].Row.Signal = true
	}
	frames, stop := p.unwinder().Unwind(used[:0], regs)
	if len(frames) != 2 || stop.Complete() || frames[1].Row.Signal {
		t.Errorf("got %d frames, %v, the last with row %+v", len(frames), stop, frames[len(frames)-1].Row)
	}

	var seen []uint64
	p.steps = []Stepper{walks{&seen}}
	u := p.unwinder()
	for range 3 {
		u.Unwind(nil, regs)
	}
	if !slices.Equal(seen, []uint64{1, 2, 3}) {
		t.Errorf("got walks %v, want 1, 2, 3", seen)
	}
}

// A forged chain of signal frames, each of which is below the one before, is followed
// 256 times.
func TestDescentsBounded(t *testing.T) {
	const most, size = 256, 0x200
	a := arch.AMD64
	row := a.SignalFrames[0].Row
	for depth, reason := range map[uint64]Reason{most - 1: Outermost, most: Outermost, most + 1: Loop, 2 * most: Loop} {
		p := newProcess(a)
		p.code(codeAt+0x300, string(a.SignalFrames[0].Code))
		p.rows[codeAt+0x400] = arch.Row{}
		stack := make([]byte, (depth+2)*size)
		top := stackAt + depth*size
		for i := range depth {
			pc := uint64(codeAt + 0x300)
			if i == depth-1 {
				pc = codeAt + 0x400
			}
			at := (depth - i) * size
			p.order().PutUint64(stack[at+uint64(row.CFA.Off):], top-(i+1)*size)
			p.order().PutUint64(stack[at+uint64(row.RA.Off):], pc)
		}
		u := p.unwinder()
		u.Mem = memreader.NewSpace([]memreader.Segment{
			{Addr: codeAt, Size: areaSize, Data: p.mem.Segs[codeAt]},
			{Addr: stackAt, Size: uint64(len(stack)), Data: stack},
		})
		frames, stop := u.Unwind(nil, p.regs(map[arch.Reg]uint64{a.PC: codeAt + 0x300, a.SP: top}))
		if stop.Reason != reason || len(frames) != int(min(depth, most))+1 {
			t.Errorf("%d signal frames: got %d frames, %v", depth, len(frames), stop)
		}
	}
	if DefaultMaxFrames != 8<<20/32 {
		t.Error("DefaultMaxFrames is the number of frames of 32 bytes in 8 MiB")
	}
}
