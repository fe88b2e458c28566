package process

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/symbol"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
)

// Rename names the frames of a report again, by the files that are found now. The process
// and its core may have gone. Frames in modules whose build-id is unknown keep their
// names, and so do frames of which less is known now. Rename changes r, also what the
// list of modules says about symbols, and returns how many frames of the stacks got other
// names. All else is as it was: no frame is found anew. The error is for a report of an
// architecture that sfcore does not know, and r is then unchanged.
func Rename(r *report.Document, opts Options) (changed int, err error) {
	a, ok := arch.Named(r.Process.Arch, r.Process.ByteOrder == report.BigEndian)
	if !ok {
		return 0, fmt.Errorf("the report is of a process for %s (%v-endian), which is not an architecture that sfcore knows", r.Process.Arch, r.Process.ByteOrder)
	}
	p := join(imageOf(r, a), opts, true)
	defer func() { _ = p.Close() }()
	n := renamer{walker: p.NewWalker(), left: maxRenamed}
	for i := range r.Threads {
		changed += n.thread(&r.Threads[i])
	}
	for i := range r.Modules {
		n.module(&r.Modules[i])
	}
	return changed, nil
}

// maxRenamed bounds the inlined calls that are added to the stacks of a report.
const maxRenamed = 1 << 18

// imageOf makes the image of a process of what a report says about its modules: their
// places, and in memory no more than a header with the build-id.
func imageOf(r *report.Document, a *arch.Arch) *core.Image {
	img := &core.Image{Arch: a, PID: r.Process.PID, Executable: r.Process.Executable}
	modules := slices.SortedStableFunc(slices.Values(r.Modules), func(m, other report.Module) int { return cmp.Compare(m.Base, other.Base) })
	var segments []memreader.Segment
	above := uint64(0)
	for i := range modules {
		m := &modules[i]
		lo, hi := uint64(m.Base), uint64(m.End)
		header := headerOf(m, a)
		if header == nil || lo < above || hi <= lo || hi-lo < uint64(len(header)) {
			continue
		}
		above = hi
		img.Mappings = append(img.Mappings, core.Mapping{Lo: lo, Hi: hi, Path: m.Path, Exec: true})
		segments = append(segments, memreader.Segment{Addr: lo, Size: hi - lo, Data: header})
	}
	img.Mem = memreader.NewSpace(segments)
	return img
}

// renamer names the stacks of one report.
type renamer struct {
	walker *Walker
	left   int // inlined calls that may be added
}

// thread names a stack, and returns how many of its frames got other names.
func (n *renamer) thread(th *report.Thread) (changed int) {
	var frames []report.Frame // nil as long as they are those of the report
	prepared := 0
	for i := 0; i < len(th.Frames); {
		if i >= prepared {
			prepared = min(i+preparedAtOnce, len(th.Frames))
			n.prepare(th.Frames[i:prepared])
		}
		next := i + 1
		for th.Frames[next-1].Inlined && next < len(th.Frames) {
			next++
		}
		old := th.Frames[i:next]
		named := n.frame(old)
		if named != nil {
			changed++
			if frames == nil {
				frames = slices.Clone(th.Frames[:i])
			}
		} else {
			named = old
		}
		if frames != nil {
			frames = append(frames, named...)
		}
		i = next
	}
	if changed == 0 {
		return 0
	}
	for i := range frames {
		frames[i].Index = i
	}
	th.Frames = frames
	return changed
}

// preparedAtOnce is how many frames are looked up together.
const preparedAtOnce = 4096

// prepare searches the symbol tables once for all frames.
func (n *renamer) prepare(frames []report.Frame) {
	s := &Stack{Frames: make([]unwind.Frame, len(frames))}
	for i := range frames {
		s.Frames[i].PC, s.Frames[i].Exact = uint64(frames[i].PC), frames[i].Exact
	}
	n.walker.prepare(s)
}

// frame returns a frame of the stack with its names of now: the inlined functions, and
// last the one that has the frame. old is how the report has it. frame returns nil if the
// names are the same, or if they tell less.
func (n *renamer) frame(old []report.Frame) []report.Frame {
	physical := &old[len(old)-1]
	for i := range old {
		if old[i].PC != physical.PC || old[i].Exact != physical.Exact || old[i].Variables != nil {
			return nil
		}
	}
	f := unwind.Frame{PC: uint64(physical.PC), Exact: physical.Exact}
	now := n.walker.name(f.LookupPC())
	m := now.module
	if len(now.names) == 0 || m == nil || m.ID() != physical.Module || physical.ModuleOffset != report.Known(f.PC-m.Bias) ||
		len(now.names)-len(old) > n.left {
		return nil
	}
	named := make([]report.Frame, len(now.names))
	for i := range named {
		fr := &named[i]
		*fr = *physical
		fr.Inlined, fr.LinkageName, fr.FunctionOffset = i < len(named)-1, "", report.OptAddr{}
		nameFrame(fr, &now.names[i], &f)
	}
	if !tellMore(old, named) {
		return nil
	}
	n.left -= max(0, len(named)-len(old))
	return named
}

// tellMore reports whether names differ from others and tell no less.
func tellMore(old, now []report.Frame) bool {
	count := func(frames []report.Frame) (functions, lines int) {
		for i := range frames {
			if frames[i].Function != "" {
				functions++
			}
			if frames[i].File != "" {
				lines++
			}
		}
		return functions, lines
	}
	oldFunctions, oldLines := count(old)
	functions, lines := count(now)
	if functions < oldFunctions || lines < oldLines {
		return false
	}
	return !slices.EqualFunc(old, now, func(a, b report.Frame) bool {
		return a.Function == b.Function && a.LinkageName == b.LinkageName && a.FunctionOffset == b.FunctionOffset &&
			a.File == b.File && a.Line == b.Line && a.Column == b.Column
	})
}

// module says what is found for a module now, if it is its file.
func (n *renamer) module(m *report.Module) {
	found := n.walker.process.modules.At(uint64(m.Base))
	if found == nil || found.BuildID != m.BuildID || found.Bias != uint64(m.Bias) {
		return
	}
	now := n.walker.process.modules.Describe(found)
	if m.Lines && !now.Lines || m.Symbols != symbol.FromNone && now.Symbols == symbol.FromNone {
		return
	}
	m.Debug, m.Symbols, m.Lines = now.Debug, now.Symbols, now.Lines
	if now.File != "" {
		m.File = now.File
	}
}
