package process

import (
	"fmt"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/disasm"
	"github.com/sfcore/sfcore/memreader"
)

// maxSince is how many instructions before the pc are looked at for the one that loaded a
// register.
const maxSince = 8

// loadedFromFreed reports whether the instructions right before the pc of a thread, without
// a call or jump in between, loaded a register from a block of the heap that is free, and
// says which one it was. The block still has the value.
func (p *Process) loadedFromFreed(th *core.Thread, reg arch.Reg) (string, bool) {
	pc, ok := th.Regs.Get(p.img.Arch.PC)
	value, known := th.Regs.Get(reg)
	w := p.NewWalker()
	name, start := w.codeName(pc)
	if !ok || !known || name == "" || pc-start > maxCode {
		return "", false
	}
	a, words := p.img.Arch, &memreader.Words{R: p.Memory(), BigEndian: p.img.Arch.BigEndian}
	var last, from uint64 // where the load is, and what it read; 0 for none
	regs, since := th.Regs, 0
	for at := start; at != pc; {
		code := codeFrom(words, at)
		flow := disasm.FlowOf(a, code, at)
		if flow.Size <= 0 || flow.Size > len(code) || uint64(flow.Size) > pc-at {
			return "", false
		}
		effect := disasm.EffectOf(a, code, at)
		if since++; flow.Next != disasm.Through || since > maxSince {
			last, regs = 0, th.Regs
		}
		if to, ok := loads(&flow, &effect); ok {
			addr, known := effect.Operands[0].Address(&regs)
			v, err := words.Uint64(addr)
			switch {
			case !known || err != nil:
				regs.Forget(to)
			case to == reg:
				last, from, since = at, addr, 0
				fallthrough
			default:
				regs.Set(to, v)
			}
		}
		at += uint64(flow.Size)
	}
	if last == 0 {
		return "", false
	}
	block, found := p.block(words, from)
	if is, err := words.Uint64(from); !found || !block.Free || err != nil || is != value {
		return "", false
	}
	text := disasm.Decode(a, codeFrom(words, last), last, nil).Text
	return fmt.Sprintf("%s loaded it from %#x, in a block of %d bytes that is free", text, from, block.Size), true
}

// loads reports whether an instruction does nothing but load 8 bytes to a register.
func loads(flow *disasm.Flow, effect *disasm.Effect) (to arch.Reg, ok bool) {
	m := &flow.Moves[0]
	return m.First, m.Load && m.Num == 1 && flow.Moves[1].Num == 0 && len(effect.Operands) == 1 && effect.Operands[0].Size == 8 && !effect.Operands[0].Write
}
