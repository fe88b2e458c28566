package core

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/memreader"
)

func TestWhole(t *testing.T) {
	const top = ^uint64(0)
	for _, tt := range []struct {
		name     string
		in, want []Range
	}{
		{"none", nil, []Range{}},
		{"empty", []Range{{5, 5}, {9, 3}}, []Range{}},
		{"extended", []Range{{0x1001, 0x1002}}, []Range{{0x1000, 0x2000}}},
		{"whole", []Range{{0x1000, 0x2000}}, []Range{{0x1000, 0x2000}}},
		{"touch", []Range{{0x2000, 0x2001}, {0x1000, 0x2000}}, []Range{{0x1000, 0x3000}}},
		{"within", []Range{{0x1000, 0x9000}, {0x2000, 0x2001}}, []Range{{0x1000, 0x9000}}},
		{"apart", []Range{{0x5000, 0x5001}, {0x1000, 0x2000}}, []Range{{0x1000, 0x2000}, {0x5000, 0x6000}}},
		{"top", []Range{{top - 5, top}}, []Range{{top &^ 0xfff, top}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Whole(tt.in, minPage); !slices.Equal(got, tt.want) {
				t.Errorf("got %#x, want %#x", got, tt.want)
			}
		})
	}
}

// pattern is memory whose bytes tell their page.
func pattern(pages int) []byte {
	b := make([]byte, pages*minPage)
	for i := range b {
		b[i] = byte(i/minPage + 1)
	}
	return b
}

// manyLoads has so many mappings that the ELF header has no room for their number.
func manyLoads(c *testkit.Core) {
	data := pattern(1)
	for i := range uint64(1 << 16) {
		c.Segment(0x10000+i*0x2000, 0x1000, false, data)
	}
}

// A core that is written has the same threads and mappings as the original, and the
// memory that was to be kept.
func TestWriteCore(t *testing.T) {
	for _, tt := range []struct {
		name   string
		memory func(c *testkit.Core)
		keep   []Range
		want   string // the kept memory: addresses and pages
	}{
		{"none", func(c *testkit.Core) { c.Segment(0x1000, 0x3000, false, pattern(3)) }, nil, ""},
		{"all", func(c *testkit.Core) { c.Segment(0x1000, 0x3000, false, pattern(3)) }, []Range{{0, 0x9000}}, "1000:1 2000:2 3000:3"},
		{"the middle", func(c *testkit.Core) { c.Segment(0x1000, 0x3000, true, pattern(3)) }, []Range{{0x2fff, 0x3000}}, "2f00:2+100"},
		{"the end", func(c *testkit.Core) { c.Segment(0x1000, 0x3000, true, pattern(3)) }, []Range{{0x3000, 0x3001}}, "3000:3+100"},
		{"two parts", func(c *testkit.Core) { c.Segment(0x1000, 0x4000, false, pattern(4)) }, []Range{{0x4000, 0x5000}, {0x1000, 0x1101}, {0x3fff, 0x4000}}, "1000:1+200 3f00:3 4f00:4+100"},
		{"two mappings that touch", func(c *testkit.Core) {
			c.Segment(0x1000, 0x1000, true, pattern(1)).Segment(0x2000, 0x1000, false, pattern(1))
		}, []Range{{0x1000, 0x3000}}, "1000:1 2000:1"},
		{"across a hole", func(c *testkit.Core) {
			c.Segment(0x1000, 0x1000, true, pattern(1)).Segment(0x8000, 0x2000, false, pattern(2))
		}, []Range{{0x1000, 0x9000}}, "1000:1 8000:1"},
		{"not dumped", func(c *testkit.Core) { c.Segment(0x1000, 0x3000, true, pattern(1)) }, []Range{{0, 0x9000}}, "1000:1"},
		{"nothing dumped", func(c *testkit.Core) { c.Segment(0x1000, 0x3000, true, nil) }, []Range{{0, 0x9000}}, ""},
		{"nowhere", func(c *testkit.Core) { c.Segment(0x1000, 0x1000, true, pattern(1)) }, []Range{{0x4000, 0x9000}}, ""},
		{"not at a page", func(c *testkit.Core) { c.Segment(0x1800, 0x1800, true, pattern(3)) }, []Range{{0x1800, 0x2000}}, "1800:1+800"},
		{"within another", func(c *testkit.Core) {
			c.Segment(0x1000, 0x4000, false, pattern(4)).Segment(0x2000, 0x1000, true, pattern(1))
		}, []Range{{0, 0x9000}}, "1000:1 2000:1 3000:3 4000:4"},
		{"at the top", func(c *testkit.Core) { c.Segment(^uint64(0x1fff), 0x2000, false, pattern(2)) }, []Range{{^uint64(0xfff), ^uint64(0)}}, "fffffffffffff000:2+fff"},
		{"many mappings", manyLoads, []Range{{0x10000, 0x10001}, {0x14000, 0x14001}}, "10000:1+100 14000:1+100"},
	} {
		for _, a := range []*arch.Arch{arch.AMD64, arch.S390X} {
			t.Run(tt.name+"/"+a.Name, func(t *testing.T) {
				c := testkit.NewCore(a).Process(7, "prog", "prog -x").Thread(7, 11, &arch.Regs{}).Thread(8, 0, &arch.Regs{})
				c.SigInfo(11, 1, 8).Auxv(ATEntry, 0x1234).Files(minPage, testkit.CoreFile{Lo: 0x1000, Hi: 0x2000, Path: "/prog"})
				tt.memory(c)
				whole, err := openBytes(c.Done())
				if err != nil {
					t.Fatal(err)
				}
				checkWritten(t, whole, tt.keep, tt.want)
			})
		}
	}
}

