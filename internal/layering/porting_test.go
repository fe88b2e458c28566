package layering

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sfcore/sfcore/arch"
)

// places are the files outside of package arch that name an architecture:
// where code differs, and not data. The recipe "An architecture" lists them.
var places = []string{
	"internal/delve/backend/registers.go",
	"internal/disasm/machine.go",
	"unwind/gostack/machine.go",
}

// maxPlaces bounds them. Whoever needs one more has to make another one data.
const maxPlaces = 3

// Tests and what only tests import may name architectures.
var testOnly = []string{"arch/", "bench/", "internal/testkit/", "test/"}

// abis are the names that package sframe has for the numbers of ABIs. Nothing
// but tests and other programs uses them.
var abis = []string{"AArch64BE", "AArch64LE", "AMD64LE", "S390XBE"}

// named are strings that name an architecture.
var named = func() map[string]bool {
	m := map[string]bool{"x86_64": true, "x86-64": true, "s390": true, "aarch64_be": true}
	for a := range arch.All() {
		m[a.Name], m[a.Delve], m[a.BFD] = true, true, true
	}
	delete(m, "")
	return m
}()

func TestPorting(t *testing.T) {
	tree := os.DirFS("../..")
	found, err := naming(tree)
	if err != nil {
		t.Fatal(err)
	}
	for name, what := range found {
		if !slices.Contains(places, name) {
			t.Errorf("%s: names an architecture (%s): make it data of package arch", name, what)
		}
	}
	if unknown := variables(t, tree); len(unknown) > 0 {
		t.Errorf("archNames does not know the variables %s of package arch", unknown)
	}
	guide, err := fs.ReadFile(tree, "docs/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, recipe, _ := strings.Cut(string(guide), "\n*An architecture*")
	recipe, _, ok := strings.Cut(recipe, "\n*A method*")
	if !ok {
		t.Fatal("docs/ARCHITECTURE.md has no recipe for an architecture")
	}
	for _, name := range places {
		if found[name] == "" {
			t.Errorf("%s: names no architecture any more", name)
		}
		if !strings.Contains(recipe, "`"+name+"`") {
			t.Errorf("docs/ARCHITECTURE.md: the recipe for an architecture does not list %s", name)
		}
	}
	if len(places) > maxPlaces {
		t.Errorf("%d places name an architecture, more than %d", len(places), maxPlaces)
	}
}

// variables returns the variables of package arch that are architectures, and the
// constants for machines, that archNames does not match.
func variables(t *testing.T, tree fs.FS) (unknown []string) {
	files, _ := fs.Glob(tree, "arch/*.go")
	for _, name := range files {
		text, _ := fs.ReadFile(tree, name)
		for _, m := range regexp.MustCompile(`(?m)^(?:var ([A-Z]\w*) = (?:&Arch\{|func\(\) \*Arch )|\t(EM\w+) +=)`).FindAllStringSubmatch(string(text), -1) {
			if v := m[1] + m[2]; !archNames.MatchString(v) {
				unknown = append(unknown, v)
			}
		}
	}
	if len(files) == 0 {
		t.Error("package arch was not found")
	}
	return unknown
}

func TestNaming(t *testing.T) {
	tests := []struct {
		name, file, text, want string
	}{
		{"variable", "core/a.go", "import \"github.com/sfcore/sfcore/arch\"\nvar x = arch.AMD64", "arch.AMD64"},
		{"variable, renamed import", "core/a.go", "import a \"github.com/sfcore/sfcore/arch\"\nvar x = a.S390X", "arch.S390X"},
		{"machine number", "core/a.go", "import \"github.com/sfcore/sfcore/arch\"\nvar x = map[uint16]int{arch.EMAArch64: 1}", "arch.EMAArch64"},
		{"of debug/elf", "core/a.go", "import \"debug/elf\"\nvar x = elf.EM_X86_64", "elf.EM_X86_64"},
		{"of elfx", "core/a.go", "import \"github.com/sfcore/sfcore/internal/elfx\"\nvar x = elfx.MachineS390", "MachineS390"},
		{"of elfx, none", "core/a.go", "import \"github.com/sfcore/sfcore/internal/elfx\"\nvar x = elfx.MachineNone", ""},
		{"constant", "internal/elfx/a.go", "const machineS390 = 22", "machineS390"},
		{"number compared", "core/a.go", "func f(x *T) bool { return x.Machine == 62 }", "Machine == 62"},
		{"number in a map", "core/a.go", "var x = map[uint16]int{0x3e: 1}", "0x3e"},
		{"number of another machine", "core/a.go", "var x = map[uint16]string{243: \"riscv64\"}", ""},
		{"string compared", "cmd/sfcore/a.go", "func f(s string) bool { return \"aarch64\" != s }", `"aarch64"`},
		{"case", "cmd/sfcore/a.go", "func f(s string) int { switch s { case \"x\", \"s390x\": return 1 }; return 0 }", `"s390x"`},
		{"key", "cmd/sfcore/a.go", "var x = map[string]int{\"arm64\": 1}", `"arm64"`},
		{"index", "cmd/sfcore/a.go", "var y = x[\"amd64\"]", `"amd64"`},
		{"string in a text", "cmd/sfcore/a.go", "var x = \"amd64\"", ""},
		{"ABI", "dap/a.go", "import \"github.com/sfcore/sfcore/sframe\"\nvar x = sframe.AMD64LE", "AMD64LE"},
		{"ABI in its package", "sframe/a.go", "func (a ABI) f() bool { return a == S390XBE }", "S390XBE"},
		{"ABI declared", "sframe/a.go", "const AMD64LE ABI = 3", ""},
		{"type of package arch", "core/a.go", "import \"github.com/sfcore/sfcore/arch\"\nvar x *arch.Arch", ""},
		{"test", "core/a_test.go", "import \"github.com/sfcore/sfcore/arch\"\nvar x = arch.AMD64", ""},
		{"test program", "test/torture/a.go", "import \"github.com/sfcore/sfcore/arch\"\nvar x = arch.AMD64", ""},
		{"package arch", "arch/a.go", "func f(a *Arch) bool { return a.Machine == 62 }", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			found, err := naming(fstest.MapFS{tt.file: {Data: []byte("package a\n" + tt.text)}})
			if got := found[tt.file]; got != tt.want || err != nil {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

// naming returns the files that name an architecture, each with the first place
// where it does.
func naming(tree fs.FS) (map[string]string, error) {
	found := map[string]string{}
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && skip(tree, name):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"),
			slices.ContainsFunc(testOnly, func(dir string) bool { return strings.HasPrefix(name, dir) }):
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		n := namer{imports: map[string]string{}}
		for _, spec := range file.Imports {
			full, _ := strconv.Unquote(spec.Path.Value)
			local := path.Base(full)
			if spec.Name != nil {
				local = spec.Name.Name
			}
			n.imports[local] = full
		}
		ast.Inspect(file, n.visit)
		if n.first != "" {
			found[name] = n.first
		}
		return nil
	})
	return found, err
}

// namer looks for what names an architecture in a file.
type namer struct {
	imports map[string]string // paths by local names
	first   string
}

func (n *namer) add(format string, args ...any) {
	if n.first == "" {
		n.first = fmt.Sprintf(format, args...)
	}
}

var (
	// archNames are the variables and constants of package arch that are one
	// architecture. machineNames are what other packages may call them.
	archNames    = regexp.MustCompile(`^(EM[A-Z].*|AMD64|AArch64(BE)?|S390X|RISCV.*|LoongArch.*|PPC.*)$`)
	machineNames = regexp.MustCompile(`(?i)^machine_?(s390|amd|x86|aarch|arm|riscv|loong|ppc|power)`)
)

func (n *namer) visit(node ast.Node) bool {
	switch x := node.(type) {
	case *ast.ValueSpec: // what is declared is named by its users
		for _, name := range x.Names {
			if machineNames.MatchString(name.Name) {
				n.add("%s", name.Name)
			}
		}
		for _, v := range x.Values {
			ast.Inspect(v, n.visit)
		}
		return false
	case *ast.SelectorExpr:
		n.selector(x)
	case *ast.Ident:
		if slices.Contains(abis, x.Name) || machineNames.MatchString(x.Name) {
			n.add("%s", x.Name)
		}
	case *ast.BinaryExpr:
		if x.Op == token.EQL || x.Op == token.NEQ {
			n.operand(x.X)
			n.operand(x.Y)
			if value, ok := x.Y.(*ast.BasicLit); ok && value.Kind == token.INT && value.Value != "0" && lastName(x.X) == "Machine" {
				n.add("Machine %s %s", x.Op, value.Value)
			}
		}
	case *ast.CaseClause:
		for _, v := range x.List {
			n.operand(v)
		}
	case *ast.IndexExpr:
		n.operand(x.Index)
	case *ast.CompositeLit:
		n.keys(x)
	}
	return true
}

// selector notes names of package arch and of debug/elf.
func (n *namer) selector(x *ast.SelectorExpr) {
	pkg, ok := x.X.(*ast.Ident)
	switch {
	case !ok:
	case n.imports[pkg.Name] == module+"/arch" && archNames.MatchString(x.Sel.Name):
		n.add("arch.%s", x.Sel.Name)
	case n.imports[pkg.Name] == "debug/elf" && strings.HasPrefix(x.Sel.Name, "EM_"):
		n.add("elf.%s", x.Sel.Name)
	}
}

// operand notes a string that is compared, and names an architecture.
func (n *namer) operand(x ast.Expr) {
	if v, ok := x.(*ast.BasicLit); ok && v.Kind == token.STRING {
		if s, err := strconv.Unquote(v.Value); err == nil && named[strings.ToLower(s)] {
			n.add("%s", v.Value)
		}
	}
}

// keys notes keys of a map that name architectures, or are their machine
// numbers.
func (n *namer) keys(x *ast.CompositeLit) {
	m, ok := x.Type.(*ast.MapType)
	if !ok {
		return
	}
	for _, elt := range x.Elts {
		kv, ok := elt.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		n.operand(kv.Key)
		key, ok := kv.Key.(*ast.BasicLit)
		if !ok || lastName(m.Key) != "uint16" {
			continue
		}
		number, _ := strconv.ParseUint(key.Value, 0, 16)
		for a := range arch.All() {
			if uint64(a.Machine) == number {
				n.add("%s", key.Value)
				break
			}
		}
	}
}

// lastName is the name of a variable or field, "" if x is none.
func lastName(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return x.Sel.Name
	}
	return ""
}
