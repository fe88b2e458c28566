package main

import (
	"fmt"
	"go/ast"
	"strings"
)

// mutant is one change of a package: text that replaces what is between two
// offsets of a file.
type mutant struct {
	id         int
	source     *source
	path       string // of the file, from the root of the module
	fn         *ast.FuncDecl
	kind       string
	start, end int
	text       string
	line       int
	again      int // how many mutants before it have the same key
}

// String returns the file, the line and the change.
func (m *mutant) String() string {
	return fmt.Sprintf("%s:%d: %s%s", m.path, m.line, m.change(), m.number())
}

// key identifies a mutant in a list of equivalent ones. It has no line number,
// as these change with every edit.
func (m *mutant) key() string {
	return fmt.Sprintf("%s: %s%s", m.source.name, m.change(), m.number())
}

// number tells apart mutants that are described by the same words.
func (m *mutant) number() string {
	if m.again == 0 {
		return ""
	}
	return fmt.Sprintf(" #%d", m.again+1)
}

// change tells the function and how its first line that is different changes.
func (m *mutant) change() string {
	src := string(m.source.text)
	from := strings.LastIndexByte(src[:m.start], '\n') + 1
	to := len(src)
	if n := strings.IndexByte(src[m.end:], '\n'); n >= 0 {
		to = m.end + n
	}
	was := brief(src[from:to])
	if first, _, more := strings.Cut(src[m.start:m.end], "\n"); more {
		was = brief(src[from:m.start]+first) + " ..."
	}
	is := brief(src[from:m.start] + m.text + src[m.end:to])
	return strings.TrimSpace(fmt.Sprintf("%s: %s: %s → %s", name(m.fn), m.kind, was, is))
}

// brief returns code as one line that is not too long.
func brief(code string) string {
	line := strings.Join(strings.Fields(code), " ")
	const most = 240
	if r := []rune(line); len(r) > most {
		return string(r[:most]) + "..."
	}
	return line
}

// name returns what a function is called in errors: Type.Method or Function.
func name(fn *ast.FuncDecl) string {
	if fn == nil {
		return "-"
	}
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return fn.Name.Name
	}
	typ := fn.Recv.List[0].Type
	for {
		switch t := typ.(type) {
		case *ast.StarExpr:
			typ = t.X
		case *ast.IndexExpr:
			typ = t.X
		case *ast.IndexListExpr:
			typ = t.X
		case *ast.Ident:
			return t.Name + "." + fn.Name.Name
		default:
			return fn.Name.Name
		}
	}
}