func checkWritten(t *testing.T, whole *Image, keep []Range, want string) {
	t.Helper()
	var out bytes.Buffer
	size, err := whole.WriteCore(&out, keep)
	if err != nil {
		t.Fatal(err)
	}
	small, err := openBytes(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if len(small.Problems) > 0 || small.Truncated != nil {
		t.Errorf("problems: %v, truncated: %v", small.Problems, small.Truncated)
	}
	if !slices.Equal(small.Mappings, whole.Mappings) || !slices.Equal(small.Loads(), whole.Loads()) {
		t.Errorf("mappings: got %+v, want %+v", small.Mappings, whole.Mappings)
	}
	for i := range whole.Threads {
		a, b := &whole.Threads[i], &small.Threads[i]
		if a.ID != b.ID || a.Regs != b.Regs || !bytes.Equal(a.PrStatus, b.PrStatus) || !bytes.Equal(a.SigInfo, b.SigInfo) || a.Crashed != b.Crashed {
			t.Errorf("thread %d: got %+v, want %+v", i, b, a)
		}
	}
	if small.Name != whole.Name || *small.Signal != *whole.Signal || !slices.Equal(small.Auxv, whole.Auxv) {
		t.Errorf("got %+v, want %+v", small, whole)
	}
	var got []string
	has := uint64(0)
	space, _ := small.Mem.(*memreader.Space)
	for _, s := range space.Segments() {
		has += uint64(len(s.Data))
		for n := 0; n < len(s.Data); n += minPage {
			at := fmt.Sprintf("%x:%d", s.Addr+uint64(n), s.Data[n])
			if left := len(s.Data) - n; left < minPage {
				at += fmt.Sprintf("+%x", left)
			}
			got = append(got, at)
		}
	}
	if got := strings.Join(got, " "); got != want || has != size {
		t.Errorf("got %s, %d bytes; want %s, %d bytes", got, size, want, has)
	}
	for _, p := range small.file.Progs {
		if p.Type == elfx.ProgLoad && p.Filesz == 0 && p.Off != uint64(out.Len()) || p.Off%p.Align != p.Vaddr%p.Align && p.Type == elfx.ProgLoad && p.Filesz > 0 {
			t.Errorf("segment %+v of a file of %d bytes", p, out.Len())
		}
	}
	for _, l := range whole.Loads() {
		for off := uint64(0); off < min(l.Hi-l.Lo, 1<<16); off += minPage {
			at := l.Lo + off
			_, err := small.Mem.ReadMem(make([]byte, 1), at)
			if f, ok := errors.AsType[*memreader.FaultError](err); ok && f.Why != memreader.NotDumped {
				t.Errorf("memory at %#x: got %v", at, err)
			}
		}
	}
	for _, p := range small.file.Progs {
		if p.Type == elfx.ProgLoad && p.Filesz == 0 && small.Mapping(p.Vaddr).Path == "" {
			t.Errorf("gdb would show zeros at %#x", p.Vaddr)
		}
	}
	var again bytes.Buffer
	if _, err := small.WriteCore(&again, keep); err != nil || !bytes.Equal(again.Bytes(), out.Bytes()) {
		t.Errorf("written again: %v, %d bytes of %d", err, again.Len(), out.Len())
	}
}

// Of the registers that make most of the notes, those of the thread that crashed are
// kept.
func TestWriteCoreExtended(t *testing.T) {
	xstate := func(b byte, size int) []byte { return bytes.Repeat([]byte{b}, size) }
	for _, tt := range []struct {
		name   string
		signal int // of the second thread
		sizes  [3]int
		want   string // the threads' bytes of NT_X86_XSTATE
	}{
		{"of the one that crashed", 11, [3]int{64, 64, 64}, "0 64 0"},
		{"of the first if none did", 0, [3]int{64, 64, 64}, "64 0 0"},
		{"equal ones", 11, [3]int{0, 64, 0}, "0 64 0"},
		{"none", 11, [3]int{}, "0 0 0"},
		{"of sizes that no processor has", 11, [3]int{60, 64, 64}, "60 64 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := testkit.NewCore(arch.AMD64).Process(7, "prog", "prog")
			for i, size := range tt.sizes {
				c.Thread(7+i, []int{0, tt.signal, 0}[i], &arch.Regs{})
				if size > 0 {
					c.Note("LINUX", ntX86XState, xstate(byte(i+1), size))
				}
				c.Note("CORE", ntFPRegSet, make([]byte, 512))
			}
			c.Auxv(ATEntry, 0x1234)
			img, err := openBytes(c.Done())
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if _, err := img.WriteCore(&out, nil); err != nil {
				t.Fatal(err)
			}
			small, err := openBytes(out.Bytes())
			if err != nil || len(small.Problems) > 0 || !slices.Equal(small.Auxv, img.Auxv) {
				t.Fatalf("%v, problems %v", err, small.Problems)
			}
			var got []string
			for i := range small.Threads {
				th := &small.Threads[i]
				got = append(got, fmt.Sprint(len(th.XState)))
				if !bytes.Equal(th.XState, xstate(byte(i+1), len(th.XState))) || len(th.FPRegSet) != 512 || th.ID != 7+i {
					t.Errorf("thread %d: got %+v", i, th)
				}
			}
			if got := strings.Join(got, " "); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// Segments that are the same notes are written once.
func TestWriteCoreSameNotes(t *testing.T) {
	c := testkit.NewCore(arch.AMD64).Process(7, "prog", "prog").Thread(7, 11, &arch.Regs{})
	for range 1000 {
		c.NoteSegment()
	}
	data := c.Done()
	for i := range 1000 {
		copy(data[64+56*(i+1):], data[64:64+56])
	}
	img, err := openBytes(data)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := img.WriteCore(&out, nil); err != nil || out.Len() > minPage {
		t.Errorf("got %d bytes, %v", out.Len(), err)
	}
	if small, err := openBytes(out.Bytes()); err != nil || len(small.Threads) != 1 {
		t.Errorf("got %+v, %v", small, err)
	}
}

// A list of mappings that no writer made does no harm.
func TestLoadsNote(t *testing.T) {
	c := testkit.NewCore(arch.AMD64).Thread(7, 11, &arch.Regs{}).Segment(0x1000, 0x1000, false, pattern(1))
	c.Note(ownerSfcore, ntLoads+1, c.Data().D64(1, 2, 3).Done())
	c.Note(ownerSfcore, ntLoads, c.Data().D64(0x5000, 0x1000, 7, 0x3000, 0x5000, 5, 0x1000, 0x4000, 6).D64(9).Done())
	c.Note(ownerSfcore, ntLoads, c.Data().D64(0x8000, 0x9000, 7).Done())
	img, err := openBytes(c.Done())
	if err != nil {
		t.Fatal(err)
	}
	want := []Mapping{{Lo: 0x1000, Hi: 0x4000}, {Lo: 0x4000, Hi: 0x5000, Exec: true}}
	if !slices.Equal(img.Mappings, want) {
		t.Errorf("got %+v, want %+v", img.Mappings, want)
	}
}

var errFull = errors.New("full")

type fullWriter struct{}

func (fullWriter) Write([]byte) (int, error) { return 0, errFull }

func TestWriteCoreErrors(t *testing.T) {
	if _, err := new(Image).WriteCore(nil, nil); !errors.Is(err, ErrNoNotes) {
		t.Errorf("got %v, want %v", err, ErrNoNotes)
	}
	img, err := openBytes(testkit.NewCore(arch.AMD64).Thread(7, 11, &arch.Regs{}).Done())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := img.WriteCore(fullWriter{}, nil); !errors.Is(err, errFull) {
		t.Errorf("got %v, want %v", err, errFull)
	}
}
