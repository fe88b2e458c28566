package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// maker makes the mutants of one file.
type maker struct {
	p    *pkg
	s    *source
	path string
	fn   *ast.FuncDecl      // that is being looked at
	sigs []*types.Signature // of the functions around, the innermost last
	post ast.Stmt           // of the last loop
	out  []*mutant
	// unread are results that nobody looks at: those beside an error.
	unread []ast.Expr
}

// mutants returns the mutants of a package that compile.
func (p *pkg) mutants() ([]*mutant, error) {
	var all []*mutant
	for _, s := range p.sources {
		if ast.IsGenerated(s.file) {
			continue
		}
		k := maker{p: p, s: s, path: p.rel(s.path)}
		k.walk(s.file)
		all = append(all, k.out...)
	}
	slices.SortStableFunc(all, func(a, b *mutant) int {
		if a.source != b.source {
			return strings.Compare(a.path, b.path)
		}
		return a.line - b.line
	})
	seen := map[string]int{}
	for i, m := range all {
		m.id = i + 1
		key := m.key()
		m.again = seen[key]
		seen[key]++
	}
	return p.compiling(all)
}

func (k *maker) offset(at token.Pos) int { return k.p.fset.Position(at).Offset }

// code returns the text of a node.
func (k *maker) code(n ast.Node) string { return string(k.s.text[k.offset(n.Pos()):k.offset(n.End())]) }

// add adds a mutant that has text in place of a node.
func (k *maker) add(kind string, n ast.Node, text string) {
	k.addAt(kind, k.offset(n.Pos()), k.offset(n.End()), text)
}

func (k *maker) addAt(kind string, start, end int, text string) {
	k.out = append(k.out, &mutant{
		source: k.s, path: k.path, fn: k.fn, kind: kind, start: start, end: end, text: text,
		line: 1 + strings.Count(string(k.s.text[:start]), "\n"),
	})
}

// walk adds the mutants of everything below a node.
func (k *maker) walk(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Body != nil {
				k.function(n)
			}
			return false
		case *ast.FuncLit:
			if sig, ok := k.p.info.TypeOf(n.Type).(*types.Signature); ok {
				k.sigs = append(k.sigs, sig)
				k.walk(n.Body)
				k.sigs = k.sigs[:len(k.sigs)-1]
			}
			return false
		case *ast.ImportSpec, *ast.Field: // lengths of arrays in fields are seldom wrong
			return false
		case ast.Expr:
			k.expr(n)
		case ast.Stmt:
			k.stmt(n)
		case *ast.GenDecl:
			// A list of constants by iota has no mutants but in its numbers.
			return n.Tok == token.VAR || n.Tok == token.CONST
		}
		return true
	})
}

func (k *maker) function(n *ast.FuncDecl) {
	k.fn = n
	obj, ok := k.p.info.Defs[n.Name].(*types.Func)
	if !ok {
		return
	}
	sig := obj.Signature()
	k.sigs = []*types.Signature{sig}
	if sig.Results().Len() > 0 {
		var zeros []string
		for _, f := range n.Type.Results.List {
			for range max(1, len(f.Names)) {
				zeros = append(zeros, "*new("+k.code(f.Type)+")")
			}
		}
		at := k.offset(n.Body.Lbrace) + 1
		k.addAt("return zero values", at, at, " if true { return "+strings.Join(zeros, ", ")+" };")
	}
	k.walk(n.Body)
	k.fn, k.sigs = nil, nil
}

// neighbours are the comparisons that differ from another by equality, and
// opposites those that are true when it is false.
var (
	neighbours = map[token.Token]token.Token{token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR}
	opposites  = map[token.Token]token.Token{
		token.LSS: token.GEQ, token.GEQ: token.LSS, token.LEQ: token.GTR, token.GTR: token.LEQ,
		token.EQL: token.NEQ, token.NEQ: token.EQL, token.LAND: token.LOR, token.LOR: token.LAND,
	}
	arithmetic = map[token.Token]token.Token{
		token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL, token.REM: token.MUL,
		token.AND: token.OR, token.OR: token.AND, token.XOR: token.AND, token.AND_NOT: token.AND,
		token.SHL: token.SHR, token.SHR: token.SHL,
	}
)

// expr adds the mutants of an expression.
func (k *maker) expr(n ast.Expr) {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		x, y := k.code(n.X), k.code(n.Y)
		swap := func(kind string, op token.Token) { k.add(kind, n, fmt.Sprintf("((%s) %s (%s))", x, op, y)) }
		replace := func(kind string, op token.Token) {
			at := k.offset(n.OpPos)
			k.addAt(kind, at, at+len(n.Op.String()), op.String())
		}
		if op, ok := neighbours[n.Op]; ok {
			replace("boundary", op)
		}
		switch op := opposites[n.Op]; {
		case n.Op == token.LAND || n.Op == token.LOR:
			swap("and/or", op)
			k.add("left operand", n, "("+x+")")
			k.add("right operand", n, "("+y+")")
		case op != token.ILLEGAL:
			replace("negate", op)
		}
		if op, ok := arithmetic[n.Op]; ok && !isString(k.p.info.TypeOf(n)) {
			if op.Precedence() == n.Op.Precedence() {
				replace("arithmetic", op)
			} else {
				swap("arithmetic", op)
			}
		}
	case *ast.UnaryExpr:
		if n.Op == token.NOT || n.Op == token.SUB || n.Op == token.XOR {
			k.add("drop "+n.Op.String(), n, k.code(n.X))
		}
	case *ast.BasicLit:
		if n.Kind == token.INT && !slices.Contains(k.unread, ast.Expr(n)) {
			k.add("constant", n, "("+n.Value+"+1)")
			if n.Value != "0" && k.fn != nil {
				k.add("constant", n, "("+n.Value+"-1)")
			}
		}
	case *ast.Ident:
		if slices.Contains(k.unread, ast.Expr(n)) {
			return
		}
		if k.p.info.Uses[n] == types.Universe.Lookup("true") {
			k.add("boolean", n, "false")
		} else if k.p.info.Uses[n] == types.Universe.Lookup("false") {
			k.add("boolean", n, "true")
		}
	}
}

func isString(t types.Type) bool {
	if t == nil {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsString != 0
}
