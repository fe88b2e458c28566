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

// loadedFromFreed reports whether the instructions right before a pc, without a call or
// jump in between, loaded a register from a block of the heap that is free, and says which
// one it was. The block still has the value, which the registers have now.
func (p *Process) loadedFromFreed(now *arch.Regs, pc uint64, reg arch.Reg) (string, bool) {
	value, known := now.Get(reg)
	w := p.NewWalker()
	name, start := w.codeName(pc)
	if !known || name == "" || pc-start > maxCode {
		return "", false
	}
	a, words := p.img.Arch, &memreader.Words{R: p.Memory(), BigEndian: p.img.Arch.BigEndian}
	var last, from uint64 // where the load is, and what it read; 0 for none
	regs, since := *now, 0
	for at := start; at != pc; {
		code := codeFrom(words, at)
		flow := disasm.FlowOf(a, code, at)
		if flow.Size <= 0 || flow.Size > len(code) || uint64(flow.Size) > pc-at {
			return "", false
		}
		effect := disasm.EffectOf(a, code, at)
		if since++; flow.Next != disasm.Through || since > maxSince {
			last, regs = 0, *now
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
	where, freed := p.inFreed(from)
	if is, err := words.Uint64(from); !freed || err != nil || is != value {
		return "", false
	}
	text := disasm.Decode(a, codeFrom(words, last), last, nil).Text
	return fmt.Sprintf("%s loaded it from %#x, %s", text, from, where), true
}

// inFreed reports whether an address is in a block of the heap that is free, and says so.
func (p *Process) inFreed(addr uint64) (string, bool) {
	block, found := p.block(&memreader.Words{R: p.Memory(), BigEndian: p.img.Arch.BigEndian}, addr)
	if !found || !block.Free {
		return "", false
	}
	return fmt.Sprintf("in a block of %d bytes that is free", block.Size), true
}

// calledFromFreed says by what instruction a pointer was read from a block of the heap that
// is free, which a thread called and at whose target it is: the call is right before the
// return address. It returns "" if that is not known.
func (p *Process) calledFromFreed(th *core.Thread, ra uint64) string {
	a, words := p.img.Arch, &memreader.Words{R: p.Memory(), BigEndian: p.img.Arch.BigEndian}
	pc, known := th.Regs.Get(a.PC)
	name, at := p.NewWalker().codeName(ra - 1)
	if !known || name == "" || ra-at > maxCode {
		return ""
	}
	for next := at; next < ra; {
		size, _ := disasm.Measure(a, codeFrom(words, next))
		if size <= 0 || uint64(size) > ra-next {
			return ""
		}
		at, next = next, next+uint64(size)
	}
	effect, regs := disasm.EffectOf(a, codeFrom(words, at), at), th.Regs
	if effect.Leads != disasm.Call {
		return ""
	}
	if sp, ok := regs.Get(a.SP); ok {
		regs.Set(a.SP, sp+8) // as before the call, which pushed the return address
	}
	if effect.Target != arch.NoReg {
		if called, ok := regs.Get(effect.Target); !ok || called != pc {
			return ""
		}
		why, _ := p.loadedFromFreed(&regs, at, effect.Target)
		return why
	}
	o, ok := effect.Pointer()
	if !ok {
		return ""
	}
	from, ok := o.Address(&regs)
	where, freed := p.inFreed(from)
	if is, err := words.Uint64(from); !ok || !freed || err != nil || is != pc {
		return ""
	}
	return fmt.Sprintf("%s read it from %#x, %s", disasm.Decode(a, codeFrom(words, at), at, nil).Text, from, where)
}

// loads reports whether an instruction does nothing but load 8 bytes to a register.
func loads(flow *disasm.Flow, effect *disasm.Effect) (to arch.Reg, ok bool) {
	m := &flow.Moves[0]
	return m.First, m.Load && m.Num == 1 && flow.Moves[1].Num == 0 && len(effect.Operands) == 1 && effect.Operands[0].Size == 8 && !effect.Operands[0].Write
}
