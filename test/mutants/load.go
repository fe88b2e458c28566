package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// pkg is a package as "go list" describes it, with its parsed files.
type pkg struct {
	ImportPath, Dir, Export string
	GoFiles, CgoFiles       []string
	Module                  *module

	fset    *token.FileSet
	sources []*source
	info    *types.Info
	exports map[string]string // files of other packages' types by import path
}

type module struct{ Dir, GoVersion string }

// source is a file of a package.
type source struct {
	path, name string
	text       []byte
	file       *ast.File
}

// golist runs "go list" and returns its standard output.
func golist(args ...string) ([]byte, error) {
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, stderr.Bytes())
	}
	return out, nil
}

// expand returns the import paths that match patterns and have tests.
func expand(patterns []string) ([]string, error) {
	if len(patterns) == 0 {
		return nil, errors.New("name a package, such as ./internal/dwarf/expr")
	}
	out, err := golist(append([]string{"-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}"}, patterns...)...)
	return strings.Fields(string(out)), err
}

// load parses and checks a package.
func load(path string) (*pkg, error) {
	out, err := golist("-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,CgoFiles,Module", path)
	if err != nil {
		return nil, err
	}
	var p *pkg
	exports := map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		p2 := &pkg{}
		err := d.Decode(p2)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		exports[p2.ImportPath] = p2.Export
		p = p2 // a package comes behind those that it imports
	}
	if p == nil || p.Module == nil || len(p.CgoFiles) > 0 {
		return nil, errors.New("not a package of a module, or one with C code")
	}
	p.exports = exports
	for _, name := range p.GoFiles {
		path := filepath.Join(p.Dir, name)
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		p.sources = append(p.sources, &source{path: path, name: name, text: text})
	}
	return p, p.understand()
}

// understand parses and checks the sources.
func (p *pkg) understand() error {
	p.fset = token.NewFileSet()
	var files []*ast.File
	for _, s := range p.sources {
		file, err := parser.ParseFile(p.fset, s.path, s.text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		s.file = file
		files = append(files, file)
	}
	p.info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	if errs := p.check(p.fset, files, p.info); len(errs) > 0 {
		return errs[0]
	}
	return nil
}

// check checks the types of files of the package and returns all errors.
func (p *pkg) check(fset *token.FileSet, files []*ast.File, info *types.Info) (errs []types.Error) {
	lookup := func(path string) (io.ReadCloser, error) {
		if p.exports[path] == "" {
			return nil, fmt.Errorf("no types of %s", path)
		}
		return os.Open(p.exports[path])
	}
	config := types.Config{
		GoVersion: "go" + p.Module.GoVersion,
		Importer:  importer.ForCompiler(fset, "gc", lookup),
		Error: func(err error) {
			if e := (types.Error{}); errors.As(err, &e) {
				errs = append(errs, e)
			}
		},
	}
	// What is wrong was given to Error.
	_, _ = config.Check(p.ImportPath, fset, files, info)
	return errs
}

// rel returns a path as seen from the root of the module.
func (p *pkg) rel(path string) string {
	if rel, err := filepath.Rel(p.Module.Dir, path); err == nil {
		return filepath.ToSlash(rel)
	}
	return path
}
