package plugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/plugin/proto"
)

const (
	// pageSize is the unit in which memory is read and kept: a call costs as
	// much for 8 bytes as for 4 KiB.
	pageSize = 4096

	// stackPages is how much of a stack is read ahead, from SP on.
	stackPages = 5 // 16 KiB, wherever in its page SP is

	// nearPages is how much is read ahead elsewhere.
	nearPages = 4

	// maxRanges bounds a request.
	maxRanges = 256

	// maxPages bounds the pages that are kept, 64 MiB. Beyond that all are dropped.
	maxPages = 1 << 14

	// maxImage bounds the part of the vDSO that is kept in one piece, in bytes.
	maxImage = 64 << 10

	// maxFault bounds a host's message about a fault, in bytes.
	maxFault = 256
)

// hostMemory reads the memory of a host's process in pages, and keeps them. It
// is safe for concurrent use.
type hostMemory struct {
	cancel context.CancelCauseFunc

	call   sync.Mutex // a request on stream and its reply
	stream proto.Host_ReadMemoryClient
	ctx    context.Context

	// Pages in which threads have their SP, in the order in which threads are
	// walked, and sorted by address.
	walked []uint64
	sorted []spot

	mu    sync.RWMutex
	pages map[uint64]page
	err   error // why the host was given up
}

// spot is a page and where it is in hostMemory.walked.
type spot struct {
	page uint64
	turn int
}

// page is the known part of a page. mem begins at base, and may hold more than the
// page. If it holds less, fault is the reason.
type page struct {
	mem   []byte
	base  uint64
	fault string
}

func newHostMemory(ctx context.Context, rpc proto.HostClient) (*hostMemory, error) {
	m := &hostMemory{pages: make(map[uint64]page)}
	m.ctx, m.cancel = context.WithCancelCause(ctx)
	var err error
	m.stream, err = rpc.ReadMemory(m.ctx)
	return m, err
}

var errHostClosed = errors.New("the session was closed")

// close makes reads fail.
func (m *hostMemory) close() { m.cancel(errHostClosed) }

// failure says why the host was given up, as an error of a call; nil if it was
// not.
func (m *hostMemory) failure() error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.err
}

// know learns from the image where stacks are, and keeps the vDSO in one piece.
func (m *hostMemory) know(img *core.Image) {
	for i := range img.Threads {
		if sp, ok := img.Threads[i].Regs.Get(img.Arch.SP); ok {
			m.sorted = append(m.sorted, spot{sp &^ (pageSize - 1), len(m.walked)})
			m.walked = append(m.walked, sp&^(pageSize-1))
		}
	}
	slices.SortFunc(m.sorted, func(a, b spot) int { return cmp.Compare(a.page, b.page) })
	if addr, ok := img.Auxv.Get(core.ATSysinfoEhdr); ok {
		if vdso := img.Mapping(addr); vdso != nil && vdso.Lo%pageSize == 0 {
			m.keep(vdso.Lo, min(vdso.Hi-vdso.Lo, maxImage))
		}
	}
}

// keep makes the readable memory at addr one piece.
func (m *hostMemory) keep(addr, size uint64) {
	mem, _ := memreader.ReadFull(m, addr, int(size))
	m.mu.Lock()
	defer m.mu.Unlock()
	for at := uint64(0); at < uint64(len(mem)); at += pageSize {
		m.pages[addr+at] = page{mem: mem, base: addr}
	}
}

// ReadMem implements memreader.Reader.
func (m *hostMemory) ReadMem(p []byte, addr uint64) (int, error) {
	n := 0
	for n < len(p) {
		at := addr + uint64(n)
		pg, err := m.page(at, uint64(len(p)-n))
		if err != nil {
			return n, err
		}
		have := pg.mem[min(at-pg.base, uint64(len(pg.mem))):]
		if len(have) == 0 {
			return n, pg.faultAt(at)
		}
		n += copy(p[n:], have)
	}
	return n, nil
}

// View implements memreader.Viewer.
func (m *hostMemory) View(addr uint64) ([]byte, uint64) {
	pg, err := m.page(addr, 1)
	if err != nil || addr-pg.base >= uint64(len(pg.mem)) {
		return nil, 0
	}
	return pg.mem, pg.base
}

