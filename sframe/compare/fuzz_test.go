package compare_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/cfi"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/sframe"
	"github.com/sfcore/sfcore/sframe/compare"
)

func hex(v uint64) string { return fmt.Sprintf("%#x", v) }

// Whatever the sections say: differences ascend, are counted, and are what
// lookups show. Damage is no difference that is made up.
func FuzzCompare(f *testing.F) {
	files, _ := filepath.Glob("../../testdata/objects/*/linked-plt.elf")
	for _, path := range append(files, "../../testdata/objects/amd64-v3/linked-exec.elf") {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		e, err := elfx.Parse(data)
		if err != nil {
			f.Fatal(err)
		}
		section := func(name string) ([]byte, uint64) {
			s := e.Section(name)
			b, err := e.SectionData(s)
			if err != nil {
				f.Fatal(err)
			}
			return b, s.Addr
		}
		sf, sfAddr := section(".sframe")
		eh, ehAddr := section(".eh_frame")
		f.Add(sf, uint32(sfAddr), eh, uint32(ehAddr))
	}
	f.Fuzz(func(t *testing.T, sf []byte, sfAddr uint32, eh []byte, ehAddr uint32) {
		s, err := sframe.Parse(sf, uint64(sfAddr), sframe.Options{})
		if err != nil || s.Arch() == nil {
			return
		}
		c, err := cfi.ParseEHFrame(s.Arch(), eh, uint64(ehAddr), nil, 0, cfi.Bases{})
		if err != nil {
			return
		}
		r := compare.Compare(compare.Module{Arch: s.Arch(), SFrame: s, CFI: c})
		if r.Differing > r.Compared || r.Limits > r.Known {
			t.Fatalf("got %d of %d bytes, %d of %d known", r.Differing, r.Compared, r.Limits, r.Known)
		}
		total, last := 0, uint64(0)
		for _, n := range r.Counts {
			total += n
		}
		if total < len(r.Differences) {
			t.Fatalf("got %d differences, %d counted", len(r.Differences), total)
		}
		for i := range r.Differences {
			d := &r.Differences[i]
			if d.Lo < last || d.Hi <= d.Lo {
				t.Fatalf("got %#x-%#x after %#x", d.Lo, d.Hi, last)
			}
			last = d.Lo
			if d.Cause == compare.FunctionMissing || d.Cause == compare.RowMissing {
				continue
			}
			for _, pc := range []uint64{d.Lo, d.Hi - 1} {
				var row arch.Row
				found, err := s.Find(pc, &row)
				if found && (row.CFA != d.SFrame.CFA || row.RA != d.SFrame.RA || row.FP != d.SFrame.FP) {
					t.Fatalf("%s at %#x: got %s, lookup gives %s, %v", d.Cause, pc, d.SFrame.Format(s.Arch()), row.Format(s.Arch()), err)
				}
			}
		}
	})
}
