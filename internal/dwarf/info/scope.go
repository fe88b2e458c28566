package info

import (
	"fmt"
	"math"
	"slices"
)

// Scope is a function at an address, with the variables that are in scope there.
type Scope struct {
	// Func is the name of the function, as in [Location].
	Func string
	// Language is DW_AT_language of its unit; see [Go].
	Language uint64
	// Entry is the link-time address of the first instruction of the function
	// that holds the code, into which the others were inlined; 0 if unknown.
	Entry uint64
	// FrameBase is DW_AT_frame_base of that function.
	FrameBase Expr
	// Variables are the parameters, in their order, and then the local
	// variables, those of the innermost block first.
	Variables []Variable
}

// Go is the Language of the gc compiler, whose variables have conventions of
// their own [DWARF 5, table 7.17].
const Go = 0x16

// Variable is a parameter or a local variable.
type Variable struct {
	Name      string
	Parameter bool
	// Line is where the variable is declared, in the file of its function; 0 if unknown.
	Line int
	// Type is nil if it is unknown.
	Type *Type
	// Where locates the variable. It is unknown if the variable was optimised out
	// at this address.
	Where Expr
	// Const is the value if IsConst is set.
	Const   Constant
	IsConst bool
}

// Constant is the value of an object that has the same value everywhere.
type Constant struct {
	// Data are its bytes as in memory. If Data is nil, the value is the integer
	// Int, cut to the size of the type.
	Data []byte
	Int  uint64
}

// Scopes returns the functions at a link-time address, the innermost inlined one
// first: as many as [Data.Lookup] names, in the same order. The caller must not change
// them. Errors are as for Lookup.
func (d *Data) Scopes(addr uint64) ([]Scope, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if list, ok := d.scopes.get(addr); ok {
		return list, nil
	}
	list := d.scopesAt(addr)
	err := d.work.take()
	if err == nil {
		n := 0
		for i := range list {
			n += len(list[i].Variables) + 1
		}
		d.scopes.put(addr, list, n)
	}
	return list, err
}

func (d *Data) scopesAt(addr uint64) []Scope {
	u := d.unitAt(addr)
	if u == nil {
		return nil
	}
	found := u.split().scopesAt(addr)
	if len(found) == 0 {
		return nil
	}
	outer := &found[0]
	scopes := outer.variablesAt(addr)
	var base Expr
	if v, at := outer.inherited(attrFrameBase); v.known() {
		base = at.location(v, addr)
	}
	entry, _ := outer.u.addr(outer.attr(attrLowPC))
	list := make([]Scope, 0, len(found))
	left := maxVariables
	for i := range found {
		e := &found[i]
		s := Scope{Func: e.u.funcName(e), Language: e.u.language, Entry: entry, FrameBase: base}
		if i < len(scopes) {
			s.Variables = scopes[i].all(e, addr, &left)
		}
		list = append(list, s)
	}
	slices.Reverse(list)
	return list
}

// scopeEntries are the entries of the variables of a function.
type scopeEntries struct {
	params []entry
	locals []localEntry
}

type localEntry struct {
	entry
	depth int // of the block
}

const (
	// maxVariables bounds the variables at an address, of all functions there, and
	// maxBlocks how deeply their blocks are nested. Generated code has some thousands
	// and some tens.
	maxVariables = 1 << 14
	maxBlocks    = 1 << 12
)

// variablesAt returns the variables of e, a function, and of each function inlined
// in it at an address, in the order of [entry.inlinedAt].
func (e *entry) variablesAt(addr uint64) []scopeEntries {
	scopes := []scopeEntries{{}}
	r := e.u.entries(e.attrs)
	e.skip(&r)
	if !e.children {
		return scopes
	}
	owner := []int{0} // of the blocks that are open
	for n := 0; len(owner) > 0; {
		c, ok := e.u.next(&r)
		if !ok {
			break
		}
		if c.abbrev == nil {
			owner = owner[:len(owner)-1]
			continue
		}
		in := owner[len(owner)-1]
		switch c.tag {
		case tagFormalParameter, tagVariable:
			if n++; n > maxVariables {
				return scopes
			}
			if s := &scopes[in]; c.tag == tagVariable {
				s.locals = append(s.locals, localEntry{c, len(owner)})
			} else {
				s.params = append(s.params, c)
			}
		case tagInlinedSubroutine, tagLexicalBlock, tagTryBlock, tagCatchBlock:
			inside, hasCode := c.contains(addr)
			if !inside && (hasCode || c.tag == tagInlinedSubroutine) {
				break
			}
			if c.tag == tagInlinedSubroutine {
				scopes = append(scopes, scopeEntries{})
				in = len(scopes) - 1
			}
			if c.children && len(owner) < maxBlocks {
				c.skip(&r)
				owner = append(owner, in)
				continue
			}
		}
		c.skipTree(&r)
	}
	return scopes
}

