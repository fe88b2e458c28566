package layering

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

var writeAPI = flag.Bool("api", false, "rewrite the recorded API with what the packages export")

// promised are the packages of which docs/stability.md promises something.
var promised = []string{"arch", "cfi", "core", "dap", "memreader", "plugin", "process", "report", "sframe", "unwind"}

// What promised packages export is what testdata/api records. `make api` records
// it anew; the difference is what a user of the packages would meet.
func TestAPI(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("recorded on Linux")
	}
	packages, records := compiled(t, promised), filepath.Join("testdata", "api")
	if *writeAPI {
		if err := errors.Join(os.RemoveAll(records), os.MkdirAll(records, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	for i, pkg := range packages {
		t.Run(promised[i], func(t *testing.T) {
			name := filepath.Join(records, promised[i]+".txt")
			got := exports(pkg)
			if *writeAPI {
				if err := os.WriteFile(name, []byte(strings.Join(got, "\n")+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatalf("%v (make api records it)", err)
			}
			lost, added := changes(strings.Split(strings.TrimSpace(string(text)), "\n"), got)
			for _, line := range lost {
				t.Errorf("lost: %s", line)
			}
			for _, line := range added {
				t.Errorf("not recorded: %s", line)
			}
			if len(lost)+len(added) > 0 {
				t.Log("if this is meant, run make api, and say in CHANGELOG.md what was lost: see docs/stability.md")
			}
		})
	}
	recorded, err := filepath.Glob(filepath.Join(records, "*.txt"))
	if err != nil || len(recorded) != len(promised) {
		t.Errorf("got records %v, %v; want one of each of %v", recorded, err, promised)
	}
}

// docs/stability.md names each promised package.
func TestPromised(t *testing.T) {
	text, err := os.ReadFile("../../docs/stability.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range promised {
		if !bytes.Contains(text, []byte("`"+dir+"`")) {
			t.Errorf("docs/stability.md does not name %s", dir)
		}
	}
}

// changes returns the lines that are only in the one and only in the other.
func changes(before, after []string) (lost, added []string) {
	return surplus(before, after), surplus(after, before)
}

// compiled returns the types of packages as the compiler has them, for one
// system.
func compiled(t *testing.T, dirs []string) (packages []*types.Package) {
	t.Helper()
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Export"}
	for _, dir := range dirs {
		args = append(args, "./"+dir)
	}
	out := goCommand(t, "../..", []string{"GOOS=linux", "GOARCH=amd64"}, args...)
	files := map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var pkg struct{ ImportPath, Export string }
		if err := d.Decode(&pkg); err != nil {
			t.Fatal(err)
		}
		files[pkg.ImportPath] = pkg.Export
	}
	from := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(files[path])
	})
	for _, dir := range dirs {
		pkg, err := from.Import(module + "/" + dir)
		if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, pkg)
	}
	return packages
}

// exports returns what a package exports, a line for everything that can be
// lost by itself: functions, methods, fields, constants with their values. The
// names of parameters are of no importance, and left out.
func exports(pkg *types.Package) (lines []string) {
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	text := func(t types.Type) string {
		return types.TypeString(nameless(t), func(p *types.Package) string {
			if p == pkg {
				return ""
			}
			return strings.TrimPrefix(p.Path(), module+"/")
		})
	}
	for _, name := range pkg.Scope().Names() {
		obj := pkg.Scope().Lookup(name)
		if !obj.Exported() {
			continue
		}
		switch obj := obj.(type) {
		case *types.Const:
			add("const %s %s = %s", name, text(obj.Type()), obj.Val().ExactString())
		case *types.Var:
			add("var %s %s", name, text(obj.Type()))
		case *types.Func:
			add("func %s%s", name, strings.TrimPrefix(text(obj.Type()), "func"))
		case *types.TypeName:
			lines = append(lines, typeLines(obj, text)...)
		}
	}
	slices.Sort(lines)
	return lines
}

