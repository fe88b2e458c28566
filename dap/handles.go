package dap

// refKind says what a ref refers to.
type refKind uint8

const (
	refFrame      refKind = iota // a frame of a thread
	refRegisters                 // its registers
	refGroup                     // group item of these
	refVector                    // the elements of vector register item of the thread
	refUnwind                    // how the frame was found
	refArguments                 // its arguments
	refLocals                    // its local variables
	refGlobals                   // the global variables of its unit
	refObject                    // part addr of what the reference item has: a variable or a part of one
	refExpression                // expression item of the snapshot, in a frame
	refRemote                    // source file item that a server may have
	refMissing                   // page item about what is missing
	refListing                   // page item of the disassembly of the function at addr
	refAround                    // the disassembly around addr
)

// ref is the object that a number in the protocol refers to. The number is a
// frame id, a variables reference or a source reference.
type ref struct {
	kind   refKind
	thread int // as in the protocol
	frame  int // index in the stack
	item   int
	addr   uint64
}

// handles numbers refs: the same ref always has the same number, and no number
// is used twice in a session, so that an old number never refers to something new.
type handles struct {
	base int // the first number
	refs []ref
	ids  map[ref]int
}

func (h *handles) id(r ref) int {
	id, ok := h.ids[r]
	if !ok {
		id = h.end()
		h.refs = append(h.refs, r)
		h.ids[r] = id
	}
	return id
}

// get returns the ref of one of the given kinds with a number.
func (h *handles) get(id int, kinds ...refKind) (ref, bool) {
	if id < h.base || id >= h.end() {
		return ref{}, false
	}
	r := h.refs[id-h.base]
	for _, k := range kinds {
		if r.kind == k {
			return r, true
		}
	}
	return ref{}, false
}

// end returns the first number that is not used.
func (h *handles) end() int { return h.base + len(h.refs) }
