package layering

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
)

// sources are the Go files of a tree, parsed, and the types of those that are
// not tests.
type sources struct {
	tree  fs.FS
	fset  *token.FileSet
	files []*source
	info  *types.Info

	packages map[string]*types.Package
}

// repository is this one, parsed once for all tests.
var repository = sync.OnceValues(func() (*sources, error) { return parse(os.DirFS("../..")) })

// source is one Go file.
type source struct {
	name  string // from the root of the tree
	dir   string
	file  *ast.File
	lines int
}

func (s *source) test() bool      { return strings.HasSuffix(s.name, "_test.go") }
func (s *source) generated() bool { return ast.IsGenerated(s.file) }

// within reports whether the file is in one of the folders, or below it.
func (s *source) within(dirs ...string) bool {
	for _, dir := range dirs {
		if s.dir == dir || strings.HasPrefix(s.dir, dir+"/") {
			return true
		}
	}
	return false
}

// parse reads all Go files of this module in a tree.
func parse(tree fs.FS) (*sources, error) {
	p := &sources{tree: tree, fset: token.NewFileSet(), packages: map[string]*types.Package{}}
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && skip(tree, name):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(p.fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		p.files = append(p.files, &source{name, path.Dir(name), file, bytes.Count(text, []byte("\n"))})
		return nil
	})
	if err != nil {
		return nil, err
	}
	p.info = &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{},
		Defs:  map[*ast.Ident]types.Object{},
		Uses:  map[*ast.Ident]types.Object{},
	}
	for _, s := range p.files {
		if !s.test() {
			p.check(s.dir)
		}
	}
	return p, nil
}

// check finds the types of one package and of those that it imports. Other
// modules and the standard library are taken to be empty, and files for other
// systems are checked too: that gives errors, which do not matter here, and
// resolves every name that this module declares.
func (p *sources) check(dir string) *types.Package {
	if pkg, ok := p.packages[dir]; ok {
		return pkg
	}
	p.packages[dir] = types.NewPackage(module+"/"+dir, path.Base(dir)) // what an import cycle gets
	var files []*ast.File
	for _, s := range p.files {
		if s.dir == dir && !s.test() {
			files = append(files, s.file)
		}
	}
	config := types.Config{Importer: treeImporter{p}, Error: func(error) {}}
	pkg, _ := config.Check(module+"/"+dir, p.fset, files, p.info)
	p.packages[dir] = pkg
	return pkg
}

// treeImporter imports packages of a tree.
type treeImporter struct{ p *sources }

func (i treeImporter) Import(name string) (*types.Package, error) {
	if dir, ours := strings.CutPrefix(name, module+"/"); ours {
		return i.p.check(dir), nil
	}
	pkg, ok := i.p.packages[name]
	if !ok {
		pkg = types.NewPackage(name, path.Base(name))
		pkg.MarkComplete()
		i.p.packages[name] = pkg
	}
	return pkg, nil
}

// at writes a position: file and line.
func (p *sources) at(n ast.Node) string {
	pos := p.fset.Position(n.Pos())
	pos.Column = 0
	return pos.String()
}

// lookup returns an object at the top level of a package, nil if there is none.
func (p *sources) lookup(dir, name string) types.Object {
	for _, s := range p.files {
		if s.dir == dir && !s.test() {
			return p.check(dir).Scope().Lookup(name)
		}
	}
	return nil
}
