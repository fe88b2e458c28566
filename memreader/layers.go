package memreader

// Layers reads from Top, and what Top does not have from Under: a core file's
// bytes over those of the files that the process had mapped.
type Layers struct {
	Top, Under Reader
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
		// Under may have bytes for a hole that ends where Top's go on, so it is
		// asked for no more than a page at a time.
		page := min(len(p)-n, int(pageSize-(addr+uint64(n))%pageSize))
		k, _ = l.Under.ReadMem(p[n:n+page], addr+uint64(n))
		if k == 0 {
			return n, err
		}
		n += k
	}
}

const pageSize = 4096

// View implements [Viewer] where the layers do.
func (l *Layers) View(addr uint64) ([]byte, uint64) {
	for _, r := range []Reader{l.Top, l.Under} {
		if v, ok := r.(Viewer); ok {
			if mem, base := v.View(addr); mem != nil {
				return mem, base
			}
		}
	}
	return nil, 0
}
