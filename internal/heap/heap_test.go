package heap

import (
	"encoding/binary"
	"testing"

	"github.com/sfcore/sfcore/memreader"
)

const begin = 0x555555559000 // where the heap is

// made is a heap: blocks of 32 bytes each behind the cache, and the top.
type made struct {
	order binary.ByteOrder
	mem   []byte
}

// newMade makes a heap whose first block is the cache of a size, or something else.
func newMade(order binary.ByteOrder, first, blocks int) (m *made, all []uint64) {
	m = &made{order, make([]byte, first+blocks*0x30+0x100)}
	m.put(8, uint64(first)|prevInUse)
	for i := range blocks {
		off := first + i*0x30
		m.put(off+8, 0x30|prevInUse)
		all = append(all, begin+uint64(off)+header)
	}
	m.put(len(m.mem)-0x100+8, 0x100|prevInUse)
	return m, all
}

func (m *made) put(off int, v uint64) { m.order.PutUint64(m.mem[off:], v) }

// free marks a block as free in the chunk behind it.
func (m *made) free(block uint64) {
	next := int(block-begin) - header + 0x30
	m.put(next, 0x30)
	m.put(next+8, m.order.Uint64(m.mem[next+8:])&^prevInUse)
}

// cache has the cache list blocks of the size, and say that there are count.
func (m *made) cache(count int, mangled bool, blocks ...uint64) {
	const bin = (0x30 - minChunk) / alignment
	m.order.PutUint16(m.mem[header+2*bin:], uint16(count))
	m.put(header+2*cacheBins+8*bin, blocks[0])
	for i, b := range blocks {
		next := uint64(0)
		if i+1 < len(blocks) {
			next = blocks[i+1]
		}
		if mangled {
			next ^= b >> 12
		}
		m.put(int(b-begin), next)
	}
}

func (m *made) find(addr uint64) (Block, bool) {
	mem := memreader.NewSpace([]memreader.Segment{{Addr: begin, Size: uint64(len(m.mem)), Data: m.mem}})
	return Find(&memreader.Words{R: mem, BigEndian: m.order == binary.ByteOrder(binary.BigEndian)}, begin, begin+uint64(len(m.mem)), addr)
}

// A block is found by every address in it, and is free if the chunk behind it, or the
// cache, says so; in whatever order, and with the lists of every glibc.
func TestFind(t *testing.T) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, mangled := range []bool{true, false} {
			m, blocks := newMade(order, cacheSize, 6)
			m.free(blocks[1])
			m.cache(2, mangled, blocks[4], blocks[3])
			for i, b := range blocks {
				want := Block{b, 0x28, i == 1 || i == 3 || i == 4}
				for _, addr := range []uint64{b, b + 1, b + 0x27} {
					if got, ok := m.find(addr); !ok || got != want {
						t.Errorf("%v, block %d: got %+v, %v, want %+v", order, i, got, ok, want)
					}
				}
			}
			for what, addr := range map[string]uint64{"the first header": begin + 8, "the top": begin + uint64(len(m.mem)) - 8} {
				if got, ok := m.find(addr); ok {
					t.Errorf("%s: got %+v", what, got)
				}
			}
		}
	}
}

// A heap whose parts do not fit together says nothing, and lists that do not, not that a
// block is free.
func TestDamage(t *testing.T) {
	for name, damage := range map[string]func(*made){
		"a size of 0":               func(m *made) { m.put(cacheSize+0x30+8, 0) },
		"a size that is no chunk's": func(m *made) { m.put(cacheSize+0x30+8, 0x38|prevInUse) },
		"a size beyond the end":     func(m *made) { m.put(cacheSize+0x30+8, 1<<40|prevInUse) },
		"another arena":             func(m *made) { m.put(cacheSize+0x30+8, 0x30|prevInUse|4) },
		"another size before":       func(m *made) { m.put(cacheSize+2*0x30, 0x40) },
		"nothing before":            func(m *made) { m.put(8, cacheSize) },
	} {
		m, blocks := newMade(binary.LittleEndian, cacheSize, 6)
		m.free(blocks[1])
		damage(m)
		if got, ok := m.find(blocks[1]); ok {
			t.Errorf("%s: got %+v", name, got)
		}
	}
	for name, damage := range map[string]func(*made, []uint64){
		"fewer than counted": func(m *made, b []uint64) { m.cache(3, true, b[4], b[3]) },
		"more than counted":  func(m *made, b []uint64) { m.cache(1, true, b[4], b[3]) },
		"in a circle":        func(m *made, b []uint64) { m.put(int(b[3]-begin), b[4]^b[3]>>12) },
		"outside":            func(m *made, b []uint64) { m.put(int(b[3]-begin), 0x1000^b[3]>>12) },
		"another structure":  func(m *made, _ []uint64) { m.put(8, cacheSize-0x30|prevInUse); m.put(cacheSize-0x30+8, 0x30|prevInUse) },
		"very many":          func(m *made, b []uint64) { m.cache(1<<15, true, b[4], b[3]) },
	} {
		m, blocks := newMade(binary.LittleEndian, cacheSize, 6)
		m.cache(2, true, blocks[4], blocks[3])
		damage(m, blocks)
		if got, _ := m.find(blocks[4]); got.Free {
			t.Errorf("%s: the block is free: %+v", name, got)
		}
	}
}

// Any bytes give a block that contains the address, or none.
func FuzzFind(f *testing.F) {
	m, blocks := newMade(binary.LittleEndian, cacheSize, 6)
	m.free(blocks[1])
	m.cache(2, true, blocks[4], blocks[3])
	f.Add(m.mem, uint64(cacheSize+0x50))
	f.Fuzz(func(t *testing.T, mem []byte, off uint64) {
		if len(mem) < 32 {
			return
		}
		if b, ok := (&made{binary.LittleEndian, mem}).find(begin + off); ok && (begin+off < b.Addr || begin+off-b.Addr >= b.Size || b.Addr+b.Size > begin+uint64(len(mem))) {
			t.Errorf("got %+v for %#x", b, begin+off)
		}
	})
}
