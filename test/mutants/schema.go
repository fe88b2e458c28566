package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// switchFile holds the variable that selects a mutant. A program that has all
// mutants of the package is the package's own until its environment names one.
const (
	switchFile = "zz_mutants.go"
	switchName = "MUTANT"
	switchText = `package %s

import (
	"os"
	"strconv"
)

var mutantActive, _ = strconv.Atoi(os.Getenv("` + switchName + `"))
`
)

// piece is a part of a text that exists for a mutant.
type piece struct {
	start, end int
	mutant     *mutant
}

// byItself reports whether a mutant cannot be selected when the program runs:
// it changes what is no function, or one that nobody calls by its name.
func (m *mutant) byItself() bool {
	if m.fn == nil {
		return true
	}
	name := m.fn.Name.Name
	return name == "_" || m.fn.Recv == nil && (name == "init" || name == "main")
}

// apply returns the file with the mutant in place.
func (m *mutant) apply() []byte {
	src := m.source.text
	return bytes.Join([][]byte{src[:m.start], []byte(m.text), src[m.end:]}, nil)
}

// schema returns a file in which every function with mutants has become a
// switch over its changed copies, and where each copy is.
func (p *pkg) schema(s *source, mutants []*mutant) ([]byte, []piece) {
	byFunction := map[*ast.FuncDecl][]*mutant{}
	for _, m := range mutants {
		byFunction[m.fn] = append(byFunction[m.fn], m)
	}
	k := maker{p: p, s: s}
	var b bytes.Buffer
	var pieces []piece
	done := 0
	for _, d := range s.file.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || len(byFunction[fn]) == 0 {
			continue
		}
		start, end := k.offset(fn.Pos()), k.offset(fn.End())
		b.Write(s.text[done:start])
		k.dispatch(&b, fn, byFunction[fn])
		b.WriteByte('\n')
		k.copy(&b, fn, 0, s.text[start:end], start)
		for _, m := range byFunction[fn] {
			b.WriteByte('\n')
			at := b.Len()
			text := bytes.Join([][]byte{s.text[start:m.start], []byte(m.text), s.text[m.end:end]}, nil)
			k.copy(&b, fn, m.id, text, start)
			pieces = append(pieces, piece{at, b.Len(), m})
		}
		done = end
	}
	b.Write(s.text[done:])
	return b.Bytes(), pieces
}

func numbered(name string, id int) string { return fmt.Sprintf("%s__mutant%d", name, id) }

// copy writes the text of a function, which begins at an offset, under a
// number of its own.
func (k *maker) copy(b *bytes.Buffer, fn *ast.FuncDecl, id int, text []byte, start int) {
	at, end := k.offset(fn.Name.Pos())-start, k.offset(fn.Name.End())-start
	b.Write(text[:at])
	b.WriteString(numbered(fn.Name.Name, id))
	b.Write(text[end:])
}

// dispatch writes a function that calls the copy whose number is selected. All
// of its parameters have names.
func (k *maker) dispatch(b *bytes.Buffer, fn *ast.FuncDecl, mutants []*mutant) {
	b.WriteString("func ")
	callee := ""
	if fn.Recv != nil {
		fmt.Fprintf(b, "(r0 %s) ", k.code(fn.Recv.List[0].Type))
		callee = "r0."
	}
	b.WriteString(fn.Name.Name)
	typeArgs := ""
	if params := fn.Type.TypeParams; params != nil {
		b.WriteString(k.code(params))
		var names []string
		for _, f := range params.List {
			for _, n := range f.Names {
				names = append(names, n.Name)
			}
		}
		typeArgs = "[" + strings.Join(names, ", ") + "]"
	}
	var params, args []string
	for _, f := range fn.Type.Params.List {
		for range max(1, len(f.Names)) {
			arg := fmt.Sprintf("p%d", len(args))
			params = append(params, arg+" "+k.code(f.Type))
			if _, ok := f.Type.(*ast.Ellipsis); ok {
				arg += "..."
			}
			args = append(args, arg)
		}
	}
	fmt.Fprintf(b, "(%s) ", strings.Join(params, ", "))
	call := func(id int) string {
		return callee + numbered(fn.Name.Name, id) + typeArgs + "(" + strings.Join(args, ", ") + ")"
	}
	if fn.Type.Results == nil {
		b.WriteString("{\nswitch mutantActive {\n")
		for _, m := range mutants {
			fmt.Fprintf(b, "case %d: %s\n", m.id, call(m.id))
		}
		fmt.Fprintf(b, "default: %s\n}\n}\n", call(0))
		return
	}
	var results []string
	for _, f := range fn.Type.Results.List {
		for range max(1, len(f.Names)) {
			results = append(results, k.code(f.Type))
		}
	}
	fmt.Fprintf(b, "(%s) {\nswitch mutantActive {\n", strings.Join(results, ", "))
	for _, m := range mutants {
		fmt.Fprintf(b, "case %d: return %s\n", m.id, call(m.id))
	}
	fmt.Fprintf(b, "default: return %s\n}\n}\n", call(0))
}

// compiling returns the mutants that the compiler accepts. It would refuse a
// variable that is not used any more, or a case that is there twice.
func (p *pkg) compiling(all []*mutant) ([]*mutant, error) {
	bad := map[*mutant]bool{}
	var selected []*mutant
	for _, m := range all {
		if !m.byItself() {
			selected = append(selected, m)
			continue
		}
		fset := token.NewFileSet()
		files, err := p.parse(fset, map[*source][]byte{m.source: m.apply()})
		if err != nil || len(p.check(fset, files, nil)) > 0 {
			bad[m] = true
		}
	}
	fset := token.NewFileSet()
	texts, pieces := p.schemas(selected)
	files, err := p.parse(fset, texts)
	if err != nil {
		return nil, fmt.Errorf("the mutants are no Go: %w", err)
	}
	for _, e := range p.check(fset, files, nil) {
		at := fset.Position(e.Pos)
		found := false
		for _, c := range pieces[at.Filename] {
			if at.Offset >= c.start && at.Offset < c.end {
				bad[c.mutant], found = true, true
			}
		}
		if !found {
			return nil, fmt.Errorf("the mutants do not compile: %w", e)
		}
	}
	var good []*mutant
	for _, m := range all {
		if !bad[m] {
			good = append(good, m)
		}
	}
	return good, nil
}

// schemas returns the files that differ from the package's own, and where the
// mutants are in each.
func (p *pkg) schemas(mutants []*mutant) (map[*source][]byte, map[string][]piece) {
	texts := map[*source][]byte{}
	pieces := map[string][]piece{}
	for _, s := range p.sources {
		var here []*mutant
		for _, m := range mutants {
			if m.source == s {
				here = append(here, m)
			}
		}
		if len(here) > 0 {
			texts[s], pieces[s.path] = p.schema(s, here)
		}
	}
	return texts, pieces
}

// parse parses the package with other texts in place of some files, and the
// file that selects a mutant.
func (p *pkg) parse(fset *token.FileSet, texts map[*source][]byte) ([]*ast.File, error) {
	var files []*ast.File
	for _, s := range p.sources {
		text := s.text
		if t, ok := texts[s]; ok {
			text = t
		}
		file, err := parser.ParseFile(fset, s.path, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	file, err := parser.ParseFile(fset, switchFile, "package "+p.sources[0].file.Name.Name+"\nvar mutantActive int", 0)
	return append(files, file), err
}
