package dap

import (
	"strings"

	godap "github.com/google/go-dap"

	"github.com/sfcore/sfcore/process"
)

// expression returns the variable that an expression stands for in a frame.
func (p *place) expression(text string, nearby bool) process.Variable {
	at := p.where()
	at.Nearby = nearby
	return at.Evaluate(p.snap.process, text)
}

// where is the place for package process.
func (p *place) where() process.Place {
	at := process.Place{Register: p.register}
	if p.inFrame() && !p.stack.Frames[p.ref.frame].Method.Inferred() {
		at.Stack = p.stack.walked
		at.Frame, at.Inlined = p.stack.frameAndInlined(p.ref.frame)
	}
	return at
}

// frameAndInlined returns the physical frame of reported frame i, and how many functions
// are inlined in the one that is meant.
func (st *stack) frameAndInlined(i int) (frame, inlined int) {
	first := i
	for first > 0 && st.physical[first-1] == st.physical[i] {
		first--
	}
	return int(st.physical[i]), i - first
}

// result evaluates an expression, and describes it for an editor.
func (s *session) result(at *place, text string, format *godap.ValueFormat, use string) (*godap.EvaluateResponseBody, error) {
	o := at.expression(text, use == "hover")
	if err := o.Err(); err != nil {
		return nil, newError(idExpression, "%v", err)
	}
	v := s.objectVariable(&o, format, func() int {
		return s.snap.refs.id(ref{kind: refExpression, thread: at.ref.thread, frame: at.ref.frame, item: s.snap.expressionID(text)})
	})
	body := &godap.EvaluateResponseBody{
		Result: v.Value, Type: v.Type, MemoryReference: v.MemoryReference, VariablesReference: v.VariablesReference,
		NamedVariables: v.NamedVariables, IndexedVariables: v.IndexedVariables,
	}
	if n, _, ok := o.Integer(); ok && v.Type == registerType {
		body.Result, body.MemoryReference = s.snap.value(n, format), s.snap.pointer(n)
	}
	if use == "clipboard" {
		if whole, ok := o.Whole(); ok {
			body.Result = whole
		}
	}
	return body, nil
}

// registerType is the type of registers, and of what is computed of them.
const registerType = "uint64"

// expressionID numbers an expression that a reference stands for.
func (s *snapshot) expressionID(text string) int {
	for i, known := range s.expressions {
		if known == text {
			return i
		}
	}
	s.expressions = append(s.expressions, text)
	return len(s.expressions) - 1
}

// address evaluates an expression to an address: that of an array or a structure, else
// the number.
func (p *place) address(text string) (uint64, error) {
	o := p.expression(text, false)
	if err := o.Err(); err != nil {
		return 0, newError(idExpression, "%v", err)
	}
	if n, _, ok := o.Integer(); ok {
		return n, nil
	}
	if r := o.Describe(); r.Address.Known {
		return uint64(r.Address.Addr), nil
	}
	return 0, newError(idExpression, "%s: this is neither an address nor an object in memory", text)
}

// cutPrint takes the format of gdb's print from a command: "p/x a" shows a in hexadecimal.
func cutPrint(name, args string) (expression string, ok bool) {
	verb, format, _ := strings.Cut(name, "/")
	if verb != "print" && verb != "p" || args == "" {
		return "", false
	}
	switch format {
	case "":
		return args, true
	case "x":
		return args + ",x", true
	case "r":
		return args + ",!", true
	}
	return "", false
}
