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
	x.c = cursor{data: x.s.data[:start+int(r.arg)], pos: start, big: x.s.arch.BigEndian}
	x.start, x.depth = start, 0
	if x.cfa.Base != arch.Undefined {
		v, err := x.cfaValue()
		if err != nil {
			return 0, err
		}
		x.push(v)
	}
	for steps := 0; x.c.pos < len(x.c.data); steps++ {
		at := x.c.pos
		if steps == maxExprSteps {
			return 0, x.s.formatError(at, "expression", "more than 1000 operations")
		}
		op := x.c.u8("")
		if err := x.execute(op); err != nil {
			return 0, err
		}
		if x.c.failed() {
			return 0, x.s.formatError(at, operationName(op), x.c.fault.msg)
		}
	}
	v := x.pop()
	if x.c.failed() {
		return 0, x.s.formatError(start, "expression", x.c.fault.msg)
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

func (x *context) push(v uint64) {
	if x.depth == maxExprStack {
		x.c.fail(x.c.pos, "", "more than 64 values on the stack")
		return
	}
	x.m.stack[x.depth] = v
	x.depth++
}

func (x *context) pop() uint64 {
	if x.depth == 0 {
		x.c.fail(x.c.pos, "", "the stack is empty")
		return 0
	}
	x.depth--
	return x.m.stack[x.depth]
}

// pick pushes the value that is n below the top.
func (x *context) pick(n int) {
	if n >= x.depth {
		x.c.fail(x.c.pos, "", "it reaches below the stack")
		return
	}
	x.push(x.m.stack[x.depth-1-n])
}

// jump moves by a number of bytes.
func (x *context) jump(by int16) {
	to := x.c.pos + int(by)
	if to < x.start || to > len(x.c.data) {
		x.c.fail(x.c.pos, "", "it leaves the expression")
		return
	}
	x.c.pos = to
}

// execute executes one operation. Damage may be left to the cursor.
func (x *context) execute(op uint8) error {
	c := &x.c
	if op-opBreg0 <= opBreg31-opBreg0 {
		return x.pushRegister(uint64(op-opBreg0), c.sleb(""))
	}
	if op-opLit0 <= opLit31-opLit0 {
		x.push(uint64(op - opLit0))
		return nil
	}
	switch op {
	case opAnd, opMinus, opMul, opOr, opPlus, opShl, opShr, opShra, opXor, opEq, opGe, opGt, opLe, opLt, opNe:
		b, a := x.pop(), x.pop()
		x.push(compute(op, a, b))
	case opDiv, opMod:
		b, a := x.pop(), x.pop()
		if b == 0 {
			c.fail(c.pos, "", "division by zero")
			return nil
		}
		x.push(compute(op, a, b))
	case opBregx:
		n := c.uleb("")
		return x.pushRegister(n, c.sleb(""))
	case opDeref:
		return x.deref(addrSize)
	case opDerefSize:
		switch size := c.u8(""); size {
		case 1, 2, 4, 8:
			return x.deref(int(size))
		default:
			c.fail(c.pos, "", "a size other than 1, 2, 4 and 8")
		}
	case opAddr:
		x.push(c.u64("") + x.s.origin.abs)
	case opConst1u:
		x.push(uint64(c.u8("")))
	case opConst1s:
		x.push(uint64(int8(c.u8(""))))
	case opConst2u:
		x.push(uint64(c.u16("")))
	case opConst2s:
		x.push(uint64(int16(c.u16(""))))
	case opConst4u:
		x.push(uint64(c.u32("")))
	case opConst4s:
		x.push(uint64(int32(c.u32(""))))
	case opConst8u, opConst8s:
		x.push(c.u64(""))
	case opConstu:
		x.push(c.uleb(""))
	case opConsts:
		x.push(uint64(c.sleb("")))
	case opDup:
		x.pick(0)
	case opDrop:
		x.pop()
	case opOver:
		x.pick(1)
	case opPick:
		x.pick(int(c.u8("")))
	case opSwap:
		b, a := x.pop(), x.pop()
		x.push(b)
		x.push(a)
	case opRot:
		d, b, a := x.pop(), x.pop(), x.pop()
		x.push(d)
		x.push(a)
		x.push(b)
	case opAbs:
		v := x.pop()
		if int64(v) < 0 {
			v = -v
		}
		x.push(v)
	case opNeg:
		x.push(-x.pop())
	case opNot:
		x.push(^x.pop())
	case opPlusUconst:
		x.push(x.pop() + c.uleb(""))
	case opSkip:
		x.jump(int16(c.u16("")))
	case opBra:
		by := int16(c.u16(""))
		if x.pop() != 0 {
			x.jump(by)
		}
	case opNop:
	default:
		c.fail(c.pos, "", "not an operation of call frame information")
	}
	return nil
}

func (x *context) pushRegister(n uint64, off int64) error {
	if x.c.failed() {
		return nil
	}
	v, err := x.register(n)
	x.push(v + uint64(off))
	return err
}

func (x *context) deref(size int) error {
	addr := x.pop()
	if x.c.failed() {
		return nil
	}
	v, err := x.memory(addr, size)
	x.push(v)
	return err
}
