package dap

import (
	"context"
	"errors"
	"fmt"

	godap "github.com/google/go-dap"

	"github.com/sfcore/sfcore/memreader"
)

// maxInstructions bounds what one request may ask for.
const maxInstructions = 1 << 14

// instruction adds what go-dap lacks.
type instruction struct {
	godap.DisassembledInstruction
	PresentationHint string `json:"presentationHint,omitempty"`
}

func (s *session) disassemble(ctx context.Context, args *godap.DisassembleArguments) (any, error) {
	snap, err := s.stopped()
	if err != nil {
		return nil, err
	}
	addr, err := parseReference(args.MemoryReference, args.Offset)
	if err != nil {
		return nil, err
	}
	count, skip := args.InstructionCount, args.InstructionOffset
	if count < 0 || count > maxInstructions || skip < -maxInstructions || skip > maxInstructions {
		return nil, newError(idArguments, "at most %d instructions can be disassembled at once, and at most that far away", maxInstructions)
	}
	var lines []line
	if skip < 0 {
		lines = snap.before(addr, -skip)
		// The address space begins here; the protocol wants as many lines all
		// the same.
		missing := make([]line, -skip-len(lines))
		for i := range missing {
			missing[i].why = errNoMemory
		}
		lines = append(missing, lines...)
	}
	if want := count - len(lines) + max(0, skip); want > 0 {
		lines = append(lines, snap.after(addr, want)...)
	}
	lines = lines[min(max(0, skip), len(lines)):]
	for len(lines) < count {
		lines = append(lines, line{addr: ^uint64(0), why: errNoMemory})
	}
	body := struct {
		Instructions []instruction `json:"instructions"`
	}{make([]instruction, 0, count)}
	words := snap.words()
	for i := range lines[:count] {
		body.Instructions = append(body.Instructions, s.instruction(ctx, words, &lines[i], args.ResolveSymbols))
	}
	return &body, cancelledOr(ctx, nil)
}

// errNoMemory stands beyond both ends of the address space.
var errNoMemory = errors.New("no memory")

func (s *session) instruction(ctx context.Context, words *memreader.Words, l *line, symbols bool) instruction {
	var in instruction
	bytes, text := s.snap.write(words, l)
	in.Address, in.Instruction = address(l.addr), text
	for i, b := range bytes {
		if i > 0 {
			in.InstructionBytes += " "
		}
		in.InstructionBytes += fmt.Sprintf("%02x", b)
	}
	if !l.valid {
		in.PresentationHint = "invalid"
		return in
	}
	if name, start := s.snap.symbol(l.addr); symbols && name != "" {
		in.Symbol = oneLine(name)
		if l.addr != start {
			in.Symbol = fmt.Sprintf("%s+%d", in.Symbol, l.addr-start)
		}
	}
	if at := s.snap.process.Locate(l.addr).Functions; len(at) > 0 && at[0].Line > 0 {
		if path := s.local(ctx, at[0].File); path != "" {
			in.Location, in.Line = fileSource(path), at[0].Line-1+s.firstLine
		}
	}
	return in
}

// unit is the size of the smallest instruction of the process, in bytes.
func (s *snapshot) unit() uint64 { return s.process.Image().Arch.InsnAlign }
