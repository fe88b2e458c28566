package info

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// function is a run of code of a function.
type function struct{ lo, hi, off uint64 }

// scopesAt returns the function at an address and, below it, the functions
// that were inlined there, each with its call.
func (u *unit) scopesAt(addr uint64) []entry {
	if !u.haveFunctions {
		u.haveFunctions = true
		u.index()
	}
	i, found := slices.BinarySearchFunc(u.functions, addr, func(f function, a uint64) int { return cmp.Compare(f.lo, a) })
	if !found {
		i--
	}
	for n := 0; i >= 0 && n < maxOverlaps; i, n = i-1, n+1 {
		f := &u.functions[i]
		if addr >= f.hi {
			continue
		}
		if fn, ok := u.entryAt(f.off); ok {
			return fn.inlinedAt(addr, []entry{fn})
		}
	}
	return nil
}

// index lists the unit's functions. They are at the top and within namespaces
// and types; local functions of some languages are within others.
func (u *unit) index() {
	r := u.entries(u.first)
	for {
		e, ok := u.next(&r)
		if !ok {
			break
		}
		if e.abbrev == nil {
			continue
		}
		switch e.tag {
		case tagSubprogram:
			code := false
			for lo, hi := range e.ranges() {
				code = true
				if lo != 0 {
					if !u.file.d.keep() {
						break
					}
					u.functions = append(u.functions, function{lo, hi, e.off})
				}
			}
			if code {
				e.skip(&r)
			} else {
				e.skipTree(&r)
			}
		case tagCompileUnit, tagPartialUnit, tagSkeletonUnit, tagNamespace, tagModule, tagClassType, tagStructureType,
			tagUnionType, tagInterfaceType, tagLexicalBlock:
			e.skip(&r)
		default:
			e.skipTree(&r)
		}
	}
	slices.SortFunc(u.functions, func(a, b function) int { return cmp.Compare(a.lo, b.lo) })
}

// maxInlined bounds the calls that are inlined at one address. Generated code and
// templates have some hundred.
const maxInlined = 1000

var errInlined = fmt.Errorf("debug information: more than %d calls are inlined at one address; the inner ones are not shown", maxInlined)

// inlinedAt appends the functions inlined at an address of e, the outermost
// first.
func (e *entry) inlinedAt(addr uint64, found []entry) []entry {
	r := e.u.entries(e.attrs)
	e.skip(&r)
	if !e.children {
		return found
	}
	// An entry that holds the address is the only one of its siblings to do
	// so: once it ends, all is found.
	for depth, floor := 1, 1; depth >= floor; {
		c, ok := e.u.next(&r)
		if !ok {
			break
		}
		if c.abbrev == nil {
			depth--
			continue
		}
		enter := false
		switch c.tag {
		case tagInlinedSubroutine, tagLexicalBlock, tagTryBlock, tagCatchBlock:
			inside, hasCode := c.contains(addr)
			if inside && c.tag == tagInlinedSubroutine {
				if len(found) > maxInlined {
					e.u.file.fail(errInlined)
					return found
				}
				found = append(found, c)
			}
			if inside {
				if !c.children {
					return found
				}
				floor = depth + 1
			}
			enter = inside || !hasCode && c.tag != tagInlinedSubroutine
		}
		if !enter {
			c.skipTree(&r)
			continue
		}
		c.skip(&r)
		if c.children {
			depth++
		}
	}
	return found
}

// partAt returns where the part of a function's code begins that holds an
// address.
func (e *entry) partAt(addr uint64) uint64 {
	for lo, hi := range e.ranges() {
		if addr >= lo && addr < hi {
			return lo
		}
	}
	return 0
}

// callSite returns where an inlined function was called.
func (u *unit) callSite(e *entry) (l line) {
	for name, v := range e.attributes() {
		switch name {
		case attrCallFile:
			l.file = u.fileName(v.num)
		case attrCallLine:
			l.line = lineNumber(v.num)
		case attrCallColumn:
			l.column = lineNumber(v.num)
		}
	}
	return l
}

// maxOrigins bounds the entries from one that stands for a function to the one
// that names it: an instance, its abstract instance, its declaration.
const maxOrigins = 8

