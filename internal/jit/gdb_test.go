package jit

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/memreader"
)

const jitAt = 0x1000

// jitMemory is memory with a list whose entries are 32 bytes each, from 0x1018 on;
// next are the words that lead on from them.
func jitMemory(order binary.ByteOrder, version uint32, next ...uint64) []byte {
	b := testkit.New(order).D32(version, 1).D64(0, jitAt+24)
	for i, n := range next {
		b.D64(n, 0, 0x7000+uint64(i), uint64(i))
	}
	return b.Done()
}

func TestList(t *testing.T) {
	const second, third = jitAt + 24 + 32, jitAt + 24 + 64
	tests := []struct {
		name    string
		version uint32
		next    []uint64
		want    int
		problem string
	}{
		{"one", 1, []uint64{0}, 1, ""},
		{"three", 1, []uint64{third, 0, second}, 3, ""},
		{"version", 2, []uint64{0}, 0, "version 2"},
		{"itself", 1, []uint64{second, second}, 2, "leads back"},
		{"cycle", 1, []uint64{second, third, jitAt + 24}, 3, "leads back"},
		{"nowhere", 1, []uint64{0x9000}, 1, "0x9010"},
		{"end of memory", 1, []uint64{second}, 1, "0x1048"},
	}
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, tt := range tests {
			mem := &testkit.Memory{Segs: map[uint64][]byte{jitAt: jitMemory(order, tt.version, tt.next...)}}
			words := &memreader.Words{R: mem, BigEndian: order == binary.BigEndian}
			list, err := List(words, jitAt)
			if len(list) != tt.want || (err == nil) != (tt.problem == "") || err != nil && !strings.Contains(err.Error(), tt.problem) {
				t.Errorf("%v, %s: got %v, %v; want %d entries, %q", order, tt.name, list, err, tt.want, tt.problem)
			}
			if len(list) > 0 && list[0] != (Entry{0x7000, 0}) {
				t.Errorf("%v, %s: got first %+v", order, tt.name, list[0])
			}
			if tt.name == "three" && !slices.Equal(list, []Entry{{0x7000, 0}, {0x7002, 2}, {0x7001, 1}}) {
				t.Errorf("%v: got %+v", order, list)
			}
		}
	}
}

// endlessJIT is memory in which every entry leads to the next.
type endlessJIT struct{}

func (endlessJIT) ReadMem(p []byte, addr uint64) (int, error) {
	b := testkit.New(binary.LittleEndian)
	for at := addr &^ 7; b.Len() < len(p)+8; at += 8 {
		switch at {
		case jitAt:
			b.D64(1)
		default:
			b.D64(at + 32)
		}
	}
	return copy(p, b.Done()[addr&7:]), nil
}

func TestListEndless(t *testing.T) {
	list, err := List(&memreader.Words{R: endlessJIT{}}, jitAt)
	if len(list) != 1<<18 || err == nil || err.Error() != "the list has more entries than the limit of 262144" {
		t.Errorf("got %d entries, %v", len(list), err)
	}
}

// FuzzList reads any bytes as a list: it has no more entries than there is
// memory for them to begin in, and ends, or says why it does not.
func FuzzList(f *testing.F) {
	f.Add(jitMemory(binary.LittleEndian, 1, jitAt+56, 0), false)
	f.Add(jitMemory(binary.BigEndian, 1, jitAt+56, jitAt+24), true)
	f.Fuzz(func(t *testing.T, data []byte, bigEndian bool) {
		space := memreader.NewSpace([]memreader.Segment{{Addr: jitAt, Size: uint64(len(data)), Data: data}})
		words := &memreader.Words{R: space, BigEndian: bigEndian}
		list, err := List(words, jitAt)
		if len(list) > len(data) {
			t.Fatalf("%d entries of %d bytes", len(list), len(data))
		}
		node, e := words.Uint64(jitAt + 16)
		for i := 0; i < len(list) && e == nil; i++ {
			node, e = words.Uint64(node)
		}
		if ended := e == nil && node == 0; ended && err != nil && len(list) > 0 || !ended && err == nil {
			t.Errorf("got %d entries, %v; the last leads to %#x, %v", len(list), err, node, e)
		}
	})
}

// TestListFaults has memory that ends in each word of a list: the entries before that
// are returned, and the error has the address.
func TestListFaults(t *testing.T) {
	const first, second = jitAt + 24, jitAt + 24 + 32
	for at, want := range map[uint64]int{
		jitAt: 0, jitAt + 16: 0, first + 16: 0, first + 24: 0, first: 1, second + 16: 1, second + 24: 1, second: 2,
	} {
		mem := &testkit.Memory{Segs: map[uint64][]byte{jitAt: jitMemory(binary.LittleEndian, 1, second, 0)}, Faults: map[uint64]int{at: 0}}
		list, err := List(&memreader.Words{R: mem}, jitAt)
		if fault, ok := errors.AsType[*memreader.FaultError](err); !ok || fault.Addr != at || len(list) != want {
			t.Errorf("a fault at %#x: got %v, %v, want %d entries", at, list, err, want)
		}
		mem.CheckFaults(t)
	}
}
