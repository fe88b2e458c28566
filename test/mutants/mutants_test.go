package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// makeModule makes a module of one package, m, in the working directory.
func makeModule(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, name := range []string{"GOFLAGS", "GOOS", "GOARCH"} { // an emulated test runs programs of the host
		t.Setenv(name, "")
	}
	files["go.mod"] = "module m\n\ngo 1.26\n"
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// changes returns the mutants of a package as text, without the place.
func changes(t *testing.T, code string) []string {
	t.Helper()
	p := &pkg{ImportPath: "m", Module: &module{GoVersion: "1.26"}}
	p.sources = []*source{{path: "m.go", name: "m.go", text: []byte(code)}}
	if err := p.understand(); err != nil {
		t.Fatal(err)
	}
	all, err := p.mutants()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range all {
		_, change, _ := strings.Cut(m.change(), ": ")
		got = append(got, change)
	}
	return got
}

func TestOperators(t *testing.T) {
	tests := []struct{ name, code, want string }{
		{"comparison", "func f(a, b int) (r bool) { r = a < b; return }", "boundary: func f(a, b int) (r bool) { r = a < b; return } → func f(a, b int) (r bool) { r = a <= b; return }"},
		{"opposite", "func f(a, b int) bool {\nreturn a < b\n}", "negate: return a < b → return a >= b"},
		{"condition", "func f(c bool) {\nif c {\nprint()\n}\n}", "always: if c { → if (c) || true {"},
		{"never", "func f(c bool) {\nif c {\nprint()\n}\n}", "never: if c { → if (c) && false {"},
		{"case of conditions", "func f(c bool) {\nswitch {\ncase c:\nprint()\n}\n}", "always: case c: → case (c) || true:"},
		{"and", "func f(a, b bool) bool {\nreturn a && b\n}", "and/or: return a && b → return ((a) || (b))"},
		{"operand", "func f(a, b bool) bool {\nreturn a && b\n}", "left operand: return a && b → return (a)"},
		{"sum", "func f(a int) int {\nreturn a + a\n}", "arithmetic: return a + a → return a - a"},
		{"other precedence", "func f(a int) int {\nreturn a & a\n}", "arithmetic: return a & a → return ((a) | (a))"},
		{"assignment operator", "func f(a int) int {\na <<= a\nreturn a\n}", "arithmetic: a <<= a → a >>= a"},
		{"not", "func f(a bool) bool {\nreturn !a\n}", "drop !: return !a → return a"},
		{"constant", "func f() int {\nreturn 7\n}", "constant: return 7 → return (7-1)"},
		{"constant of the package", "const c = 7", "constant: const c = 7 → const c = (7+1)"},
		{"boolean", "func f() bool {\nreturn true\n}", "boolean: return true → return false"},
		{"call", "func f() {\nprint()\n}", "drop call: print() →"},
		{"defer", "func f() {\ndefer print()\n}", "drop defer: defer print() →"},
		{"assignment", "func f(p *int) {\n*p = 1\n}", "drop: *p = 1 → _ = 1"},
		{"nil", "func f(p **int) {\n*p = nil\n}", "drop: *p = nil →"},
		{"increment", "func f(p *int) {\n*p++\n}", "drop: *p++ →"},
		{"error", "func f(err error) (int, error) {\nreturn 7, err\n}", "no error: return 7, err → return 7, nil"},
		{"error of a function in a function", "func f() {\n_ = func(err error) error {\nreturn err\n}\n}", "no error: return err → return nil"},
		{"zero values", "func f() (a, b int) {\nreturn 7, 7\n}", "return zero values: func f() (a, b int) { → func f() (a, b int) { if true { return *new(int), *new(int) };"},
		{"loop", "func f(p *int) {\nfor range 3 {\nbreak\n}\n}", "break/continue: break → continue"},
		{"one value of a case", "func f(a int) {\nswitch a {\ncase 1, 2:\nprint()\n}\n}", "drop value: case 1, 2: → case 2:"},
		{"last value of a case", "func f(a int) {\nswitch a {\ncase 1, 2:\nprint()\n}\n}", "drop value: case 1, 2: → case 1:"},
		{"a case", "func f(a int) {\nswitch a {\ncase 1:\nprint()\n}\n}", "drop case: case 1: ... →"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := changes(t, "package m\n\n"+tt.code); !slices.Contains(got, tt.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), tt.want)
			}
		})
	}
}

// What the compiler refuses, and what changes nothing that can be tested, is
// no mutant.
func TestNoMutants(t *testing.T) {
	tests := []struct{ name, code, unwanted string }{
		{"variable that is not used any more", "func f() {\nx := 1\nprint(x)\n}", "drop call"},
		{"case that is there twice", "func f(a int) {\nswitch a {\ncase 1, 2:\n}\n}", "(1+1)"},
		{"end of a loop", "func f(n int) {\nfor i := n; ; i++ {\n}\n}", "i++"},
		{"strings", "var v = \"a\" + \"b\"", "arithmetic"},
		{"iota", "const (\na = iota\nb\n)", "iota"},
		{"nothing", "func f(n int) {\n_ = n\n}", "_ = n"},
		{"what is beside false", "func f() (int, bool) { return 0, false }", "constant"},
		{"what is beside an error", "func f(err error) (int, error) { return 0, err }", "constant"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, got := range changes(t, "package m\n\n"+tt.code) {
				if strings.Contains(got, tt.unwanted) {
					t.Errorf("got %s", got)
				}
			}
		})
	}
}

