package expression

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/sfcore/sfcore/internal/dwarf/info"
	"github.com/sfcore/sfcore/internal/dwarf/value"
)

// Env is what an expression is evaluated in. It is not safe for concurrent use.
type Env struct {
	// Scope is the function at the frame, with its variables. In a frame without debug
	// information it is a static scope: see [value.Frame.Static].
	Scope *value.Scope
	// Function is the demangled name of the function.
	Function string
	// PC is the link-time address of the code, 0 without debug information.
	PC uint64
	// Modules yields the static scopes of the modules that have debug information,
	// that of the frame first.
	Modules iter.Seq[*value.Scope]
	// Register returns a register of the frame, and whether there is one of that name.
	Register func(name string) (v uint64, ok bool, err error)
	// Symbol returns the address of a name in a symbol table, and whether code is there.
	Symbol func(name string) (addr uint64, code, ok bool)
	// Nearby is set where a name may only be one of a variable of the function, or of
	// the frame's module: what is below a mouse may be any word.
	Nearby bool
}

func (env *Env) isRust() bool { return env.Scope.Language == info.Rust }

// isC reports whether the results of comparisons are integers.
func (env *Env) isC() bool {
	switch env.Scope.Language {
	case 0x01, 0x02, 0x0c, 0x1d, 0x2c: // C (89, any, 99, 11, 17) [DWARF 5, table 7.17]
		return true
	}
	return false
}

// local returns the variable of the function with a name; the innermost, if there are
// several.
func (env *Env) local(name string) *info.Variable {
	for _, parameters := range []bool{false, true} {
		for i := range env.Scope.Variables {
			if v := &env.Scope.Variables[i]; v.Name == name && v.Parameter == parameters {
				return v
			}
		}
	}
	return nil
}

func (env *Env) hasLocal(name string) bool { return env.local(name) != nil }

// found is what a name stands for.
type found struct {
	info.Decl
	scope *value.Scope // of its module
}

// maxMeanings bounds the meanings of a name that an error lists.
const maxMeanings = 4

// find looks a name up: in the unit of the code, in its module, then in the others, of
// which the names within a file are left out. A variable that another unit of the module keeps
// to itself comes after all that others can use. There, in the scopes of the function from the inside to the outside. A name that is in
// none of these scopes may be in another one, if it is the only one of that name. kinds
// are what it may be.
//
// file is the source file of the unit that it must be from, or "".
func (env *Env) find(path []string, global bool, file string, kinds ...info.DeclKind) []found {
	if len(path) == 0 {
		return nil
	}
	last := info.PlainName(path[len(path)-1])
	outer := functionPath(env.Function)
	other := false     // whether a module is searched that is not that of the code
	var others []found // that are in another scope
	search := func(decls []info.Decl, scope *value.Scope) []found {
		decls = slices.DeleteFunc(decls, func(d info.Decl) bool {
			foreign := other && !d.External && d.Kind == info.DeclVariable && file == ""
			return !slices.Contains(kinds, d.Kind) || foreign || file != "" && !isFile(d.Unit(), file)
		})
		for n := len(outer); n >= 0; n-- {
			if global && n > 0 {
				continue
			}
			var list []found
			for i := range decls {
				if matches(decls[i].Path, slices.Concat(outer[:n], path)) {
					list = append(list, found{decls[i], scope})
				}
			}
			if len(list) > 0 {
				return list
			}
		}
		if !global && len(others) < maxMeanings {
			for i := range decls {
				if endsWith(decls[i].Path, path) {
					others = append(others, found{decls[i], scope})
				}
			}
		}
		return nil
	}
	first := true
	var own []found // of another unit of the code's module
	for scope := range env.Modules {
		data := scope.Frame().Data
		if first && env.PC != 0 {
			decls, _ := data.FindIn(env.PC, last)
			if list := search(decls, scope); list != nil {
				return list
			}
			others = nil
		}
		first = false
		decls, _ := data.Find(last)
		list := search(decls, scope)
		switch {
		case list == nil:
		case !other && env.PC != 0 && file == "" && !slices.ContainsFunc(list, found.usable):
			own = list
		default:
			return list
		}
		if env.Nearby || len(others) > 0 {
			break
		}
		other = env.PC != 0
	}
	if own != nil {
		return own
	}
	return others
}

// usable reports whether other units can use a name.
func (f found) usable() bool { return f.External || f.Kind != info.DeclVariable }

