package signature

import "testing"

func TestPlainName(t *testing.T) {
	for name, want := range map[string]string{
		"main":                         "main",
		"parse(char const*, int)":      "parse",
		"a::b<int>::c(int) const":      "a::b::c",
		"void ns::f<int>(int)":         "ns::f",
		"unsigned int f<a<b>, c>(d)":   "f",
		"operator new(unsigned long)":  "operator new",
		"operator delete[](void*)":     "operator delete[]",
		"A::operator()(int) const":     "A::operator()",
		"A::operator<(A const&) const": "A::operator<",
		"std::ostream& operator<< <char>(std::ostream&, char const*)":         "operator<<",
		"A::operator std::string() const":                                     "A::operator std::string",
		"A<&operator< >::f()":                                                 "A::f",
		"A::operator->() const":                                               "A::operator->",
		"(anonymous namespace)::f(int)":                                       "(anonymous namespace)::f",
		"a::(anonymous namespace)::b<(anonymous namespace)::c>::f()":          "a::(anonymous namespace)::b::f",
		"std::function<void (int)>::operator()(int) const":                    "std::function::operator()",
		"f(int)::{lambda(char)#1}::operator()(char) const":                    "f",
		"f(int) const::{lambda(char)#2}::operator()(char) const":              "f",
		"non-virtual thunk to A::f()":                                         "A::f",
		"decltype(auto) g<int>(int)":                                          "g",
		"std::__cxx11::basic_string<char>::at[abi:cxx11](unsigned long)":      "std::__cxx11::basic_string::at",
		"core::ptr::drop_in_place<alloc::vec::Vec<u8>>":                       "core::ptr::drop_in_place",
		"<alloc::boxed::Box<F> as core::ops::function::FnOnce<A>>::call_once": "<alloc::boxed::Box as core::ops::function::FnOnce>::call_once",
		"alloc::slice::<impl [T]>::sort_by::<u8, fn(u8) -> u8>":               "alloc::slice::<impl [T]>::sort_by",
		"std::thread::Builder::spawn_unchecked_::{{closure}}::<u8>::x":        "std::thread::Builder::spawn_unchecked_::{closure}::x",
		"f(int)::$_0::operator()(char) const":                                 "f",
		"f(int)::'lambda1'(char)::operator()(char) const":                     "f",
		"a::b::{closure#3}":                                                   "a::b",
		"<a::Stack<u8>>::pop":                                                 "a::Stack::pop",
		"price$_x":                                                            "price$_x",
		"main.(*T).Method":                                                    "main.(*T).Method",
		"main.main.func1":                                                     "main.main",
		"main.(*T).run.func2.1":                                               "main.(*T).run",
		"main.serve.func1.gowrap12":                                           "main.serve",
		"main.serve.deferwrap1":                                               "main.serve",
		"main.all-range2":                                                     "main.all",
		"main.func1":                                                          "main.func1",
		"github.com/a/b.func1":                                                "github.com/a/b.func1",
		"main.(*T).func1":                                                     "main.(*T).func1",
		"main.func1x":                                                         "main.func1x",
		"main.function":                                                       "main.function",
		"github.com/a/b.F[...]":                                               "github.com/a/b.F[...]",
		"f.isra.0":                                                            "f",
		"f.part.0.constprop.1":                                                "f",
		"f.cold":                                                              "f",
		"v1.partial":                                                          "v1.partial",
		"a::f(int) [clone .isra.0]":                                           "a::f",
		"memcpy@GLIBC_2.14":                                                   "memcpy",
		"puts@plt":                                                            "puts",
		"a::b::h0123456789abcdef":                                             "a::b",
		"a::b::h0123456789abcdex":                                             "a::b::h0123456789abcdex",
		"cooperator<int>(x)":                                                  "cooperator",
		"":                                                                    "",
		"<":                                                                   "<",
		"(":                                                                   "",
		"a(((":                                                                "a",
		"operator":                                                            "operator",
	} {
		if got := functionOf(name).plain; got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// For the fine level, a name keeps its template arguments. Parameters and return types
// are only there where a function is not inlined.
func TestFineName(t *testing.T) {
	for name, want := range map[string]string{
		"f(int) [clone .isra.0]": "f",
		"double (anonymous namespace)::total<double>((anonymous namespace)::Table<double>&, int)": "(anonymous namespace)::total<double>",
		"(anonymous namespace)::total<double>":                                                    "(anonymous namespace)::total<double>",
		"a::b<int (char)>::c(int) const":                                                          "a::b<int (char)>::c",
		"bool operator< <int>(A<int>, int)":                                                       "operator<<int>",
		"<T as m::Trait<U>>::f::<V>":                                                              "<T as m::Trait<U>>::f::<V>",
	} {
		if got := functionOf(name).name; got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func FuzzPlainName(f *testing.F) {
	for _, name := range []string{"a::b<int>::c(int) const", "<T as U>::f::<V>", "f()::{lambda(int)#1}::operator()(int)", "operator<<(<"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got := functionOf(name)
		if len(got.name) > len(name) || len(got.plain) > len(got.name) {
			t.Errorf("%q became longer: %+v", name, got)
		}
	})
}
