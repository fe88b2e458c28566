// Package funcname reads the names of functions, demangled, as people and signatures
// need them: without parameters, return types and what repeats itself in C++.
package funcname

import (
	"bytes"
	"strings"
)

// Reduced returns the name of a demangled function without its parameters and its
// return type, and unless they are to be kept its template arguments: "void
// a::b<int>::c(int) const" is a::b::c, "<T as m::Trait<U>>::f::<V>" is "<T as m::Trait>::f".
func Reduced(name string, templates bool) string {
	p := plainer{rest: name, templates: templates}
	for p.rest != "" && p.next() {
	}
	return string(p.out[p.word:])
}

// plainer reads a name from the left.
type plainer struct {
	rest      string
	templates bool // are kept

	out  []byte
	word int // where the last word begins; the words before are the return type
	kept int // angle brackets of the name itself that are open, as those of "<T as Trait>"
}

// anonymous is the one word of a name that looks like parameters.
const anonymous = "(anonymous namespace)"

// next reads a character, or what belongs together. It returns false at the end of the
// name.
func (p *plainer) next() bool {
	before := byte(' ')
	if len(p.out) > 0 {
		before = p.out[len(p.out)-1]
	}
	if n := operatorAt(before, p.rest); n > 0 {
		p.keep(n)
		p.rest = strings.TrimPrefix(p.rest, " ") // of "operator<< <char>"
		return true
	}
	switch c := p.rest[0]; {
	case strings.HasPrefix(p.rest, anonymous):
		p.keep(len(anonymous))
	case strings.HasPrefix(p.rest, "(*") && before == '.': // Go's m.(*T).f
		p.keep(strings.IndexByte(p.rest+")", ')') + 1)
	case strings.HasPrefix(p.rest, "[abi:"):
		p.skip(strings.IndexByte(p.rest+"]", ']') + 1)
	case c == '<' && (len(p.out) == 0 || strings.HasPrefix(p.rest, "<impl ")):
		p.kept++
		p.keep(1)
	case c == '<' && p.templates:
		p.keep(bracketed(p.rest))
	case c == '<':
		p.skip(bracketed(p.rest))
		if p.rest == "" || strings.HasPrefix(p.rest, "::") || strings.HasPrefix(p.rest, "(") {
			p.out = bytes.TrimSuffix(p.out, []byte("::")) // of "f::<T>"
		}
	case c == '>':
		p.kept = max(0, p.kept-1)
		p.keep(1)
	case c == '(' && p.kept == 0:
		p.skip(bracketed(p.rest))
		if string(p.out[p.word:]) == "decltype" {
			return true
		}
		// What follows parameters belongs to them, unless they are of a function that
		// the name is local to.
		i := strings.Index(p.rest, "::")
		if i < 0 || !qualifies(p.rest[:i]) {
			return p.inLambda()
		}
		p.skip(i)
	case c == ' ' && p.kept == 0:
		p.keep(1)
		p.word = len(p.out)
	default:
		p.keep(1)
	}
	return true
}

// qualifies reports whether s may follow the parameters of a member function.
func qualifies(s string) bool {
	for _, word := range strings.Fields(s) {
		if word != "const" && word != "volatile" && word != "&" && word != "&&" {
			return false
		}
	}
	return true
}

// inLambda reports whether the parameters were those of "{lambda(int)#1}".
func (p *plainer) inLambda() bool { return strings.HasPrefix(p.rest, "#") }

func (p *plainer) keep(n int) {
	n = min(n, len(p.rest))
	p.out = append(p.out, p.rest[:n]...)
	p.rest = p.rest[n:]
}

func (p *plainer) skip(n int) { p.rest = p.rest[min(n, len(p.rest)):] }

// bracketed returns the size of what is in brackets at the beginning of s, with them.
// It is all of s if they are not closed.
func bracketed(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		if i > 0 {
			if n := operatorAt(s[i-1], s[i:]); n > 0 {
				i += n - 1
				continue
			}
		}
		switch s[i] {
		case '<', '(':
			depth++
		case '>', ')':
			if i > 0 && s[i-1] == '-' { // "fn() -> T"
				continue
			}
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(s)
}

// operators are the symbols that follow the word operator, the longer ones first.
var operators = []string{
	"()", "[]", "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "<", ">", " new[]", " delete[]", " new", " delete",
}

// operatorAt returns the size of the name of an operator at the beginning of rest, as
// far as it has brackets or spaces; 0 if there is none. before is the character that
// precedes it.
func operatorAt(before byte, rest string) int {
	const word = "operator"
	if !strings.HasPrefix(rest, word) || before == '_' || before >= '0' && before <= '9' || before|0x20 >= 'a' && before|0x20 <= 'z' {
		return 0
	}
	for _, symbol := range operators {
		if strings.HasPrefix(rest[len(word):], symbol) {
			return len(word) + len(symbol)
		}
	}
	if strings.HasPrefix(rest[len(word):], " ") { // operator int()
		return max(0, strings.IndexByte(rest[:min(len(rest), maxType)], '('))
	}
	return 0
}

// maxType bounds the bytes of the type that an operator converts to.
const maxType = 200
