package expr

const (
	// maxStack bounds the stack of an expression. libgcc has 64 too.
	maxStack = 64
	// maxSteps bounds the operations of an expression, which may branch back.
	// Those in use, of PLTs, realigned stacks and signal frames, take less than
	// 30.
	maxSteps = 1000
)

// Machine is the stack that expressions are evaluated on. The zero Machine is
// ready for use. Evaluating a value with it allocates nothing; it is not safe
// for concurrent use, nor from within a function of [Debug].
type Machine struct {
	// Steps counts the operations that were executed.
	Steps int

	stack [maxStack]value
	depth int
}

// value is an element of the stack.
type value struct {
	bits    uint64
	typ     Type // zero: an integer of the size of an address
	unknown bool
}

// Value evaluates an expression with the initial values on the stack, the last one
// on top, and returns the value on top in the end. The error is an [*Error] if the
// expression is damaged. If the expression needs something unknown, the error is a
// [*RegisterError], or the error of memory or of a function of Debug.
func (m *Machine) Value(c *Context, code []byte, initial ...uint64) (uint64, error) {
	r := run{m: m, c: c, code: code}
	m.depth = 0
	for _, v := range initial {
		r.push(v)
	}
	if err := r.all(); err != nil {
		return 0, err
	}
	if r.pending || len(r.pieces) > 0 {
		return 0, &Error{Msg: "it gives a location, not a value"}
	}
	v := r.pop()
	switch {
	case r.problem != "":
		return 0, &Error{Msg: r.problem}
	case v.unknown:
		return 0, r.reason
	}
	return v.bits, nil
}

// run is the evaluation of one expression.
type run struct {
	m    *Machine
	c    *Context
	code []byte
	pos  int

	problem string // what is wrong with the current operation
	reason  error  // why there are unknown values on the stack

	pieces   []Piece
	first    int   // of pieces, that belongs to this expression
	location Piece // of the piece being described
	pending  bool  // there is one
	fresh    bool  // something was pushed since the last piece
}

// all executes the operations to the end.
func (r *run) all() error {
	for steps := 0; r.pos < len(r.code); steps++ {
		at := r.pos
		if steps == maxSteps {
			return &Error{Off: at, Msg: "more than 1000 operations"}
		}
		op := r.code[at]
		r.pos++
		r.m.Steps++
		if err := r.execute(op, at); err != nil {
			return err
		}
		if r.problem != "" {
			return &Error{Off: at, Op: op, Msg: r.problem}
		}
	}
	return nil
}

// fail notes the first thing that is wrong with an operation.
func (r *run) fail(msg string) {
	if r.problem == "" {
		r.problem = msg
	}
}

func (r *run) push(v uint64) { r.pushValue(value{bits: v}) }

func (r *run) pushValue(v value) {
	if r.m.depth == maxStack {
		r.fail("more than 64 values on the stack")
		return
	}
	r.m.stack[r.m.depth] = v
	r.m.depth++
	r.fresh = true
}

// pushOr pushes v, or a value that is unknown because of err.
func (r *run) pushOr(v value, err error) {
	if err != nil {
		if r.reason == nil {
			r.reason = err
		}
		v = value{typ: v.typ, unknown: true}
	}
	r.pushValue(v)
}

func (r *run) pop() value {
	if r.m.depth == 0 {
		r.fail("the stack is empty")
		return value{}
	}
	r.m.depth--
	return r.m.stack[r.m.depth]
}

// popAddr pops an integer. known is false if it is unknown.
func (r *run) popAddr() (v uint64, known bool) {
	top := r.pop()
	if top.typ.isFloat() {
		r.fail("not an integer")
	}
	return top.bits, !top.unknown
}

// pick pushes the value that is n below the top.
func (r *run) pick(n int) {
	if n >= r.m.depth {
		r.fail("it reaches below the stack")
		return
	}
	r.pushValue(r.m.stack[r.m.depth-1-n])
}

// jump moves by a number of bytes.
func (r *run) jump(by int16) {
	to := r.pos + int(by)
	if to < 0 || to > len(r.code) {
		r.fail("it leaves the expression")
		return
	}
	r.pos = to
}

// take returns the next n bytes, or nil.
func (r *run) take(n uint64) []byte {
	if n > uint64(len(r.code)-r.pos) {
		r.fail("cut off by the end of the expression")
		r.pos = len(r.code)
		return nil
	}
	b := r.code[r.pos : r.pos+int(n)]
	r.pos += int(n)
	return b
}

// uint reads an unsigned integer of size bytes, at most 8.
func (r *run) uint(size int) uint64 {
	return integer(r.take(uint64(size)), r.c.Arch.BigEndian)
}

func integer(b []byte, big bool) uint64 {
	var v uint64
	for i := range b {
		if big {
			v = v<<8 | uint64(b[i])
		} else {
			v |= uint64(b[i]) << (8 * i)
		}
	}
	return v
}

// maxLEB is the most bytes that a LEB128 number may take: enough for 64 bits.
const maxLEB = 10

// leb reads a LEB128 number, and returns how many bits were given and the last
// byte [DWARF 5, 7.6]. Bits beyond the 64th are dropped.
func (r *run) leb() (v uint64, bits uint, last byte) {
	for range maxLEB {
		b := r.take(1)
		if b == nil {
			return 0, 64, 0
		}
		last = b[0]
		v |= uint64(last&0x7f) << bits
		bits += 7
		if last < 0x80 {
			return v, bits, last
		}
	}
	r.fail("a LEB128 number of more than 10 bytes")
	return 0, 64, 0
}

func (r *run) uleb() uint64 {
	v, _, _ := r.leb()
	return v
}

func (r *run) sleb() int64 {
	v, bits, last := r.leb()
	if bits < 64 && last&0x40 != 0 {
		v |= ^uint64(0) << bits
	}
	return int64(v)
}
