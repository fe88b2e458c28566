package signature

import (
	"bytes"
	"regexp"
	"strings"
)

// maxName bounds the bytes of a function's name that count.
const maxName = 4096

// function is the name of a function as signatures use it.
type function struct {
	name string // without what compilers and linkers add
	// plain is also without parameters, return type and template arguments, and without
	// what differs between compilers.
	plain string
}

func functionOf(name string) function {
	name = withoutClone(name[:min(maxName, len(name))])
	return function{name: reduced(name, true), plain: portableName(reduced(name, false))}
}

// portableName names functions that have no name of their own by the functions that they
// are in.
func portableName(name string) string {
	if strings.HasPrefix(name, "<") && !strings.Contains(name, " as ") && !strings.HasPrefix(name, "<impl ") {
		if self, rest, ok := strings.Cut(name[1:], ">::"); ok {
			name = self + "::" + rest // Rust's newer mangling has <T>::f for T::f
		}
	}
	if strings.Contains(name, "func") || strings.Contains(name, "wrap") || strings.Contains(name, "-range") {
		if at := goClosure.FindStringIndex(name); at != nil && isGoFunction(name[:at[0]]) {
			name = name[:at[0]]
		}
	}
	if !strings.ContainsAny(name, "#$'{") {
		return name
	}
	name = anonymousFunction.ReplaceAllStringFunc(name, func(s string) string {
		if strings.Contains(s, "closure") {
			return "{closure}"
		}
		return "{lambda}"
	})
	return innerFunction.ReplaceAllString(name, "")
}

// innerFunction matches what is behind the name of a function for one within it. What is
// inlined, and so has a frame of its own, changes with the compiler.
var innerFunction = regexp.MustCompile(`(::\{closure\}|::\{lambda\}(::operator\(\))?)+$`)

// anonymousFunction matches what GCC, Clang and Rust call such functions.
var anonymousFunction = regexp.MustCompile(`\{lambda#\d+\}|\$_\d+|'lambda\d*'|\{\{closure\}\}|\{closure#\d+\}`)

// goClosure matches what Go adds to the name of a function for one that is within it:
// ".func1", ".func2.1", ".func1.gowrap2", ".deferwrap1", "-range1". The numbers change with
// the source, and whether such a function is inlined changes with the compiler.
var goClosure = regexp.MustCompile(`(\.(func|gowrap|deferwrap)\d+(\.\d+)*|-range\d+)+$`)

// isGoFunction reports whether a name is of a function, and not of a package or a type
// with a method called func1.
func isGoFunction(name string) bool {
	return strings.Contains(name[strings.LastIndexByte(name, '/')+1:], ".") && !strings.HasSuffix(name, ")")
}

// clones are the suffixes that compilers and linkers give to copies and parts of a
// function. What follows them is a number or another suffix.
var clones = []string{".isra", ".part", ".constprop", ".cold", ".lto_priv", ".llvm", ".localalias", ".clone", ".warm", "@plt", "@@", "@"}

// withoutClone cuts off what compilers and linkers add to a name. Rust's hashes are
// such additions too: "::h" and 16 digits.
func withoutClone(name string) string {
	if i := strings.Index(name, " [clone "); i > 0 {
		name = name[:i]
	}
	for _, suffix := range clones {
		if i := strings.Index(name, suffix); i > 0 && endsPart(name[i+len(suffix):], suffix) {
			name = name[:i]
		}
	}
	const hash = "::h0123456789abcdef"
	if i := len(name) - len(hash); i > 0 && strings.HasPrefix(name[i:], "::h") && strings.Trim(name[i+3:], "0123456789abcdef") == "" {
		name = name[:i]
	}
	return name
}

// endsPart reports whether rest may follow the suffix of a clone.
func endsPart(rest, suffix string) bool {
	return suffix[0] == '@' || rest == "" || rest[0] == '.'
}

// reduced returns the name of a demangled function without its parameters and its
// return type, and unless they are to be kept its template arguments: "void
// a::b<int>::c(int) const" is a::b::c, "<T as m::Trait<U>>::f::<V>" is "<T as m::Trait>::f".
func reduced(name string, templates bool) string {
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
