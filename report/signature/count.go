package signature

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
)

// depthOfAll is the depth of a level that every frame counts for.
const depthOfAll = math.MaxInt

// counter decides which frames of a stack count.
type counter struct {
	frames   []report.Frame
	rules    *Rules
	overflow bool // of the stack
	anchored bool // the outermost frame is there, and trusted

	verdicts []Frame
	names    map[string]counted
}

// counted is what is known of a function's name. Many frames have the same.
type counted struct {
	function
	rule *rule // that leaves it out, or nil
}

// newCounter decides which frames are trusted. Nothing counts from the first frame on
// that is a guess.
func newCounter(th *report.Thread, fault string, rules *Rules) *counter {
	c := &counter{
		frames: th.Frames, rules: rules, overflow: fault == string(report.FaultStackOverflow),
		verdicts: make([]Frame, len(th.Frames)), names: map[string]counted{},
	}
	trusted := true
	for i := range c.frames {
		f, v := &c.frames[i], &c.verdicts[i]
		v.Index = f.Index
		switch {
		case f.Trust == unwind.Guess:
			trusted = false
			v.Why = "it is a guess"
		case !trusted:
			v.Why = "it is behind a guess"
		default:
			v.Address = !f.Inlined && !f.Method.Inferred()
			v.trusted = true
		}
	}
	c.anchored = trusted && th.Stop.Reason == unwind.Outermost
	return c
}

// judge decides which of the trusted frames tell something by their names.
func (c *counter) judge() {
	for i := range c.verdicts {
		v := &c.verdicts[i]
		v.Name = c.name(i)
		if v.trusted {
			v.Named, v.Why = c.relevance(i)
		}
	}
}

// relevance reports whether a frame tells one crash from another, and if not, why.
func (c *counter) relevance(i int) (named bool, why string) {
	f := &c.frames[i]
	switch {
	case f.SignalFrame:
		return false, "it is where the kernel delivered a signal"
	case f.Function == "" && f.Module == "":
		return false, "it is in no module"
	case f.Function == "":
		return true, ""
	}
	if r := c.known(i).rule; r != nil {
		return false, fmt.Sprintf("rule %s: %s", r.reason, r.pattern)
	}
	return true, ""
}

// address is the key of a frame for the address level.
func (c *counter) address(i int) string {
	f := &c.frames[i]
	if f.Module == "" {
		return "?"
	}
	return f.Module + "+" + strconv.FormatUint(uint64(f.ModuleOffset.Addr), 16)
}

// name is the key of a frame for the fine level.
func (c *counter) name(i int) string {
	if c.frames[i].Function == "" {
		return c.address(i)
	}
	return c.known(i).name
}

// function is the key of a frame for the coarse level, "" if its function is not known.
func (c *counter) function(i int) string {
	if c.frames[i].Function == "" {
		return ""
	}
	return c.known(i).plain
}

// known returns what is known of the name of a frame's function.
func (c *counter) known(i int) counted {
	name := c.frames[i].Function
	k, ok := c.names[name]
	if !ok {
		f := functionOf(name)
		k = counted{f, c.rules.match(f.plain)}
		c.names[name] = k
	}
	return k
}

// onStack returns the indexes of the frames that count for the address level, the
// innermost first.
func (c *counter) onStack() []int {
	var all []int
	for i := range c.verdicts {
		if c.verdicts[i].Address {
			all = append(all, i)
		}
	}
	return c.fold(all, (*counter).address, func(v *Frame) { v.Address = false })
}

// relevant returns the indexes of the frames that count for the other levels, the
// innermost first. If the rules leave nothing, all that are trusted count.
func (c *counter) relevant() []int {
	var all, trusted []int
	for i := range c.verdicts {
		if c.verdicts[i].Named {
			all = append(all, i)
		}
		if c.verdicts[i].Address && c.frames[i].Module != "" {
			trusted = append(trusted, i)
		}
	}
	if len(all) == 0 {
		all = trusted
		for _, i := range all {
			c.verdicts[i].Named = true
			c.verdicts[i].Why += "; it counts, since there is nothing else"
		}
	}
	kept := c.fold(all, (*counter).name, func(v *Frame) { v.Named = false })
	for n, i := range kept {
		if n >= depth {
			c.verdicts[i].Named = false
			c.verdicts[i].Why = fmt.Sprintf("it is beyond the %d frames that count", depth)
		}
	}
	return kept
}

// fold leaves out what recursion repeats. drop is called for each frame that is left
// out.
func (c *counter) fold(all []int, key func(*counter, int) string, drop func(*Frame)) []int {
	ids := map[string]int{}
	keys := make([]int, len(all))
	for n, i := range all {
		k := key(c, i)
		id, ok := ids[k]
		if !ok {
			id = len(ids)
			ids[k] = id
		}
		keys[n] = id
	}
	kept := folded(keys, c.anchored, c.overflow, func(a, b int) bool { return key(c, all[a]) < key(c, all[b]) })
	result := make([]int, len(kept))
	for n, at := range kept {
		result[n] = all[at]
	}
	at := slices.Clone(result)
	slices.Sort(at)
	for _, i := range all {
		if _, found := slices.BinarySearch(at, i); !found {
			drop(&c.verdicts[i])
			c.verdicts[i].Why = "it repeats, or interrupts, a recursion"
		}
	}
	return result
}

// hash returns the hash of up to depth frames, "" if there are none or if one has no
// key.
func (c *counter) hash(level, fault string, frames []int, depth int, key func(*counter, int) string) string {
	if len(frames) == 0 {
		return ""
	}
	h := sha256.New()
	version := c.rules.Version
	if level == "address" {
		version = "" // which no rule changes
	}
	fmt.Fprintf(h, "%s\n%s\n%s\n%s\n", Schema, level, version, fault)
	for _, i := range frames[:min(depth, len(frames))] {
		k := key(c, i)
		if k == "" {
			return ""
		}
		h.Write([]byte(k))
		h.Write([]byte{'\n'})
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// title says in a line what happened where.
func (c *counter) title(fault string, frames []int) string {
	var names []string
	for _, i := range frames[:min(3, len(frames))] {
		f := &c.frames[i]
		switch name := c.function(i); {
		case name != "":
			names = append(names, name)
		case f.ModuleName != "":
			names = append(names, fmt.Sprintf("%s+%#x", f.ModuleName, uint64(f.ModuleOffset.Addr)))
		default:
			names = append(names, c.address(i))
		}
	}
	if fault == "" {
		fault = "crash"
	}
	if len(names) == 0 {
		return fault + ", no trusted frame"
	}
	return fault + " in " + strings.Join(names, " < ")
}
