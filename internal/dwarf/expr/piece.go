package expr

// Kind is how a [Piece] is given [DWARF 5, 2.6.1.1].
type Kind uint8

// The kinds.
const (
	None     Kind = iota // nowhere: it was optimised out
	Memory               // in memory at Addr
	Register             // in register Reg
	Value                // the value is Value
	Bytes                // the value is Data
	Pointer              // a pointer to an object that is not in memory
	Unknown              // unknown; Err says why
)

// Piece is the location or the value of a part of an object.
type Piece struct {
	Kind Kind
	// Bits is the size of the part, 0 if it is the whole object.
	Bits uint64
	// Off is how many bits at the start of the location are not part of it.
	Off   uint64
	Addr  uint64
	Reg   uint64 // DWARF number
	Value uint64
	Data  []byte // in the order of memory
	Err   error
}

// maxPieces bounds the pieces of a location. Compilers split structures into
// their members, of which some tens are in registers.
const maxPieces = 1024

// Locate evaluates an expression that locates an object, and appends the location
// to dst: one piece, or the pieces that the object is composed of, in their order
// in memory. No piece at all, like one of Kind None, stands for an object that was
// optimised out. The error is an [*Error].
func (m *Machine) Locate(c *Context, code []byte, dst []Piece) ([]Piece, error) {
	r := run{m: m, c: c, code: code, pieces: dst, first: len(dst)}
	m.depth = 0
	if err := r.all(); err != nil {
		return dst, err
	}
	if len(r.pieces) == r.first || r.pending || r.m.depth > 0 && r.fresh {
		if err := r.endPiece(0, 0, len(code)); err != nil {
			return dst, err
		}
	}
	return r.pieces, nil
}

// simple makes p the location of the piece being described.
func (r *run) simple(p Piece) {
	if r.pending {
		r.fail("two locations without a piece between them")
		return
	}
	r.location, r.pending = p, true
}

// endPiece ends the description of a piece of so many bits.
func (r *run) endPiece(size, off uint64, at int) error {
	p := Piece{Kind: None}
	switch {
	case r.pending:
		p = r.location
	case r.m.depth > 0 && r.fresh:
		if p = r.address(); p.Kind == None {
			return &Error{Off: at, Msg: "the address is not an integer"}
		}
	}
	if len(r.pieces)-r.first >= maxPieces {
		return &Error{Off: at, Msg: "more than 1024 pieces"}
	}
	p.Bits, p.Off = size, off
	r.pieces = append(r.pieces, p)
	r.pending, r.fresh, r.location = false, false, Piece{}
	return nil
}

// address pops the address of a piece in memory.
func (r *run) address() Piece {
	v := r.pop()
	switch {
	case v.unknown:
		return Piece{Kind: Unknown, Err: r.reason}
	case v.typ.isFloat():
		return Piece{}
	}
	return Piece{Kind: Memory, Addr: v.bits}
}
