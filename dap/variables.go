package dap

import (
	"context"
	"fmt"
	"slices"

	godap "github.com/google/go-dap"

	"github.com/sfcore/sfcore/process"
)

const (
	// maxPage bounds the variables of one response, for clients that ask for all
	// elements of an array.
	maxPage = 1000

	// maxPreview bounds the text of a value, in bytes.
	maxPreview = 300
	// partOfPreview is how many bytes of it a part takes at least, such as "0, ".
	partOfPreview = 2
)

// variableScopes are the scopes of arguments and local variables, of frames that
// have debug information.
// An empty one is left out: editors open the first.
func (s *session) variableScopes(ctx context.Context, st *stack, r ref) []godap.Scope {
	arguments, locals := 0, 0
	if s.snap.isGo(st, r.frame) {
		arguments, locals = len(s.goFrame(ctx, st, r.frame, true)), len(s.goFrame(ctx, st, r.frame, false))
	} else if scope := s.scopeOf(st, r.frame); scope != nil {
		for i := range scope.Variables {
			if scope.Variables[i].Argument {
				arguments++
			} else {
				locals++
			}
		}
	}
	scopes := []godap.Scope{}
	for _, scope := range []struct {
		name, hint string
		kind       refKind
		n          int
	}{{"Arguments", "arguments", refArguments, arguments}, {"Locals", "locals", refLocals, locals}, {"Globals", "", refGlobals, len(s.globalNames(st, r))}} {
		if scope.n > 0 {
			scopes = append(scopes, godap.Scope{
				Name: scope.name, PresentationHint: scope.hint, NamedVariables: scope.n, Expensive: scope.kind == refGlobals,
				VariablesReference: s.snap.refs.id(ref{kind: scope.kind, thread: r.thread, frame: r.frame}),
			})
		}
	}
	return scopes
}

// scopeOf returns the variables of frame i, which may be an inlined one; nil if
// there is no debug information for it.
func (s *session) scopeOf(st *stack, i int) *process.Scope {
	if st.Frames[i].Method.Inferred() {
		return nil
	}
	first := i
	for first > 0 && st.physical[first-1] == st.physical[i] {
		first--
	}
	scopes := s.snap.process.Scopes(st.walked, int(st.physical[i]))
	if i-first >= len(scopes) {
		return nil
	}
	return &scopes[i-first]
}

// objects lists variables of a frame, or the parts of one.
func (s *session) objects(st *stack, args *godap.VariablesArguments, r ref) (any, error) {
	count := maxPage
	if args.Count > 0 {
		count = min(args.Count, maxPage)
	}
	start := uint64(args.Start)
	parts, indexed, err := s.parts(st, r, start, uint64(count))
	body := &godap.VariablesResponseBody{Variables: []godap.Variable{}}
	switch {
	case args.Filter == "indexed" && !indexed:
		return body, nil
	case args.Filter == "indexed":
		parts = slices.DeleteFunc(parts, func(v process.Variable) bool { return v.IsRaw() })
	case args.Filter == "named" && indexed:
		if start, parts, err = s.named(st, r); len(parts) == 0 {
			return body, nil
		}
	}
	if err != nil && len(parts) == 0 {
		body.Variables = append(body.Variables, text("", "<"+err.Error()+">"))
		return body, nil
	}
	for i := range parts {
		v := s.objectVariable(&parts[i], args.Format, func() int {
			child := ref{kind: refObject, thread: r.thread, frame: r.frame, item: args.VariablesReference, addr: start + uint64(i)}
			return s.snap.refs.id(child)
		})
		body.Variables = append(body.Variables, v)
	}
	return body, nil
}

// parts returns some of the variables or parts that a reference stands for, and
// whether they are elements of an array.
func (s *session) parts(st *stack, r ref, from, count uint64) (parts []process.Variable, indexed bool, err error) {
	if r.kind == refObject || r.kind == refExpression {
		o, err := s.object(st, r)
		if err != nil {
			return nil, false, err
		}
		parts, err = o.Parts(from, count)
		return parts, o.Array(), err
	}
	scope := s.scopeOf(st, r.frame)
	if scope == nil {
		return nil, false, nil
	}
	n := uint64(0)
	for i := range scope.Variables {
		v := &scope.Variables[i]
		if v.Argument != (r.kind == refArguments) {
			continue
		}
		if n >= from && n-from < count {
			parts = append(parts, *v)
		}
		n++
	}
	return parts, false, nil
}

// named returns the part of a container that shows its members, which has a name among
// elements that have numbers, and its number.
func (s *session) named(st *stack, r ref) (n uint64, parts []process.Variable, err error) {
	o, err := s.object(st, r)
	if err != nil || !o.Raw() {
		return 0, nil, err
	}
	if n, err = o.Len(); err != nil {
		return 0, nil, nil
	}
	parts, err = o.Parts(n, 1)
	return n, parts, err
}

// object returns what a reference stands for: by way of those that it is a part
// of, up to the variables of its frame.
func (s *session) object(st *stack, r ref) (*process.Variable, error) {
	var path []uint64
	for r.kind == refObject {
		path = append(path, r.addr)
		parent, ok := s.snap.refs.get(r.item, refArguments, refLocals, refObject, refExpression)
		if !ok {
			return nil, newError(idReference, "variable reference %d is no longer valid", r.item)
		}
		r = parent
	}
	var o process.Variable
	if r.kind == refExpression {
		at := place{snap: s.snap, stack: st, ref: r}
		if o = at.expression(s.snap.expressions[r.item], false); o.Err() != nil {
			return nil, newError(idReference, "%v", o.Err())
		}
	}
	for i := len(path) - 1; i >= 0; i-- {
		var parts []process.Variable
		var err error
		if i == len(path)-1 && r.kind != refExpression {
			parts, _, err = s.parts(st, r, path[i], 1)
		} else {
			parts, err = o.Parts(path[i], 1)
		}
		if len(parts) == 0 {
			return nil, newError(idReference, "the variable no longer exists: %v", err)
		}
		o = parts[0]
	}
	return &o, nil
}

// objectVariable makes a variable of an object. id gives it a reference, if it has
// parts.
func (s *session) objectVariable(o *process.Variable, format *godap.ValueFormat, id func() int) godap.Variable {
	r := o.Preview(maxPreview / partOfPreview)
	v := godap.Variable{Name: oneLine(r.Name), Type: oneLine(r.Type), Value: oneLine(r.Text()), EvaluateName: o.Expression()}
	if o.Base {
		v.Name = v.Type
	}
	if len(v.Value) > maxPreview {
		v.Value = oneLine(v.Value[:maxPreview]) + "..."
	}
	if r.Address.Known {
		v.MemoryReference = address(uint64(r.Address.Addr))
	}
	if n, isPointer, ok := o.Integer(); ok {
		if isPointer {
			v.MemoryReference = s.snap.pointer(n)
		} else if o.Hex || format != nil && format.Hex {
			v.Value = fmt.Sprintf("%#x", n)
		}
		if isPointer && v.MemoryReference == "" {
			return v // nothing is there
		}
	}
	if o.Scalar() || r.Missing != "" && len(r.Members) == 0 {
		return v
	}
	n, err := o.Len()
	if err != nil || n == 0 {
		return v
	}
	v.VariablesReference = id()
	raw := 0
	if o.Raw() {
		raw = 1
	}
	if o.Array() {
		v.IndexedVariables, v.NamedVariables = int(min(n, 1<<31)), raw
	} else {
		v.NamedVariables = int(n) + raw
	}
	return v
}
