package dap

import (
	"strings"

	godap "github.com/google/go-dap"
)

// maxGlobals bounds the global variables that are listed of a unit.
const maxGlobals = 1000

// globalNames returns the names of the global variables of the unit of a frame.
func (s *session) globalNames(st *stack, r ref) []string {
	if s.snap.isGo(st, r.frame) || st.Frames[r.frame].Method.Inferred() {
		return nil
	}
	at := place{snap: s.snap, stack: st, ref: r}
	where := at.where()
	return where.Globals(s.snap.process, maxGlobals)
}

// globals are these variables. They are expressions, since they belong to no frame.
func (s *session) globals(st *stack, r ref, format *godap.ValueFormat) []godap.Variable {
	at := place{snap: s.snap, stack: st, ref: ref{kind: refFrame, thread: r.thread, frame: r.frame}}
	var list []godap.Variable
	for _, name := range s.globalNames(st, r) {
		expression := name
		if !strings.Contains(name, "::") {
			expression = "::" + name // and no local variable of this name
		}
		o := at.expression(expression, false)
		v := s.objectVariable(&o, format, func() int {
			return s.snap.refs.id(ref{kind: refExpression, thread: r.thread, frame: r.frame, item: s.snap.expressionID(expression)})
		})
		if err := o.Err(); err != nil {
			v.Value = oneLine("<" + err.Error() + ">")
		}
		v.Name, v.EvaluateName = oneLine(name), expression
		list = append(list, v)
	}
	return list
}
