package dap

import (
	"context"
	"strings"

	godap "github.com/google/go-dap"

	"github.com/sfcore/sfcore/unwind"
)

func (s *session) scopes(ctx context.Context, args *godap.ScopesArguments) (any, error) {
	if _, err := s.stopped(); err != nil {
		return nil, err
	}
	st, r, err := s.frameOf(ctx, args.FrameId)
	if err != nil {
		return nil, err
	}
	body := &godap.ScopesResponseBody{Scopes: []godap.Scope{}}
	if r.frame >= len(st.Frames) {
		return body, nil // the label
	}
	refs := &s.snap.refs
	body.Scopes = append(s.variableScopes(ctx, st, r),
		godap.Scope{
			Name: "Registers", PresentationHint: "registers",
			VariablesReference: refs.id(ref{kind: refRegisters, thread: r.thread, frame: r.frame}),
		},
		godap.Scope{Name: "Unwind", VariablesReference: refs.id(ref{kind: refUnwind, thread: r.thread, frame: r.frame})},
	)
	return body, nil
}

func (s *session) variables(ctx context.Context, args *godap.VariablesArguments) (any, error) {
	snap, err := s.stopped()
	if err != nil {
		return nil, err
	}
	r, ok := snap.refs.get(args.VariablesReference, refRegisters, refGroup, refVector, refUnwind, refArguments, refLocals, refGlobals, refObject, refExpression)
	if !ok {
		return nil, newError(idReference, "variable reference %d is no longer valid", args.VariablesReference)
	}
	if args.Start < 0 || args.Count < 0 {
		return nil, newError(idArguments, "start and count must not be negative")
	}
	st, err := s.stack(ctx, r.thread)
	if err != nil {
		return nil, err
	}
	var vars []godap.Variable
	switch {
	case (r.kind == refArguments || r.kind == refLocals) && snap.isGo(st, r.frame):
		vars = s.goFrame(ctx, st, r.frame, r.kind == refArguments)
	case r.kind == refGlobals:
		vars = s.globals(st, r, args.Format)
	case r.kind == refArguments, r.kind == refLocals, r.kind == refObject, r.kind == refExpression:
		return s.objects(st, args, r)
	case args.Filter == "indexed": // there are only named ones
	case r.kind == refUnwind:
		vars = snap.unwindVariables(st, r.frame, args.Format)
	case r.kind == refRegisters:
		vars = snap.groupVariables(st, r)
	case r.kind == refGroup:
		vars = snap.registerVariables(st, r, args.Format)
	case r.kind == refVector:
		vars = snap.vectorElements(st, r, args.Format)
	}
	vars = vars[min(args.Start, len(vars)):]
	if args.Count > 0 {
		vars = vars[:min(args.Count, len(vars))]
	}
	return &godap.VariablesResponseBody{Variables: append([]godap.Variable{}, vars...)}, nil
}

// unwindVariables says how a frame was found, and how its caller.
func (s *snapshot) unwindVariables(st *stack, i int, format *godap.ValueFormat) []godap.Variable {
	r, f := &st.Frames[i], st.frame(i)
	var vars []godap.Variable
	if r.Function != "" && oneLine(r.Function) != shortName(r.Function) {
		vars = append(vars, text("function", r.Function))
	}
	vars = append(vars,
		text("method", r.Method.String()),
		text("trust", r.Trust.String()),
		text("evidence", evidence(f)),
		s.word("pc", f.PC, format),
		s.word("lookup pc", f.LookupPC(), format),
	)
	if r.CFA.Known {
		vars = append(vars, s.word("CFA", uint64(r.CFA.Addr), format), text("row", f.Row.Format(s.process.Image().Arch)))
	}
	vars = append(vars, text("caller", caller(st, i)))
	if doubt := f.Method.Doubt(f.Evidence, f.Trust); doubt != "" && !f.Method.Inferred() {
		vars = append(vars, text("doubt", doubt))
	}
	if f.Skipped != nil {
		vars = append(vars, text("skipped", f.Skipped.Error()))
	}
	if r.Module != "" {
		vars = append(vars, text("module", r.ModuleName), text("build-id or path", r.Module),
			text("offset in module", address(uint64(r.ModuleOffset.Addr))))
	}
	return vars
}

// caller says where the rule for the caller of a frame is from.
func caller(st *stack, i int) string {
	next := int(st.physical[i]) + 1
	if next >= len(st.walked.Frames) {
		return strings.Trim(stopLabel(&st.Stop), "— ")
	}
	m := st.walked.Frames[next].Method
	if source := m.Describe(st.Frames[i].ModuleName); source != "" {
		return m.String() + ": " + source
	}
	return m.String()
}

// evidence lists what speaks for and against a frame.
func evidence(f *unwind.Frame) string {
	if f.Method == unwind.Registers {
		return "the thread's own registers"
	}
	return f.Evidence.String()
}
