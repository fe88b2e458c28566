package picture

import "testing"

func TestRedact(t *testing.T) {
	r := &redactor{}
	r.hide([]string{"/srv/Jane Doe (old)/lib/x.so", "/srv/Jane Doe (old)/prog", "/usr/lib/libc.so.6"})
	for in, want := range map[string]string{
		"":                                 "",
		"plain text, 12 of 13":             "plain text, 12 of 13",
		"/home/jane/src/a.c: no such file": "a.c: no such file",
		"open /home/jane: denied":          "open ~: denied",
		"open ~jane/x, ../y/z and ./q":     "open x, z and q",
		"[code at 0x10, named by /tmp/perf-1.map]":               "[code at 0x10, named by perf-1.map]",
		"the file of /srv/Jane Doe (old)/lib/x.so was not found": "the file of x.so was not found",
		"in /srv/Jane Doe (old)/my file":                         "in my file",
		"/srv/Jane Doe (old)":                                    ".",
		"asked https://user:pw@host.example/buildid/12: 404":     "asked [address] 404",
		"sent by process 12 of user 1000":                        "sent by process 12 of user [left out]",
		"github.com/google/pprof/profile.(*Profile).Write":       "github.com/google/pprof/profile.(*Profile).Write",
		"operator/(A const&, B)":                                 "operator/(A const&, B)",
		"A<(3 / 4)>::f(int)":                                     "A<(3 / 4)>::f(int)",
		"core::ops::<impl Div for i32>::div":                     "core::ops::<impl Div for i32>::div",
		"'/a/b' and \"/c/d\" and (/e/f)":                         "'b' and \"d\" and (f)",
	} {
		if got := r.text(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"": "", "prog": "prog", "/a/b/prog": "prog", "/home/jane": "~", "/home/jane/": "~", "/": "/", "a/b.c": "b.c", "[vdso]": "[vdso]",
	} {
		if got := base(in); got != want {
			t.Errorf("base(%q): got %q, want %q", in, got, want)
		}
	}
}
