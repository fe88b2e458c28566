package dap

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/sfcore/sfcore/internal/display"
)

// chosenFrame is a frame that was chosen in the console. It holds while the editor
// shows the same frame as then: who selects another in the call stack wants that.
type chosenFrame struct {
	shown ref // in the editor
	frame int
}

// consolePlace returns the place where the console is.
func (s *session) consolePlace(at *place) *place {
	if at.stack == nil || s.chosen.shown != at.ref || s.chosen.frame >= len(at.stack.Frames) {
		return at
	}
	moved := *at
	moved.ref.frame = s.chosen.frame
	moved.shown = at.ref
	return &moved
}

// frame chooses a frame of the stack by its number, and writes it.
func (s *session) frame(ctx context.Context, at *place, args string) (string, error) {
	if args == "" {
		return s.choose(ctx, at, at.ref.frame)
	}
	n, err := strconv.Atoi(args)
	if err != nil {
		return "", newError(idExpression, "frame takes the number of a frame in bt, not %q", args)
	}
	return s.choose(ctx, at, n)
}

// up chooses a caller of the frame, down a callee.
func (s *session) up(ctx context.Context, at *place, args string) (string, error) {
	return s.move(ctx, at, args, 1)
}

func (s *session) down(ctx context.Context, at *place, args string) (string, error) {
	return s.move(ctx, at, args, -1)
}

func (s *session) move(ctx context.Context, at *place, args string, direction int) (string, error) {
	n := 1
	if args != "" {
		var err error
		if n, err = strconv.Atoi(args); err != nil || n < 0 || n > 1<<30 {
			return "", newError(idExpression, "%q is not a number of frames", args)
		}
	}
	to := at.ref.frame + direction*n
	if at.stack != nil {
		to = max(0, min(to, len(at.stack.Frames)-1))
		if n > 0 && to == at.ref.frame {
			return "", newError(idReference, "frame %d is the %s of the stack", to, map[int]string{1: "outermost", -1: "innermost"}[direction])
		}
	}
	return s.choose(ctx, at, to)
}

func (s *session) choose(ctx context.Context, at *place, n int) (string, error) {
	if at.stack == nil || n < 0 || n >= len(at.stack.Frames) {
		return "", newError(idReference, "there is no frame %d", n)
	}
	s.chosen = chosenFrame{at.selected(), n}
	f := &at.stack.Frames[n]
	text := fmt.Sprintf("%d  %s [%s, %s]\n", f.Index, framePlace(f), f.Method, f.Trust)
	if lines := s.sourceLines(ctx, f.File, f.Line, 0); lines != "" {
		text += lines
	}
	return text, nil
}

// listed is how many lines list shows before and after that of the frame.
const listed = 5

// list writes the source lines around a frame.
func (s *session) list(ctx context.Context, at *place, args string) (string, error) {
	if !at.inFrame() {
		return "", newError(idReference, "no frame is selected")
	}
	f := &at.stack.Frames[at.ref.frame]
	line := f.Line
	if args != "" {
		n, err := strconv.Atoi(args)
		if err != nil || n < 1 {
			return "", newError(idExpression, "list takes a line of the frame's file, not %q", args)
		}
		line = n
	}
	switch text := s.sourceLines(ctx, f.File, line, listed); {
	case f.File == "":
		return "", newError(idReference, "there are no source lines for this frame; disassemble shows its code")
	case text == "" && s.local(ctx, f.File) != "":
		return "", newError(idReference, "%s has no line %d", oneLine(f.File), line)
	case text == "":
		return "", newError(idReference, "%s:%d is not on this machine; the page of the frame says what to do", oneLine(f.File), line)
	default:
		return text, nil
	}
}

// sourceLines writes lines of a source file that is on this machine, of which the one in
// the middle is marked; "" if it is not here.
func (s *session) sourceLines(ctx context.Context, file string, line, around int) string {
	name := s.local(ctx, file)
	if name == "" {
		return ""
	}
	text, err := readStart(name)
	if err != nil {
		return ""
	}
	var b strings.Builder
	n := 0
	for l := range strings.Lines(text) {
		if n++; n > line+around {
			break
		}
		mark := "  "
		if n == line {
			mark = "> "
		}
		if n >= line-around {
			fmt.Fprintf(&b, "%s%5d  %s\n", mark, n, display.Text(strings.TrimRight(l[:min(len(l), maxLine)], "\r\n")))
		}
	}
	return b.String()
}

// maxLine bounds the part of a source line that is written, in bytes.
const maxLine = 512

// disassembleFunction writes the code of the frame's function, or around an address.
func (s *session) disassembleFunction(_ context.Context, at *place, args string) (string, error) {
	for strings.HasPrefix(args, "/") || strings.HasPrefix(args, "-") {
		_, args, _ = strings.Cut(args, " ") // modifiers add what is there anyway
	}
	var pc, boundary uint64
	switch {
	case args != "":
		addr, err := at.address(args)
		if err != nil {
			return "", err
		}
		pc, boundary = addr, addr
	case !at.inFrame():
		return "", newError(idReference, "no frame is selected")
	default:
		f := at.stack.frame(at.ref.frame)
		pc, boundary = f.LookupPC(), f.PC
	}
	l, ok := s.snap.listingAt(pc, boundary)
	switch {
	case !ok:
		return "", newError(idMemory, "there is no code at %#x, or its file is missing", pc)
	case l.kind == refAround:
		return s.snap.around(l.start), nil
	}
	return s.snap.listing(l.start, l.page), nil
}

// maxConsoleVariables bounds the variables that info locals writes.
const maxConsoleVariables = 1000

// writeVariables writes the arguments or the local variables of a frame.
func (s *session) writeVariables(ctx context.Context, b *strings.Builder, at *place, arguments bool) error {
	if !at.inFrame() {
		return newError(idReference, "no frame is selected")
	}
	if s.snap.isGo(at.stack, at.ref.frame) {
		list := s.goFrame(ctx, at.stack, at.ref.frame, arguments)
		for i := range list {
			fmt.Fprintf(b, "%s = %s\n", list[i].Name, list[i].Value)
		}
		if len(list) == 0 {
			b.WriteString(noVariables(arguments))
		}
		return cancelledOr(ctx, nil)
	}
	scope := s.scopeOf(at.stack, at.ref.frame)
	if scope == nil {
		return newError(idReference, "there is no debug information for this frame, so its variables are not known")
	}
	n := 0
	for i := range scope.Variables {
		v := &scope.Variables[i]
		if v.Argument != arguments || n >= maxConsoleVariables {
			continue
		}
		n++
		shown := s.objectVariable(v, nil, func() int { return 1 })
		fmt.Fprintf(b, "%s = %s\n", shown.Name, shown.Value)
	}
	if n == 0 {
		b.WriteString(noVariables(arguments))
	}
	return nil
}

func noVariables(arguments bool) string {
	return map[bool]string{true: "no arguments", false: "no local variables"}[arguments]
}

// whatis writes the type of an expression.
func (s *session) whatis(_ context.Context, at *place, args string) (string, error) {
	o := at.expression(args, false)
	if err := o.Err(); err != nil {
		return "", newError(idExpression, "%v", err)
	}
	return oneLine(o.Describe().Type), nil
}
