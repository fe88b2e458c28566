package dap

import (
	"context"
	"fmt"
	"strings"

	godap "github.com/google/go-dap"
)

func (s *session) evaluate(ctx context.Context, args *godap.EvaluateArguments) (any, error) {
	if _, err := s.stopped(); err != nil {
		return nil, err
	}
	at, err := s.place(ctx, args.FrameId)
	if err != nil {
		return nil, err
	}
	expression := strings.TrimSpace(args.Expression)
	if args.Context == "repl" {
		at = s.consolePlace(at)
		if body, ok, err := s.command(ctx, at, expression); ok {
			return body, err
		}
	}
	if body, ok := at.wideRegister(expression); ok {
		return body, nil
	}
	if body, ok := s.goResult(ctx, at, expression); ok {
		return body, nil
	}
	body, err := s.result(at, expression, args.Format, args.Context)
	if err != nil {
		if instead := sayInstead(expression); args.Context == "repl" && instead != "" {
			return nil, newError(idExpression, "%s: %s", expression, instead)
		}
		return nil, err
	}
	return body, nil
}

// place is where an expression is evaluated: a frame.
type place struct {
	snap  *snapshot
	stack *stack // nil if there is no thread
	ref   ref    // of the frame
	shown ref    // the frame that the editor shows, if another was chosen in the console
}

// selected returns the frame that the editor shows.
func (p *place) selected() ref {
	if p.shown != (ref{}) {
		return p.shown
	}
	return p.ref
}

// place returns the place of a frame id, or for 0 that of the thread that is
// shown first.
func (s *session) place(ctx context.Context, frameID int) (*place, error) {
	p := &place{snap: s.snap}
	var err error
	if frameID != 0 {
		p.stack, p.ref, err = s.frameOf(ctx, frameID)
		return p, err
	}
	if id := s.snap.selected(); id != 0 {
		p.ref = ref{kind: refFrame, thread: id}
		p.stack, err = s.stack(ctx, id)
	}
	return p, err
}

// inFrame reports whether the place is a frame, and not the label below one.
func (p *place) inFrame() bool { return p.stack != nil && p.ref.frame < len(p.stack.Frames) }

// register returns the value of a register in the frame. Besides those of the
// architecture there are pc, sp, fp and, where it exists, lr.
func (p *place) register(name string) (v uint64, ok bool, err error) {
	a := p.snap.process.Image().Arch
	for reg, regName := range a.Regs {
		if regName == "" {
			continue
		}
		alias := reg == int(a.PC) && name == "pc" || reg == int(a.SP) && name == "sp" ||
			reg == int(a.FP) && name == "fp" || reg == int(a.LR) && name == "lr"
		if name != regName && !alias {
			continue
		}
		if p.inFrame() {
			regs := &p.stack.frame(p.ref.frame).Regs
			for r := range regs.All() {
				if int(r) == reg {
					v, _ = regs.Get(r)
					return v, true, nil
				}
			}
		}
		return 0, true, newError(idExpression, "$%s was not recovered in this frame", name)
	}
	for i := range a.Raw {
		if a.Raw[i].Name != name {
			continue
		}
		if !p.inFrame() || !p.stack.innermost(p.ref.frame) {
			return 0, true, newError(idExpression, "$%s was not recovered in this frame", name)
		}
		b, known := rawBytes(a, &a.Raw[i], p.stack.walked.Thread)
		if !known {
			return 0, true, newError(idExpression, "$%s is not in the core file", name)
		}
		return littleEndian(b), true, nil
	}
	return 0, false, nil
}

// wideRegister shows a register that is not a 64-bit number, such as $xmm0.
func (p *place) wideRegister(expression string) (*godap.EvaluateResponseBody, bool) {
	name, ok := strings.CutPrefix(strings.ToLower(expression), "$")
	if !ok {
		return nil, false
	}
	raw := rawRegsOf(p.snap.process.Image().Arch).vector
	for i := range raw {
		if raw[i].Name != name {
			continue
		}
		v := godap.Variable{Value: notRecovered}
		known := p.inFrame() && p.stack.innermost(p.ref.frame) && p.snap.vectorVariable(&v, p.stack.walked.Thread, i, &raw[i])
		body := &godap.EvaluateResponseBody{Result: v.Value, Type: v.Type}
		if known {
			body.VariablesReference = p.snap.refs.id(ref{kind: refVector, thread: p.ref.thread, frame: p.ref.frame, item: i})
		}
		return body, true
	}
	return nil, false
}

// examine is a parsed "x/8gx": a number of units, their size and their format.
type examine struct {
	count int
	size  int
	form  byte // x, d, u, c, s, i or a
}

// maxExamine bounds the units of one x command.
const maxExamine = 4096

// parseExamine parses what follows "x/".
func parseExamine(text string) (examine, error) {
	e := examine{count: 1, size: 8, form: 'x'}
	digits := strings.TrimLeft(text, "0123456789")
	if n := text[:len(text)-len(digits)]; n != "" {
		if _, err := fmt.Sscan(n, &e.count); err != nil || e.count > maxExamine {
			return e, newError(idExpression, "x/%s: at most %d units can be shown", text, maxExamine)
		}
	}
	for _, c := range []byte(digits) {
		switch c {
		case 'b':
			e.size = 1
		case 'h':
			e.size = 2
		case 'w':
			e.size = 4
		case 'g':
			e.size = 8
		case 'x', 'd', 'u', 'c', 's', 'i', 'a':
			e.form = c
		default:
			return e, newError(idExpression, "x/%s: unknown size or format %q; the sizes are b, h, w, g and the formats x, d, u, c, s, i, a", text, string(c))
		}
	}
	if e.form == 'c' {
		e.size = 1
	}
	return e, nil
}
