package dap

import (
	"context"
	"math"

	godap "github.com/google/go-dap"

	"github.com/sfcore/sfcore/internal/delve/goroutines"
	"github.com/sfcore/sfcore/report"
)

// goVariables are the arguments and local variables of the frames of a stack.
type goVariables struct {
	frames [][]report.GoVariable
	why    string             // why there are none; "" if they are known
	delve  *report.DelveStack // what delve sees, if it differs
}

// isGo reports whether frame i is of a Go function, whose variables delve knows.
func (s *snapshot) isGo(st *stack, i int) bool {
	if st.goroutine == nil {
		return false
	}
	_, ok := s.process.GoFunction(st.frame(i).LookupPC())
	return ok
}

// goVariablesOf has delve read the variables of a goroutine, the first time for all frames
// of its stack.
func (s *session) goVariablesOf(ctx context.Context, st *stack) *goVariables {
	if st.variables != nil {
		return st.variables
	}
	v := &goVariables{frames: make([][]report.GoVariable, len(st.Frames))}
	progress := s.startProgress("Reading Go variables")
	defer progress.end()
	opts := goroutines.Options{
		Only: st.goroutine.ID, Locals: true, MaxFrames: min(s.spec.Options.MaxFrames, math.MaxInt32),
		Without: func(reason string) { v.why = reason },
	}
	err := goroutines.List(ctx, s.snap.process, opts, func(g *report.Goroutine, _ bool) bool {
		v.delve = g.Delve
		for i := range g.Frames[:min(len(g.Frames), len(st.Frames))] {
			if g.Frames[i].PC == st.Frames[i].PC && g.Frames[i].Function == st.Frames[i].Function {
				v.frames[i] = g.Frames[i].Variables
			}
		}
		return false
	})
	switch {
	case ctx.Err() != nil:
		return v // the next request asks again
	case err != nil:
		v.why = err.Error()
	}
	st.variables = v
	return v
}

// goFrame returns the arguments or the local variables of frame i, of a Go function.
func (s *session) goFrame(ctx context.Context, st *stack, i int, arguments bool) []godap.Variable {
	v := s.goVariablesOf(ctx, st)
	why := v.why
	if d := v.delve; why == "" && d != nil && d.From <= i && i < d.To && len(v.frames[i]) == 0 {
		why = "delve sees other frames here"
	}
	if why != "" && !arguments {
		return []godap.Variable{text("", "<no variables: "+why+">")}
	}
	var list []godap.Variable
	for j := range v.frames[i] {
		if g := &v.frames[i][j]; g.Argument == arguments {
			list = append(list, goVariable(g))
		}
	}
	return list
}

func goVariable(g *report.GoVariable) godap.Variable {
	v := godap.Variable{Name: oneLine(g.Name), Type: oneLine(g.Type), Value: oneLine(g.Value), EvaluateName: g.Name}
	if g.Err != "" {
		v.Value = oneLine("<" + g.Err + ">")
	}
	return v
}

// goResult is the value of a Go variable, which an expression names. ok is false if it
// names none.
func (s *session) goResult(ctx context.Context, at *place, name string) (body *godap.EvaluateResponseBody, ok bool) {
	if !at.inFrame() || !s.snap.isGo(at.stack, at.ref.frame) {
		return nil, false
	}
	variables := s.goVariablesOf(ctx, at.stack).frames[at.ref.frame]
	for i := len(variables) - 1; i >= 0; i-- { // an inner one hides those before it
		if variables[i].Name == name {
			v := goVariable(&variables[i])
			return &godap.EvaluateResponseBody{Result: v.Value, Type: v.Type}, true
		}
	}
	return nil, false
}
