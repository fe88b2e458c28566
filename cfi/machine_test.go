package cfi

import (
	"fmt"
	"sync"
	"testing"
	"unsafe"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/memreader"
)

// TestFindAllocates makes sure that a warm Machine does not, at any place of
// any file, expressions included.
func TestFindAllocates(t *testing.T) {
	for _, name := range dumps {
		t.Run(name, func(t *testing.T) {
			s := openSection(t, name)
			pcs := middles(t, s)
			var m Machine
			var row arch.Row
			regs, mem := numbered(), &memreader.Words{R: zeroes{}, BigEndian: s.arch.BigEndian}
			allocs := testing.AllocsPerRun(5, func() {
				for _, pc := range pcs {
					if found, err := m.Find(s, pc, regs, mem, &row); !found || err != nil {
						t.Fatalf("at %#x: %v, %v", pc, found, err)
					}
				}
			})
			if allocs != 0 {
				t.Errorf("got %v allocations in %d lookups", allocs, len(pcs))
			}
		})
	}
}

// TestFindEqualsRows compares every lookup with the listing, with and without
// the table.
func TestFindEqualsRows(t *testing.T) {
	for _, name := range dumps {
		t.Run(name, func(t *testing.T) {
			s := openSection(t, name)
			frame, addr := sectionData(openELF(t, name), ".eh_frame")
			scanned := s
			if frame != nil {
				var err error
				if scanned, err = ParseEHFrame(s.arch, frame, addr, nil, 0, Bases{}); err != nil {
					t.Fatal(err)
				}
			}
			var m, lister Machine
			var row arch.Row
			mem := &memreader.Words{R: zeroes{}, BigEndian: s.arch.BigEndian}
			for _, f := range allFDEs(t, s) {
				for r, err := range lister.Rows(s, f) {
					if err != nil {
						t.Fatal(err)
					}
					for _, pc := range []uint64{r.Lo, r.Hi - 1} {
						for _, s := range []*Section{s, scanned} {
							found, err := m.Find(s, pc, numbered(), mem, &row)
							if err != nil || !found {
								t.Fatalf("at %#x: %v, %v", pc, found, err)
							}
							if len(r.Exprs) == 0 && row.Format(s.arch) != r.Format(s.arch) {
								t.Fatalf("at %#x: found %s, listed %s", pc, row.Format(s.arch), r.Format(s.arch))
							}
							if row.Signal != f.Signal {
								t.Errorf("at %#x: Signal is %v, want %v", pc, row.Signal, f.Signal)
							}
						}
					}
				}
			}
			if s.Problem() != nil {
				t.Error(s.Problem())
			}
		})
	}
}

// TestSharedSection uses a section that has to be scanned from many Machines
// at once; it is for the race detector.
func TestSharedSection(t *testing.T) {
	frame, entries := someFDEs(arch.AArch64)
	entries[1][0] += 8
	s, err := ParseEHFrame(arch.AArch64, frame, testFrame, usualHdr(entries).build(arch.AArch64), testHdr, Bases{})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			checkSomeFDEs(t, s)
			if s.Problem() == nil {
				t.Error("no problem")
			}
		})
	}
	wg.Wait()
}

// TestManySections makes sure that CIEs of one section are not taken for those
// of another of the same size.
func TestManySections(t *testing.T) {
	var m Machine
	var row arch.Row
	var sections []*Section
	for i := range 3 * cieSlots {
		sections = append(sections, oneFDE(t, arch.AArch64, cieText{initial: []byte{byte(cfaDefCFA), 31, byte(i)}}, nil))
	}
	for range 2 {
		for i, s := range sections {
			if found, err := m.Find(s, testText, numbered(), nil, &row); !found || err != nil || row.CFA.Off != int64(i) {
				t.Fatalf("section %d: got %v, %v, offset %d", i, found, err, row.CFA.Off)
			}
		}
	}
}

// TestManyCIEs gives one section more CIEs than the cache holds.
func TestManyCIEs(t *testing.T) {
	const n = 3 * cieSlots
	b := newBuilder(arch.AArch64)
	for i := range n {
		cie := fmt.Sprint("cie ", i)
		b.cie(cie, cieText{initial: []byte{byte(cfaDefCFA), 31, byte(i)}})
		b.fde("", cie, testText+uint64(i)*testSize, testSize, nil)
	}
	s := b.section(t, arch.AArch64)
	var m Machine
	var row arch.Row
	for range 2 {
		for i := range n {
			if found, err := m.Find(s, testText+uint64(i)*testSize, numbered(), nil, &row); !found || err != nil || row.CFA.Off != int64(i) {
				t.Fatalf("FDE %d: got %v, %v, offset %d", i, found, err, row.CFA.Off)
			}
		}
	}
}

// TestSize pins what a worker costs.
func TestSize(t *testing.T) {
	if size := unsafe.Sizeof(Machine{}); size > 40<<10 {
		t.Errorf("a Machine takes %d bytes; the comment says about 40 KiB", size)
	}
}
