package memreader

// Layers reads from Top, and from Under where Top has nothing: a core file's bytes
// over those of the files that the process had mapped.
type Layers struct {
	Top, Under Reader
}

// gapper is implemented by a Reader that knows what it cannot read.
type gapper interface {
	// Gap returns the addresses around addr, lo to hi, that cannot be read; an
	// empty range if addr can.
	Gap(addr uint64) (lo, hi uint64)
}

// ReadMem implements [Reader]. Where neither layer can read, the error is
// Top's, which knows what was mapped.
func (l *Layers) ReadMem(p []byte, addr uint64) (int, error) {
	n := 0
	for {
		k, err := l.Top.ReadMem(p[n:], addr+uint64(n))
		if n += k; n >= len(p) {
			return n, nil
		}
		_, hi := l.gap(addr + uint64(n))
		hole := min(uint64(len(p)-n), hi-(addr+uint64(n)))
		k, _ = l.Under.ReadMem(p[n:n+int(hole)], addr+uint64(n))
		if k == 0 {
			return n, err
		}
		n += k
	}
}

// gap returns the range around addr that Top cannot read. If Top does not say, it
// is the one byte.
func (l *Layers) gap(addr uint64) (lo, hi uint64) {
	if g, ok := l.Top.(gapper); ok {
		return g.Gap(addr)
	}
	return addr, addr + 1
}

// View implements [Viewer] if the layers do. Memory of Under ends where memory of
// Top begins again.
func (l *Layers) View(addr uint64) ([]byte, uint64) {
	if v, ok := l.Top.(Viewer); ok {
		if mem, base := v.View(addr); mem != nil {
			return mem, base
		}
	}
	v, ok := l.Under.(Viewer)
	if !ok {
		return nil, 0
	}
	mem, base := v.View(addr)
	lo, hi := l.gap(addr)
	if mem == nil || addr >= hi {
		return nil, 0
	}
	if skip := lo - base; lo > base {
		mem, base = mem[skip:], lo
	}
	return mem[:min(uint64(len(mem)), hi-base)], base
}
