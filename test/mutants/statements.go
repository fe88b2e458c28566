package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// stmt adds the mutants of a statement.
func (k *maker) stmt(n ast.Stmt) {
	if n == k.post { // without it the loop has no end, which every test notices
		return
	}
	switch n := n.(type) {
	case *ast.IfStmt:
		k.condition(n.Cond)
	case *ast.ForStmt:
		if n.Cond != nil {
			k.add("never", n.Cond, fmt.Sprintf("(%s) && false", k.code(n.Cond)))
		}
		k.post = n.Post
	case *ast.SwitchStmt:
		for _, c := range n.Body.List {
			if c, ok := c.(*ast.CaseClause); ok {
				k.clause(c, n.Tag == nil)
			}
		}
	case *ast.TypeSwitchStmt:
		for _, c := range n.Body.List {
			if c, ok := c.(*ast.CaseClause); ok {
				k.clause(c, false)
			}
		}
	case *ast.ExprStmt:
		if _, ok := n.X.(*ast.CallExpr); ok {
			k.add("drop call", n, "")
		}
	case *ast.DeferStmt:
		k.add("drop defer", n, "")
	case *ast.IncDecStmt:
		k.add("drop", n, "")
	case *ast.AssignStmt:
		k.assignment(n)
	case *ast.ReturnStmt:
		k.results(n)
	case *ast.BranchStmt:
		if other := map[token.Token]string{token.BREAK: "continue", token.CONTINUE: "break"}[n.Tok]; other != "" {
			at := k.offset(n.Pos())
			k.addAt("break/continue", at, at+len(n.Tok.String()), other)
		}
	}
}

// condition adds mutants that make a condition always or never true.
func (k *maker) condition(cond ast.Expr) {
	k.add("always", cond, fmt.Sprintf("(%s) || true", k.code(cond)))
	k.add("never", cond, fmt.Sprintf("(%s) && false", k.code(cond)))
}

// clause adds mutants without one value of a case, or without the case.
func (k *maker) clause(c *ast.CaseClause, conditions bool) {
	switch {
	case len(c.List) == 0:
		if len(c.Body) > 0 {
			k.add("drop case", c, "")
		}
	case conditions:
		for _, cond := range c.List {
			k.condition(cond)
		}
	case len(c.List) == 1:
		k.add("drop case", c, "")
	default:
		for i, value := range c.List {
			if i == 0 {
				k.addAt("drop value", k.offset(value.Pos()), k.offset(c.List[1].Pos()), "")
			} else {
				k.addAt("drop value", k.offset(c.List[i-1].End()), k.offset(value.End()), "")
			}
		}
	}
}

// assignment adds a mutant that only evaluates what is assigned.
func (k *maker) assignment(n *ast.AssignStmt) {
	switch {
	case n.Tok == token.DEFINE || isBlank(n.Lhs):
	case n.Tok != token.ASSIGN:
		k.add("drop", n, "_ = "+k.code(n.Rhs[0]))
		if op, ok := arithmeticAssign[n.Tok]; ok && !isString(k.p.info.TypeOf(n.Lhs[0])) {
			at := k.offset(n.TokPos)
			k.addAt("arithmetic", at, at+len(n.Tok.String()), op.String())
		}
	case len(n.Rhs) == 1 && isNil(n.Rhs[0]):
		k.add("drop", n, "")
	default:
		blank := strings.TrimSuffix(strings.Repeat("_, ", len(n.Lhs)), ", ")
		k.addAt("drop", k.offset(n.Pos()), k.offset(n.TokPos), blank+" ")
	}
}

var arithmeticAssign = map[token.Token]token.Token{
	token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN,
	token.MUL_ASSIGN: token.QUO_ASSIGN, token.QUO_ASSIGN: token.MUL_ASSIGN, token.REM_ASSIGN: token.MUL_ASSIGN,
	token.AND_ASSIGN: token.OR_ASSIGN, token.OR_ASSIGN: token.AND_ASSIGN,
	token.XOR_ASSIGN: token.AND_ASSIGN, token.AND_NOT_ASSIGN: token.AND_ASSIGN,
	token.SHL_ASSIGN: token.SHR_ASSIGN, token.SHR_ASSIGN: token.SHL_ASSIGN,
}

func isBlank(list []ast.Expr) bool {
	for _, n := range list {
		if id, ok := n.(*ast.Ident); !ok || id.Name != "_" {
			return false
		}
	}
	return true
}

func isNil(n ast.Expr) bool {
	id, ok := n.(*ast.Ident)
	return ok && id.Name == "nil"
}

// results adds mutants that return nil for an error.
func (k *maker) results(n *ast.ReturnStmt) {
	if len(k.sigs) == 0 {
		return
	}
	want := k.sigs[len(k.sigs)-1].Results()
	if want.Len() != len(n.Results) {
		return
	}
	k.unread = nil
	if last := len(n.Results) - 1; last > 0 && fails(want.At(last).Type(), n.Results[last]) {
		k.unread = n.Results[:last]
	}
	for i, r := range n.Results {
		if isError(want.At(i).Type()) && !isNil(r) {
			k.add("no error", r, "nil")
		}
	}
}

// fails reports whether the last result of a function says that the others are
// not to be looked at: an error, or false.
func fails(t types.Type, n ast.Expr) bool {
	id, ok := n.(*ast.Ident)
	return isError(t) && !isNil(n) || ok && id.Name == "false"
}

func isError(t types.Type) bool {
	return types.Identical(t, types.Universe.Lookup("error").Type())
}
