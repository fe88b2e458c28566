package expr

// debug executes an operation that only debug information has.
func (r *run) debug(op uint8, at int) error {
	d := r.c.Debug
	if op-OpReg0 <= OpReg31-OpReg0 {
		r.simple(Piece{Kind: Register, Reg: uint64(op - OpReg0)})
		return nil
	}
	switch op {
	case OpRegx:
		r.simple(Piece{Kind: Register, Reg: r.uleb()})
	case OpImplicitValue:
		r.simple(Piece{Kind: Bytes, Data: r.take(r.uleb())})
	case OpStackValue:
		r.stackValue()
	case OpImplicitPointer, OpGNUImplicitPtr:
		r.uint(d.OffsetSize)
		r.sleb()
		r.simple(Piece{Kind: Pointer})
	case OpPiece:
		size := r.uleb()
		if size > maxObject {
			r.fail("a piece of more than 2^48 bytes")
			return nil
		}
		return r.endPiece(8*size, 0, at)
	case OpBitPiece:
		size, off := r.uleb(), r.uleb()
		if size > maxObject || off > maxObject {
			r.fail("a piece of more than 2^48 bits")
			return nil
		}
		return r.endPiece(size, off, at)
	case OpFbreg:
		off := r.sleb()
		r.ask(d.FrameBase)
		r.add(uint64(off))
	case OpCallFrameCFA:
		r.ask(d.CFA)
	case OpPushObjectAddress:
		if !d.HasObject {
			r.pushOr(value{}, errNotKnown)
			return nil
		}
		r.push(d.Object)
	case OpAddrx, OpConstx, OpGNUAddrIndex, OpGNUConstIndex:
		index := r.uleb()
		if d.Address == nil {
			r.fail("there is no .debug_addr")
			return nil
		}
		v, ok := d.Address(index)
		if !ok {
			r.fail("it is not in .debug_addr")
			return nil
		}
		if op == OpAddrx || op == OpGNUAddrIndex {
			v += r.c.Bias
		}
		r.push(v)
	case OpEntryValue, OpGNUEntryValue:
		code := r.take(r.uleb())
		if r.problem == "" {
			v, err := r.entry(code)
			r.pushOr(value{bits: v, typ: r.entryType(code)}, err)
		}
	case OpConstType, OpGNUConstType:
		t := r.typ()
		size := r.uint(1)
		if b := r.take(size); r.problem == "" {
			if size != t.Size {
				r.fail("a constant of another size than its type")
				return nil
			}
			r.pushValue(value{bits: t.fit(integer(b, r.c.Arch.BigEndian)), typ: t})
		}
	case OpRegvalType, OpGNURegvalType:
		n := r.uleb()
		if t := r.typ(); r.problem == "" {
			v, err := r.typedRegister(n, t)
			r.pushOr(value{bits: v, typ: t}, err)
		}
	case OpDerefType, OpGNUDerefType:
		size := r.uint(1)
		if t := r.typ(); r.problem == "" {
			if size != t.Size {
				r.fail("another size than that of the type")
				return nil
			}
			r.deref(int(size), t)
		}
	case OpConvert, OpGNUConvert:
		t, v := r.typ(), r.pop()
		v, ok := v.convert(t)
		if !ok {
			r.fail("the number is too large for the type")
		}
		r.pushValue(v)
	case OpReinterpret, OpGNUReinterpret:
		t, v := r.typ(), r.pop()
		v.typ = t
		v.bits = t.fit(v.bits)
		r.pushValue(v)
	case OpGNUParameterRef: // the value of a parameter that is no longer passed
		r.uint(4)
		r.pushOr(value{}, errNotKnown)
	case OpGNUUninit:
	default:
		r.fail("not supported")
	}
	return nil
}

// maxObject bounds the size of a piece; no address space is larger.
const maxObject = 1 << 48

// stackValue makes the value on the stack that of the object.
func (r *run) stackValue() {
	v := r.pop()
	switch {
	case v.unknown:
		r.simple(Piece{Kind: Unknown, Err: r.reason})
	case v.typ.Size == 0:
		r.simple(Piece{Kind: Value, Value: v.bits})
	default:
		r.simple(Piece{Kind: Bytes, Data: bytesOf(v.bits, v.typ.Size, r.c.Arch.BigEndian)})
	}
}

// bytesOf writes an integer of size bytes.
func bytesOf(v, size uint64, big bool) []byte {
	b := make([]byte, size)
	for i := range b {
		if big {
			b[len(b)-1-i] = byte(v)
		} else {
			b[i] = byte(v)
		}
		v >>= 8
	}
	return b
}

// add adds to the value on the stack.
func (r *run) add(n uint64) {
	v := r.pop()
	v.bits += n
	r.pushValue(v)
}

// entry returns the value that an expression had when the function was entered. It
// uses the stack.
func (r *run) entry(code []byte) (uint64, error) {
	if r.c.Debug.Entry == nil {
		return 0, errNotKnown
	}
	return r.c.Debug.Entry(code)
}

// entryType returns the type that an expression reads a register as.
func (r *run) entryType(code []byte) Type {
	if len(code) == 0 || code[0] != OpRegvalType && code[0] != OpGNURegvalType {
		return Type{}
	}
	in := run{m: r.m, c: r.c, code: code, pos: 1}
	in.uleb()
	t := in.typ()
	r.problem = in.problem
	return t
}

// RegisterOf returns the register if an expression consists of nothing else.
// Expressions of parameters and of [Debug.Entry] are like that.
func RegisterOf(code []byte) (reg uint64, ok bool) {
	if len(code) == 0 {
		return 0, false
	}
	r := run{code: code, pos: 1}
	switch op := code[0]; {
	case op-OpReg0 <= OpReg31-OpReg0:
		reg = uint64(op - OpReg0)
	case op == OpRegx:
		reg = r.uleb()
	case op == OpRegvalType, op == OpGNURegvalType:
		reg = r.uleb()
		r.uleb()
	default:
		return 0, false
	}
	return reg, r.problem == "" && r.pos == len(code)
}

// typ reads a reference to a base type; 0 stands for the generic one.
func (r *run) typ() Type {
	off := r.uleb()
	if off == 0 || r.problem != "" {
		return Type{}
	}
	if r.c.Debug.Type == nil {
		r.fail("there are no types")
		return Type{}
	}
	t, ok := r.c.Debug.Type(off)
	if !ok || !t.supported() {
		r.fail("a type that is not supported")
		return Type{}
	}
	return t
}

// typedRegister returns the contents of a register as a value of a type.
func (r *run) typedRegister(n uint64, t Type) (uint64, error) {
	v, err := r.register(n)
	if err == nil && t.isFloat() && r.c.Arch.BigEndian {
		// Of s390x, whose floating-point registers have a float at the left.
		return v >> (64 - 8*t.Size), nil
	}
	if err == nil || r.c.Debug.Wide == nil {
		return t.fit(v), err
	}
	b := r.c.Debug.Wide(n)
	if t.Size == 0 || uint64(len(b)) < t.Size {
		return 0, err
	}
	if r.c.Arch.BigEndian {
		b = b[uint64(len(b))-t.Size:]
	} else {
		b = b[:t.Size]
	}
	return t.fit(integer(b, r.c.Arch.BigEndian)), nil
}