// isFile reports whether a unit is that of a file, given by its name or the end of its
// path.
func isFile(unit, file string) bool { return unit == file || strings.HasSuffix(unit, "/"+file) }

// matches reports whether a name is the one that is asked for. Scopes without a name
// may be left out.
func matches(path, want []string) bool {
	i := len(want) - 1
	for j := len(path) - 1; j >= 0; j-- {
		switch {
		case i >= 0 && same(path[j], want[i]):
			i--
		case path[j] == "":
		case i >= 0 && want[i] == "": // inline in one of both
			i--
			j++
		default:
			return false
		}
	}
	return i < 0
}

// endsWith reports whether a name ends with the one that is asked for.
func endsWith(path, want []string) bool {
	for from := range path {
		if matches(path[from:], want) {
			return true
		}
	}
	return false
}

// same compares parts of names, without regard to spaces, as compilers differ in them.
func same(a, b string) bool { return a == b || tight(a) == tight(b) }

// tight removes the spaces that do not separate words.
func tight(s string) string {
	if !strings.Contains(s, " ") {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		inside := i > 0 && i+1 < len(s) && wordByte(s[i-1]) && wordByte(s[i+1])
		if s[i] != ' ' || inside {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

func wordByte(c byte) bool { return isLetter(c) || isDigit(c) }

// functionPath returns the scopes around a function, by its demangled name.
func functionPath(name string) []string {
	var path []string
	depth, from := 0, 0
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case c == '(' && depth == 0 && i > from && !strings.HasPrefix(name[i:], "(anonymous namespace)"):
			return path
		case c == '<' || c == '(' || c == '{':
			depth++
		case c == '>' || c == ')' || c == '}':
			depth--
		case c == ':' && depth == 0 && strings.HasPrefix(name[i:], "::"):
			part := name[from:i]
			if part == "(anonymous namespace)" {
				part = ""
			}
			path = append(path, part)
			i++
			from = i + 1
		}
	}
	return path
}

// isTemplate reports whether a name is that of a type with arguments.
func (env *Env) isTemplate(path []string) bool {
	return len(env.find(path, false, "", info.DeclType)) > 0
}

// typeNamed returns the type of a name; nil if there is none. kind is what it must be,
// or void.
func (env *Env) typeNamed(path []string, global bool, kind info.Kind) (*info.Type, error) {
	var t *info.Type
	for _, f := range env.find(path, global, "", info.DeclType) {
		other := f.Type()
		if kind != info.Void && other.Kind != kind || kind == info.Void && env.isC() && other.Kind != info.Typedef && other.Kind != info.Base {
			continue
		}
		if t != nil && f.scope.SizeOf(t) != f.scope.SizeOf(other) {
			return nil, fmt.Errorf("there are several types of this name, of %d and of %d bytes", f.scope.SizeOf(t), f.scope.SizeOf(other))
		}
		t = other
	}
	return t, nil
}

// named returns the object of a name that is not local to the function. file is the
// source file that it must be from, or "".
func (env *Env) named(path []string, global bool, file string) (o value.Object, ok bool, err error) {
	list := env.find(path, global, file, info.DeclVariable, info.DeclEnumerator)
	var meanings []string
	for i := range list {
		next := list[i].object()
		switch {
		case !ok:
			o, ok = next, true
		case equal(&o, &next):
			continue
		}
		if len(meanings) <= maxMeanings {
			meanings = append(meanings, fmt.Sprintf("%s of %s", list[i].Name(), list[i].Unit()))
		}
	}
	if len(meanings) > 1 {
		return o, false, fmt.Errorf("the name is ambiguous: %s; write 'FILE'::NAME, or the scopes before the name", strings.Join(meanings, ", "))
	}
	return o, ok, nil
}

// object returns what the name stands for.
func (f *found) object() value.Object {
	if f.Kind == info.DeclEnumerator {
		t, v := f.Enumerator()
		return f.scope.MadeWord("", t, v)
	}
	v := f.Variable()
	return f.scope.Object(&v)
}

// equal reports whether two objects of a name are one: the variable of a template or
// of a header is described by each unit that uses it.
func equal(a, b *value.Object) bool {
	x, inMemory := a.Address()
	y, too := b.Address()
	if inMemory || too {
		return x == y && inMemory == too
	}
	x, errA := a.Number()
	y, errB := b.Number()
	return errA == nil && errB == nil && x == y && a.Type.String() == b.Type.String()
}
