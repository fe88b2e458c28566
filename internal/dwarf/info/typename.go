package info

import (
	"fmt"
	"strings"
)

const (
	// maxNesting bounds how deeply types are nested in the name of one, and
	// maxTypeName its length in bytes.
	maxNesting  = 32
	maxTypeName = 4096
	// maxNamed bounds the types that are named for one: parameters of functions
	// may have functions as parameters.
	maxNamed = 1000
)

// String returns the type as its language writes it: "const char *",
// "struct node [4]", "int (*)(int, char)".
func (t *Type) String() string {
	if t.d == nil {
		return t.name
	}
	t.d.mu.Lock()
	defer t.d.mu.Unlock()
	return t.text()
}

func (t *Type) text() string {
	if !t.named {
		t.named = true
		t.d.naming = 0
		t.name = t.declare("", 0)
		t.name = t.name[:min(len(t.name), maxTypeName)]
	}
	return t.name
}

// declare writes the declaration of something of type t.
func (t *Type) declare(inner string, depth int) string {
	if t.d == nil {
		return join(t.name, inner)
	}
	if t.d.naming++; depth > maxNesting || len(inner) > maxTypeName || t.d.naming > maxNamed {
		return "..."
	}
	if t.Kind != Array {
		if name := t.ownName(); name != "" {
			return join(name, inner)
		}
	}
	prefix := func(s string) string {
		if to := t.to(); to.Kind == Array || to.Kind == Function {
			return to.declare("("+s+inner+")", depth+1)
		}
		return t.to().declare(s+inner, depth+1)
	}
	switch t.Kind {
	case Pointer:
		return prefix("*")
	case Reference:
		return prefix("&")
	case RvalueReference:
		return prefix("&&")
	case Const:
		return t.qualify("const", inner, depth)
	case Volatile:
		return t.qualify("volatile", inner, depth)
	case Restrict:
		return t.qualify("restrict", inner, depth)
	case Atomic:
		return t.qualify("_Atomic", inner, depth)
	case Array:
		n := ""
		if len(t.dims) > 0 && t.dims[0].Known {
			n = fmt.Sprint(t.dims[0].Count)
		}
		return t.to().declare(inner+"["+n+"]", depth+1)
	case Function:
		return t.to().declare(inner+"("+t.params(depth)+")", depth+1)
	case MemberPointer:
		class := "?"
		if c, ok := t.e.u.refer(t.e.attr(attrContainingType)); ok {
			class = t.d.typeOf(c).declare("", depth+1)
		}
		return prefix(class + "::*")
	case Struct:
		return join(t.anonymous("struct"), inner)
	case Union:
		return join(t.anonymous("union"), inner)
	case Enum:
		return join(t.anonymous("enum"), inner)
	default:
		return join("(unknown type)", inner)
	}
}

func (t *Type) anonymous(kind string) string { return kind + " {...}" }

// qualify writes a qualifier behind that of a pointer and before that of others.
func (t *Type) qualify(word, inner string, depth int) string {
	if t.to().consistsOf(t.Kind) {
		return t.to().declare(inner, depth+1)
	}
	switch t.to().Kind {
	case Pointer, Reference, RvalueReference, MemberPointer:
		if t.to().ownName() == "" {
			return t.to().declare(strings.TrimSuffix(" "+word+" "+inner, " "), depth+1)
		}
	default:
	}
	return word + " " + t.to().declare(inner, depth+1)
}

// consistsOf reports whether t is an array of elements that have a qualifier.
// Then the array has it too [C 2011, 6.7.3], and GCC describes both.
func (t *Type) consistsOf(qualifier Kind) bool {
	array := false
	for range maxNesting {
		switch t.Kind {
		case Array:
			array = true
		case qualifier:
			return array
		case Const, Volatile, Restrict, Atomic:
		default:
			return false
		}
		t = t.to()
	}
	return false
}

// join puts a space between the name of a type and what follows.
func join(name, inner string) string {
	if inner == "" || inner[0] == ' ' {
		return name + inner
	}
	return name + " " + inner
}

// ownName returns the name that the type has by itself, or "".
func (t *Type) ownName() string {
	name, at := t.e.inherited(attrName)
	if !name.known() {
		return ""
	}
	text := at.str(name)
	switch t.Kind {
	case Struct, Union, Enum, Typedef:
		if text = t.e.qualifiedOrigin(text); !t.isC() || t.Kind == Typedef {
			return text
		}
	default:
	}
	switch t.Kind {
	case Struct:
		return "struct " + text
	case Union:
		return "union " + text
	case Enum:
		return "enum " + text
	default:
		return text
	}
}

// qualifiedOrigin is qualified for an entry that may define what is declared
// elsewhere, in the scopes that its name has.
func (e *entry) qualifiedOrigin(name string) string {
	at := *e
	for range maxOrigins {
		next, ok := at.u.refer(at.attr(attrSpecification))
		if !ok {
			break
		}
		at = next
	}
	return at.qualified(name)
}

// params lists the types of a function's parameters.
func (t *Type) params(depth int) string {
	var list []string
	for c := range t.e.childEntries() {
		if len(list) >= maxParams {
			break
		}
		switch c.tag {
		case tagFormalParameter:
			p := voidType
			if e, ok := c.u.refer(c.attr(attrType)); ok {
				p = t.d.typeOf(e)
			}
			list = append(list, p.declare("", depth+1))
		case tagUnspecifiedParams:
			list = append(list, "...")
		}
	}
	if len(list) == 0 && t.isC() {
		return "void"
	}
	return strings.Join(list, ", ")
}
