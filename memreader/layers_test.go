package memreader_test

import (
	"bytes"
	"testing"

	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/memreader"
)

func TestLayers(t *testing.T) {
	top := memreader.NewSpace([]memreader.Segment{
		seg(0x1000, 12, "TOPS", memreader.NotDumped),
		seg(0x1010, 4, "LAST", 0),
		seg(0x2000, 8, "", memreader.Truncated),
	})
	under := memreader.NewSpace([]memreader.Segment{seg(0x0ffc, 0x20, "abcdefghijklmnopqrstuvwxyz", memreader.NotDumped)})
	tests := []struct {
		name string
		addr uint64
		size int
		want string
		why  memreader.Why
	}{
		{"top", 0x1000, 4, "TOPS", 0},
		{"under before top", 0x0ffc, 8, "abcdTOPS", 0},
		{"under in what was not dumped", 0x1002, 6, "PSijkl", 0},
		{"top after what was not dumped", 0x1000, 20, "TOPSijklmnopqrstLAST", 0},
		{"end of under", 0x1012, 8, "STyz", memreader.Unmapped},
		{"nowhere", 0x2000, 4, "", memreader.Truncated},
	}
	for name, upper := range map[string]memreader.Reader{"space": top, "reader": onlyReader{top}} {
		l := &memreader.Layers{Top: upper, Under: under}
		for _, tt := range tests {
			t.Run(name+"/"+tt.name, func(t *testing.T) {
				p := make([]byte, tt.size)
				n, err := l.ReadMem(p, tt.addr)
				if string(p[:n]) != tt.want {
					t.Errorf("got %q, want %q", p[:n], tt.want)
				}
				checkFault(t, err, tt.addr+uint64(n), tt.why, n < tt.size)
			})
		}
	}
}

// onlyReader hides what a Reader can do beside reading.
type onlyReader struct{ memreader.Reader }

// A view of the lower layer must not contain addresses that the upper one has.
func TestLayersView(t *testing.T) {
	top := memreader.NewSpace([]memreader.Segment{seg(0x1004, 8, "TOPS", memreader.NotDumped)})
	under := memreader.NewSpace([]memreader.Segment{seg(0x1000, 0x1a, "abcdefghijklmnopqrstuvwxyz", 0)})
	tests := []struct {
		name string
		top  memreader.Reader
		addr uint64
		want string
		base uint64
	}{
		{"below", top, 0x1001, "abcd", 0x1000},
		{"top", top, 0x1006, "TOPS", 0x1004},
		{"not dumped", top, 0x1009, "ijkl", 0x1008},
		{"above", top, 0x100d, "mnopqrstuvwxyz", 0x100c},
		{"nowhere", top, 0x101a, "", 0},
		{"top that cannot tell", onlyReader{top}, 0x100d, "n", 0x100d},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			mem, base := (&memreader.Layers{Top: tt.top, Under: under}).View(tt.addr)
			if string(mem) != tt.want || base != tt.base {
				t.Errorf("got %q at %#x, want %q at %#x", mem, base, tt.want, tt.base)
			}
		})
	}
}

// gaps is memory that tells what it cannot read, but hands none out.
type gaps struct {
	memreader.Reader
	space *memreader.Space
}

func (g gaps) Gap(addr uint64) (lo, hi uint64) { return g.space.Gap(addr) }

// There is no view of what the upper layer has and does not hand out, nor of a lower
// layer that hands out nothing.
func TestLayersWithoutView(t *testing.T) {
	top := memreader.NewSpace([]memreader.Segment{seg(0x1004, 8, "TOPS", memreader.NotDumped)})
	under := memreader.NewSpace([]memreader.Segment{seg(0x1000, 0x1a, "abcdefghijklmnopqrstuvwxyz", 0)})
	for _, tt := range []struct {
		name       string
		top, under memreader.Reader
		addr       uint64
		want       string
		base       uint64
	}{
		{"what top has", gaps{top, top}, under, 0x1004, "", 0},
		{"below what top has", gaps{top, top}, under, 0x1003, "abcd", 0x1000},
		{"above what top has", gaps{top, top}, under, 0x1008, "ijkl", 0x1008},
		{"under hands out nothing", top, onlyReader{under}, 0x1000, "", 0},
		{"neither hands out", onlyReader{top}, onlyReader{under}, 0x1000, "", 0},
		{"neither has it", top, memreader.NewSpace(nil), 0x1000, "", 0},
	} {
		if got, base := (&memreader.Layers{Top: tt.top, Under: tt.under}).View(tt.addr); string(got) != tt.want || base != tt.base {
			t.Errorf("%s: got %q at %#x, want %q at %#x", tt.name, got, base, tt.want, tt.base)
		}
	}
	if mem, base := top.View(0x1008); mem != nil || base != 0 {
		t.Errorf("got %q at %#x of what was not dumped", mem, base)
	}
}