// funcName returns the name of the function that e is an instance of.
func (u *unit) funcName(e *entry) string {
	at := *e
	for range maxOrigins {
		var name, linkage, origin value
		for attr, v := range at.attributes() {
			switch attr {
			case attrName:
				name = v
			case attrLinkageName, attrMIPSLinkage:
				linkage = v
			case attrAbstractOrigin, attrSpecification:
				origin = v
			}
		}
		if linkage.known() {
			return at.u.str(linkage)
		}
		next, ok := at.u.refer(origin)
		if !ok {
			return at.qualifiedFunction(at.u.str(name))
		}
		// A name that is given here too is the same one.
		at = next
	}
	return ""
}

// qualified puts the names of the scopes around e before its name, but not those of
// functions.
func (e *entry) qualified(name string) string {
	if name == "" || !e.inScopes() {
		return name
	}
	var path []string
	for _, s := range e.scopes() {
		path = append(path, s.scopeName())
	}
	return joinScopes(append(path, name))
}

// maxWithin is how many functions around a name may be declared elsewhere, each in the
// one before.
const maxWithin = 3

// qualifiedFunction is qualified for the name of a function, which may be in another one.
// Compilers give no linkage name to the functions of a local class that are all inlined.
func (e *entry) qualifiedFunction(name string) string {
	if name == "" || !e.inScopes() {
		return name
	}
	path, at := []string{name}, *e // the innermost name first
	for range maxWithin {
		next, ok, member := at, false, false
		for _, s := range slices.Backward(at.scopes()) {
			isClass := s.tag == tagClassType || s.tag == tagStructureType
			if isClass && len(path) == 1 && strings.HasPrefix(name, "operator()") && s.isUnnamed() {
				path = append(path, lambda)
			}
			member = member || isClass
			if s.tag != tagSubprogram || !member { // else it is declared there, and elsewhere, too
				path = append(path, s.scopeName())
				continue
			}
			if next, ok = s.declaration(); ok {
				s = next
			}
			if v := s.attr(attrName); v.known() {
				path = append(path, s.u.str(v))
			}
			if ok {
				break
			}
		}
		if at = next; !ok {
			break
		}
	}
	slices.Reverse(path)
	return joinScopes(path)
}

func joinScopes(path []string) string {
	return strings.Join(slices.DeleteFunc(path, func(s string) bool { return s == "" }), "::")
}

// lambda is how a class without a name is called that is a function.
const lambda = "{lambda}"

func (e *entry) isUnnamed() bool {
	v := e.attr(attrName)
	return !v.known()
}

// declaration returns the entry that declares the function that e is an instance of.
func (e *entry) declaration() (entry, bool) {
	at, ok := *e, false
	for range maxOrigins {
		v := at.attr(attrSpecification)
		if !v.known() {
			v = at.attr(attrAbstractOrigin)
		}
		next, more := at.u.refer(v)
		if !more {
			break
		}
		at, ok = next, true
	}
	return at, ok
}

// scopes returns the entries around e, the outermost first.
func (e *entry) scopes() []entry {
	path, pos := e.u.outline.before(e.off)
	r := e.u.entries(max(pos, e.u.first))
	for r.pos < e.off {
		e.u.outline.note(r.pos, path)
		at, ok := e.u.next(&r)
		if !ok || at.abbrev == nil {
			if !ok {
				break
			}
			if len(path) > 0 {
				path = path[:len(path)-1]
			}
			continue
		}
		sibling := at.skip(&r)
		switch {
		case !at.children:
		case sibling > r.pos && sibling <= e.off:
			r.pos = sibling
		default:
			path = append(path, at)
		}
	}
	e.u.file.d.work.spend(6 * len(path)) // to keep it, and for the name of each: they are costly if they are many
	return path
}

// scopeName returns what e adds to the names within it.
func (e *entry) scopeName() string {
	switch e.tag {
	case tagNamespace:
		if v := e.attr(attrName); v.known() {
			return e.u.str(v)
		}
		return "(anonymous namespace)"
	case tagModule, tagClassType, tagStructureType, tagUnionType, tagInterfaceType, tagEnumerationType:
		return e.u.str(e.attr(attrName))
	}
	return ""
}

// inScopes reports whether names around an entry are a part of its name.
func (e *entry) inScopes() bool { return hasScopes(e.u.language) || e.u.kind == unitPartial }

// hasScopes reports whether names of a language are qualified with "::"
// [DWARF 5, table 7.17].
func hasScopes(language uint64) bool {
	switch language {
	case 0x04, 0x1a, 0x21, 0x2b, 0x3a, 0x1c: // C++ (98, 11, 14, 17, 20), Rust
		return true
	}
	return false
}
