package funcname

import (
	"strings"
	"testing"
)

func TestShort(t *testing.T) {
	const str = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"
	for in, want := range map[string]string{
		"main": "main",
		"":     "",
		"outer::(anonymous namespace)::thrower(int, " + str + " const&) [clone .cold]":                                       "outer::(anonymous namespace)::thrower.cold",
		"f(int) [clone .isra.0] [clone .cold]":                                                                               "f.isra.0.cold",
		"outer::(anonymous namespace)::Node<long, 7>::run(int)":                                                              "outer::(anonymous namespace)::Node<long, 7>::run",
		"outer::drive(std::vector<int, std::allocator<int> > const&, void (*)(int))::{lambda(int)#1}::operator()(int) const": "outer::drive::{lambda#1}::operator()",
		"std::vector<int, std::allocator<int> >::at(unsigned long) const":                                                    "std::vector<int>::at",
		"void std::sort<" + str + ">(" + str + "*)":                                                                          "std::sort<std::string>",
		"std::map<" + str + ", std::vector<" + str + ", std::allocator<" + str + " > >, std::less<" + str + " >, std::allocator<std::pair<" + str + " const, int> > >::at(int)": "std::map<std::string, std::vector<std::string>>::at",
		"std::unique_ptr<T, std::default_delete<T> >::get() const":                                                 "std::unique_ptr<T>::get",
		"std::unordered_map<int, int, std::hash<int>, std::equal_to<int>, std::allocator<int> >::find(int const&)": "std::unordered_map<int, int>::find",
		"std::allocator<int>::allocate(unsigned long)":                                                             "std::allocator<int>::allocate",
		"std::allocator_traits<std::allocator<int> >::allocate(int)":                                               "std::allocator_traits<std::allocator<int>>::allocate",
		"std::__1::basic_string<char, std::__1::char_traits<char>, std::__1::allocator<char> >::append(char)":      "std::string::append",
		"bool operator< <int>(A<int> const&)":                                                                      "operator<<int>",
		"f<&A::operator>, std::less<int> >(int)":                                                                   "f<&A::operator>>",
		"a::operator->() const":                                                                                    "a::operator->",
		"std::function<void (int)>::operator()(int) const":                                                         "std::function<void (int)>::operator()",
		"T<(E)1, 2>::f()":                                     "T<(E)1, 2>::f",
		"T<void (*)(int, char), 2>::f()":                      "T<void (*)(int, char), 2>::f",
		"<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop": "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop",
		"std::string::swap(std::string&)":                     "std::string::swap",
	} {
		if got := Short(in); got != want {
			t.Errorf("%s:\n got %s\nwant %s", in, got, want)
		}
	}
}

func TestShortType(t *testing.T) {
	const str = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"
	for in, want := range map[string]string{
		"int": "int",
		"":    "",
		"const std::vector<Order*, std::allocator<Order*> > &": "const std::vector<Order*> &",
		"int (*)(" + str + ", char **)":                        "int (*)(std::string, char **)",
		"std::map<" + str + ", int, std::less<" + str + " >, std::allocator<std::pair<const " + str + ", std:...": "std::map<std::string, int...",
		"std::map<" + str + ", int, std::le...": "std::map<std::string, int, std::le...",
		"struct a_long_na...":                   "struct a_long_na...",
		"...":                                   "...",
		"std::vector<std::vector<int, std::allocator<int> >...": "std::vector<std::vector<int>...",
	} {
		if got := ShortType(in); got != want {
			t.Errorf("%s:\n got %s\nwant %s", in, got, want)
		}
	}
}

func FuzzShort(f *testing.F) {
	for _, s := range []string{"a<b, std::less<c> >(d) [clone .cold]", "<,>", "a<,std::hash<>>", ")(<>", "operator<<<", "a<(,b>", "a->b<c>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		// A shorter name may grow by ", " at most, which replaces ",": never beyond its source.
		if got := Short(name); len(got) > len(name) && !strings.Contains(name, "[clone ") {
			t.Errorf("%q is %q, which is longer", name, got)
		}
		if got := ShortType(name); len(got) > len(name) {
			t.Errorf("the type %q is %q, which is longer", name, got)
		}
	})
}
