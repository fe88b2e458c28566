package info

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// DeclKind is what a name stands for.
type DeclKind uint8

// The kinds.
const (
	DeclVariable DeclKind = iota
	DeclFunction
	DeclType
	DeclEnumerator
)

// Decl is something with a name that is not local to a function: a variable, a
// function, a type or an enumerator.
type Decl struct {
	Kind DeclKind
	// Path is the name, with those of the scopes around it before it. Those that
	// a program may leave out are "": inline and anonymous namespaces.
	Path []string
	// External is set if other units can use the name.
	External bool

	e    entry
	enum uint64 // offset of the enumeration, of an enumerator
}

// nameIndex is an index of the names in one or more units, by the hash of the last part of
// the name without the arguments of templates.
type nameIndex struct {
	decls  map[uint64][]nameRef
	scopes []nameScope
	files  []*file
	count  int
	full   bool
}

type nameRef struct {
	off, enum uint64
	scope     int32
	file      int32
	kind      DeclKind
}

type nameScope struct {
	name  string
	outer int32
}

const (
	// maxNames bounds the names that are indexed, of some 100 bytes each. The largest
	// programs have some millions, most of them more than once.
	maxNames = 1 << 20
	// maxNameWork bounds the entries that are read to find names, besides those that
	// are read to find code: it takes a second or two.
	maxNameWork = 1 << 27
	// maxFound bounds what has the same name.
	maxFound = 4096
	// maxScopes bounds scopes within each other.
	maxScopes = 64
)

var errNames = fmt.Errorf("debug information: it has more than %d names; the others are not found", maxNames)

// Find returns what has a name whose last part is last, without the arguments of
// templates, up to 4096. An error says what is damaged.
func (d *Data) Find(last string) ([]Decl, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.separately(func() []Decl {
		if d.names == nil {
			d.names = newNames()
			for _, off := range d.main.unitOffsets() {
				if d.names.full {
					break
				}
				if u := d.main.unit(off); u != nil {
					d.names.add(u.split())
				}
			}
		}
		return d.names.find(last)
	})
}

// FindIn is Find for the unit that has the code at a link-time address.
func (d *Data) FindIn(addr uint64, last string) ([]Decl, error) {
	return d.inUnit(addr, func(n *nameIndex) []Decl { return n.find(last) })
}

// Variables returns up to most variables of the unit that has the code at a link-time
// address, in the order of their entries. An error says what is damaged.
func (d *Data) Variables(addr uint64, most int) ([]Decl, error) {
	return d.inUnit(addr, func(n *nameIndex) []Decl { return n.variables(most) })
}

// inUnit calls find with the names of the unit that has the code at a link-time address,
// if there is one.
func (d *Data) inUnit(addr uint64, find func(*nameIndex) []Decl) ([]Decl, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.separately(func() []Decl {
		u := d.unitAt(addr)
		if u == nil {
			return nil
		}
		if u = u.split(); u.names == nil {
			u.names = newNames()
			u.names.add(u)
		}
		return find(u.names)
	})
}

// separately calls f with bounds of its own, so that names are found when code no longer
// is, and the other way round.
func (d *Data) separately(f func() []Decl) ([]Decl, error) {
	saved := d.work
	d.work = work{limit: maxNameWork, budget: saved.budget}
	list := f()
	err := d.work.take()
	d.work = saved
	return list, err
}

func newNames() *nameIndex {
	return &nameIndex{decls: map[uint64][]nameRef{}, scopes: []nameScope{{outer: -1}}}
}

// hash is FNV-1a. Names of the same hash are told apart when one is looked for.
func hash(s string) uint64 {
	h := uint64(0xcbf29ce484222325)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 0x100000001b3
	}
	return h
}

// PlainName returns the last part of a qualified name, without the arguments of
// templates: "map" of "std::map<int, a::b>".
func PlainName(name string) string {
	depth, from, end := 0, 0, len(name)
	for i := range len(name) {
		switch name[i] {
		case '<':
			if depth++; depth == 1 && i > from {
				end = i
			}
		case '>':
			depth--
		case ':':
			if depth == 0 {
				from, end = i+1, len(name)
			}
		}
	}
	if strings.HasSuffix(name, tableOfMethods) {
		return tableOfMethods
	}
	return name[from:max(from, end)]
}

