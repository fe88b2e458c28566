package codewalk

import (
	"encoding/binary"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/unwind"
)

// The process of these tests: code at 0x10000, data at 0x20000 and a
// stack at 0x70000.
const (
	codeAt   = 0x10000
	dataAt   = 0x20000
	stackAt  = 0x70000
	areaSize = 0x1000
)

// process is a small program under test: what its code and memory hold and
// which rows its table has.
type process struct {
	arch  *arch.Arch
	mem   *testkit.Memory
	rows  table
	steps []unwind.Stepper

	module *unwind.Module // of all code
}

func newProcess(a *arch.Arch) *process {
	p := &process{arch: a, mem: &testkit.Memory{Segs: map[uint64][]byte{}}, rows: table{}}
	for _, at := range []uint64{codeAt, dataAt, stackAt} {
		p.mem.Segs[at] = make([]byte, areaSize)
	}
	p.steps = []unwind.Stepper{p.rows}
	return p
}

func (p *process) order() binary.ByteOrder {
	if p.arch.BigEndian {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// poke stores words in memory.
func (p *process) poke(addr uint64, words ...uint64) {
	for i, w := range words {
		at := addr + uint64(8*i)
		p.order().PutUint64(p.mem.Segs[at&^(areaSize-1)][at%areaSize:], w)
	}
}

// code stores instructions and returns the address behind them.
func (p *process) code(addr uint64, insns string) uint64 {
	return addr + uint64(copy(p.mem.Segs[codeAt][addr-codeAt:], insns))
}

var calls = map[string]string{
	"amd64":   "\xe8\x00\x00\x00\x00",     // call
	"aarch64": "\x00\x00\x00\x94",         // bl
	"s390x":   "\xc0\xe5\x00\x00\x00\x00", // brasl %r14
}

// call stores a call instruction and returns its return address.
func (p *process) call(addr uint64) uint64 { return p.code(addr, calls[p.arch.Name]) }

func (p *process) regs(values map[arch.Reg]uint64) *arch.Regs {
	var r arch.Regs
	for reg, v := range values {
		r.Set(reg, v)
	}
	return &r
}

func (p *process) unwinder() *unwind.Unwinder {
	return &unwind.Unwinder{Arch: p.arch, Mem: p.mem, Steppers: p.steps, Find: func(addr uint64) unwind.Place {
		if _, mapped := p.mem.Segs[addr&^(areaSize-1)]; !mapped {
			return unwind.Place{}
		}
		lo := addr &^ (areaSize - 1)
		return unwind.Place{Lo: lo, Hi: lo + areaSize, Executable: lo == codeAt, Module: p.module}
	}}
}

// jump returns a jump of five bytes from one address to another.
func jump(from, to uint64) string {
	return string(binary.LittleEndian.AppendUint32([]byte{0xe9}, uint32(to-from-5)))
}

// cursor returns the cursor of a frame with these registers.
func (p *process) cursor(pc uint64, regs *arch.Regs) *unwind.Cursor {
	words := func() *memreader.Words { return &memreader.Words{R: p.mem, BigEndian: p.arch.BigEndian} }
	return &unwind.Cursor{Arch: p.arch, Module: p.module, PC: pc, Regs: regs, Mem: words(), Code: words(), Find: p.unwinder().Find}
}

// table is a stepper with a row for each lookup pc.
type table map[uint64]arch.Row

func (t table) Method() unwind.Method { return unwind.SFrame }

func (t table) Row(c *unwind.Cursor, row *arch.Row) (bool, error) {
	r, ok := t[c.PC]
	*row = r
	return ok, nil
}
