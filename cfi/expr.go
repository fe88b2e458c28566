package cfi

import (
	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/memreader"
)

const (
	// maxExprStack bounds the stack of an expression. libgcc has 64 too.
	maxExprStack = 64
	// maxExprSteps bounds the operations of an expression, which may branch
	// back. Those in use, of PLTs, realigned stacks and signal frames, take
	// less than 30.
	maxExprSteps = 1000
)

// eval computes the expression of r. The stack begins with the CFA on it,
// unless that is what is computed [DWARF 5, 6.4.2.2 and 6.4.2.3].
func (x *context) eval(r rule) (uint64, error) {
	start := int(r.off)
	e := evaluation{context: *x, start: start, c: cursor{data: x.s.data[:start+int(r.arg)], pos: start, big: x.s.arch.BigEndian}}
	if x.cfa.Base != arch.Undefined {
		v, err := x.cfaValue()
		if err != nil {
			return 0, err
		}
		e.push(v)
	}
	for steps := 0; e.c.pos < len(e.c.data); steps++ {
		at := e.c.pos
		if steps == maxExprSteps {
			return 0, x.s.formatError(at, "expression", "more than 1000 operations")
		}
		op := e.c.u8("")
		err := e.execute(op)
		if err == nil && e.c.failed() {
			err = x.s.formatError(at, exprOpName(op), e.c.fault.msg)
		}
		if err != nil {
			return 0, err
		}
	}
	v := e.pop()
	if e.c.failed() {
		return 0, x.s.formatError(start, "expression", e.c.fault.msg)
	}
	return v, nil
}

// cfaValue returns the CFA.
func (x *context) cfaValue() (uint64, error) {
	if x.cfa.Base == arch.Absolute {
		return uint64(x.cfa.Off), nil
	}
	v, err := x.register(uint64(x.cfa.Reg))
	return v + uint64(x.cfa.Off), err
}

// register returns the value of the register with DWARF number n.
func (x *context) register(n uint64) (uint64, error) {
	if reg, ok := x.s.arch.FromDWARF(n); ok {
		if v, ok := x.regs.Get(reg); ok {
			return v, nil
		}
	}
	return 0, &RegisterError{Reg: n}
}

// memory returns the integer of size bytes at addr.
func (x *context) memory(addr uint64, size int) (uint64, error) {
	if x.mem == nil {
		return 0, &memreader.FaultError{Addr: addr}
	}
	return x.mem.Uint(addr, size)
}

// evaluation is an expression being computed. Its stack is that of the Machine; the
// cursor also keeps what went wrong with the stack.
type evaluation struct {
	context
	c     cursor
	start int // offset in the section
	depth int // of the stack
}

func (e *evaluation) push(v uint64) {
	if e.depth == maxExprStack {
		e.c.fail(e.c.pos, "", "more than 64 values on the stack")
		return
	}
	e.m.stack[e.depth] = v
	e.depth++
}

func (e *evaluation) pop() uint64 {
	if e.depth == 0 {
		e.c.fail(e.c.pos, "", "the stack is empty")
		return 0
	}
	e.depth--
	return e.m.stack[e.depth]
}

// pick pushes the value that is n below the top.
func (e *evaluation) pick(n int) {
	if n >= e.depth {
		e.c.fail(e.c.pos, "", "it reaches below the stack")
		return
	}
	e.push(e.m.stack[e.depth-1-n])
}

// jump moves by a number of bytes.
func (e *evaluation) jump(by int16) {
	to := e.c.pos + int(by)
	if to < e.start || to > len(e.c.data) {
		e.c.fail(e.c.pos, "", "it leaves the expression")
		return
	}
	e.c.pos = to
}

// execute executes one operation. Damage may be left to the cursor.
func (e *evaluation) execute(op uint8) error {
	c := &e.c
	switch {
	case op >= opBreg0 && op <= opBreg31:
		return e.pushRegister(uint64(op-opBreg0), c.sleb(""))
	case op >= opLit0 && op <= opLit31:
		e.push(uint64(op - opLit0))
		return nil
	case op >= opAnd && op <= opNe && op != opNeg && op != opNot && op != opPlusUconst && op != opBra:
		b, a := e.pop(), e.pop()
		v, problem := compute(op, a, b)
		if problem != "" {
			c.fail(c.pos, "", problem)
		}
		e.push(v)
		return nil
	}
	switch op {
	case opBregx:
		n := c.uleb("")
		return e.pushRegister(n, c.sleb(""))
	case opDeref:
		return e.deref(addrSize)
	case opDerefSize:
		switch size := c.u8(""); size {
		case 1, 2, 4, 8:
			return e.deref(int(size))
		default:
			c.fail(c.pos, "", "a size other than 1, 2, 4 and 8")
		}
	case opAddr:
		e.push(c.u64("") + e.s.origin.abs)
	case opConst1u:
		e.push(uint64(c.u8("")))
	case opConst1s:
		e.push(uint64(int8(c.u8(""))))
	case opConst2u:
		e.push(uint64(c.u16("")))
	case opConst2s:
		e.push(uint64(int16(c.u16(""))))
	case opConst4u:
		e.push(uint64(c.u32("")))
	case opConst4s:
		e.push(uint64(int32(c.u32(""))))
	case opConst8u, opConst8s:
		e.push(c.u64(""))
	case opConstu:
		e.push(c.uleb(""))
	case opConsts:
		e.push(uint64(c.sleb("")))
	case opDup:
		e.pick(0)
	case opDrop:
		e.pop()
	case opOver:
		e.pick(1)
	case opPick:
		e.pick(int(c.u8("")))
	case opSwap:
		b, a := e.pop(), e.pop()
		e.push(b)
		e.push(a)
	case opRot:
		d, b, a := e.pop(), e.pop(), e.pop()
		e.push(d)
		e.push(a)
		e.push(b)
	case opAbs:
		v := e.pop()
		if int64(v) < 0 {
			v = -v
		}
		e.push(v)
	case opNeg:
		e.push(-e.pop())
	case opNot:
		e.push(^e.pop())
	case opPlusUconst:
		e.push(e.pop() + c.uleb(""))
	case opSkip:
		e.jump(int16(c.u16("")))
	case opBra:
		by := int16(c.u16(""))
		if e.pop() != 0 {
			e.jump(by)
		}
	case opNop:
	default:
		c.fail(c.pos, "", "not an operation of call frame information")
	}
	return nil
}

func (e *evaluation) pushRegister(n uint64, off int64) error {
	if e.c.failed() {
		return nil
	}
	v, err := e.register(n)
	e.push(v + uint64(off))
	return err
}

func (e *evaluation) deref(size int) error {
	addr := e.pop()
	if e.c.failed() {
		return nil
	}
	v, err := e.memory(addr, size)
	e.push(v)
	return err
}
