package layering

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// methodQuestions counts the lines in unwind and below that compare a Method
// with a certain one, also in a case of a switch or a list that is searched. A
// table that has a row for each method asks nothing, nor does its String.
func methodQuestions(p *sources) (found, error) {
	var f found
	obj := p.lookup("unwind", "Method")
	if obj == nil {
		return f, errAbsent
	}
	certain := func(e ast.Expr) bool {
		v := p.info.Types[e]
		return v.Value != nil && v.Type != nil && types.Identical(v.Type, obj.Type())
	}
	for _, s := range p.files {
		if s.test() || !s.within("unwind") {
			continue
		}
		compared(s.file, func(c comparison) {
			if where := p.at(c.with); certain(c.with) && c.in != "String" && !slices.Contains(f.where, where) {
				f.add(where)
			}
		})
	}
	return f, nil
}

// comparison is a place where something is compared with an expression.
type comparison struct {
	what, with ast.Expr // what is nil if it is not known
	in         string   // the function
}

// compared calls found for both operands of == and !=, for the expressions of
// each case, for the keys of maps and by which they are read, and for the
// elements of lists and the texts that a function of slices or strings is given.
func compared(file *ast.File, found func(c comparison)) {
	for _, decl := range file.Decls {
		in := ""
		if fn, ok := decl.(*ast.FuncDecl); ok {
			in = fn.Name.Name
		}
		var tags []ast.Expr // of the switches around
		var visit func(n ast.Node) bool
		visit = func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BinaryExpr:
				if n.Op == token.EQL || n.Op == token.NEQ {
					found(comparison{n.Y, n.X, in})
					found(comparison{n.X, n.Y, in})
				}
			case *ast.SwitchStmt:
				if n.Init != nil {
					ast.Inspect(n.Init, visit)
				}
				if n.Tag != nil {
					ast.Inspect(n.Tag, visit)
				}
				tags = append(tags, n.Tag)
				ast.Inspect(n.Body, visit)
				tags = tags[:len(tags)-1]
				return false
			case *ast.CaseClause:
				if len(tags) > 0 && tags[len(tags)-1] != nil {
					for _, e := range n.List {
						found(comparison{tags[len(tags)-1], e, in})
					}
				}
			case *ast.TypeSwitchStmt:
				tags = append(tags, nil)
				ast.Inspect(n.Body, visit)
				tags = tags[:len(tags)-1]
				return false
			case *ast.IndexExpr:
				found(comparison{nil, n.Index, in})
			case *ast.CompositeLit:
				if _, ok := n.Type.(*ast.MapType); ok {
					for _, e := range n.Elts {
						found(comparison{nil, e.(*ast.KeyValueExpr).Key, in})
					}
				}
			case *ast.CallExpr:
				if sel, ok := n.Fun.(*ast.SelectorExpr); ok {
					searched(n, sel, func(what, with ast.Expr) { found(comparison{what, with, in}) })
				}
			}
			return true
		}
		ast.Inspect(decl, visit)
	}
}

// searched calls found for what a call of slices.Contains, strings.EqualFold or
// the like compares.
func searched(call *ast.CallExpr, sel *ast.SelectorExpr, found func(what, with ast.Expr)) {
	pkg, ok := sel.X.(*ast.Ident)
	if !ok || len(call.Args) < 2 {
		return
	}
	switch pkg.Name {
	case "slices":
		if list, ok := call.Args[0].(*ast.CompositeLit); ok {
			for _, e := range list.Elts {
				found(call.Args[1], e)
			}
		}
		found(call.Args[0], call.Args[1])
	case "strings":
		found(call.Args[0], call.Args[1])
		found(call.Args[1], call.Args[0])
	}
}

// Words that reports are made of, as the document writes them. Those of plain
// mean nothing else; those of shared are ordinary words too, and count only
// beside a field that holds one.
var (
	plainWords = []string{
		"guess", "checked", "full", "outermost", "no-unwind-info", "bad-cfa", "bad-return-address",
		"unreadable-memory", "not-executable", "frame-pointer", "pclntab", "little", "big", "build-id", "mismatch",
	}
	sharedWords = []string{
		"registers", "sframe", "cfi", "signal", "entry", "code", "goroutine", "loop", "limit", "path", "memory", "missing",
	}
	wordFields = []string{"Method", "Trust", "Reason", "Match", "ByteOrder"}
)

// reportWords counts the places of front ends that compare a word of a report
// with a literal or with the text of a value, or write such a word into one.
func reportWords(p *sources) (found, error) {
	var f found
	fronts := []string{"cmd", "dap", "plugin"}
	for _, s := range p.files {
		if s.test() || s.generated() || !s.within(fronts...) {
			continue
		}
		word := func(field bool, e ast.Expr) {
			text, ok := p.literal(e, fronts)
			if ok && (slices.Contains(plainWords, text) || field && slices.Contains(sharedWords, text)) {
				f.add(p.at(e) + ": " + text)
			}
		}
		compared(s.file, func(c comparison) {
			word(c.what != nil && holdsWord(c.what), c.with)
			if name, ok := p.textOfConstant(c.with); ok {
				f.add(p.at(c.with) + ": " + name)
			}
		})
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok && slices.Contains(wordFields, key.Name) {
					word(true, n.Value)
				}
			case *ast.AssignStmt:
				for i, left := range n.Lhs {
					if sel, ok := left.(*ast.SelectorExpr); ok && len(n.Rhs) == len(n.Lhs) && slices.Contains(wordFields, sel.Sel.Name) {
						word(true, n.Rhs[i])
						if name, ok := p.textOfConstant(n.Rhs[i]); ok {
							f.add(p.at(n) + ": " + name)
						}
					}
				}
			}
			return true
		})
	}
	return f, nil
}

// holdsWord reports whether an expression reads a field that holds a word.
func holdsWord(e ast.Expr) (yes bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			yes = yes || slices.Contains(wordFields, sel.Sel.Name)
		}
		return true
	})
	return yes
}

// literal returns the text of a string literal, or of a constant that one of
// the packages declares.
func (p *sources) literal(e ast.Expr, dirs []string) (string, bool) {
	v := p.info.Types[e].Value
	if v == nil || v.Kind() != constant.String {
		return "", false
	}
	var id *ast.Ident
	switch e := e.(type) {
	case *ast.Ident:
		id = e
	case *ast.SelectorExpr:
		id = e.Sel
	case *ast.CallExpr:
		return "", false // a conversion: see textOfConstant
	default:
		return constant.StringVal(v), true
	}
	obj := p.info.Uses[id]
	if obj == nil || obj.Pkg() == nil {
		return "", false
	}
	dir, _ := strings.CutPrefix(obj.Pkg().Path(), module+"/")
	return constant.StringVal(v), (&source{dir: dir}).within(dirs...)
}

// textOfConstant reports whether an expression is the text of a constant of
// this module, like unwind.Outermost.String() or string(report.Missing).
func (p *sources) textOfConstant(e ast.Expr) (name string, ok bool) {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return "", false
	}
	var of ast.Expr
	switch fn := call.Fun.(type) {
	case *ast.SelectorExpr:
		if fn.Sel.Name != "String" || len(call.Args) != 0 {
			return "", false
		}
		of = fn.X
	case *ast.Ident:
		if fn.Name != "string" || len(call.Args) != 1 {
			return "", false
		}
		of = call.Args[0]
	}
	sel, ok := of.(*ast.SelectorExpr)
	if !ok || p.info.Types[of].Value == nil {
		return "", false
	}
	return sel.Sel.Name, true
}
