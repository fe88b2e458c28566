package rpc

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/memreader"
)

const (
	// pageSize is the unit in which memory is kept. It is also the unit of a second
	// request if a larger piece cannot be read: dlv reads a whole piece or nothing.
	pageSize = 4096

	// pieceSize is the size of a request. It takes dlv three times as long as 8
	// bytes. dlv allows at most 64 KiB.
	pieceSize = 16 << 10

	// stackAhead is how much of each stack is read before any is walked.
	stackAhead = 16 << 10

	// maxBreakpoints bounds the addresses of breakpoints.
	maxBreakpoints = 1 << 16

	// maxPages bounds the pages that are kept, 64 MiB. Beyond that all are dropped.
	maxPages = 1 << 14
)

// memory reads the process in pages, and keeps them. It is safe for concurrent
// use.
type memory struct {
	c           *client
	img         *core.Image
	breakpoints []uint64 // ascending; dlv's instructions are in memory there
	at          mark     // of the stop that the image is of

	fetch sync.Mutex
	mu    sync.RWMutex
	pages map[uint64][]byte // nil where a page cannot be read
	err   error             // reads fail from now on
}

// mark tells one stop of the process from another, as far as dlv makes that
// possible: by the registers of a thread, and by the hit counts of breakpoints.
type mark struct {
	tid  int
	regs arch.Regs
	hits uint64
}

func newMemory(c *client, img *core.Image, list *breakpointsOut, hits uint64) (*memory, error) {
	m := &memory{c: c, img: img, at: mark{hits: hits}, pages: make(map[uint64][]byte)}
	for i := range list.Breakpoints {
		if b := &list.Breakpoints[i]; b.WatchExpr == "" { // watchpoints are in registers
			m.breakpoints = append(m.breakpoints, b.Addrs...)
		}
	}
	if n := len(m.breakpoints); n > maxBreakpoints {
		return nil, fmt.Errorf("dlv lists %d breakpoints, more than %d", n, maxBreakpoints)
	}
	slices.Sort(m.breakpoints)
	for i := range img.Threads {
		if th := &img.Threads[i]; th.Err == nil {
			m.at.tid, m.at.regs = th.ID, th.Regs
			break
		}
	}
	return m, nil
}

var errGone = errors.New("the process continued while sfcore read it; halt it in dlv and try again")

// readStacks reads the top of each stack ahead.
func (m *memory) readStacks(ctx context.Context) error {
	var pieces []uint64
	for i := range m.img.Threads {
		if sp, ok := m.img.Threads[i].Regs.Get(m.img.Arch.SP); ok {
			pieces = append(pieces, sp&^(pieceSize-1), (sp+stackAhead)&^(pieceSize-1))
		}
	}
	slices.Sort(pieces)
	return m.read(ctx, slices.Compact(pieces))
}

// read reads pieces, and checks that the process is still at the same stop.
func (m *memory) read(ctx context.Context, pieces []uint64) error {
	pages, err := m.examine(ctx, pieces, pieceSize)
	if err == nil {
		err = m.check(ctx)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		m.err = err
		return err
	}
	if len(m.pages)+len(pages) > maxPages {
		clear(m.pages)
	}
	maps.Copy(m.pages, pages)
	return nil
}

// examine returns the pages of pieces.
func (m *memory) examine(ctx context.Context, pieces []uint64, size int) (map[uint64][]byte, error) {
	replies, calls := make([]memoryOut, len(pieces)), make([]*call, len(pieces))
	for i, addr := range pieces {
		calls[i] = &call{method: "ExamineMemory", args: memoryIn{addr, size}, reply: &replies[i]}
	}
	if err := m.c.do(ctx, calls...); err != nil {
		return nil, err
	}
	pages := make(map[uint64][]byte)
	var partly []uint64
	for i, addr := range pieces {
		data := replies[i].Mem
		switch {
		case calls[i].err != nil && size > pageSize:
			for off := 0; off < size; off += pageSize {
				partly = append(partly, addr+uint64(off))
			}
		case calls[i].err != nil:
			pages[addr] = nil
		case len(data) != size:
			return nil, fmt.Errorf("dlv returned %d bytes of memory instead of %d", len(data), size)
		default:
			for off := 0; off < size; off += pageSize {
				pages[addr+uint64(off)] = data[off : off+pageSize]
			}
		}
	}
	if len(partly) > 0 {
		more, err := m.examine(ctx, partly, pageSize)
		if err != nil {
			return nil, err
		}
		maps.Copy(pages, more)
	}
	return pages, nil
}

