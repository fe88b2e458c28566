// Package memreader reads the memory of a stopped process, wherever it is kept:
// in a core file, in the files that the process had mapped, in the live process,
// or at a plugin's host. It knows nothing about registers or modules.
package memreader

import (
	"bytes"
	"fmt"
)

// Reader is the memory of a process. Implementations are safe for concurrent use.
type Reader interface {
	// ReadMem reads len(p) bytes at addr. If n < len(p) the error says why
	// the byte at addr+n cannot be read; missing memory is a [*FaultError].
	ReadMem(p []byte, addr uint64) (n int, err error)
}

// Viewer is implemented by a Reader that can hand out memory without copying.
type Viewer interface {
	// View returns readable memory that contains addr, and the address of its
	// first byte. It returns nil if it has none to hand out; ReadMem then says
	// why. The slice must not be modified, and lives as long as the Reader.
	View(addr uint64) (mem []byte, base uint64)
}

// Why says why memory cannot be read.
type Why uint8

// Reasons.
const (
	Unmapped   Why = iota // no mapping contains the address
	NotDumped             // mapped, but no available file has its bytes
	Truncated             // the file that held the bytes is cut off
	Denied                // the system refused to read it
	Gone                  // the process or the file is no longer there
	NotCopied             // memory of a live process that was not copied while it stood still
	OverBudget            // memory of a stack beyond the budget for each stack
	OutOfTime             // memory of a stack that was not copied before the process was let go
)

func (w Why) String() string {
	switch w {
	case Unmapped:
		return "not mapped"
	case NotDumped:
		return "not in the core file"
	case Truncated:
		return "the core file is truncated"
	case Denied:
		return "permission denied"
	case Gone:
		return "no longer there"
	case NotCopied:
		return "not copied from the live process"
	case OverBudget:
		return "beyond the part of the stack that was copied"
	case OutOfTime:
		return "not copied before the live process had to be let go"
	}
	return fmt.Sprintf("reason %d", uint8(w))
}

// FaultError is an address that cannot be read.
type FaultError struct {
	Addr uint64
	Why  Why
}

func (e *FaultError) Error() string {
	return fmt.Sprintf("memory at %#x: %v", e.Addr, e.Why)
}

// Copy is memory to be copied from a process.
type Copy struct {
	Addr uint64
	// Data receives the memory, as much as fits.
	Data []byte
	// N is the number of bytes copied. If N < len(Data), Err says why byte
	// Addr+N was not.
	N   int
	Err error
}

// firstRead is what ReadFull allocates before it knows how much is readable, in
// bytes.
const firstRead = 64 << 10

// ReadFull reads up to size bytes at addr into new memory, for as long as they
// are readable. A short result comes with the error of the byte after it. The
// caller bounds size; memory is allocated in proportion to what is readable.
func ReadFull(r Reader, addr uint64, size int) ([]byte, error) {
	p := make([]byte, min(size, firstRead))
	for n := 0; ; {
		k, err := r.ReadMem(p[n:], addr+uint64(n))
		if n += k; n < len(p) {
			return bytes.Clone(p[:n]), err // the rest of p is not kept
		} else if n == size {
			return p, err
		}
		p = append(p, make([]byte, min(size-n, n))...)
	}
}
