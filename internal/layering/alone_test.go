package layering

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// exposed are exported declarations that still mention an internal type, and
// examples that still import a package above their own. Each entry goes when it
// is mended; no new one is added.
var exposed = []string{}

// A package that others may import is useful without the rest: what it exports
// can be made and named outside this module, and its example needs nothing
// that is built on it.
func TestPackagesAlone(t *testing.T) {
	p, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	order, err := tableOrder("layering_test.go")
	if err != nil {
		t.Fatal(err)
	}
	findings := append(p.exposures(), p.exampleImports(order)...)
	for _, finding := range findings {
		if !slices.Contains(exposed, finding) {
			t.Error(finding)
		}
	}
	for _, finding := range exposed {
		if !slices.Contains(findings, finding) {
			t.Logf("mended, take it out of exposed: %s", finding)
		}
	}
}

// internal reports whether a package of this module is not for others.
func internal(dir string) bool {
	return slices.Contains(strings.Split(dir, "/"), "internal")
}

// exposures returns what public packages export that mentions an internal type.
func (p *sources) exposures() (findings []string) {
	seen := map[string]bool{}
	for _, s := range p.files {
		if s.test() || internal(s.dir) || s.file.Name.Name == "main" || seen[s.dir] {
			continue
		}
		seen[s.dir] = true
		pkg := p.check(s.dir)
		for _, name := range pkg.Scope().Names() {
			if obj := pkg.Scope().Lookup(name); obj.Exported() {
				e := exposure{pkg: pkg, seen: map[types.Type]bool{}}
				e.object(obj)
				for _, what := range slices.Compact(slices.Sorted(slices.Values(e.internal))) {
					findings = append(findings, fmt.Sprintf("%s.%s mentions %s", s.dir, name, what))
				}
			}
		}
	}
	return findings
}

// exposure follows what somebody can reach from an exported declaration of a
// package without naming another one.
type exposure struct {
	pkg      *types.Package
	seen     map[types.Type]bool
	internal []string
}

func (e *exposure) object(obj types.Object) {
	name, ok := obj.(*types.TypeName)
	if !ok {
		e.follow(obj.Type())
		return
	}
	if alias, ok := name.Type().(*types.Alias); ok {
		e.follow(alias.Rhs())
		return
	}
	e.inside(name.Type())
}

// inside follows the parts of a type that the package declares.
func (e *exposure) inside(t types.Type) {
	if e.seen[t] {
		return
	}
	e.seen[t] = true
	if named, ok := t.(*types.Named); ok {
		for param := range named.TypeParams().TypeParams() {
			e.follow(param.Constraint())
		}
	}
	e.follow(t.Underlying())
	methods := types.NewMethodSet(types.NewPointer(t))
	for i := range methods.Len() {
		if m := methods.At(i).Obj(); m.Exported() {
			e.follow(m.Type())
		}
	}
}

func (e *exposure) follow(t types.Type) {
	switch t := t.(type) {
	case *types.Alias:
		e.named(t, t.Obj(), t.TypeArgs())
	case *types.Named:
		e.named(t, t.Obj(), t.TypeArgs())
	case *types.Map:
		e.follow(t.Key())
		e.follow(t.Elem())
	case interface{ Elem() types.Type }: // pointers, slices, arrays, channels
		e.follow(t.Elem())
	case *types.Signature:
		for param := range t.TypeParams().TypeParams() {
			e.follow(param.Constraint())
		}
		e.follow(t.Params())
		e.follow(t.Results())
	case *types.Tuple:
		for v := range t.Variables() {
			e.follow(v.Type())
		}
	case *types.Struct:
		for v := range t.Fields() {
			if v.Exported() || v.Embedded() {
				e.follow(v.Type())
			}
		}
	case *types.Interface:
		for m := range t.Methods() {
			e.follow(m.Type())
		}
		for embedded := range t.EmbeddedTypes() {
			e.follow(embedded)
		}
	case *types.Union:
		for term := range t.Terms() {
			e.follow(term.Type())
		}
	}
}

// named follows a type that has a name: into it only if the name is not
// exported, as exported types of this package are followed for themselves.
func (e *exposure) named(t types.Type, name *types.TypeName, args *types.TypeList) {
	for arg := range args.Types() {
		e.follow(arg)
	}
	if name.Pkg() == nil {
		return
	}
	dir, ours := strings.CutPrefix(name.Pkg().Path(), module+"/")
	switch {
	case ours && internal(dir):
		e.internal = append(e.internal, dir+"."+name.Name())
	case name.Pkg() == e.pkg && !name.Exported():
		e.inside(types.Unalias(t))
	}
}

// exampleImports returns the examples of public packages that import a package
// which stands below theirs in the table, that is, above it in the house.
func (p *sources) exampleImports(order []string) (findings []string) {
	for _, s := range p.files {
		if !s.test() || internal(s.dir) || !hasExample(s.file) {
			continue
		}
		for _, spec := range s.file.Imports {
			full, _ := strconv.Unquote(spec.Path.Value)
			imported, ours := strings.CutPrefix(full, module+"/")
			if ours && slices.Index(order, imported) > slices.Index(order, s.dir) {
				findings = append(findings, fmt.Sprintf("%s: the example imports %s", s.name, imported))
			}
		}
	}
	return findings
}