// check compares the mark of the stop with the present one.
func (m *memory) check(ctx context.Context) error {
	var list breakpointsOut
	var regs registersOut
	now := mark{tid: m.at.tid}
	err := m.c.all(ctx,
		&call{method: "ListBreakpoints", args: breakpointsIn{}, reply: &list},
		&call{method: "ListRegisters", args: registersIn{now.tid}, reply: &regs})
	if err == nil {
		err = setRegisters(m.img.Arch, &now.regs, regs.Regs)
	}
	if now.hits = list.hits(); err == nil && now != m.at {
		err = errGone
	}
	return err
}

// failure says why reads fail; nil if they do not.
func (m *memory) failure() error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.err
}

// ReadMem implements memreader.Reader.
func (m *memory) ReadMem(p []byte, addr uint64) (int, error) {
	n := 0
	for n < len(p) {
		at := addr + uint64(n)
		page, err := m.page(at, uint64(len(p)-n))
		if err != nil {
			return n, err
		}
		if page == nil {
			return n, &memreader.FaultError{Addr: at, Why: memreader.Unmapped}
		}
		have := page[at%pageSize:]
		if bp, _, ok := m.breakpoint(at); ok && at >= bp {
			return n, breakpointFault{&memreader.FaultError{Addr: at, Why: memreader.NotDumped}}
		} else if ok {
			have = have[:min(uint64(len(have)), bp-at)]
		}
		n += copy(p[n:], have)
	}
	return n, nil
}

// breakpointFault is memory where dlv's instruction replaces the program's.
type breakpointFault struct{ *memreader.FaultError }

func (e breakpointFault) Error() string {
	return fmt.Sprintf("memory at %#x: dlv has set a breakpoint there", e.Addr)
}

func (e breakpointFault) Unwrap() error { return e.FaultError }

// Gap returns the addresses around addr that cannot be read: its page, or the
// bytes of a breakpoint.
func (m *memory) Gap(addr uint64) (lo, hi uint64) {
	lo = addr &^ (pageSize - 1)
	if page, err := m.page(addr, 1); err != nil || page == nil {
		return lo, lo + pageSize
	}
	if bp, size, ok := m.breakpoint(addr); ok && addr >= bp {
		return bp, bp + size
	}
	return addr, addr
}

// breakpoint returns the breakpoint that an address is in or, in the same page,
// the next one above.
func (m *memory) breakpoint(addr uint64) (at, size uint64, ok bool) {
	size = m.img.Arch.InsnAlign // dlv writes int3 on amd64, brk on arm64
	i, _ := slices.BinarySearchFunc(m.breakpoints, addr, func(bp, addr uint64) int {
		if bp+size <= addr {
			return -1
		}
		return 1
	})
	if i == len(m.breakpoints) || m.breakpoints[i]&^(pageSize-1) != addr&^(pageSize-1) {
		return 0, 0, false
	}
	return m.breakpoints[i], size, true
}

// page returns the page that contains addr, nil if it cannot be read. If it has to
// read the page, it also reads others of the next size bytes.
func (m *memory) page(addr, size uint64) ([]byte, error) {
	at := addr &^ (pageSize - 1)
	if page, ok, err := m.kept(at); ok || err != nil {
		return page, err
	}
	m.fetch.Lock()
	defer m.fetch.Unlock()
	if page, ok, err := m.kept(at); ok || err != nil {
		return page, err
	}
	piece := at &^ (pieceSize - 1)
	pieces := []uint64{piece}
	for next := piece + pieceSize; next > piece && next-addr < size && len(pieces) < maxBatch; next += pieceSize {
		pieces = append(pieces, next)
	}
	if err := m.read(context.Background(), pieces); err != nil {
		return nil, err
	}
	page, _, err := m.kept(at)
	return page, err
}

func (m *memory) kept(at uint64) ([]byte, bool, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	page, ok := m.pages[at]
	return page, ok, m.err
}
