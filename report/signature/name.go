package signature

import (
	"regexp"
	"strings"
	"sync"

	"github.com/sfcore/sfcore/internal/funcname"
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
	return function{name: funcname.Reduced(name, true), plain: portableName(funcname.Reduced(name, false))}
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
		if at := goClosure().FindStringIndex(name); at != nil && isGoFunction(name[:at[0]]) {
			name = name[:at[0]]
		}
	}
	if !strings.ContainsAny(name, "#$'{") {
		return name
	}
	name = anonymousFunction().ReplaceAllStringFunc(name, func(s string) string {
		if strings.Contains(s, "closure") {
			return "{closure}"
		}
		return "{lambda}"
	})
	return innerFunction().ReplaceAllString(name, "")
}

// innerFunction matches what is behind the name of a function for one within it. What is
// inlined, and so has a frame of its own, changes with the compiler.
var innerFunction = expression(`(::\{closure\}|::\{lambda\}(::operator\(\))?)+$`)

// anonymousFunction matches what GCC, Clang and Rust call such functions.
var anonymousFunction = expression(`\{lambda#\d+\}|\$_\d+|'lambda\d*'|\{\{closure\}\}|\{closure#\d+\}`)

// goClosure matches what Go adds to the name of a function for one that is within it:
// ".func1", ".func2.1", ".func1.gowrap2", ".deferwrap1", "-range1". The numbers change with
// the source, and whether such a function is inlined changes with the compiler.
var goClosure = expression(`(\.(func|gowrap|deferwrap)\d+(\.\d+)*|-range\d+)+$`)

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

// expression returns a regular expression that is compiled when it is first used: most runs
// make no signature.
func expression(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
