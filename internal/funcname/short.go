package funcname

import (
	"bytes"
	"slices"
	"strings"
)

// Short returns the name of a C++ or Rust function as people say it: without parameters
// and return type, with std::string for what that stands for, and without the template
// arguments that the standard library adds by itself: "std::vector<int,
// std::allocator<int> >::at(unsigned long) const" is std::vector<int>::at.
func Short(name string) string {
	name, clone, cloned := strings.Cut(name, " [clone ")
	name = shortTypes(Reduced(name, true))
	if cloned { // ".cold] [clone .part.0]"
		name += strings.ReplaceAll(strings.TrimSuffix(clone, "]"), "] [clone ", "")
	}
	return name
}

// ShortType returns the name of a type in the same way. If its end was cut off, as dots
// say, so is what the standard library has added before that.
func ShortType(name string) string {
	whole, cut := strings.CutSuffix(name, cutOff)
	out, open := shortOpen(whole)
	if !cut {
		return string(out)
	}
	for _, at := range slices.Backward(open) {
		out = withoutDefault(out, &at)
	}
	return string(out) + cutOff
}

// cutOff is behind the names that are too long.
const cutOff = "..."

// versions are the namespaces by which C++ libraries tell their versions apart.
var versions = strings.NewReplacer("std::__cxx11::", "std::", "std::__1::", "std::", "std::__ndk1::", "std::", "[abi:cxx11]", "")

// defaults begin the template arguments that the standard library adds.
var defaults = []string{"std::allocator<", "std::char_traits<", "std::less<", "std::hash<", "std::equal_to<", "std::default_delete<"}

// strs are what strings are when their defaults are left out, and their names.
var strs = [][2]string{
	{"std::basic_string<char>", "std::string"},
	{"std::basic_string<wchar_t>", "std::wstring"},
	{"std::basic_string_view<char>", "std::string_view"},
	{"std::basic_string_view<wchar_t>", "std::wstring_view"},
	{"std::basic_ostream<char>", "std::ostream"},
	{"std::basic_istream<char>", "std::istream"},
	{"std::basic_ofstream<char>", "std::ofstream"},
	{"std::basic_ifstream<char>", "std::ifstream"},
}

// list is a list of template arguments that is being read.
type list struct {
	begin int // of the first argument, in what is written
	last  int // of the last
	first bool
	round int // round brackets that are open around it
}

// shortTypes shortens the types in a name. It reads the name once.
func shortTypes(name string) string {
	out, _ := shortOpen(name)
	return string(out)
}

// shortOpen is shortTypes that also returns the lists whose ends are missing.
func shortOpen(name string) (out []byte, open []list) {
	name = versions.Replace(name)
	if !strings.Contains(name, "<") {
		return []byte(name), nil
	}
	out = make([]byte, 0, len(name))
	round := 0
	for i := 0; i < len(name); i++ {
		before := byte(' ')
		if i > 0 {
			before = name[i-1]
		}
		if n := operatorAt(before, name[i:]); n > 0 {
			n = min(n, len(name)-i)
			out = append(out, name[i:i+n]...)
			i += n - 1
			continue
		}
		c := name[i]
		switch {
		case c == '(':
			round++
		case c == ')':
			round--
		case c == '<':
			out = append(out, c)
			open = append(open, list{begin: len(out), last: len(out), first: true, round: round})
			continue
		case len(open) == 0 || open[len(open)-1].round != round:
		case c == ',':
			at := &open[len(open)-1]
			out = withoutDefault(out, at)
			if len(out) > at.begin {
				out = append(out, ',')
			}
			at.last, at.first = len(out), false
			continue
		case c == '>' && before != '-':
			at := open[len(open)-1]
			open = open[:len(open)-1]
			out = bytes.TrimRight(withoutDefault(bytes.TrimRight(out, " "), &at), ", ")
			out = alias(append(out, '>'))
			continue
		}
		out = append(out, c)
	}
	return out, open
}

// withoutDefault cuts off the last argument of a list if the standard library has added
// it. A list keeps its first.
func withoutDefault(out []byte, at *list) []byte {
	argument := bytes.TrimLeft(out[at.last:], " ")
	for _, d := range defaults {
		if !at.first && bytes.HasPrefix(argument, []byte(d)) {
			return bytes.TrimRight(out[:at.last], ", ")
		}
	}
	return out
}

// alias gives a string at the end of out its name.
func alias(out []byte) []byte {
	for _, s := range strs {
		if bytes.HasSuffix(out, []byte(s[0])) {
			return append(out[:len(out)-len(s[0])], s[1]...)
		}
	}
	return out
}