func TestWords(t *testing.T) {
	data := []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 'h', 'i', 0, 'x', 'y'}
	space := memreader.NewSpace([]memreader.Segment{
		{Addr: 0x1000, Size: 6, Data: data[:6]},
		{Addr: 0x1006, Size: 8, Data: data[6:]}, // words may cross segments
	})
	for name, r := range map[string]memreader.Reader{"view": space, "read": onlyReader{space}} {
		t.Run(name, func(t *testing.T) {
			le := memreader.Words{R: r}
			be := memreader.Words{R: r, BigEndian: true}
			for _, tt := range []struct {
				addr   uint64
				size   int
				le, be uint64
			}{
				{0x1000, 1, 0x01, 0x01},
				{0x1001, 2, 0x0302, 0x0203},
				{0x1005, 4, 0x09080706, 0x06070809},
				{0x1000, 8, 0x0807060504030201, 0x0102030405060708},
			} {
				if got, err := le.Uint(tt.addr, tt.size); got != tt.le || err != nil {
					t.Errorf("little-endian at %#x: got %#x, %v, want %#x", tt.addr, got, err, tt.le)
				}
				if got, err := be.Uint(tt.addr, tt.size); got != tt.be || err != nil {
					t.Errorf("big-endian at %#x: got %#x, %v, want %#x", tt.addr, got, err, tt.be)
				}
			}
			if got, err := le.Uint64(0x1000); got != 0x0807060504030201 || err != nil {
				t.Errorf("got %#x, %v", got, err)
			}
			if got, err := be.Uint64(0x1000); got != 0x0102030405060708 || err != nil {
				t.Errorf("got %#x, %v", got, err)
			}
			_, err := le.Uint64(0x1007)
			checkFault(t, err, 0x100e, memreader.Unmapped, true)

			if got, err := le.CString(0x1009, 100); got != "hi" || err != nil {
				t.Errorf("got %q, %v, want hi", got, err)
			}
			if got, err := le.CString(0x1009, 1); got != "h" || err != nil {
				t.Errorf("got %q, %v, want h", got, err)
			}
			got, err := le.CString(0x100c, 100)
			if got != "xy" {
				t.Errorf("got %q, want xy", got)
			}
			checkFault(t, err, 0x100e, memreader.Unmapped, true)
		})
	}
}

func TestWordsAllocs(t *testing.T) {
	space := memreader.NewSpace([]memreader.Segment{{Addr: 0x1000, Size: 0x100, Data: make([]byte, 0x100)}})
	for name, r := range map[string]memreader.Reader{
		"space": space, "reader": onlyReader{space}, "layers": &memreader.Layers{Top: memreader.NewSpace(nil), Under: space},
	} {
		w := memreader.Words{R: r}
		allocs := testing.AllocsPerRun(100, func() {
			if _, err := w.Uint64(0x1010); err != nil {
				t.Fatal(err)
			}
		})
		if allocs != 0 {
			t.Errorf("%s: got %v allocations for a word, want 0", name, allocs)
		}
	}
}

func TestReadFull(t *testing.T) {
	mem := &testkit.Memory{Segs: map[uint64][]byte{0x1000: []byte("abcd")}, Faults: map[uint64]int{0x1002: 0}}
	got, err := memreader.ReadFull(mem, 0x1000, 4)
	if string(got) != "ab" {
		t.Errorf("got %q, want ab", got)
	}
	checkFault(t, err, 0x1002, memreader.NotDumped, true)
	mem.CheckFaults(t)
}

// Memory is read in full across the sizes in which it is asked for, and a size
// that is not there is not allocated.
func TestReadFullLarge(t *testing.T) {
	want := make([]byte, 300<<10)
	for i := range want {
		want[i] = byte(i >> 8)
	}
	mem := memreader.NewSpace([]memreader.Segment{{Addr: 0x1000, Size: uint64(len(want)), Data: want}})
	for _, size := range []int{0, 1, 64 << 10, 64<<10 + 1, 200_000, len(want)} {
		got, err := memreader.ReadFull(mem, 0x1000, size)
		if err != nil || !bytes.Equal(got, want[:size]) {
			t.Errorf("%d bytes: got %d, %v", size, len(got), err)
		}
	}
	if got, err := memreader.ReadFull(mem, 0x100, 1<<30); err == nil || cap(got) > 0 {
		t.Errorf("got %d bytes in %d, %v; want nothing for what is not there", len(got), cap(got), err)
	}
	got, err := memreader.ReadFull(mem, 0x1000, 1<<30)
	if err == nil || !bytes.Equal(got, want) || cap(got) > 1<<20 {
		t.Errorf("got %d bytes in %d, %v; want those that are there, and an error", len(got), cap(got), err)
	}
}

// An image that is not in memory costs no memory: there may be 100,000 of them.
func TestBytesOfNothing(t *testing.T) {
	s := memreader.NewSpace([]memreader.Segment{{Addr: 0x1000, Size: 0x1000}})
	for _, addr := range []uint64{0x1000, 0x8000} {
		if data, err := memreader.Bytes(s, addr, 64<<10); len(data) != 0 || cap(data) > 64 || err == nil {
			t.Errorf("%#x: got %d bytes in %d, %v, want an error", addr, len(data), cap(data), err)
		}
	}
}
