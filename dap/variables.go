package dap

import (
	"fmt"

	godap "github.com/google/go-dap"

	"github.com/sfcore/sfcore/process"
)

const (
	// maxPage bounds the variables of one response, for clients that ask for all
	// elements of an array.
	maxPage = 1000

	// maxPreview bounds the text of a value, in bytes.
	maxPreview = 300
)

// variableScopes are the scopes of arguments and local variables, of frames that
// have debug information.
func (s *session) variableScopes(st *stack, r ref) []godap.Scope {
	scope := s.scopeOf(st, r.frame)
	if scope == nil {
		return []godap.Scope{}
	}
	refs := &s.snap.refs
	arguments := godap.Scope{
		Name: "Arguments", PresentationHint: "arguments",
		VariablesReference: refs.id(ref{kind: refArguments, thread: r.thread, frame: r.frame}),
	}
	locals := godap.Scope{
		Name: "Locals", PresentationHint: "locals",
		VariablesReference: refs.id(ref{kind: refLocals, thread: r.thread, frame: r.frame}),
	}
	for i := range scope.Variables {
		if scope.Variables[i].Argument {
			arguments.NamedVariables++
		} else {
			locals.NamedVariables++
		}
	}
	return []godap.Scope{arguments, locals}
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
	parts, indexed, err := s.parts(st, r, uint64(args.Start), uint64(count))
	body := &godap.VariablesResponseBody{Variables: []godap.Variable{}}
	if args.Filter == "indexed" && !indexed || args.Filter == "named" && indexed {
		return body, nil
	}
	if err != nil && len(parts) == 0 {
		body.Variables = append(body.Variables, text("", "<"+err.Error()+">"))
		return body, nil
	}
	for i := range parts {
		v := s.objectVariable(&parts[i], args.Format, func() int {
			child := ref{kind: refObject, thread: r.thread, frame: r.frame, item: args.VariablesReference, addr: uint64(args.Start + i)}
			return s.snap.refs.id(child)
		})
		if r.kind != refObject {
			v.EvaluateName = v.Name
		}
		body.Variables = append(body.Variables, v)
	}
	return body, nil
}

// parts returns some of the variables or parts that a reference stands for, and
// whether they are elements of an array.
func (s *session) parts(st *stack, r ref, from, count uint64) (parts []process.Variable, indexed bool, err error) {
	if r.kind == refObject {
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

// object returns what a reference stands for: by way of those that it is a part
// of, up to the variables of its frame.
func (s *session) object(st *stack, r ref) (*process.Variable, error) {
	var path []uint64
	for r.kind == refObject {
		path = append(path, r.addr)
		parent, ok := s.snap.refs.get(r.item, refArguments, refLocals, refObject)
		if !ok {
			return nil, newError(idReference, "variable reference %d is no longer valid", r.item)
		}
		r = parent
	}
	var o process.Variable
	for i := len(path) - 1; i >= 0; i-- {
		var parts []process.Variable
		var err error
		if i == len(path)-1 {
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
	r := o.Describe()
	v := godap.Variable{Name: oneLine(r.Name), Type: oneLine(r.Type), Value: oneLine(r.Text())}
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
		} else if format != nil && format.Hex {
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
	if o.Array() {
		v.IndexedVariables = int(min(n, 1<<31))
	} else {
		v.NamedVariables = int(n)
	}
	return v
}

// evaluateVariable shows the variable of a frame that has a name; the innermost, if
// there are several.
func (s *session) evaluateVariable(at *place, name string, format *godap.ValueFormat) (*godap.EvaluateResponseBody, bool) {
	if !at.inFrame() {
		return nil, false
	}
	for _, kind := range []refKind{refLocals, refArguments} {
		r := ref{kind: kind, thread: at.ref.thread, frame: at.ref.frame}
		parts, _, _ := s.parts(at.stack, r, 0, maxPage)
		for i := range parts {
			if parts[i].Name != name {
				continue
			}
			v := s.objectVariable(&parts[i], format, func() int {
				parent := s.snap.refs.id(r)
				return s.snap.refs.id(ref{kind: refObject, thread: r.thread, frame: r.frame, item: parent, addr: uint64(i)})
			})
			return &godap.EvaluateResponseBody{
				Result: v.Value, Type: v.Type, MemoryReference: v.MemoryReference, VariablesReference: v.VariablesReference,
				NamedVariables: v.NamedVariables, IndexedVariables: v.IndexedVariables,
			}, true
		}
	}
	return nil, false
}
