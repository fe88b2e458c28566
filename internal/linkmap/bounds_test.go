package linkmap

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/memreader"
)

const (
	dtNull  = 0  // [gABI 5.2: Dynamic Section]
	dtDebug = 21 // the same
)

func wordsOf(at uint64, values ...uint64) *memreader.Words {
	b := testkit.New(binary.LittleEndian).D64(values...).Done()
	return &memreader.Words{R: memreader.NewSpace([]memreader.Segment{{Addr: at, Size: uint64(len(b)), Data: b}})}
}

// Where DT_DEBUG is found, and what ends the search for it.
func TestRDebug(t *testing.T) {
	const at, bias = 0x3000, 0x1000
	for _, tt := range []struct {
		name    string
		dynamic []uint64
		memsz   uint64
		want    uint64 // 0 if nothing is found
	}{
		{"the first", []uint64{dtDebug, 0x77}, 16, 0x77},
		{"behind others", []uint64{1, dtDebug, 5, 0, dtDebug, 0x77}, 48, 0x77},
		{"another tag", []uint64{dtDebug + 1, 0x77, dtDebug - 1, 0x78}, 32, 0},
		{"behind the end", []uint64{dtNull, 0, dtDebug, 0x77}, 32, 0},
		{"behind the size", []uint64{1, 0, dtDebug, 0x77}, 16, 0},
		{"behind what can be read", []uint64{1, 0}, 64, 0},
		{"a value that cannot be read", []uint64{1, 0, dtDebug}, 64, 0},
		{"before the linker has set it", []uint64{dtDebug, 0}, 16, 0},
		{"no dynamic section", []uint64{dtDebug, 0x77}, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := &elfx.File{Progs: []elfx.Prog{{Type: elfx.ProgDynamic, Vaddr: at - bias, Memsz: tt.memsz}}}
			got, ok := RDebug(wordsOf(at, tt.dynamic...), f, bias)
			if ok != (tt.want != 0) || ok && got != tt.want {
				t.Errorf("got %#x, %v, want %#x", got, ok, tt.want)
			}
		})
	}
	if got, ok := RDebug(wordsOf(at, dtDebug, 0x77), &elfx.File{Progs: []elfx.Prog{{Type: elfx.ProgLoad, Vaddr: at, Memsz: 16}}}, 0); ok || got != 0 {
		t.Errorf("without PT_DYNAMIC: got %#x, %v", got, ok)
	}
}

// A dynamic section has up to 65,536 entries.
func TestRDebugLast(t *testing.T) {
	const most = 65536
	values := slices.Repeat([]uint64{1, 0}, most+1)
	for entry, want := range map[int]bool{most - 1: true, most: false} {
		dynamic := slices.Clone(values)
		dynamic[2*entry], dynamic[2*entry+1] = dtDebug, 0x77
		f := &elfx.File{Progs: []elfx.Prog{{Type: elfx.ProgDynamic, Vaddr: 0x1000, Memsz: 16 * (most + 1)}}}
		if got, ok := RDebug(wordsOf(0x1000, dynamic...), f, 0); ok != want {
			t.Errorf("entry %d: got %#x, %v, want found %v", entry, got, ok, want)
		}
	}
}

// What of an entry can be read decides whether it is listed, and whether the list goes
// on.
func TestAll(t *testing.T) {
	const at = 0x1000
	node := func(words ...uint64) []uint64 { return words }
	for _, tt := range []struct {
		name   string
		memory []uint64 // from at on: struct r_debug, then nodes
		want   []Entry
	}{
		{"nothing", node(1), nil},
		{"no list", node(1, 0), nil},
		{"one", node(1, at+16, 7, 0, 9, 0), []Entry{{"", 7, 9}}},
		{"a node that ends before its name", node(1, at+16, 7), nil},
		{"a node that ends before its dynamic section", node(1, at+16, 7, 0), []Entry{{"", 7, 0}}},
		{"a node that ends before the next", node(1, at+16, 7, 0, 9), []Entry{{"", 7, 9}}},
		{"one that leads back", node(1, at+16, 7, 0, 9, at+16), []Entry{{"", 7, 9}}},
		{"two that lead back", node(1, at+16, 7, 0, 9, at+48, 8, 0, 10, at+16), []Entry{{"", 7, 9}, {"", 8, 10}}},
	} {
		if got := slices.Collect(All(wordsOf(at, tt.memory...), at)); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// A list has up to 65,536 entries, and a name up to 4,096 bytes.
func TestAllBounds(t *testing.T) {
	n := 0
	for range All(&memreader.Words{R: onwards{}}, 8) {
		n++
	}
	if n != 65536 {
		t.Errorf("got %d entries", n)
	}
	for length, want := range map[int]int{4095: 4095, 4096: 4096, 4097: 4096} {
		b := testkit.New(binary.LittleEndian).D64(1, 0x1010, 7, 0x1030, 9, 0).Str(strings.Repeat("x", length)).Done()
		words := &memreader.Words{R: memreader.NewSpace([]memreader.Segment{{Addr: 0x1000, Size: uint64(len(b)), Data: b}})}
		for e := range All(words, 0x1000) {
			if len(e.Name) != want {
				t.Errorf("a name of %d bytes: got %d", length, len(e.Name))
			}
		}
	}
}
