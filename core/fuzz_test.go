package core

import (
	"runtime"
	"testing"

	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/memreader"
)

// FuzzOpen opens any bytes: it gives an image or an error, in memory that the
// input bounds, and the image can be used.
func FuzzOpen(f *testing.F) {
	for _, a := range arches {
		f.Add(kernelCore(a).Done())
		f.Add(testkit.NewCore(a).Thread(1, 0, regs(a, 0)).Segment(0x1000, 0x2000, true, []byte("x")).Segment(0x1800, 0x1000, false, []byte("y")).Done())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		img, err := openBytes(data)
		runtime.ReadMemStats(&after)
		if (img == nil) == (err == nil) {
			t.Fatalf("got %v and error %v", img, err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 100_000+100*uint64(len(data)) {
			t.Errorf("%d bytes took %d bytes of memory", len(data), used)
		}
		if err != nil {
			return
		}
		defer closeImage(t, img)
		end := uint64(0)
		for i, m := range img.Mappings {
			if m.Lo < end || m.Lo >= m.Hi {
				t.Fatalf("mapping %d: %+v after %#x", i, m, end)
			}
			end = m.Hi
			if got := img.Mapping(m.Hi - 1); got != &img.Mappings[i] {
				t.Errorf("mapping at %#x: got %+v, want %+v", m.Hi-1, got, m)
			}
			p := make([]byte, 8)
			if n, err := img.Mem.ReadMem(p, m.Lo); (n < len(p)) != (err != nil) {
				t.Errorf("read of %d bytes: error %v", n, err)
			}
		}
		space := img.Mem.(*memreader.Space)
		for _, s := range space.Segments() {
			if img.Mapping(s.Addr) == nil {
				t.Errorf("segment at %#x is in no mapping", s.Addr)
			}
		}
		if tr := img.Truncated; tr != nil {
			if tr.Missing == 0 || tr.Size != uint64(len(data)) || len(img.Problems) == 0 {
				t.Errorf("truncation %+v of %d bytes", tr, len(data))
			}
			for i, n := range tr.Mappings {
				if n >= len(img.Mappings) || i > 0 && n <= tr.Mappings[i-1] {
					t.Errorf("truncated mappings %v of %d", tr.Mappings, len(img.Mappings))
				}
			}
		}
	})
}