// Gap returns the addresses around addr that cannot be read: those to the end
// of its page.
func (m *hostMemory) Gap(addr uint64) (lo, hi uint64) {
	pg, err := m.page(addr, 1)
	switch end := addr&^(pageSize-1) + pageSize; {
	case err != nil:
		return addr, end
	case addr-pg.base < uint64(len(pg.mem)):
		return addr, addr
	default:
		return pg.base + uint64(len(pg.mem)), end
	}
}

func (pg *page) faultAt(addr uint64) error {
	fault := &memreader.FaultError{Addr: addr, Why: memreader.Unmapped}
	if pg.fault == "" {
		return fault
	}
	return hostFault{fault, pg.fault}
}

// hostFault is a fault with the host's message.
type hostFault struct {
	*memreader.FaultError
	said string
}

func (e hostFault) Error() string {
	return fmt.Sprintf("memory at %#x: the host says %q", e.Addr, e.said)
}

func (e hostFault) Unwrap() error { return e.FaultError }

// page returns the page that contains addr. If it has to read the page, it also
// reads those of the next size bytes and others that will be needed soon.
func (m *hostMemory) page(addr, size uint64) (page, error) {
	at := addr &^ (pageSize - 1)
	if pg, ok, err := m.kept(at); ok || err != nil {
		return pg, err
	}
	m.call.Lock()
	defer m.call.Unlock()
	if pg, ok, err := m.kept(at); ok || err != nil {
		return pg, err
	}
	pages, err := m.read(m.ahead(at, size))
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		m.err = hostError("ReadMemory", err)
		m.cancel(m.err)
		return page{}, m.err
	}
	if len(m.pages)+len(pages) > maxPages {
		clear(m.pages)
	}
	for _, pg := range pages {
		m.pages[pg.base] = pg
	}
	return m.pages[at], nil
}

func (m *hostMemory) kept(at uint64) (page, bool, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	pg, ok := m.pages[at]
	return pg, ok, m.err
}

// ahead returns the addresses of pages to read, beginning with the page at an
// address.
func (m *hostMemory) ahead(at, size uint64) []uint64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	list := make([]uint64, 0, maxRanges)
	add := func(from, n uint64) {
		for i := range n {
			addr := from + i*pageSize
			if _, ok := m.pages[addr]; !ok && addr >= from && len(list) < maxRanges && !slices.Contains(list, addr) {
				list = append(list, addr)
			}
		}
	}
	add(at, 1)
	if size > pageSize {
		add(at, min((size+pageSize-1)/pageSize+1, maxRanges))
		return list
	}
	i, exact := slices.BinarySearchFunc(m.sorted, at, func(s spot, at uint64) int { return cmp.Compare(s.page, at) })
	if !exact {
		i--
	}
	if i < 0 || at-m.sorted[i].page >= stackPages*pageSize {
		add(at, nearPages)
		return list
	}
	for _, stack := range m.walked[m.sorted[i].turn:] {
		if len(list)+stackPages > maxRanges {
			break
		}
		add(stack, stackPages)
	}
	return list
}

// read asks the host for pages.
func (m *hostMemory) read(list []uint64) ([]page, error) {
	req := &proto.HostReadRequest{Ranges: make([]*proto.HostRange, len(list))}
	for i, addr := range list {
		req.Ranges[i] = &proto.HostRange{Address: addr, Length: pageSize}
	}
	timer := time.AfterFunc(hostTime, func() { m.cancel(errHostTime) })
	defer timer.Stop()
	reply, err := m.exchange(req)
	switch cause := context.Cause(m.ctx); {
	case errors.Is(cause, errHostTime), errors.Is(cause, errHostClosed):
		return nil, cause
	case err != nil:
		return nil, err
	case len(reply.GetChunks()) != len(list):
		return nil, fmt.Errorf("there are %d chunks for %d ranges", len(reply.GetChunks()), len(list))
	}
	pages := make([]page, len(list))
	for i, c := range reply.GetChunks() {
		if len(c.GetData()) > pageSize {
			return nil, fmt.Errorf("chunk %d: data has %d bytes for a range of %d", i, len(c.GetData()), pageSize)
		}
		pages[i] = page{mem: c.GetData(), base: list[i], fault: c.GetFault()[:min(len(c.GetFault()), maxFault)]}
	}
	return pages, nil
}

func (m *hostMemory) exchange(req *proto.HostReadRequest) (*proto.HostReadReply, error) {
	if err := m.stream.Send(req); err != nil {
		if _, recvErr := m.stream.Recv(); recvErr != nil {
			return nil, recvErr // Send's tells only that the stream has ended
		}
		return nil, err
	}
	return m.stream.Recv()
}
