package module

import (
	"errors"
	"testing"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/unwind"
)

// TestFileMemory has the bytes of files where memory has none.
func TestFileMemory(t *testing.T) {
	code, data := make([]byte, 0x1000), make([]byte, 0x100)
	for i := range code {
		code[i] = byte(i % 251)
	}
	f := parsed(t, elfOf(elfx.TypeDyn, 0,
		testkit.ELFSection{Name: ".note", Type: elfx.SectProgbits, Flags: elfx.SectAlloc, Addr: 0x800, Data: []byte("note")},
		testkit.ELFSection{Name: ".text", Type: elfx.SectProgbits, Flags: elfx.SectAlloc, Addr: 0x1000, Data: code},
		testkit.ELFSection{Name: ".data", Type: elfx.SectProgbits, Flags: elfx.SectAlloc | 1, Addr: 0x2000, Data: data},
	).File())
	f.Progs[1].Type = elfx.ProgNote // which does not count
	for held, want := range map[string]int{"": 0x1100, "/proc/1/map_files/x": 0x1000} {
		s := &Set{img: &core.Image{}}
		at := &site{set: s, lo: 0x70000, hi: 0x73000, bias: 0x70000, held: held}
		at.once.Do(func() { at.module = &Module{names: &names{image: f}} })
		s.sites = []*site{at}
		mem := (*fileMemory)(s)
		got := make([]byte, 0x2000)
		n, err := mem.ReadMem(got, 0x71000)
		if n != want || !errors.Is(err, errNoFileBytes) || string(got[:0x1000]) != string(code) {
			t.Errorf("held as %q: got %#x bytes, %v, want %#x", held, n, err, want)
		}
		if n, err := mem.ReadMem(got[:16], 0x71008); n != 16 || err != nil || string(got[:16]) != string(code[8:24]) {
			t.Errorf("held as %q: got %d bytes %x, %v", held, n, got[:16], err)
		}
		for _, addr := range []uint64{0x6ffff, 0x70800, 0x73000} {
			if mem, base := mem.View(addr); mem != nil || base != 0 {
				t.Errorf("%#x: got %d bytes at %#x", addr, len(mem), base)
			}
		}
		if mem, base := mem.View(0x71fff); len(mem) != 0x1000 || base != 0x71000 {
			t.Errorf("got %d bytes at %#x", len(mem), base)
		}
		at.trace = headers{f} // of an image that is in memory only
		if mem, base := mem.View(0x71fff); mem != nil || base != 0 {
			t.Errorf("got %d bytes at %#x of an image in memory", len(mem), base)
		}
	}
}

// readable is memory of which all can be read: each byte is the lowest of its address.
type readable struct{}

func (readable) ReadMem(p []byte, addr uint64) (int, error) {
	for i := range p {
		p[i] = byte(addr + uint64(i))
	}
	return len(p), nil
}

// A live process is asked for the global offset tables of modules, and for nothing else.
func TestSlotsOfLive(t *testing.T) {
	for _, process := range []memreader.Reader{readable{}, nil} {
		s := &Set{img: &core.Image{Process: process}}
		at := &site{set: s, lo: 0x70000, hi: 0x73000, bias: 0x70000}
		at.once.Do(func() {
			at.module = &Module{names: &names{}, Tables: unwind.Module{Slots: []unwind.Range{{Lo: 0x71000, Hi: 0x71018}, {Lo: 0x72004, Hi: 0x72010}}}}
		})
		s.sites = []*site{at}
		for addr, want := range map[uint64]int{0x71000: 16, 0x71008: 16, 0x71010: 8, 0x71018: 0, 0x70fff: 0, 0x72000: 0, 0x72004: 12, 0x6fff8: 0, 0x73000: 0} {
			var got [16]byte
			if process == nil {
				want = 0
			}
			n, err := (*fileMemory)(s).ReadMem(got[:], addr)
			if n != want || (err == nil) != (n == len(got)) || n > 0 && got[n-1] != byte(addr+uint64(n)-1) {
				t.Errorf("%#x: got %d bytes % x, %v, want %d", addr, n, got, err, want)
			}
		}
	}
}

// TestPlace tells what is at an address, also between and beyond mappings.
func TestPlace(t *testing.T) {
	s := &Set{img: &core.Image{Mappings: []core.Mapping{
		{Lo: 0x1000, Hi: 0x3000, Path: "/a", Exec: true}, {Lo: 0x5000, Hi: 0x6000}, {Lo: 0x6000, Hi: 0x7000, Exec: true}, {Lo: 0x8000, Hi: 0xb000, Exec: true},
	}}}
	s.jit.once.Do(func() {}) // no code that was made is looked for
	known, foreign := &site{set: s, lo: 0x1000, hi: 0x2000}, &site{set: s, lo: 0x2000, hi: 0x3000}
	module := &Module{}
	known.once.Do(func() { known.module = module })
	foreign.once.Do(func() { foreign.module = &Module{Files: Files{Foreign: true}} })
	within := &site{set: s, lo: 0x9000, hi: 0xa000}
	within.once.Do(func() { within.module = module })
	s.sites = []*site{known, foreign, within}
	s.layOut()
	for addr, want := range map[uint64]unwind.Place{
		0x0fff: {},
		0x1000: {Lo: 0x1000, Hi: 0x2000, Executable: true, Module: &module.Tables},
		0x1fff: {Lo: 0x1000, Hi: 0x2000, Executable: true, Module: &module.Tables},
		0x2000: {Lo: 0x2000, Hi: 0x3000, Executable: true},
		0x3000: {},
		0x4fff: {},
		0x5800: {Lo: 0x5000, Hi: 0x6000},
		0x6fff: {Lo: 0x6000, Hi: 0x7000, Executable: true},
		0x7000: {},
		0x8800: {Lo: 0x8000, Hi: 0x9000, Executable: true},
		0x9800: {Lo: 0x9000, Hi: 0xa000, Executable: true, Module: &module.Tables},
		0xa800: {Lo: 0xa000, Hi: 0xb000, Executable: true},
	} {
		if got := s.Place(addr); got != want {
			t.Errorf("%#x: got %+v, want %+v", addr, got, want)
		}
	}
}
