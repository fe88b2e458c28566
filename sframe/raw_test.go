package sframe

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/sfcore/sfcore/internal/testkit"
)

// Tables as written, with a label at every field.

// rawAddr is the address of the sections made here.
const rawAddr = 0x40_0000

type rawTable struct {
	v       Version
	abi     ABI
	flags   Flags
	fixedFP int8
	fixedRA int8
	aux     int
	gap     int // bytes before each sub-section
	funcs   []rawFunc
	// section says that starts are written relative to the header, not to
	// their field.
	section bool
}

type rawFunc struct {
	start            uint64
	size             uint32
	info, info2, rep uint8
	rows             []rawRow
}

// rawRow is a row with words of 1 byte.
type rawRow struct {
	start uint32
	info  uint8
	words []int8
}

func (t *rawTable) order() binary.ByteOrder {
	if a := t.abi.Arch(); a != nil && a.BigEndian {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// bytes returns a section of one table.
func (t *rawTable) bytes() *testkit.Bytes {
	b := testkit.New(t.order())
	t.put(b, "")
	return b
}

// put appends the table. The labels are the names of fields, with prefix, and
// those of function 1 end in "1", those of its row 2 in "1.2".
func (t *rawTable) put(b *testkit.Bytes, prefix string) {
	mark := func(label string) *testkit.Bytes { return b.Mark(prefix + label) }
	mark("magic").D16(Magic)
	mark("version").D8(max(uint8(t.v), 1))
	mark("flags").D8(uint8(t.flags))
	mark("abi").D8(uint8(t.abi))
	mark("fp").D8(uint8(t.fixedFP))
	mark("ra").D8(uint8(t.fixedRA))
	if t.v != CTFFrame {
		mark("aux").D8(uint8(t.aux))
	}
	rows := uint32(0)
	for _, f := range t.funcs {
		rows += uint32(len(f.rows))
	}
	mark("numfdes").D32(uint32(len(t.funcs)))
	mark("numfres").D32(rows)
	mark("frelen").Diff(4, prefix+"end", prefix+"fres", 0)
	mark("fdeoff").Diff(4, prefix+"fdes", prefix+"header", 0)
	mark("freoff").Diff(4, prefix+"fres", prefix+"header", 0)
	b.Zero(t.aux)
	mark("header").Zero(t.gap)
	mark("fdes")
	for i, f := range t.funcs {
		n := fmt.Sprint(i)
		from := prefix + "start" + n
		if t.section {
			from = prefix + "magic"
		}
		size := 4
		if t.v == V3 {
			size = 8
		}
		mark("start"+n).Diff(size, "", from, int64(f.start)-rawAddr)
		mark("size" + n).D32(f.size)
		mark("off"+n).Diff(4, prefix+"data"+n, prefix+"fres", 0)
		if t.v == V3 {
			continue
		}
		mark("count" + n).D32(uint32(len(f.rows)))
		mark("info" + n).D8(f.info)
		if t.v == V2 {
			mark("rep" + n).D8(f.rep)
			mark("padding" + n).D16(0)
		}
	}
	b.Zero(t.gap)
	mark("fres")
	for i, f := range t.funcs {
		n := fmt.Sprint(i)
		mark("data" + n)
		if t.v == V3 {
			mark("count" + n).D16(uint16(len(f.rows)))
			mark("info" + n).D8(f.info)
			mark("info2" + n).D8(f.info2)
			mark("rep" + n).D8(f.rep)
		}
		for j, r := range f.rows {
			n := fmt.Sprintf("%d.%d", i, j)
			mark("frestart" + n)
			switch f.info&infoFREType - layouts[t.v].firstFREType {
			case 0:
				b.D8(uint8(r.start))
			case 1:
				b.D16(uint16(r.start))
			default:
				b.D32(r.start)
			}
			mark("freinfo" + n).D8(r.info)
			mark("words" + n)
			for _, w := range r.words {
				b.D8(uint8(w))
			}
		}
	}
	mark("end")
}

// parseRaw parses what was built, which must succeed.
func parseRaw(t testing.TB, data []byte) *Section {
	t.Helper()
	s, err := Parse(data, rawAddr, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// row returns a row with the given base and words.
func row(start uint32, base uint8, words ...int8) rawRow {
	return rawRow{start, base | uint8(len(words))<<1, words}
}

const (
	sp = freBaseSP
	fp = 0
)

// plain returns a table in order with two functions, at 0x1000 and 0x1040.
func plain(v Version, abi ABI) *rawTable {
	t := &rawTable{v: v, abi: abi, flags: FDESorted, section: v < V2}
	if v >= V2 {
		t.flags |= FuncStartPCRel
	}
	rows := []rawRow{row(0, sp, 0), row(4, sp, 16, -8, -16), row(8, fp, 16, -8, -16)}
	switch {
	case abi == AMD64LE:
		t.fixedRA = -8
		rows = []rawRow{row(0, sp, 8), row(4, sp, 16, -16), row(8, fp, 16, -16)}
	case abi == S390XBE:
		rows = []rawRow{row(0, sp, 0), row(4, sp, 20, -48, -72), row(8, fp, 20, -48, -72)}
	case v == CTFFrame:
		rows = []rawRow{row(0, sp, 0), row(4, sp, 16, -16, -8), row(8, fp, 16, -16, -8)}
	}
	info := layouts[v].firstFREType
	t.funcs = []rawFunc{
		{start: 0x1000, size: 0x40, info: info, rows: rows},
		{start: 0x1040, size: 0x20, info: info, rows: slices.Clone(rows)},
	}
	return t
}

// abisOf returns the ABIs that a version has [SFrame 3, 2.2.1].
func abisOf(v Version) []ABI {
	if v < V2 {
		return []ABI{AArch64BE, AArch64LE, AMD64LE}
	}
	return []ABI{AArch64BE, AArch64LE, AMD64LE, S390XBE}
}

// everyABI calls f for every version with every ABI that it has.
func everyABI(t *testing.T, f func(t *testing.T, v Version, abi ABI)) {
	for v := range layouts {
		for _, abi := range abisOf(Version(v)) {
			t.Run(fmt.Sprintf("%s/%s-%v", Version(v), abi.Arch().Name, abi), func(t *testing.T) { f(t, Version(v), abi) })
		}
	}
}
