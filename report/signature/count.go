package signature

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
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
	handler  int  // frames of a handler that ended the process on behalf of another signal

	verdicts []Frame
	names    map[string]counted
	modules  map[string]*rule
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
		verdicts: make([]Frame, len(th.Frames)),
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
			v.Address = c.onStackAt(i)
			v.trusted = true
			if f.SignalFrame && c.handler == 0 && deliberate(fault) && c.goesOn(i) {
				c.handler = i
			}
		}
	}
	return c
}

// deliberate reports whether a process ended itself. In a signal handler it then does
// so because of the signal, and what that interrupted tells the crash.
func deliberate(fault string) bool {
	return fault == string(report.FaultAbort) || fault == string(report.FaultSelf)
}

// goesOn reports whether a trusted frame in a module follows frame i.
func (c *counter) goesOn(i int) bool {
	for _, f := range c.frames[i+1:] {
		if f.Trust == unwind.Guess {
			return false
		}
		if f.Module != "" && !f.SignalFrame {
			return true
		}
	}
	return false
}

// judge decides which of the trusted frames tell something by their names.
func (c *counter) judge() {
	c.names = map[string]counted{}
	for i := range c.verdicts {
		v := &c.verdicts[i]
		v.Name = c.name(i)
		if v.trusted {
			var why string
			v.Named, why = c.relevance(i)
			v.Why = cmp.Or(why, v.Why)
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
	}
	r := c.ofModule(i)
	if f.Function != "" {
		r = cmp.Or(c.known(i).rule, r)
	}
	if r != nil && r.reason == overflowed {
		c.overflow = true
	}
	switch {
	case i < c.handler:
		return false, "it is of a signal handler that ended the process"
	case r != nil:
		return false, r.String()
	}
	return true, ""
}

// ofModule returns the rule that leaves out the module of a frame, or nil.
func (c *counter) ofModule(i int) *rule {
	name := c.frames[i].ModuleName
	r, ok := c.modules[name]
	if !ok {
		if c.modules == nil {
			c.modules = map[string]*rule{}
		}
		r = c.rules.modules.match(name)
		c.modules[name] = r
	}
	return r
}

// place is where a frame is, the same for every run of a build.
type place struct {
	module string
	offset report.Addr
}

func (c *counter) place(i int) place {
	f := &c.frames[i]
	if f.Module == "" {
		return place{}
	}
	return place{f.Module, f.ModuleOffset.Addr}
}

// appendAddress appends the key of a frame for the address level.
func (c *counter) appendAddress(b []byte, i int) []byte {
	p := c.place(i)
	if p.module == "" {
		return append(b, '?')
	}
	return strconv.AppendUint(append(append(b, p.module...), '+'), uint64(p.offset), 16)
}

func (c *counter) address(i int) string { return string(c.appendAddress(nil, i)) }

// name is the key of a frame for the fine level.
func (c *counter) name(i int) string {
	if c.frames[i].Function == "" {
		return c.address(i)
	}
	return c.known(i).name
}

// portable is the function of a frame, or else its address.
func (c *counter) portable(i int) string {
	if c.frames[i].Function == "" {
		return c.address(i)
	}
	return c.known(i).plain
}

func (c *counter) appendName(b []byte, i int) []byte { return append(b, c.name(i)...) }

// function is the key of a frame for the coarse level, "" if its function is not known.
func (c *counter) function(i int) string {
	if c.frames[i].Function == "" {
		return ""
	}
	return c.known(i).plain
}

func (c *counter) appendFunction(b []byte, i int) []byte { return append(b, c.function(i)...) }

// known returns what is known of the name of a frame's function.
func (c *counter) known(i int) counted {
	name := c.frames[i].Function
	k, ok := c.names[name]
	if !ok {
		f := functionOf(name)
		k = counted{f, c.rules.functions.match(f.plain)}
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
	return c.fold(all, identified(c, all, (*counter).place), c.address, func(v *Frame, why string) { v.Address, v.Why = false, why })
}

// outside returns the indexes of the frames that count for aliases. It looks at no
// names of functions, which symbols may bring.
func (c *counter) outside() []int {
	var all []int
	for i := range c.frames {
		f, v := &c.frames[i], &c.verdicts[i]
		if v.trusted && c.onStackAt(i) && !f.SignalFrame && f.Module != "" && i >= c.handler && c.ofModule(i) == nil {
			all = append(all, i)
		}
	}
	return c.fold(all, identified(c, all, (*counter).place), c.address, func(*Frame, string) {})
}

// onStackAt reports whether a frame is on the stack by itself.
func (c *counter) onStackAt(i int) bool {
	return !c.frames[i].Inlined && !c.frames[i].Method.Inferred()
}

// relevant returns the indexes of the frames that count for the other levels, the
// innermost first. If the rules leave nothing, all that are trusted count, and told is
// false: such frames are in the stacks of many bugs.
func (c *counter) relevant() (kept []int, told bool) {
	var all, trusted []int
	for i := range c.verdicts {
		if c.verdicts[i].Named {
			all = append(all, i)
		}
		if c.verdicts[i].trusted && c.frames[i].Module != "" {
			trusted = append(trusted, i)
		}
	}
	told = len(all) > 0
	if !told {
		all = trusted
		for _, i := range all {
			c.verdicts[i].Named = true
			c.verdicts[i].Why += "; it counts, since there is nothing else"
		}
	}
	kept = c.fold(all, identified(c, all, (*counter).portable), c.portable, func(v *Frame, why string) { v.Named, v.Why = false, why })
	for n, i := range kept {
		if n >= depth {
			c.verdicts[i].Named = false
			c.verdicts[i].Why = fmt.Sprintf("it is beyond the %d frames that count", depth)
		}
	}
	return kept, told
}

// file says in which file the frames are that count for the other levels, if they are
// too few to tell one program from another, as main alone; "" if they are not.
func (c *counter) file(named []int) string {
	if len(named) == 0 || len(named) >= depth || c.frames[named[0]].ModuleName == "" {
		return ""
	}
	return " in " + c.frames[named[0]].ModuleName
}

// identified numbers the frames of all by their keys, from 0 on.
func identified[K comparable](c *counter, all []int, key func(*counter, int) K) []int {
	seen := make(map[K]int, len(all))
	ids := make([]int, len(all))
	for n, i := range all {
		k := key(c, i)
		id, ok := seen[k]
		if !ok {
			id = len(seen)
			seen[k] = id
		}
		ids[n] = id
	}
	return ids
}

// fold leaves out what recursion repeats of the frames all, whose keys are ids. name
// orders frames. drop is called for each frame that is left out, with the reason.
func (c *counter) fold(all, ids []int, name func(i int) string, drop func(v *Frame, why string)) []int {
	var kept []int
	why := "it repeats a recursion"
	if c.overflow {
		kept = recursion(ids, func(n int) string { return name(all[n]) })
	}
	if kept == nil {
		kept = folded(ids)
	} else {
		why = "it is of a recursion that overflowed the stack, or led to it"
	}
	result, counts := make([]int, len(kept)), make([]bool, len(all))
	for n, at := range kept {
		result[n] = all[at]
		counts[at] = true
	}
	for n, i := range all {
		if !counts[n] {
			drop(&c.verdicts[i], why)
		}
	}
	return result
}

// hash returns the hash of up to depth frames, "" if there are none or if one has no
// key.
func (c *counter) hash(level, fault string, frames []int, depth int, appendKey func(*counter, []byte, int) []byte) string {
	if len(frames) == 0 {
		return ""
	}
	frames = frames[:min(depth, len(frames))]
	text := make([]byte, 0, 80*(len(frames)+2))
	version := c.rules.Version
	if level == "address" {
		version = "" // which no rule changes
	}
	for _, line := range []string{Schema, level, version, fault} {
		text = append(append(text, line...), '\n')
	}
	for _, i := range frames {
		n := len(text)
		if text = appendKey(c, text, i); len(text) == n {
			return ""
		}
		text = append(text, '\n')
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
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
