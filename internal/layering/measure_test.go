package layering

import (
	"bufio"
	"bytes"
	"fmt"
	"go/ast"
	"go/types"
	"io/fs"
	"path"
	"slices"
	"strings"
)

func (f *found) add(where string) {
	f.n++
	f.where = append(f.where, where)
}

// rootFolders counts the folders that a visitor sees first. Those that the
// first lines of .gitignore name are not in the repository.
func rootFolders(p *sources) (found, error) {
	var f found
	ignored := map[string]bool{}
	if text, err := fs.ReadFile(p.tree, ".gitignore"); err == nil {
		for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
			ignored[strings.Trim(lines.Text(), "/")] = true
		}
	}
	entries, err := fs.ReadDir(p.tree, ".")
	for _, e := range entries {
		if e.IsDir() && e.Name()[0] != '.' && !ignored[e.Name()] {
			f.add(e.Name())
		}
	}
	return f, err
}

// folders counts the folders of a name, at any depth.
func folders(name string) func(p *sources) (found, error) {
	return func(p *sources) (found, error) {
		var f found
		err := fs.WalkDir(p.tree, ".", func(dir string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules"):
				return fs.SkipDir
			case d.IsDir() && d.Name() == name:
				f.add(dir)
			}
			return nil
		})
		return f, err
	}
}

// filesNamed counts the files of some names.
func filesNamed(names ...string) func(p *sources) (found, error) {
	return func(p *sources) (found, error) {
		var f found
		for _, s := range p.files {
			if slices.Contains(names, path.Base(s.name)) {
				f.add(s.name)
			}
		}
		return f, nil
	}
}

func longestFile(p *sources) (found, error) {
	var f found
	for _, s := range p.files {
		if s.lines > f.n && !s.generated() {
			f = found{s.lines, []string{s.name}}
		}
	}
	return f, nil
}

// exportedMethods counts the exported methods of a pointer to a type, those of
// embedded types included.
func exportedMethods(dir, name string) func(p *sources) (found, error) {
	return func(p *sources) (found, error) {
		var f found
		named, err := declared(p, dir, name)
		if err != nil {
			return f, err
		}
		methods := types.NewMethodSet(types.NewPointer(named))
		for i := range methods.Len() {
			if m := methods.At(i).Obj(); m.Exported() {
				f.add(m.Name())
			}
		}
		if s, ok := named.Underlying().(*types.Struct); ok {
			err = unmeasured(s, name)
		}
		return f, err
	}
}

// structFields counts the fields of a struct type, those of embedded structs
// and of structs without a name included.
func structFields(dir, name string) func(p *sources) (found, error) {
	return func(p *sources) (found, error) {
		var f found
		named, err := declared(p, dir, name)
		if err != nil {
			return f, err
		}
		s, ok := named.Underlying().(*types.Struct)
		if !ok {
			return f, fmt.Errorf("%s.%s is not a struct", dir, name)
		}
		addFields(&f, "", s)
		return f, unmeasured(s, name)
	}
}

func addFields(f *found, prefix string, s *types.Struct) {
	for v := range s.Fields() {
		t := v.Type()
		if p, ok := t.(*types.Pointer); ok && v.Embedded() {
			t = p.Elem()
		}
		_, anonymous := t.(*types.Struct)
		if inner, ok := t.Underlying().(*types.Struct); ok && (anonymous || v.Embedded()) {
			addFields(f, prefix+v.Name()+".", inner)
			continue
		}
		f.add(prefix + v.Name())
	}
}

// unmeasured is an error if a struct embeds a type of another module, whose
// fields and methods are not known here.
func unmeasured(s *types.Struct, name string) error {
	for v := range s.Fields() {
		if t, ok := v.Type().Underlying().(*types.Basic); ok && v.Embedded() && t.Kind() == types.Invalid {
			return fmt.Errorf("%s embeds %s, which cannot be measured", name, v.Name())
		}
	}
	return nil
}

// declared returns a type that a package itself declares.
func declared(p *sources, dir, name string) (*types.Named, error) {
	obj := p.lookup(dir, name)
	if obj == nil {
		return nil, fmt.Errorf("%s.%s: %w", dir, name, errAbsent)
	}
	named, ok := types.Unalias(obj.Type()).(*types.Named)
	if !ok {
		return nil, fmt.Errorf("%s.%s is not a named type", dir, name)
	}
	return named, nil
}

// docsEnding counts the comments on declarations and fields whose last
// sentence is a certain one.
func docsEnding(sentence string) func(p *sources) (found, error) {
	return func(p *sources) (found, error) {
		var f found
		for _, s := range p.files {
			if s.test() {
				continue
			}
			for _, doc := range docs(s.file) {
				text := strings.Join(strings.Fields(doc.Text()), " ")
				if text == sentence || strings.HasSuffix(text, ". "+sentence) {
					f.add(p.at(doc))
				}
			}
		}
		return f, nil
	}
}

// docs returns the comments that belong to a declaration, a specification or
// a field, above it or at the end of its line.
func docs(file *ast.File) (groups []*ast.CommentGroup) {
	add := func(list ...*ast.CommentGroup) {
		for _, g := range list {
			if g != nil {
				groups = append(groups, g)
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			add(n.Doc)
		case *ast.FuncDecl:
			add(n.Doc)
		case *ast.TypeSpec:
			add(n.Doc, n.Comment)
		case *ast.ValueSpec:
			add(n.Doc, n.Comment)
		case *ast.Field:
			add(n.Doc, n.Comment)
		}
		return true
	})
	return groups
}

// cannotFail counts the tests and fuzz targets that neither fail by themselves
// nor give their *testing.T to a function that might.
func cannotFail(p *sources) (found, error) {
	var f found
	for _, s := range p.files {
		for _, decl := range s.file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || !s.test() || fn.Recv != nil || fn.Name.Name == "TestMain" ||
				!strings.HasPrefix(fn.Name.Name, "Test") && !strings.HasPrefix(fn.Name.Name, "Fuzz") {
				continue
			}
			can := false
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					can = can || fails(call)
				}
				return true
			})
			if !can {
				f.add(p.at(fn) + " " + fn.Name.Name)
			}
		}
	}
	return f, nil
}

// fails reports whether a call fails a test or is given one. A fuzz target may
// be a function that is declared elsewhere.
func fails(call *ast.CallExpr) bool {
	if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
		switch sel.Sel.Name {
		case "Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow":
			id, ok := sel.X.(*ast.Ident)
			return ok && (id.Name == "t" || id.Name == "f")
		case "Fuzz":
			_, literal := call.Args[0].(*ast.FuncLit)
			return !literal
		}
	}
	return slices.ContainsFunc(call.Args, func(e ast.Expr) bool {
		id, ok := e.(*ast.Ident)
		return ok && id.Name == "t"
	})
}