func typeLines(obj *types.TypeName, text func(types.Type) string) (lines []string) {
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	name, t := obj.Name(), obj.Type()
	if alias, ok := t.(*types.Alias); ok {
		add("type %s = %s", name, text(alias.Rhs()))
		return lines
	}
	if named, ok := t.(*types.Named); ok {
		for param := range named.TypeParams().TypeParams() {
			add("type %s, parameter %d %s", name, param.Index(), text(param.Constraint()))
		}
	}
	s, ok := t.Underlying().(*types.Struct)
	if !ok {
		add("type %s %s", name, text(t.Underlying()))
	} else {
		add("type %s struct", name)
		for v := range s.Fields() {
			if v.Exported() && v.Embedded() {
				add("type %s struct, embeds %s", name, text(v.Type()))
			} else if v.Exported() {
				add("type %s struct, %s %s", name, v.Name(), text(v.Type()))
			}
		}
	}
	if types.Comparable(t) {
		add("type %s, comparable", name)
	}
	if types.IsInterface(t) {
		return lines // its methods are in its text
	}
	values := types.NewMethodSet(t)
	for _, receiver := range []types.Type{t, types.NewPointer(t)} {
		methods := types.NewMethodSet(receiver)
		for i := range methods.Len() {
			m := methods.At(i).Obj()
			if m.Exported() && (receiver == t || values.Lookup(m.Pkg(), m.Name()) == nil) {
				add("method (%s) %s%s", text(receiver), m.Name(), strings.TrimPrefix(text(m.Type()), "func"))
			}
		}
	}
	return lines
}

// nameless returns the type of a function, or of an interface, without the names
// of parameters and results; other types as they are.
func nameless(t types.Type) types.Type {
	if i, ok := t.(*types.Interface); ok {
		var methods []*types.Func
		for m := range i.ExplicitMethods() {
			methods = append(methods, types.NewFunc(m.Pos(), m.Pkg(), m.Name(), nameless(m.Type()).(*types.Signature)))
		}
		return types.NewInterfaceType(methods, slices.Collect(i.EmbeddedTypes())).Complete()
	}
	f, ok := t.(*types.Signature)
	if !ok || f.TypeParams().Len() > 0 {
		return t
	}
	strip := func(list *types.Tuple) *types.Tuple {
		var vars []*types.Var
		for v := range list.Variables() {
			vars = append(vars, types.NewParam(v.Pos(), v.Pkg(), "", nameless(v.Type())))
		}
		return types.NewTuple(vars...)
	}
	return types.NewSignatureType(nil, nil, nil, strip(f.Params()), strip(f.Results()), f.Variadic())
}

// What is removed or changed is lost, what is new is not recorded, and what no
// user sees is neither.
func TestChanges(t *testing.T) {
	const before = "package a\ntype T struct{ F int; g int }\nfunc (t *T) M(n int) error { return nil }\nfunc F(s string) bool { return true }\n" +
		"const C = 1\nvar V []T\ntype I interface{ N() }\ntype A = int\n"
	tests := []struct{ name, old, new, want string }{
		{"nothing", "", "", ""},
		{"function removed", "func F(s string) bool { return true }", "", "-func F(string) bool"},
		{"parameter changed", "F(s string)", "F(s []byte)", "-func F(string) bool +func F([]byte) bool"},
		{"parameter renamed", "F(s string)", "F(text string)", ""},
		{"function added", "const C", "func G() {}\nconst C", "+func G()"},
		{"function not exported", "func F", "func f", "-func F(string) bool"},
		{"method removed", "func (t *T) M(n int) error { return nil }", "", "-method (*T) M(int) error"},
		{"method of a value", "func (t *T) M", "func (t T) M", "-method (*T) M(int) error +method (T) M(int) error"},
		{"field removed", "F int;", "", "-type T struct, F int"},
		{"field changed", "F int;", "F uint;", "-type T struct, F int +type T struct, F uint"},
		{"field that is not exported", "g int", "h int", ""},
		{"no longer comparable", "g int", "g []int", "-type T, comparable"},
		{"constant changed", "C = 1", "C = 2", "-const C untyped int = 1 +const C untyped int = 2"},
		{"variable changed", "V []T", "V []*T", "-var V []T +var V []*T"},
		{"interface grown", "N()", "N(); O()", "-type I interface{N()} +type I interface{N(); O()}"},
		{"parameter of an interface renamed", "N()", "N(n int); O(int)", "-type I interface{N()} +type I interface{N(int); O(int)}"},
		{"alias changed", "A = int", "A = uint", "-type A = int +type A = uint"},
		{"alias no more", "A = int", "A int", "-type A = int +type A int +type A, comparable"},
	}
	api := func(text string) []string {
		p, err := parse(plant("a/a.go", text))
		if err != nil {
			t.Fatal(err)
		}
		return exports(p.check("a"))
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			after := strings.Replace(before, tt.old, tt.new, 1)
			if tt.old != "" && after == before {
				t.Fatalf("%q is not there", tt.old)
			}
			var got []string
			lost, added := changes(api(before), api(after))
			for _, line := range lost {
				got = append(got, "-"+line)
			}
			for _, line := range added {
				got = append(got, "+"+line)
			}
			if got := strings.Join(got, " "); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
