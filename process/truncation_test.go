package process

import (
	"slices"
	"testing"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/memreader"
)

// TestTruncation has the threads whose stacks a cut takes, and only the first of very many
// mappings.
func TestTruncation(t *testing.T) {
	p := deepProcess(t, 3, 4)
	img := p.Image()
	if got := p.truncation(); got != nil {
		t.Errorf("got %+v of a whole core", got)
	}
	stack := &img.Mappings[1]
	for i := range 1001 {
		img.Mappings = append(img.Mappings, core.Mapping{Lo: uint64(i) << 12, Hi: uint64(i+1) << 12})
	}
	lost := &core.Truncation{}
	for i := range 1001 {
		lost.Mappings = append(lost.Mappings, i+2)
	}
	img.Truncated = lost
	// The first thread has its stack, that of the second is cut off, and the third is
	// where nothing ever was.
	for i, off := range []uint64{0x100000, 0x200000} {
		img.Threads[i+1].Regs.Set(img.Arch.SP, stack.Lo+off)
		img.Threads[i+1].Regs.Set(img.Arch.FP, stack.Lo+off)
	}
	whole := img.Mem
	img.Mem = cutOff{whole, stack.Lo + 0x100000}
	p = New(img, Options{Methods: []string{"fp"}})
	defer p.Close()
	for _, th := range p.Threads() {
		if s := p.NewWalker().Walk(th); s.Complete() {
			t.Errorf("thread %d: got %v", th.ID, s.Stop)
		}
	}
	r := p.truncation()
	if r.MappingCount != 1001 || len(r.Mappings) != 1000 || r.Mappings[999].Start != 999<<12 || r.Mappings[999].End != 1000<<12 {
		t.Errorf("got %d of %d mappings", len(r.Mappings), r.MappingCount)
	}
	if !slices.Equal(r.Threads, []int{2}) {
		t.Errorf("got threads %v, want thread 2", r.Threads)
	}
}

// cutOff is memory of which the page at an address is in the part of a core that is missing.
type cutOff struct {
	memreader.Reader
	page uint64
}

func (m cutOff) ReadMem(p []byte, addr uint64) (int, error) {
	if addr-m.page < 4096 {
		return 0, &memreader.FaultError{Addr: addr, Why: memreader.Truncated}
	}
	return m.Reader.ReadMem(p, addr)
}
