package expression

import (
	"slices"
	"strings"

	"github.com/sfcore/sfcore/internal/dwarf/info"
)

// pointerSize is that of all architectures, in bytes.
const pointerSize = 8

// baseWords are the words that names of C's base types consist of.
var baseWords = []string{"char", "short", "int", "long", "float", "double", "signed", "unsigned", "bool", "_Bool", "void", "__int128"}

var qualifiers = []string{"const", "volatile", "restrict", "_Atomic", "mut", "dyn", "typename"}

var tags = map[string]info.Kind{"struct": info.Struct, "class": info.Struct, "union": info.Union, "enum": info.Enum}

// typeName parses the name of a type. ok is false if there is none here; then the
// current token is as before.
func (p *parser) typeName() (t *info.Type, ok bool, err error) {
	start := p.tok.at
	defer func() {
		if !ok && err == nil {
			err = p.move(start)
		}
	}()
	if p.env.isRust() {
		if t, ok, err := p.rustType(); ok || err != nil {
			return t, ok, err
		}
		if err := p.move(start); err != nil {
			return nil, false, err
		}
	}
	if t, ok, err = p.specifier(); !ok || err != nil {
		return nil, false, err
	}
	return p.declarator(t)
}

// declarator parses "*", "&", qualifiers and "[n]" behind the name of a type.
func (p *parser) declarator(t *info.Type) (*info.Type, bool, error) {
	for range maxNesting {
		switch {
		case p.is("*"):
			t = info.MakePointer(t, pointerSize)
		case p.is("&") || p.is("&&"): // a cast to a reference is one of an object
		case p.tok.kind == word && slices.Contains(qualifiers, p.tok.text):
		case p.is("["):
			if err := p.next(); err != nil {
				return nil, false, err
			}
			n, err := parseInteger(p.tok.text)
			if p.tok.kind != integer || err != nil || !n.i.IsUint64() || n.i.Uint64() > maxSlice {
				return nil, false, nil
			}
			if err := p.next(); err != nil {
				return nil, false, err
			}
			if !p.is("]") {
				return nil, false, nil
			}
			t = info.MakeArray(t, n.i.Uint64())
		default:
			return t, true, nil
		}
		if err := p.next(); err != nil {
			return nil, false, err
		}
	}
	return nil, false, nil
}

// specifier parses the words before a declarator.
func (p *parser) specifier() (*info.Type, bool, error) {
	var words []string
	kind := info.Void
	for p.tok.kind == word {
		switch w := p.tok.text; {
		case slices.Contains(qualifiers, w):
		case tags[w] != info.Unsupported && len(words) == 0:
			kind = tags[w]
		case slices.Contains(baseWords, w):
			words = append(words, w)
		default:
			if len(words) > 0 {
				return p.env.baseType(words), true, nil
			}
			return p.namedType(kind)
		}
		if err := p.next(); err != nil {
			return nil, false, err
		}
	}
	if len(words) > 0 {
		return p.env.baseType(words), true, nil
	}
	if p.is("::") {
		return p.namedType(kind)
	}
	return nil, false, nil
}

// namedType parses the name of a type of the program.
func (p *parser) namedType(kind info.Kind) (*info.Type, bool, error) {
	at := p.tok.at
	n, err := p.name()
	if err != nil {
		return nil, false, nil // no name of a type, whatever it is
	}
	if kind == info.Void && len(n.path) == 1 && n.op == opName && p.env.hasLocal(n.path[0]) {
		return nil, false, nil
	}
	t, err := p.env.typeNamed(n.path, n.op == opGlobal, kind)
	if err != nil {
		return nil, false, &Error{Part: p.s[at:n.to], Err: err}
	}
	if t == nil {
		if kind != info.Void {
			return nil, false, &Error{Part: p.s[at:n.to], Msg: "the debug information has no type of this name"}
		}
		return nil, false, nil
	}
	return t, true, nil
}

// rustType parses a type as Rust writes it: "*const T", "&T", "[T; n]", "u8".
func (p *parser) rustType() (*info.Type, bool, error) {
	if p.is("*") || p.is("&") {
		if err := p.next(); err != nil {
			return nil, false, err
		}
		for p.tok.kind == word && slices.Contains(qualifiers, p.tok.text) {
			if err := p.next(); err != nil {
				return nil, false, err
			}
		}
		if err := p.enter(); err != nil {
			return nil, false, err
		}
		defer func() { p.depth-- }()
		to, ok, err := p.rustType()
		if !ok || err != nil {
			return nil, false, err
		}
		return info.MakePointer(to, pointerSize), true, nil
	}
	if p.tok.kind != word {
		return nil, false, nil
	}
	if t := rustBase(p.tok.text); t != nil {
		return t, true, p.next()
	}
	return p.namedType(info.Void)
}

func rustBase(name string) *info.Type {
	switch name {
	case "bool":
		return info.MakeBase(name, 1, info.Boolean)
	case "char":
		return info.MakeBase(name, 4, info.UTF)
	case "f32":
		return info.MakeBase(name, 4, info.Float)
	case "f64":
		return info.MakeBase(name, 8, info.Float)
	}
	sizes := map[string]uint64{"8": 1, "16": 2, "32": 4, "64": 8, "128": 16, "size": 8}
	if size := sizes[strings.TrimLeft(name, "iu")]; size != 0 && len(strings.TrimLeft(name, "iu")) == len(name)-1 {
		if name[0] == 'i' {
			return info.MakeBase(name, size, info.Signed)
		}
		return info.MakeBase(name, size, info.Unsigned)
	}
	return nil
}

// baseType returns the type that some words name, such as "unsigned long int".
func (env *Env) baseType(words []string) *info.Type {
	count := func(w string) (n int) {
		for _, x := range words {
			if x == w {
				n++
			}
		}
		return n
	}
	unsigned := count("unsigned") > 0
	of := func(name string, size uint64) *info.Type {
		if unsigned {
			return info.MakeBase("unsigned "+name, size, info.Unsigned)
		}
		return info.MakeBase(name, size, info.Signed)
	}
	switch {
	case count("void") > 0:
		return info.VoidType()
	case count("bool")+count("_Bool") > 0:
		return info.MakeBase(words[0], 1, info.Boolean)
	case count("float") > 0:
		return info.MakeBase("float", 4, info.Float)
	case count("double") > 0 && count("long") > 0:
		return info.MakeBase("long double", 16, info.Float)
	case count("double") > 0:
		return info.MakeBase("double", 8, info.Float)
	case count("char") > 0 && unsigned:
		return info.MakeBase("unsigned char", 1, info.UnsignedChar)
	case count("char") > 0 && count("signed") > 0:
		return info.MakeBase("signed char", 1, info.SignedChar)
	case count("char") > 0:
		if t, _ := env.typeNamed([]string{"char"}, true, info.Base); t != nil {
			return t
		}
		return info.MakeBase("char", 1, info.SignedChar)
	case count("__int128") > 0:
		return of("__int128", 16)
	case count("short") > 0:
		return of("short", 2)
	case count("long") > 1:
		return of("long long", 8)
	case count("long") > 0:
		return of("long", 8)
	default:
		return of("int", 4)
	}
}
