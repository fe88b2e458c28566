package core

import (
	"os"
	"reflect"
	"testing"
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
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []memreader.Segment{{Addr: 0x3000, Size: 0x3000}, {Addr: 0x6000, Size: 0x2000}}
	if got := variables(maps); !reflect.DeepEqual(got, want) {
		t.Errorf("got %#x, want %#x", got, want)
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
		{"no budget", []span{{0, 10, 10}}, 0, nil},
	} {
		if got := pieces(test.spans, test.budget); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
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
