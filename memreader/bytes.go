package memreader

// spaced is implemented by a Reader that reads from a Space, and may say so.
type spaced interface {
	// WholeSpace returns the Space, which may be read without the Reader; nil if there is none.
	WholeSpace() *Space
}

// Bytes returns memory at addr: a view of all that r can hand out from there in
// one piece, if that is at least size bytes, all that is readable, or r is a [*Space];
// or else a copy of up to size bytes. If it is shorter, it comes with the error of its
// end, unless r is a Space. The caller bounds
// size, and must not modify the result.
func Bytes(r Reader, addr uint64, size int) ([]byte, error) {
	if s, ok := r.(spaced); ok && s.WholeSpace() != nil {
		r = s.WholeSpace()
	}
	switch v := r.(type) {
	case *Space:
		if mem := v.Run(addr); len(mem) > 0 {
			return mem, nil
		}
		size = min(size, 1) // not even one is there, but its error says why
	case Viewer:
		mem, base := v.View(addr)
		if off := addr - base; off < uint64(len(mem)) {
			mem = mem[off:]
			if len(mem) >= size {
				return mem, nil
			}
			var next [1]byte
			if _, err := r.ReadMem(next[:], addr+uint64(len(mem))); err != nil {
				return mem, err
			}
		}
	}
	return ReadFull(r, addr, size)
}
