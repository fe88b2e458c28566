package layering

import (
	"go/ast"
	"go/types"
	"slices"
)

// guards are where the function may be that runs another one and survives
// that a mapped file shrinks.
var guards = [][2]string{{"memreader", "Guard"}, {"internal/mmap", "Guard"}}

// site is a use of a function within another.
type site struct {
	in    *ast.FuncDecl // nil outside functions
	where string
}

// guardCalls counts the uses of the guard itself.
func guardCalls(p *sources) (found, error) {
	f, _, err := guarded(p)
	return f, err
}

// wrappedGuardCalls counts them together with the calls of functions that only
// hand on to the guard what they are given. These are not counted themselves.
func wrappedGuardCalls(p *sources) (found, error) {
	_, f, err := guarded(p)
	return f, err
}

func guarded(p *sources) (direct, wrapped found, err error) {
	var todo []types.Object
	for _, g := range guards {
		if obj := p.lookup(g[0], g[1]); obj != nil {
			todo = append(todo, obj)
		}
	}
	if todo == nil {
		return direct, wrapped, errAbsent
	}
	first, known := len(todo), slices.Clone(todo)
	var sites []site
	for i := 0; len(todo) > 0; i++ {
		guard := todo[0]
		todo = todo[1:]
		for _, use := range p.uses(guard) {
			if i < first {
				direct.add(use.where)
			}
			sites = append(sites, use)
			if obj := p.wraps(use.in, guard); obj != nil && !slices.Contains(known, obj) {
				known, todo = append(known, obj), append(todo, obj)
			}
		}
	}
	for _, s := range sites {
		if s.in == nil || !slices.Contains(known, p.info.Defs[s.in.Name]) {
			wrapped.add(s.where)
		}
	}
	return direct, wrapped, nil
}

// uses returns where files other than tests name a function.
func (p *sources) uses(obj types.Object) (sites []site) {
	for _, s := range p.files {
		if s.test() {
			continue
		}
		for _, decl := range s.file.Decls {
			fn, _ := decl.(*ast.FuncDecl)
			ast.Inspect(decl, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok && p.info.Uses[id] == obj {
					sites = append(sites, site{fn, p.at(id)})
				}
				return true
			})
		}
	}
	return sites
}

// wraps returns the function if it takes another one, and uses that in what it
// gives to a guard; nil if not.
func (p *sources) wraps(fn *ast.FuncDecl, guard types.Object) (wrapper types.Object) {
	if fn == nil {
		return nil
	}
	ast.Inspect(fn, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || !p.names(call.Fun, guard) {
			return true
		}
		for _, param := range fn.Type.Params.List {
			if _, ok := p.info.TypeOf(param.Type).(*types.Signature); !ok {
				continue
			}
			for _, name := range param.Names {
				if slices.ContainsFunc(call.Args, func(e ast.Expr) bool { return p.names(e, p.info.Defs[name]) }) {
					wrapper = p.info.Defs[fn.Name]
				}
			}
		}
		return true
	})
	return wrapper
}

// names reports whether an object is named anywhere in an expression.
func (p *sources) names(e ast.Expr, obj types.Object) (yes bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && p.info.Uses[id] == obj {
			yes = true
		}
		return true
	})
	return yes
}