const (
	testCode = `package m

var table = []int{5}

type T[E any] struct{ n int }

func (t *T[E]) Less(limits ...int) bool { return t.n < limits[0] }

func Last(n int) int {
	for range 3 {
		n--
	}
	return n + table[0]
}
`
	testTests = `package m

import "testing"

func Test(t *testing.T) {
	if (&T[int]{1}).Less(1) || !(&T[int]{0}).Less(1) || Last(3) < 5 {
		t.Error("wrong")
	}
}
`
)

// The tests of this module see every change but some.
func TestPackage(t *testing.T) {
	makeModule(t, map[string]string{"m.go": testCode, "m_test.go": testTests})
	all := []string{
		"survived m.go:3: -: constant: var table = []int{5} → var table = []int{(5+1)}",
		"survived m.go:10: Last: constant: for range 3 { → for range (3-1) {",
		"survived m.go:11: Last: drop: n-- →",
	}
	listed := "m.go: Last: drop: n-- →"
	tests := []struct {
		name, equivalent, only string
		want                   []string
	}{
		{"all", "", "", all},
		{"one", "", "range", all[1:2]},
		{"listed", listed + "\n\tshown to nobody\n", "", all[:2]},
		{"listed, but gone", "m.go: Gone: drop: a → b\n\tno more\n", "range", []string{
			"testdata/equivalent-mutants.txt: there is no such mutant: m.go: Gone: drop: a → b", all[1],
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := os.MkdirAll("testdata", 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(equivalentFile, []byte(tt.equivalent), 0o644); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			o := options{parallel: 2, only: regexp.MustCompile(tt.only)}
			ok, err := o.packages(&out, []string{"./..."})
			if err != nil || ok {
				t.Fatalf("got %v, %v", ok, err)
			}
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			if got := lines[:len(lines)-1]; !slices.Equal(got, tt.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

func TestTimeout(t *testing.T) {
	makeModule(t, map[string]string{
		"m.go":      "package m\n\nfunc f(n int) {\n\tfor n > 0 {\n\t\tn--\n\t}\n}\n",
		"m_test.go": "package m\n\nimport \"testing\"\n\nfunc Test(t *testing.T) { f(3) }\n",
	})
	var out bytes.Buffer
	o := options{limit: time.Second, only: regexp.MustCompile("n-- →$"), killed: true}
	ok, err := o.packages(&out, []string{"m"})
	want := "timeout  m.go:5: f: drop: n-- →\nm: 100.0 % killed: 1 killed (1 by the time limit), 0 survived, 0 listed as equivalent\n"
	if got := out.String(); !ok || err != nil || got != want {
		t.Errorf("got %v, %v, %s, want %s", ok, err, got, want)
	}
}

func TestPackageErrors(t *testing.T) {
	tests := []struct{ name, code, tests, want string }{
		{"tests that fail", "package m", "package m\nimport \"testing\"\nfunc Test(t *testing.T) { t.Error(7) }\nfunc f() int { return 7 }", ""},
		{"code that does not compile", "package m\nvar x int = \"\"", "package m", "go list"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			makeModule(t, map[string]string{"m.go": tt.code + "\n\nvar n = 7", "m_test.go": tt.tests})
			o := options{parallel: 1, only: regexp.MustCompile("")}
			ok, err := o.packages(&bytes.Buffer{}, []string{"m"})
			if ok || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, %v", ok, err)
			}
		})
	}
	if _, err := expand(nil); err == nil {
		t.Error("no package: got no error")
	}
}

func TestParseEquivalents(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"good", "# comment\n\na\n\tbecause\n  of this\nb\n\tso\n", ""},
		{"no reason", "a\nb\n\tso\n", "2: the mutant before has no reason"},
		{"no reason at the end", "a\n\tso\nb", " the last mutant has no reason"},
		{"no mutant", "\n\tso", "2: a reason without a mutant"},
		{"twice", "a\n\tso\na\n\tso", "3: the mutant is listed twice"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, err := parseEquivalents([]byte(tt.text))
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Fatalf("got %q, want %q", got, tt.want)
			}
			if err == nil && (e.reasons["a"] != "because of this" || e.reasons["b"] != "so" || len(e.stale()) != 2) {
				t.Errorf("got %q", e.reasons)
			}
		})
	}
}

func TestDraw(t *testing.T) {
	all := make([]*mutant, 100)
	for i := range all {
		all[i] = &mutant{id: i + 1}
	}
	o := options{sample: 10, seed: 1}
	got := o.draw(all)
	if len(got) != 10 || !slices.IsSortedFunc(got, func(a, b *mutant) int { return a.id - b.id }) {
		t.Errorf("got %d mutants, or not in their order", len(got))
	}
	if !slices.Equal(got, o.draw(all)) {
		t.Error("the same seed draws other mutants")
	}
	o.seed = 2
	if slices.Equal(got, o.draw(all)) {
		t.Error("another seed draws the same mutants")
	}
	for _, n := range []int{0, 100, 101} {
		o.sample = n
		if got := o.draw(all); len(got) != len(all) {
			t.Errorf("-sample %d: got %d mutants, want all", n, len(got))
		}
	}
}
