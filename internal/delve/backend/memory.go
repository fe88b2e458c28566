package backend

import (
	"errors"
	"fmt"

	"github.com/sfcore/sfcore/internal/delve/wire"
)

const (
	// pageSize is the size of a request: a read of 8 bytes costs the other program
	// as much as a read of 16 KiB.
	pageSize = 16 << 10

	// maxPages bounds the memory that is kept, to 64 MiB.
	maxPages = 4096
)

var errReadOnly = errors.New("the process cannot be changed")

// memory is the memory of the process, in pages that are requested once. It
// implements proc.MemoryReadWriter.
type memory struct {
	conn  *wire.Conn
	pages map[uint64][]byte // by address; shorter than a page where that cannot be read to its end
}

// ReadMemory reads all of buf or fails.
func (m *memory) ReadMemory(buf []byte, addr uint64) (int, error) {
	for n := 0; n < len(buf); {
		at := addr + uint64(n)
		page, err := m.page(at &^ (pageSize - 1))
		if err != nil {
			return n, err
		}
		off := at & (pageSize - 1)
		if off >= uint64(len(page)) {
			// What precedes it may be what cannot be read.
			rest, err := m.conn.Read(at, min(len(buf)-n, wire.MaxRead))
			if err != nil {
				return n, err
			}
			page, off = rest, 0
		}
		if off >= uint64(len(page)) {
			return n, fmt.Errorf("the memory at %#x cannot be read", at)
		}
		n += copy(buf[n:], page[off:])
	}
	return len(buf), nil
}

func (m *memory) page(addr uint64) ([]byte, error) {
	if page, ok := m.pages[addr]; ok {
		return page, nil
	}
	page, err := m.conn.Read(addr, pageSize)
	if err != nil {
		return nil, err
	}
	if len(m.pages) >= maxPages {
		clear(m.pages)
	}
	m.pages[addr] = page
	return page, nil
}

// WriteMemory implements proc.MemoryReadWriter.
func (*memory) WriteMemory(uint64, []byte) (int, error) { return 0, errReadOnly }
