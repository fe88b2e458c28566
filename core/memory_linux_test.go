package core

import (
	"bytes"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/memreader"
)

func TestMemorySpans(t *testing.T) {
	maps, err := parseMaps([]byte(`1000-3000 r-xp 00000000 08:01 1 /bin/a
3000-6000 rw-p 00002000 08:01 1 /bin/a
6000-8000 rw-s 00000000 00:05 2 /dev/shared
8000-9000 -w-p 00000000 00:00 0
9000-a000 rw-p 00000000 00:00 0 [stack]
`))
	if err != nil {
		t.Fatal(err)
	}
	spans := memorySpans(maps)
	if want := []span{{0x3000, 0x6000, 0x6000}, {0x9000, 0xa000, 0xa000}}; !reflect.DeepEqual(spans, want) {
		t.Errorf("got %x, want %x", spans, want)
	}
}

func TestVariables(t *testing.T) {
	maps, err := parseMaps([]byte(`1000-3000 r-xp 00000000 08:01 1 /bin/a
3000-6000 rw-p 00002000 08:01 1 /bin/a
6000-8000 rw-p 00000000 00:00 0
8000-9000 rw-p 00000000 00:00 0 [heap]
b000-c000 rw-s 00000000 00:05 2 /dev/shared
c000-d000 rw-p 00000000 00:00 0
d000-e000 -w-p 00000000 08:01 1 /bin/a
e000-f000 rw-p 00000000 00:00 0
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []memreader.Segment{{Addr: 0x3000, Size: 0x3000}, {Addr: 0x6000, Size: 0x2000}}
	if got := variables(maps); !reflect.DeepEqual(got, want) {
		t.Errorf("got %#x, want %#x", got, want)
	}
	if got := variables([]procMapping{{Mapping: Mapping{Lo: 1, Hi: 2}, read: true, write: true}}); got != nil {
		t.Errorf("got %#x of memory that continues nothing", got)
	}
}

func TestPieces(t *testing.T) {
	const m = maxPiece
	for _, test := range []struct {
		name   string
		spans  []span
		budget uint64
		want   []span
	}{
		{"whole", []span{{0, m, m}, {2 * m, 2*m + 1, 3 * m}}, 3 * m, []span{{0, m, m}, {2 * m, 2*m + 1, 2*m + 1}}},
		{"cut", []span{{1, 2*m + 2, 2*m + 2}}, 3 * m, []span{{1, m + 1, m + 1}, {m + 1, 2*m + 1, 2*m + 1}, {2*m + 1, 2*m + 2, 2*m + 2}}},
		{"over budget", []span{{0, 10, 10}, {20, 30, 30}, {40, 50, 50}}, 13, []span{{0, 10, 10}, {20, 23, 23}}},
		{"a byte of budget", []span{{0, 10, 10}, {20, 30, 30}}, 11, []span{{0, 10, 10}, {20, 21, 21}}},
		{"no budget", []span{{0, 10, 10}}, 0, nil},
	} {
		if got := pieces(test.spans, test.budget); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
}

func TestApart(t *testing.T) {
	for _, test := range []struct {
		name        string
		spans, want []span
	}{
		{"none", nil, nil},
		{"in order", []span{{0, 3, 3}, {5, 8, 8}}, []span{{0, 3, 3}, {5, 8, 8}}},
		{"neighbours", []span{{3, 5, 5}, {0, 3, 3}}, []span{{0, 3, 3}, {3, 5, 5}}},
		{"overlapping", []span{{4, 9, 9}, {2, 6, 6}}, []span{{2, 6, 6}, {6, 9, 9}}},
		{"equal", []span{{2, 6, 6}, {2, 6, 6}}, []span{{2, 6, 6}}},
		{"inside, and then another", []span{{2, 9, 9}, {3, 4, 4}, {8, 12, 12}}, []span{{2, 9, 9}, {9, 12, 12}}},
		{"empty", []span{{2, 2, 2}}, nil},
	} {
		if got := apart(test.spans); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
}

// partsOf writes what was copied, by stack and offset, and checks the bytes.
func partsOf(t *testing.T, v *visit, data [3][]byte, lo [3]uint64) string {
	t.Helper()
	var list []string
	for i := range lo {
		for _, c := range v.ascending() {
			if c.lo < lo[i] || c.lo >= lo[i]+stackSize || c.data == nil {
				continue
			}
			list = append(list, fmt.Sprintf("%d:%#x-%#x", i, c.lo-lo[i], c.hi-lo[i]))
			if !bytes.Equal(c.data, data[i][c.lo-lo[i]:c.hi-lo[i]]) || c.err != nil || c.end < c.hi {
				t.Errorf("memory %d at %#x: got %d bytes, %v", i, c.lo-lo[i], len(c.data), c.err)
			}
		}
	}
	return strings.Join(list, " ")
}

// Private memory is copied up to the budget, but for what is copied already. What is
// left out is counted.
func TestCopyMemory(t *testing.T) {
	for _, test := range []struct {
		name        string
		budget      uint64
		want        string
		memory, cut uint64
	}{
		{"all", 1 << 30, "0:0x0-0x100000 1:0x0-0x1000 1:0x3000-0x8000 1:0x9000-0x100000 2:0x0-0x100000", 3*stackSize - 0x3000, 0},
		{"exactly all", 3*stackSize - 0x3000, "0:0x0-0x100000 1:0x0-0x1000 1:0x3000-0x8000 1:0x9000-0x100000 2:0x0-0x100000", 3*stackSize - 0x3000, 0},
		{"nothing", 0, "", 0, 3*stackSize - 0x3000},
	} {
		v, data, lo := ownStacks(t)
		v.snap.Copied = 5
		v.stacks = []copied{{span: span{lo: lo[1] + 0x8000, hi: lo[1] + 0x9000}}, {span: span{lo: lo[1] + 0x1000, hi: lo[1] + 0x3000}}}
		v.copyMemory(test.budget, time.Now().Add(1000*time.Hour))
		if got := partsOf(t, v, data, lo); got != test.want {
			t.Errorf("%s: got  %s\nwant %s", test.name, got, test.want)
		}
		if v.snap.Memory != test.memory || v.snap.MemoryCut != test.cut || v.snap.Copied != 5 {
			t.Errorf("%s: got %+v, want %#x bytes, and %#x left out", test.name, v.snap, test.memory, test.cut)
		}
	}
	v, _, _ := ownStacks(t)
	v.copyMemory(0x180000, time.Now().Add(1000*time.Hour))
	if v.snap.Memory != 0x180000 || v.snap.MemoryCut != 0x180000 {
		t.Errorf("half: got %+v", v.snap)
	}
}

// What Follow returns is copied within the budgets, as far as it is mapped and not
// copied yet.
func TestCopyFollowed(t *testing.T) {
	forever := time.Now().Add(1000 * time.Hour)
	for _, test := range []struct {
		name                  string
		budget, total, memory uint64
		segs                  [][3]uint64 // memory, offset, size
		want                  string
	}{
		{"one", 0x8000, 1 << 20, 0, [][3]uint64{{0, 0x1000, 0x2000}}, "0:0x1000-0x3000"},
		{"more than the budget of each", 0x8000, 1 << 20, 0, [][3]uint64{{0, 0x1000, 0x8001}}, "0:0x1000-0x9000"},
		{"past the end of the mapping", 0x8000, 1 << 20, 0, [][3]uint64{{1, stackSize - 0x10, 0x100}}, "1:0xffff0-0x100000"},
		{"more than the total", 0x8000, 0x5000, 7, [][3]uint64{{0, 0, 0x3000}, {1, 0, 0x3000}, {2, 0, 8}}, "0:0x0-0x3000 1:0x0-0x2000"},
		{"more memory than stacks", 0x8000, 7, 0x5000, [][3]uint64{{0, 0, 0x3000}, {1, 0, 0x3000}, {2, 0, 8}}, "0:0x0-0x3000 1:0x0-0x2000"},
		{"nowhere, and somewhere", 0x8000, 1 << 20, 0, [][3]uint64{{3, 0, 8}, {2, 0x10, 8}}, "2:0x10-0x18"},
		{"what is copied", 0x8000, 1 << 20, 0, [][3]uint64{{2, 0x7000, 0x3000}}, "2:0x7000-0x8000 2:0x9000-0xa000"},
		{"twice", 0x8000, 1 << 20, 0, [][3]uint64{{0, 0x2000, 0x1000}, {0, 0x1800, 0x1000}}, "0:0x1800-0x2800 0:0x2800-0x3000"},
		{"nothing", 0x8000, 1 << 20, 0, nil, ""},
	} {
		v, data, lo := ownStacks(t)
		v.maps[1].Path, v.maps[1].inode = "/a", 1
		v.known = make([]arch.Regs, 2)
		v.stacks = []copied{{span: span{lo: lo[2] + 0x8000, hi: lo[2] + 0x9000}}}
		seen := func(mem memreader.Reader, addr uint64) (b [2]byte) { // what was copied, and what was not
			_, _ = mem.ReadMem(b[:], addr)
			return b
		}
		data[2][0x7fff], data[2][0x8000] = 3, 4
		v.stacks[0].data = []byte{5}
		opts := &AttachOptions{StackBudget: test.budget, StackTotal: test.total, Memory: test.memory}
		opts.Follow = func(a *arch.Arch, regs []arch.Regs, vars []memreader.Segment, mem memreader.Reader) (segs []memreader.Segment) {
			if a != v.arch || len(regs) != 2 || seen(mem, lo[2]+0x7fff) != [2]byte{3, 5} || len(vars) == 0 || vars[0].Addr != v.maps[1].Lo || vars[0].Size != stackSize {
				t.Errorf("%s: asked for %s, %d threads, %+v", test.name, a.Name, len(regs), vars)
			}
			v.stacks[0].data = nil
			for _, s := range test.segs {
				addr := uint64(0x1000)
				if s[0] < 3 {
					addr = lo[s[0]]
				}
				segs = append(segs, memreader.Segment{Addr: addr + s[1], Size: s[2]})
			}
			return segs
		}
		v.copyFollowed(opts, forever)
		if got := partsOf(t, v, data, lo); got != test.want {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
	}
	// Nobody waits for Follow for ever.
	v, _, _ := ownStacks(t)
	never := make(chan bool)
	defer close(never)
	v.copyFollowed(&AttachOptions{Follow: func(*arch.Arch, []arch.Regs, []memreader.Segment, memreader.Reader) []memreader.Segment {
		<-never
		return nil
	}}, time.Now().Add(time.Millisecond))
	if len(v.stacks) != 0 {
		t.Errorf("got %d parts", len(v.stacks))
	}
}

// subjectMark is 0 in the test, and not in a subject.
var subjectMark = func() uint64 {
	if os.Getenv(subjectEnv) != "" {
		return 0x5fc04e
	}
	return 0
}()

// Memory that is not a stack's is in an image only if it was asked for.
func TestAttachMemory(t *testing.T) {
	needPtrace(t)
	s := startSubject(t, os.Args[0], "threads")
	s.ready(t)
	addr := uint64(uintptr(unsafe.Pointer(&subjectMark))) // in every process of this binary
	for _, budget := range []uint64{0, 1 << 30} {
		img, err := Attach(t.Context(), s.pid, AttachOptions{Memory: budget, MaxStop: unhurried})
		if err != nil {
			t.Fatal(err)
		}
		words := memreader.Words{R: img.Mem, BigEndian: img.Arch.BigEndian}
		got, err := words.Uint64(addr)
		if asked := budget > 0; asked != (err == nil) || asked && got != 0x5fc04e || asked != (img.Live.Memory > 0) {
			t.Errorf("budget %d: got %#x, %v, %d bytes copied", budget, got, err, img.Live.Memory)
		}
		closeImage(t, img)
	}
	s.answers(t)
	// What is followed comes first, and what was left out is counted.
	follow := func(_ *arch.Arch, _ []arch.Regs, vars []memreader.Segment, _ memreader.Reader) []memreader.Segment {
		if len(vars) == 0 {
			return nil
		}
		return []memreader.Segment{{Addr: addr, Size: 8}}
	}
	img, err := Attach(t.Context(), s.pid, AttachOptions{Memory: 8, MaxStop: unhurried, Follow: follow})
	if err != nil {
		t.Fatal(err)
	}
	defer closeImage(t, img)
	words := memreader.Words{R: img.Mem, BigEndian: img.Arch.BigEndian}
	if got, err := words.Uint64(addr); got != 0x5fc04e || err != nil || img.Live.Memory != 0 || img.Live.MemoryCut == 0 {
		t.Errorf("got %#x, %v, and %d bytes more; %d left out", got, err, img.Live.Memory, img.Live.MemoryCut)
	}
}