func hasExample(file *ast.File) bool {
	return slices.ContainsFunc(file.Decls, func(d ast.Decl) bool {
		fn, ok := d.(*ast.FuncDecl)
		return ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Example")
	})
}

// tableOrder returns the packages in the order in which imports lists them.
func tableOrder(name string) (order []string, err error) {
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || spec.Names[0].Name != "imports" {
			return true
		}
		for _, row := range spec.Values[0].(*ast.CompositeLit).Elts {
			pkg, _ := strconv.Unquote(row.(*ast.KeyValueExpr).Key.(*ast.BasicLit).Value)
			order = append(order, pkg)
		}
		return false
	})
	if len(order) != len(imports) {
		return nil, fmt.Errorf("read %d rows of imports, want %d", len(order), len(imports))
	}
	return order, nil
}

// The table of imports is in order: what a package imports stands above it.
func TestTableOrder(t *testing.T) {
	order, err := tableOrder("layering_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for i, pkg := range order {
		for _, imported := range strings.Fields(imports[pkg]) {
			if slices.Index(order, imported) > i {
				t.Errorf("%s imports %s, which stands below it", pkg, imported)
			}
		}
	}
}

func TestExposures(t *testing.T) {
	const use = "package core\nimport \"github.com/sfcore/sfcore/internal/elfx\"\n"
	tests := []struct{ name, text, want string }{
		{"result", use + "func F() *elfx.File { return nil }", "core.F mentions internal/elfx.File"},
		{"parameter", use + "func F(map[string][]elfx.File) {}", "core.F mentions internal/elfx.File"},
		{"function as parameter", use + "func F(func() elfx.File) {}", "core.F mentions internal/elfx.File"},
		{"method", use + "type T int\nfunc (*T) M(elfx.File) {}", "core.T mentions internal/elfx.File"},
		{"method of what is embedded", use + "type T struct{ t }\ntype t int\nfunc (*t) M(elfx.File) {}", "core.T mentions internal/elfx.File"},
		{"field", use + "type T struct{ F chan elfx.File }", "core.T mentions internal/elfx.File"},
		{"embedded", use + "type T struct{ elfx.File }", "core.T mentions internal/elfx.File"},
		{"field of what is embedded", use + "type T struct{ t }\ntype t struct { F elfx.File }", "core.T mentions internal/elfx.File"},
		{"alias", use + "type T = elfx.File", "core.T mentions internal/elfx.File"},
		{"definition", use + "type T []elfx.File", "core.T mentions internal/elfx.File"},
		{"variable", use + "var V elfx.File", "core.V mentions internal/elfx.File"},
		{"variable without a type", use + "var V = elfx.New()", "core.V mentions internal/elfx.File"},
		{"constant", use + "const C = elfx.One", "core.C mentions internal/elfx.Kind"},
		{"interface", use + "type T interface{ M() elfx.File }", "core.T mentions internal/elfx.File"},
		{"constraint", use + "func F[T interface{ elfx.Kind }](T) {}", "core.F mentions internal/elfx.Kind"},
		{"type argument", use + "type G[T any] struct{}\nfunc F() G[elfx.File] { return G[elfx.File]{} }", "core.F mentions internal/elfx.File"},
		{"alias inside", use + "func F() elfx.Alias { return 0 }", "core.F mentions internal/elfx.Alias"},
		{"behind a name that is not exported", use + "type t struct{ F elfx.File }\nfunc F() *t { return nil }", "core.F mentions internal/elfx.File"},
		{"not exported", use + "type T struct{ f elfx.File }\nfunc (T) m(elfx.File) {}\nfunc f(elfx.File) {}", ""},
		{"in a body", use + "func F() { _ = elfx.New() }", ""},
		{"main", strings.Replace(use, "package core", "package main", 1) + "func F(elfx.File) {}", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := parse(plant("core/a.go", tt.text, "internal/elfx/a.go",
				"package elfx\ntype File struct{}\nfunc New() File { return File{} }\ntype Kind int\nconst One Kind = 1\ntype Alias = int\nfunc Internal(File) {}\n"))
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(p.exposures(), "\n"); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestExampleImports(t *testing.T) {
	const example = "package core_test\nimport _ \"github.com/sfcore/sfcore/unwind\"\nfunc Example() {}\n"
	tests := []struct{ name, file, text, want string }{
		{"upwards", "core/example_test.go", example, "core/example_test.go: the example imports unwind"},
		{"in another file", "core/core_test.go", example, "core/core_test.go: the example imports unwind"},
		{"downwards", "target/example_test.go", strings.Replace(example, "core", "target", 1), ""},
		{"a test", "core/core_test.go", strings.Replace(example, "Example", "TestMain", 1), ""},
		{"internal", "internal/elfx/example_test.go", strings.Replace(example, "core", "elfx", 1), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := parse(plant(tt.file, tt.text))
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(p.exampleImports([]string{"internal/elfx", "core", "unwind", "target"}), "\n")
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