// tableOfMethods is how rustc ends the name of each table of methods.
const tableOfMethods = "{vtable}"

// add adds the names of a unit.
func (n *nameIndex) add(u *unit) {
	if i := slices.Index(n.files, u.file); i < 0 {
		n.files = append(n.files, u.file)
	}
	file := int32(slices.Index(n.files, u.file))
	r := u.entries(u.first)
	open := []int32{} // the scopes around
	enclosing := func() int32 {
		if len(open) == 0 {
			return 0
		}
		return open[len(open)-1]
	}
	for {
		e, ok := u.next(&r)
		switch {
		case !ok:
			return
		case e.abbrev == nil:
			if len(open) > 0 {
				open = open[:len(open)-1]
			}
			continue
		}
		enter, scope := false, enclosing()
		switch e.tag {
		case tagCompileUnit, tagPartialUnit, tagSkeletonUnit, tagTypeUnit:
			enter = true
		case tagNamespace, tagModule:
			name := ""
			if inline := e.attr(attrExportSymbols); !inline.known() {
				name = u.str(e.attr(attrName))
			}
			enter, scope = true, n.scope(name, scope)
		case tagStructureType, tagClassType, tagUnionType, tagInterfaceType:
			name := n.record(&e, DeclType, scope, file, 0)
			enter, scope = e.children, n.scope(name, scope)
		case tagEnumerationType:
			name := n.record(&e, DeclType, scope, file, 0)
			if scoped := e.attr(attrEnumClass); scoped.known() || hasNamedEnums(u.language) {
				scope = n.scope(name, scope)
			}
			for c := range e.childEntries() {
				n.record(&c, DeclEnumerator, scope, file, e.off)
			}
		case tagTypedef, tagBaseType:
			n.record(&e, DeclType, scope, file, 0)
		case tagVariable, tagMember:
			n.variable(&e, scope, file)
		case tagSubprogram:
			if code, _ := e.firstCode(); code != 0 {
				n.record(&e, DeclFunction, scope, file, 0)
			}
		}
		if n.full {
			return
		}
		if !enter || len(open) >= maxScopes {
			e.skipTree(&r)
			continue
		}
		e.skip(&r)
		if e.children {
			open = append(open, scope)
		}
	}
}

// firstCode returns where the code of a function begins.
func (e *entry) firstCode() (uint64, bool) { return e.u.addr(e.attr(attrLowPC)) }

// hasNamedEnums reports whether enumerators are in the scope of their type: in Rust.
func hasNamedEnums(language uint64) bool { return language == Rust }

// Rust is the Language of rustc [DWARF 5, table 7.17].
const Rust = 0x1c

// variable records a variable or a static member that is defined by an entry, or has a
// constant value there.
func (n *nameIndex) variable(e *entry, scope, file int32) {
	located, constant, declared := false, false, false
	var spec value
	for name, v := range e.attributes() {
		switch name {
		case attrLocation:
			located = true
		case attrConstValue:
			constant = true
		case attrSpecification:
			spec = v
		case attrDeclaration, attrExternal:
			declared = true
		}
	}
	if e.tag == tagMember && !(constant && declared) || !located && !constant {
		return
	}
	if spec.known() { // it is declared in another scope
		if origin, ok := e.u.refer(spec); ok {
			scope = 0
			for _, s := range origin.scopes() {
				if name := s.scopeName(); name != "" && len(n.scopes) < maxNames {
					if inline := s.attr(attrExportSymbols); inline.known() || name == anonymousNamespace {
						name = ""
					}
					scope = n.scope(name, scope)
				}
			}
		}
	}
	n.record(e, DeclVariable, scope, file, 0)
}

const anonymousNamespace = "(anonymous namespace)"

func (n *nameIndex) scope(name string, outer int32) int32 {
	n.scopes = append(n.scopes, nameScope{name, outer})
	return int32(len(n.scopes) - 1)
}

