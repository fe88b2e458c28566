package core

import (
	"encoding/binary"
	"os"
	"sort"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/sfcore/sfcore/memreader"
)

// carefulMemory reads a process, but no page of a file that may never answer unless
// the page is in memory. A thread that waits for such a page cannot be killed.
type carefulMemory struct {
	*memreader.Live
	doubtful atomic.Pointer[[]span] // ascending
	lost     atomic.Bool
	pagemap  *os.File // nil if it cannot be read
}

// avoid sets the memory of files that may never answer.
func (c *carefulMemory) avoid(spans []span) { c.doubtful.Store(&spans) }

// lose makes all memory unreadable. Nobody waits any more for the lock of the
// mappings; process_vm_readv would wait for it even when it is killed.
func (c *carefulMemory) lose() { c.lost.Store(true) }

// Close ends the use of the memory.
func (c *carefulMemory) Close() error {
	if c.pagemap != nil {
		c.pagemap.Close()
	}
	return c.Live.Close()
}

// ReadMem implements memreader.Reader.
func (c *carefulMemory) ReadMem(p []byte, addr uint64) (int, error) {
	if c.lost.Load() {
		return 0, &memreader.FaultError{Addr: addr, Why: memreader.OutOfTime}
	}
	n := c.readable(addr, len(p))
	if n == len(p) {
		return c.Live.ReadMem(p, addr)
	}
	k, err := c.Live.ReadMem(p[:n], addr)
	if err == nil {
		err = &memreader.FaultError{Addr: addr + uint64(k), Why: memreader.NotCopied}
	}
	return k, err
}

// ReadAll makes all copies; see memreader.Live.
func (c *carefulMemory) ReadAll(copies []memreader.Copy, progress func(done int) (more bool)) {
	if c.lost.Load() {
		for i := range copies {
			copies[i].Err = &memreader.FaultError{Addr: copies[i].Addr, Why: memreader.OutOfTime}
		}
		if progress != nil {
			progress(len(copies))
		}
		return
	}
	full := make([][]byte, len(copies))
	for i := range copies {
		full[i] = copies[i].Data
		copies[i].Data = full[i][:c.readable(copies[i].Addr, len(full[i]))]
	}
	settled := 0
	c.Live.ReadAll(copies, func(done int) bool {
		// Whoever hears of progress may read what is complete.
		for ; settled < done; settled++ {
			n := &copies[settled]
			if len(n.Data) < len(full[settled]) && n.N == len(n.Data) {
				n.Err = &memreader.FaultError{Addr: n.Addr + uint64(n.N), Why: memreader.NotCopied}
			}
			n.Data = full[settled]
		}
		return progress == nil || progress(done)
	})
}

const pageBytes = 4096 // at most a page of any system

// readable returns how many of n bytes can be read without asking a file system
// that may never answer.
func (c *carefulMemory) readable(addr uint64, n int) int {
	list := c.doubtful.Load()
	if list == nil || len(*list) == 0 {
		return n
	}
	end := addr + uint64(n)
	i := sort.Search(len(*list), func(i int) bool { return (*list)[i].hi > addr })
	for ; i < len(*list) && (*list)[i].lo < end; i++ {
		s := (*list)[i]
		for at := max(s.lo, addr); at < min(s.hi, end); at = at&^(pageBytes-1) + pageBytes {
			if !c.present(at) {
				return int(at - addr)
			}
		}
	}
	return n
}

// present reports whether a page is in memory [linux
// Documentation/admin-guide/mm/pagemap.rst].
func (c *carefulMemory) present(addr uint64) bool {
	const present = 1 << 63
	var entry [8]byte
	if c.pagemap == nil {
		return false
	}
	n, _ := c.pagemap.ReadAt(entry[:], int64(addr/uint64(unix.Getpagesize())*8))
	return n == len(entry) && binary.NativeEndian.Uint64(entry[:])&present != 0
}
