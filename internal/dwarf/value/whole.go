package value

import (
	"bytes"

	"github.com/sfcore/sfcore/internal/dwarf/info"
	"github.com/sfcore/sfcore/memreader"
)

const (
	// maxWhole bounds a string that is read in full, in bytes, and wholeRead how many
	// are read at a time.
	maxWhole  = 1 << 20
	wholeRead = 1 << 12
)

// WholeText returns the string in an array of characters, or that a pointer to
// characters points to, up to 1 MiB, and whether that is all of it. ok is false if the
// object is neither, or cannot be read.
func (o *Object) WholeText() (text string, whole, ok bool) {
	if o.err != nil || o.Type == nil {
		return "", false, false
	}
	t := o.Type.Strip()
	if t.Kind != info.Array && t.Kind != info.Pointer || !isChar(t.Elem().Strip()) {
		return "", false, false
	}
	addr, inMemory := o.Address()
	size := uint64(maxWhole)
	if t.Kind == info.Array {
		n, err := o.count(t)
		if err != nil || !inMemory {
			return "", false, false
		}
		size = min(n, size)
	} else if p, _, err := o.integer(); err == nil {
		addr = p
	} else {
		return "", false, false
	}
	var all []byte
	for uint64(len(all)) < size {
		b, err := memreader.ReadFull(o.scope.frame.Mem, addr+uint64(len(all)), int(min(wholeRead, size-uint64(len(all)))))
		if i := bytes.IndexByte(b, 0); i >= 0 {
			return string(append(all, b[:i]...)), true, true
		}
		if all = append(all, b...); err != nil || len(b) == 0 {
			return string(all), false, len(all) > 0
		}
	}
	return string(all), t.Kind == info.Array && size < maxWhole, true
}