// record records the name of an entry, and returns it.
func (n *nameIndex) record(e *entry, kind DeclKind, scope, file int32, enum uint64) string {
	v, at := e.inherited(attrName)
	if !v.known() {
		return ""
	}
	name := at.str(v)
	if declared := e.attr(attrDeclaration); kind == DeclType && declared.known() {
		return name
	}
	if n.count++; n.count > maxNames || len(n.scopes) > maxNames {
		n.full = true
		e.u.file.fail(errNames)
		return name
	}
	key := hash(PlainName(name))
	n.decls[key] = append(n.decls[key], nameRef{off: e.off, enum: enum, scope: scope, file: file, kind: kind})
	return name
}

func (n *nameIndex) find(last string) []Decl {
	var list []Decl
	for _, ref := range n.decls[hash(last)] {
		decl, ok := n.decl(ref)
		if !ok || PlainName(decl.Path[len(decl.Path)-1]) != last {
			continue // of the same hash
		}
		if list = append(list, decl); len(list) >= maxFound {
			break
		}
	}
	return list
}

// variables returns up to most variables, in the order of their entries.
func (n *nameIndex) variables(most int) []Decl {
	var refs []nameRef
	for _, list := range n.decls {
		for _, ref := range list {
			if ref.kind == DeclVariable {
				refs = append(refs, ref)
			}
		}
	}
	slices.SortFunc(refs, func(a, b nameRef) int { return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.off, b.off)) })
	var list []Decl
	for _, ref := range refs[:min(len(refs), most)] {
		if decl, ok := n.decl(ref); ok {
			list = append(list, decl)
		}
	}
	return list
}

// decl reads what a reference refers to.
func (n *nameIndex) decl(ref nameRef) (Decl, bool) {
	e, ok := n.files[ref.file].entryAt(ref.off)
	if !ok {
		return Decl{}, false
	}
	v, at := e.inherited(attrName)
	path := []string{at.str(v)}
	for s := ref.scope; s > 0; s = n.scopes[s].outer {
		path = append(path, n.scopes[s].name)
	}
	slices.Reverse(path)
	external, _ := e.inherited(attrExternal)
	return Decl{Kind: ref.kind, Path: path, External: external.known(), e: e, enum: ref.enum}, true
}

// Name returns the qualified name.
func (c *Decl) Name() string { return joinScopes(slices.Clone(c.Path)) }

// Same reports whether both are the same entry.
func (c *Decl) Same(other *Decl) bool { return c.e.key() == other.e.key() }

// Unit returns the name of the unit: the source file that was compiled.
func (c *Decl) Unit() string {
	c.e.u.file.d.mu.Lock()
	defer c.e.u.file.d.mu.Unlock()
	first, ok := c.e.u.entryAt(c.e.u.first)
	if !ok {
		return ""
	}
	return c.e.u.str(first.attr(attrName))
}

// Variable describes a variable.
func (c *Decl) Variable() Variable {
	c.e.u.file.d.mu.Lock()
	defer c.e.u.file.d.mu.Unlock()
	v := Variable{Name: c.Path[len(c.Path)-1]}
	c.e.describe(&v, 0)
	return v
}

// Code returns the link-time address of a function, 0 if unknown.
func (c *Decl) Code() uint64 {
	c.e.u.file.d.mu.Lock()
	defer c.e.u.file.d.mu.Unlock()
	addr, _ := c.e.firstCode()
	return addr
}

// Type returns a type.
func (c *Decl) Type() *Type {
	d := c.e.u.file.d
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.typeOf(c.e)
}

// Enumerator returns the value of an enumerator and its enumeration.
func (c *Decl) Enumerator() (t *Type, value uint64) {
	d := c.e.u.file.d
	d.mu.Lock()
	defer d.mu.Unlock()
	e, ok := c.e.u.entryAt(c.enum)
	if !ok {
		return voidType, 0
	}
	return d.typeOf(e), c.e.attrValue()
}

func (e *entry) attrValue() uint64 {
	v := e.attr(attrConstValue)
	return v.num
}
