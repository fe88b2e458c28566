package info

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/sfcore/sfcore/internal/testkit"
)

// index returns a .debug_cu_index of two units, each with a part of
// .debug_info and .debug_str_offsets.
func index(order binary.ByteOrder, version uint64) []byte {
	b := testkit.New(order)
	if version == 2 {
		b.D32(2)
	} else {
		b.D16(uint16(version), 0)
	}
	b.D32(2, 2, 4)                   // columns, units, slots
	b.D64(0, 0xaaaa, 0, 0xbbbb)      // ids
	b.D32(0, 1, 0, 2)                // rows
	b.D32(1, 6)                      // DW_SECT_INFO, DW_SECT_STR_OFFSETS
	b.D32(0, 0, 10, 4)               // offsets
	return b.D32(10, 4, 6, 4).Done() // sizes
}

func contribution(f *file, index []byte, id uint64) *file {
	var x packageIndex
	x.read(f, reader{data: index, big: f.big})
	return x.contribution(f, id)
}

// An index is read once, whatever the number of units.
func TestPackageIndexOnce(t *testing.T) {
	f := open(t, readProgram(t, "lines-dwarf5")).main
	var x packageIndex
	x.read(f, reader{data: index(binary.LittleEndian, 5)})
	done := f.d.work.done
	for range 1000 {
		x.contribution(f, 0xbbbb)
	}
	if len(x.rows) == 0 || f.d.work.done != done {
		t.Errorf("got %d rows, and %d more steps", len(x.rows), f.d.work.done-done)
	}
}

func TestPackageIndex(t *testing.T) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, version := range []uint64{2, 5} {
			f := open(t, readProgram(t, "lines-dwarf5")).main
			f.big = order == binary.BigEndian
			info := f.data(secInfo)
			f.contents[secStrOffsets], f.whole[secStrOffsets] = []byte("abcdefgh"), true
			data := index(order, version)
			part := contribution(f, data, 0xbbbb)
			if part == nil {
				t.Fatalf("%v, version %d: unit not found", order, version)
			}
			if got := part.data(secInfo); !slices.Equal(got, info[10:16]) {
				t.Errorf("%v, version %d: .debug_info: got %x, want %x", order, version, got, info[10:16])
			}
			if got := string(part.data(secStrOffsets)); got != "efgh" {
				t.Errorf("%v, version %d: .debug_str_offsets: got %q, want efgh", order, version, got)
			}
			if contribution(f, data, 0xcccc) != nil {
				t.Errorf("%v, version %d: got a unit with an id that is not there", order, version)
			}
			for i := range data { // cut off, or damaged
				if contribution(f, data[:i], 0xbbbb) != nil {
					t.Errorf("%v, version %d: got a unit from %d of %d bytes", order, version, i, len(data))
				}
				damaged := slices.Clone(data)
				damaged[i] ^= 0xff
				contribution(f, damaged, 0xbbbb)
			}
		}
	}
}
