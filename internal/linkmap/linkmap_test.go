package linkmap

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/memreader"
)

// A list leads from DT_DEBUG over struct r_debug to its entries.
func TestList(t *testing.T) {
	const at, bias = 0x1000, 0x500
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		t.Run(order.String(), func(t *testing.T) {
			b := testkit.New(order).
				D64(1, 2, dynDebug, at+0x30, dynNull, 0). // PT_DYNAMIC
				D64(1, at+0x40).                          // struct r_debug
				D64(bias, at+0x90, 0, at+0x68, 0).        // link_map of the program
				D64(0x7000, at+0x91, 0x7e00, 0, at+0x40). // and of a library
				Str("").Str("/lib/libc.so.6").Done()
			space := memreader.NewSpace([]memreader.Segment{{Addr: at, Size: uint64(len(b)), Data: b}})
			words := &memreader.Words{R: space, BigEndian: order == binary.BigEndian}
			f := &elfx.File{Progs: []elfx.Prog{{Type: elfx.ProgDynamic, Vaddr: at - bias, Memsz: 48}}}
			rdebug, ok := RDebug(words, f, bias)
			if rdebug != at+0x30 || !ok {
				t.Fatalf("r_debug: got %#x, %v", rdebug, ok)
			}
			want := []Entry{{"", bias, 0}, {"/lib/libc.so.6", 0x7000, 0x7e00}}
			if got := slices.Collect(All(words, rdebug)); !slices.Equal(got, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
			for range All(words, rdebug) {
				break
			}
			f.Progs[0].Memsz = 16 // DT_DEBUG is behind its end
			if rdebug, ok := RDebug(words, f, bias); ok {
				t.Errorf("cut off: got %#x", rdebug)
			}
		})
	}
}

// ones is memory without end in which every byte is 1.
type ones struct{ reads int }

func (e *ones) ReadMem(p []byte, _ uint64) (int, error) {
	e.reads++
	for i := range p {
		p[i] = 1
	}
	return len(p), nil
}

// A dynamic section and a list without an end are given up.
func TestEndless(t *testing.T) {
	mem := &ones{}
	f := &elfx.File{Progs: []elfx.Prog{{Type: elfx.ProgDynamic, Memsz: 1 << 30}}}
	if at, ok := RDebug(&memreader.Words{R: mem}, f, 0); ok || mem.reads > maxDynamic {
		t.Errorf("got %#x, %v after %d reads, want nothing after %d at most", at, ok, mem.reads, maxDynamic)
	}
	n := 0
	for e := range All(&memreader.Words{R: zeros{}}, 8) {
		if n++; e.Name != "" {
			t.Fatalf("got %+v", e)
		}
	}
	if n != 1 {
		t.Errorf("got %d entries of a list that leads back, want 1", n)
	}
	n = 0
	for range All(&memreader.Words{R: onwards{}}, 8) {
		n++
	}
	if n != maxEntries {
		t.Errorf("got %d entries, want %d", n, maxEntries)
	}
}

// onwards is memory in which every entry of a list leads to one at a higher address.
type onwards struct{}

func (onwards) ReadMem(p []byte, addr uint64) (int, error) {
	clear(p)
	if len(p) >= 8 {
		binary.LittleEndian.PutUint64(p, addr+1<<12)
	}
	return len(p), nil
}

// zeros is memory without end in which every entry of a list leads to itself.
type zeros struct{}

func (zeros) ReadMem(p []byte, addr uint64) (int, error) {
	clear(p)
	if len(p) > 0 && (addr == 16 || addr == 24+16) {
		p[0] = 16
	}
	return len(p), nil
}
