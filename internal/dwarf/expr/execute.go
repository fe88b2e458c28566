package expr

import (
	"errors"

	"github.com/sfcore/sfcore/memreader"
)

// addrSize is the size of an address on all architectures that arch has.
const addrSize = 8

// execute executes one operation, which begins at a position. It may leave a
// problem to the run.
func (r *run) execute(op uint8, at int) error {
	switch {
	case op-OpBreg0 <= OpBreg31-OpBreg0:
		r.pushRegister(uint64(op-OpBreg0), r.sleb())
		return nil
	case op-OpLit0 <= OpLit31-OpLit0:
		r.push(uint64(op - OpLit0))
		return nil
	}
	switch op {
	case OpAnd, OpMinus, OpMul, OpOr, OpPlus, OpShl, OpShr, OpShra, OpXor, OpEq, OpGe, OpGt, OpLe, OpLt, OpNe, OpDiv, OpMod:
		r.binary(op)
	case OpBregx:
		n := r.uleb()
		r.pushRegister(n, r.sleb())
	case OpDeref:
		r.deref(addrSize, Type{})
	case OpDerefSize:
		switch size := r.uint(1); size {
		case 1, 2, 4, 8:
			r.deref(int(size), Type{})
		default:
			r.fail("a size other than 1, 2, 4 and 8")
		}
	case OpAddr:
		r.push(r.uint(addrSize) + r.c.Bias)
	case OpConst1u:
		r.push(r.uint(1))
	case OpConst1s:
		r.push(uint64(int8(r.uint(1))))
	case OpConst2u:
		r.push(r.uint(2))
	case OpConst2s:
		r.push(uint64(int16(r.uint(2))))
	case OpConst4u:
		r.push(r.uint(4))
	case OpConst4s:
		r.push(uint64(int32(r.uint(4))))
	case OpConst8u, OpConst8s:
		r.push(r.uint(8))
	case OpConstu:
		r.push(r.uleb())
	case OpConsts:
		r.push(uint64(r.sleb()))
	case OpDup:
		r.pick(0)
	case OpDrop:
		r.pop()
	case OpOver:
		r.pick(1)
	case OpPick:
		r.pick(int(r.uint(1)))
	case OpSwap:
		b, a := r.pop(), r.pop()
		r.pushValue(b)
		r.pushValue(a)
	case OpRot:
		d, b, a := r.pop(), r.pop(), r.pop()
		r.pushValue(d)
		r.pushValue(a)
		r.pushValue(b)
	case OpAbs, OpNeg, OpNot:
		r.unary(op)
	case OpPlusUconst:
		v, n := r.pop(), r.uleb()
		if v.typ.isFloat() {
			r.fail("not an integer")
		}
		v.bits = v.typ.fit(v.bits + n)
		r.pushValue(v)
	case OpSkip:
		r.jump(int16(r.uint(2)))
	case OpBra:
		by := int16(r.uint(2))
		v, known := r.popAddr()
		switch {
		case !known:
			return r.reason
		case v != 0:
			r.jump(by)
		}
	case OpNop:
	default:
		if r.c.Debug == nil {
			r.fail("not an operation of call frame information")
			return nil
		}
		return r.debug(op, at)
	}
	return nil
}

// binary executes an operation on the two top values, which must be of one type.
func (r *run) binary(op uint8) {
	b, a := r.pop(), r.pop()
	t := a.typ
	shift := op == OpShl || op == OpShr || op == OpShra
	compare := op >= OpEq && op <= OpNe
	switch {
	case shift && b.bits >= 64 && !b.unknown && r.c.Debug != nil:
		// GCC writes counts of narrower types than the stack's, less their size.
		r.pushOr(value{typ: t}, errShift)
		return
	case t != b.typ && !shift:
		r.fail("values of two types")
		return
	case a.unknown || b.unknown:
		if compare {
			t = Type{}
		}
		r.pushValue(value{typ: t, unknown: true})
		return
	case t.isFloat():
		f, isTruth, ok := computeFloat(op, t.float(a.bits), t.float(b.bits))
		if !ok {
			r.fail("not an operation on floating-point numbers")
		}
		if isTruth {
			r.push(uint64(f))
		} else {
			r.pushValue(value{bits: t.fromFloat(f), typ: t})
		}
		return
	case (op == OpDiv || op == OpMod) && b.bits == 0:
		r.fail("division by zero")
		return
	}
	v := compute(op, a.bits, b.bits)
	if t != (Type{}) {
		switch {
		case !t.isSigned():
			if u, ok := computeUnsigned(op, a.bits, b.bits); ok {
				v = u
			}
		case op == OpMod:
			v = uint64(int64(a.bits) % int64(b.bits))
		case op == OpShr: // without its sign
			v = Type{Size: t.Size}.fit(a.bits) >> b.bits
		}
	}
	if compare {
		t = Type{}
	}
	r.pushValue(value{bits: t.fit(v), typ: t})
}

// unary executes OpAbs, OpNeg or OpNot.
func (r *run) unary(op uint8) {
	v := r.pop()
	if v.typ.isFloat() {
		f := v.typ.float(v.bits)
		if op == OpNot {
			r.fail("not an operation on floating-point numbers")
		}
		if op == OpNeg || f < 0 {
			f = -f
		}
		v.bits = v.typ.fromFloat(f)
		r.pushValue(v)
		return
	}
	switch {
	case op == OpNot:
		v.bits = ^v.bits
	case op == OpNeg, int64(v.bits) < 0 && (v.typ == Type{} || v.typ.isSigned()):
		v.bits = -v.bits
	}
	v.bits = v.typ.fit(v.bits)
	r.pushValue(v)
}

// pushRegister pushes the value of a register and an offset.
func (r *run) pushRegister(n uint64, off int64) {
	if r.problem != "" {
		return
	}
	v, err := r.register(n)
	r.pushOr(value{bits: v + uint64(off)}, err)
}

// register returns the value of the register with DWARF number n.
func (r *run) register(n uint64) (uint64, error) {
	if reg, ok := r.c.Arch.FromDWARF(n); ok {
		if v, ok := r.c.Regs.Get(reg); ok {
			return v, nil
		}
	}
	return 0, &RegisterError{Reg: n}
}

// deref replaces the address on the stack with the contents of that address.
func (r *run) deref(size int, t Type) {
	addr, known := r.popAddr()
	switch {
	case r.problem != "":
		return
	case !known:
		r.pushValue(value{typ: t, unknown: true})
		return
	case r.c.Mem == nil:
		r.pushOr(value{}, &memreader.FaultError{Addr: addr})
		return
	}
	v, err := r.c.Mem.Uint(addr, size)
	r.pushOr(value{bits: t.fit(v), typ: t}, err)
}

var errShift = errors.New("the debug information shifts by more bits than the value has")

var errNotKnown = errors.New("the debug information does not say")

// ask pushes the result of a function of [Debug].
func (r *run) ask(f func() (uint64, error)) {
	if f == nil {
		r.pushOr(value{}, errNotKnown)
		return
	}
	v, err := f()
	r.pushOr(value{bits: v}, err)
}
