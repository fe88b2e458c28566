package process

import (
	"strings"

	"github.com/sfcore/sfcore/internal/dwarf/container"
	"github.com/sfcore/sfcore/internal/dwarf/value"
)

// Expression returns an expression for the variable in its frame, as [Process.Evaluate]
// takes it; "" if there is none.
func (v *Variable) Expression() string {
	if v.raw && v.path != "" {
		return v.path + ",!"
	}
	return v.path
}

// maxPath bounds the length of an expression for a part, in bytes.
const maxPath = 2048

// pathOf returns the expression for a part.
func (v *Variable) pathOf(part *value.Object) string {
	if v.path == "" || len(v.path) > maxPath {
		return ""
	}
	own := v.path
	if !isPostfix(own) {
		own = "(" + own + ")"
	}
	o, view := v.read(), v.container()
	switch {
	case view != nil && (view.Kind == container.Pointer || view.Kind == container.Holder && view.Target != nil):
		return "*" + own
	case view != nil && view.Kind == container.Holder:
		return own + "[0]"
	case view != nil && view.Kind == container.Map && strings.HasPrefix(part.Name, "[\"") && strings.HasSuffix(part.Name, "..."):
		return ""
	case view != nil, o.Shape() == value.Elements:
		return own + part.Name
	case o.Shape() == value.Target && o.IsReference(), part.Name == "" && !part.Base:
		return v.path
	case o.Shape() == value.Target:
		return "*" + own
	case part.Base && part.Type != nil:
		return "static_cast<" + part.Type.String() + " &>(" + v.path + ")"
	}
	return own + "." + strings.TrimPrefix(part.Name, "__")
}

// isPostfix reports whether members and indexes can follow an expression as it is.
func isPostfix(s string) bool {
	depth := 0
	for i := range len(s) {
		switch c := s[i]; {
		case c == '(' || c == '[':
			depth++
		case c == ')' || c == ']':
			depth--
		case depth > 0 || c == '.' || c == '_' || c == ':' || c == '$' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80:
		case c == '-' && i+1 < len(s) && s[i+1] == '>', c == '>' && i > 0 && s[i-1] == '-':
		case strings.HasPrefix(s, "static_cast<"):
		default:
			return false
		}
	}
	return true
}
