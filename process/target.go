package process

import (
	"fmt"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/heap"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
)

// targets says what registers point to.
type targets struct {
	walker *Walker
	stack  *Stack
	words  memreader.Words
	other  *Walker // of other threads; nil at first
}

func (w *Walker) newTargets(s *Stack) *targets {
	return &targets{walker: w, stack: s, words: memreader.Words{R: w.process.Memory(), BigEndian: w.process.img.Arch.BigEndian}}
}

// of says what is at an address. meant is set if it is known that the value is used as an
// address, for which nothing may be mapped.
func (t *targets) of(addr uint64, meant bool) report.Target {
	p := t.walker.process
	mapping := p.img.Mapping(addr)
	switch m := p.modules.At(addr); {
	case addr < nullPages || mapping == nil && m == nil:
		if !meant {
			return report.Target{}
		}
		return report.Target{Kind: report.KindUnmapped, Text: "not mapped"}
	case m != nil:
		if name, start := t.walker.shortCodeName(addr); name != "" {
			return report.Target{Kind: report.KindCode, Text: withOffset(name, addr-start) + " in " + m.Name()}
		}
		kind := report.KindData
		if mapping != nil && mapping.Exec {
			kind = report.KindCode
		}
		if name, start, ok := m.Object(addr); ok {
			return report.Target{Kind: kind, Text: withOffset(name, addr-start) + " in " + m.Name()}
		}
		return report.Target{Kind: kind, Text: fmt.Sprintf("%s+%#x", m.Name(), addr-m.Bias)}
	}
	if text := t.ofStack(addr, mapping); text != "" {
		return report.Target{Kind: report.KindStack, Text: text}
	}
	if b, ok := p.block(&t.words, addr); ok {
		return describeBlock(b, addr)
	}
	switch {
	case mapping.Path != "" && mapping.Path[0] != '[':
		return report.Target{Kind: report.KindFile, Text: fmt.Sprintf("%s, at offset %#x", mapping.Path, mapping.Off+addr-mapping.Lo)}
	case mapping.Path != "":
		return report.Target{Kind: report.KindMemory, Text: mapping.Path}
	}
	return report.Target{Kind: report.KindMemory, Text: fmt.Sprintf("memory without a file, at offset %#x of %#x", addr-mapping.Lo, mapping.Hi-mapping.Lo)}
}

func withOffset(name string, offset uint64) string {
	if offset == 0 {
		return name
	}
	return fmt.Sprintf("%s+%#x", name, offset)
}

func describeBlock(b heap.Block, addr uint64) report.Target {
	where := fmt.Sprintf("a block of %d bytes", b.Size)
	if addr != b.Addr {
		where = fmt.Sprintf("byte %d of ", int64(addr-b.Addr)) + where
	}
	if b.Free {
		return report.Target{Kind: report.KindFreed, Text: where + " that was freed"}
	}
	return report.Target{Kind: report.KindHeap, Text: where + " of the heap"}
}

// ofStack says in which frame of a thread's stack an address is; "" if it is in none.
func (t *targets) ofStack(addr uint64, mapping *core.Mapping) string {
	if f := frameAt(t.walker.process.img.Arch, t.stack.Frames, addr); f != nil {
		return "the stack" + t.inFrame(f)
	}
	if mapping == nil {
		return ""
	}
	img := t.walker.process.img
	for _, th := range t.walker.process.stacksBelow(addr, mapping) {
		if th == t.stack.Thread {
			continue
		}
		if t.other == nil {
			t.other = t.walker.process.NewWalker()
			t.other.unwinder.MaxFrames = min(maxOwnerFrames, t.other.unwinder.MaxFrames)
		}
		if f := frameAt(img.Arch, t.other.Walk(th).Frames, addr); f != nil {
			return fmt.Sprintf("the stack of thread %d%s", th.ID, t.inFrame(f))
		}
	}
	return ""
}

// maxOwnerFrames bounds the frames of other threads that are walked for an address.
const maxOwnerFrames = 1 << 10

// frameAt returns the frame that has an address on the stack; nil if there is none.
func frameAt(a *arch.Arch, frames []unwind.Frame, addr uint64) *unwind.Frame {
	for i := range frames {
		f := &frames[i]
		if sp, ok := f.Regs.Get(a.SP); ok && f.Trust != unwind.Guess && addr >= sp && addr < f.CFA {
			return f
		}
	}
	return nil
}

func (t *targets) inFrame(f *unwind.Frame) string {
	if name, _ := t.walker.shortCodeName(f.LookupPC()); name != "" {
		return ", frame of " + name
	}
	return fmt.Sprintf(", frame of %#x", f.PC)
}