var errVariables = fmt.Errorf("debug information: more than %d variables are in scope at one address; the others are not shown", maxVariables)

// all describes the variables of a function, up to as many as are left. Variables
// that an instance leaves out are in the abstract instance.
func (s *scopeEntries) all(fn *entry, addr uint64, left *int) []Variable {
	slices.SortStableFunc(s.locals, func(a, b localEntry) int { return b.depth - a.depth })
	entries := slices.Clone(s.params)
	for i := range s.locals {
		entries = append(entries, s.locals[i].entry)
	}
	said := map[uint64]bool{} // origins, by offset
	for i := range entries {
		if at, ok := entries[i].u.refer(entries[i].attr(attrAbstractOrigin)); ok {
			said[at.off] = true
		}
	}
	if origin, ok := fn.u.refer(fn.attr(attrAbstractOrigin)); ok {
		entries = append(entries, origin.unsaid(said, *left)...)
	}
	if len(entries) > *left {
		fn.u.file.fail(errVariables)
		entries = entries[:*left]
	}
	*left -= len(entries)
	var list []Variable
	for _, params := range []bool{true, false} {
		for i := range entries {
			if e := &entries[i]; (e.tag == tagFormalParameter) == params {
				if v, ok := e.variable(addr); ok {
					list = append(list, v)
				}
			}
		}
	}
	return list
}

// unsaid returns the variables right within e whose offsets are not in said. It
// returns one more than most at most.
func (e *entry) unsaid(said map[uint64]bool, most int) []entry {
	var list []entry
	for c := range e.childEntries() {
		if c.tag != tagFormalParameter && c.tag != tagVariable || said[c.off] {
			continue
		}
		if list = append(list, c); len(list) > most {
			break
		}
	}
	return list
}

// hidden are the names of strings that compilers add to functions.
var hidden = []string{"__func__", "__FUNCTION__", "__PRETTY_FUNCTION__"}

// variable describes a variable. A variable without a name, or a declaration of one
// elsewhere, is not shown.
func (e *entry) variable(addr uint64) (v Variable, ok bool) {
	name, at := e.inherited(attrName)
	if declared := e.attr(attrDeclaration); declared.known() || !name.known() {
		return v, false
	}
	v = Variable{Name: at.str(name), Parameter: e.tag == tagFormalParameter}
	if slices.Contains(hidden, v.Name) {
		return v, false
	}
	if line, _ := e.inherited(attrDeclLine); line.known() {
		v.Line = int(min(line.num, math.MaxInt32))
	}
	e.describe(&v, addr)
	return v, true
}

// describe fills in the type of a variable, and its location or value.
func (e *entry) describe(v *Variable, addr uint64) {
	if ref, at := e.inherited(attrType); ref.known() {
		if t, ok := at.refer(ref); ok {
			v.Type = e.u.file.d.typeOf(t)
		}
	}
	if where, at := e.inherited(attrLocation); where.known() {
		v.Where = at.location(where, addr)
	} else if c, at := e.inherited(attrConstValue); c.known() {
		v.Const, v.IsConst = at.constant(c), true
	}
}

// constant returns the value of DW_AT_const_value.
func (u *unit) constant(v value) Constant {
	switch v.form {
	case formString, formStrp, formLineStrp, formStrx, formStrpSup, formGNUStrpAlt, formGNUStrIndex:
		return Constant{Data: append(slices.Clone(u.text(v)), 0)}
	case formBlock, formBlock1, formBlock2, formBlock4, formData16, formExprloc:
		return Constant{Data: v.data[:len(v.data):len(v.data)]}
	case formAddr, formAddrx, formGNUAddrIndex:
		v.num, _ = u.addr(v)
	}
	return Constant{Int: v.num}
}

// inherited returns an attribute of e, or of the entries that it is an instance
// or the definition of, and the unit that it is in.
func (e *entry) inherited(name uint32) (value, *unit) {
	at := *e
	for range maxOrigins {
		var v, origin value
		for attr, a := range at.attributes() {
			switch attr {
			case name:
				v = a
			case attrAbstractOrigin, attrSpecification:
				origin = a
			}
		}
		if v.known() {
			return v, at.u
		}
		next, ok := at.u.refer(origin)
		if !ok {
			break
		}
		at = next
	}
	return value{}, e.u
}
