package picture

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/sfcore/sfcore/unwind"
)

// Box is frames of one name in an [Collection.Icicle], in stacks that are equal from the
// innermost frame to there.
type Box struct {
	Name string `json:"name"`
	// Level is how many frames are inside of it. First is where it begins and Stacks how
	// wide it is, in stacks.
	Level  int `json:"level"`
	First  int `json:"first"`
	Stacks int `json:"stacks"`
	// Place and Module are where the frames are, "" where they differ.
	Place  string `json:"place,omitempty"`
	Module string `json:"module,omitempty"`
	// Trust is the least of the frames. A box without one says in Name why stacks stop.
	Trust string `json:"trust,omitempty"`
}

// bough is a box while it grows.
type bough struct {
	Box
	children []int
}

// Icicle merges the stacks from the innermost frame on: what they have in common is
// where they crashed, and its callers are in boxes below. A box has frames of one name,
// whatever their addresses are, so stacks of several builds merge; "?" is code in no
// module. It takes up to levels
// frames of each stack. A box comes before those below it, and the widest of them first.
func (c *Collection) Icicle(levels int) []Box {
	type edge struct {
		parent int
		name   string
	}
	boughs, at := []bough{{}}, map[edge]int{}
	grow := func(parent int, b Box) int {
		n, ok := at[edge{parent, b.Name}]
		if !ok {
			n = len(boughs)
			at[edge{parent, b.Name}] = n
			boughs = append(boughs, bough{Box: b})
			boughs[parent].children = append(boughs[parent].children, n)
		}
		have := &boughs[n]
		have.Stacks++
		if have.Place != b.Place {
			have.Place = ""
		}
		if have.Module != b.Module {
			have.Module = ""
		}
		if rankOf[b.Trust] > rankOf[have.Trust] {
			have.Trust = b.Trust
		}
		return n
	}
	for i := range c.stacks {
		s, parent := &c.stacks[i], 0
		frames := c.walk(s.innermost)
		for level, n := range frames[:min(levels, len(frames))] {
			f := &c.frames.all[n]
			b := Box{Name: c.boxName(f), Level: level, Module: c.at(f.moduleName), Trust: f.trust.String()}
			if f.file != 0 {
				b.Place = c.at(f.file) + ":" + strconv.Itoa(f.line)
			}
			parent = grow(parent, b)
		}
		if s.reason != unwind.Outermost && len(frames) < levels {
			grow(parent, Box{Name: "[" + s.reason.String() + "]", Level: len(frames)})
		}
	}
	var boxes []Box
	var lay func(n, first int)
	lay = func(n, first int) {
		b := &boughs[n]
		if b.First = first; n > 0 {
			boxes = append(boxes, b.Box)
		}
		slices.SortFunc(b.children, func(x, y int) int {
			return cmp.Or(cmp.Compare(boughs[y].Stacks, boughs[x].Stacks), cmp.Compare(boughs[x].Name, boughs[y].Name))
		})
		for _, child := range b.children {
			lay(child, first)
			first += boughs[child].Stacks
		}
	}
	lay(0, 0)
	return boxes
}

// boxName returns the name of a frame, or its module and offset. Frames in no module have
// one name: their addresses differ from run to run.
func (c *Collection) boxName(f *frame) string {
	if f.function == 0 && f.moduleName == 0 {
		return "?"
	}
	return c.at(cmp.Or(f.function, f.place))
}

// rankOf orders what a box says of trust.
var rankOf = map[string]int{
	unwind.Full.String(): rank(unwind.Full), unwind.Checked.String(): rank(unwind.Checked), unwind.Guess.String(): rank(unwind.Guess),
}
