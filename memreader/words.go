package memreader

import "encoding/binary"

// Words reads integers and strings of a process without allocating. It is
// not safe for concurrent use: every worker has its own. Copy the fields, not
// the value, to make another.
type Words struct {
	R         Reader
	BigEndian bool

	window  []byte // memory that was viewed last
	base    uint64 // its address
	scratch [maxBytes]byte
}

// Use makes w read from mem, which is a copy of the memory at an address, until w reads
// from elsewhere. mem must stay as it is as long as w is in use, or until the next Use.
func (w *Words) Use(mem []byte, addr uint64) { w.window, w.base = mem, addr }

// Uint64 reads the 8-byte integer at addr, in the byte order of the process.
func (w *Words) Uint64(addr uint64) (uint64, error) {
	var b []byte
	if off := addr - w.base; off < uint64(len(w.window)) && uint64(len(w.window))-off >= 8 {
		b = w.window[off : off+8]
	} else {
		var err error
		if b, err = w.miss(addr, 8); err != nil {
			return 0, err
		}
	}
	if w.BigEndian {
		return binary.BigEndian.Uint64(b), nil
	}
	return binary.LittleEndian.Uint64(b), nil
}

// Uint reads the unsigned integer of size 1, 2, 4 or 8 bytes at addr.
func (w *Words) Uint(addr uint64, size int) (uint64, error) {
	b, err := w.Bytes(addr, size)
	if err != nil {
		return 0, err
	}
	var v uint64
	for i := range b {
		at := i
		if !w.BigEndian {
			at = len(b) - 1 - i
		}
		v = v<<8 | uint64(b[at])
	}
	return v, nil
}

// maxBytes is the most that Bytes returns: enough for any integer and for the
// instructions of a signal trampoline.
const maxBytes = 16

// Bytes returns the size (at most 16) bytes at addr, valid until the next call.
func (w *Words) Bytes(addr uint64, size int) ([]byte, error) {
	if off := addr - w.base; off < uint64(len(w.window)) && uint64(len(w.window))-off >= uint64(size) {
		return w.window[off : off+uint64(size)], nil
	}
	return w.miss(addr, size)
}

func (w *Words) miss(addr uint64, size int) ([]byte, error) {
	if v, ok := w.R.(Viewer); ok {
		if mem, base := v.View(addr); mem != nil {
			w.window, w.base = mem, base
			if off := addr - base; uint64(len(mem))-off >= uint64(size) {
				return mem[off : off+uint64(size)], nil
			}
		}
	}
	n, err := w.R.ReadMem(w.scratch[:size], addr)
	if n < size {
		if err == nil {
			err = &FaultError{Addr: addr + uint64(n)}
		}
		return nil, err
	}
	return w.scratch[:size], nil
}

// CString reads the string at addr up to its NUL, or limit bytes of it. If memory
// ends before, it returns the bytes that could be read, and the error.
func (w *Words) CString(addr uint64, limit int) (string, error) {
	var s []byte
	for len(s) < limit {
		b, err := w.Bytes(addr+uint64(len(s)), 1)
		if err != nil {
			return string(s), err
		}
		if b[0] == 0 {
			break
		}
		s = append(s, b[0])
	}
	return string(s), nil
}
