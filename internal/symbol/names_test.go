package symbol

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
)

// strtab returns a table with two names, and where they are. The second one ends the
// string table, with a NUL behind it if that is asked for.
func strtab(a, b string, end string) (t *table, x, y uint32) {
	strs := "\x00" + a + "\x00" + b + end
	return &table{tab: elfx.SymTab{Strings: []byte(strs)}}, 1, uint32(len(a) + 2)
}

// Names are compared as strcmp does, without their versions.
func TestCompareNames(t *testing.T) {
	long := strings.Repeat("n", 40)
	tie := strings.Repeat("n", maxTie)
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"a", "b", -1},
		{"a", "a", 0},
		{"a", "ab", -1},
		{"", "", 0},
		{"", "a", -1},
		{"f@V1", "f@@V2", 0},
		{"f@V2", "f", 0},
		{"f64@V1", "f@V2", 1},
		{"@x", "@y", 0},
		{long + "a", long + "b", -1},
		{long + "a", long, 1},
		{long + "@V1", long + "@V2", 0},
		{"f@" + long + "1", "f@" + long + "2", 0},
		{"@" + long + "1", "@" + long + "2", 0},
		{tie[:31] + "a", tie[:31] + "b", -1},
		{tie[:32] + "a", tie[:32] + "b", -1},
		{tie[:63] + "a", tie[:63] + "b", -1},
		{tie[1:] + "a", tie[1:] + "b", -1},
		{tie + "a", tie + "b", 0},
	} {
		for _, end := range []string{"", "\x00"} {
			table, x, y := strtab(tt.a, tt.b, end)
			if got := table.compareNames(x, y); got != tt.want {
				t.Errorf("%q and %q: got %d, want %d", tt.a, tt.b, got, tt.want)
			}
			if got := table.compareNames(y, x); got != -tt.want {
				t.Errorf("%q and %q: got %d, want %d", tt.b, tt.a, got, -tt.want)
			}
			if got := table.compareNames(x, x); got != 0 {
				t.Errorf("%q and itself: got %d", tt.a, got)
			}
		}
	}
	// The bytes behind two names may be the same for longer than the names.
	table := &table{tab: elfx.SymTab{Strings: []byte("f\x00" + long + "1\x00f\x00" + long + "2\x00\x00" + long + "1\x00\x00" + long + "2\x00")}}
	for _, at := range [][2]uint32{{0, 44}, {1, 45}} {
		if got := table.compareNames(at[0], at[1]); got != 0 {
			t.Errorf("names at %d and %d: got %d", at[0], at[1], got)
		}
	}
}

// TestBetter has which of two symbols names an address.
func TestBetter(t *testing.T) {
	table, a, b := strtab("a", "b", "\x00")
	const unsized, sized = rankVisible | rankFunc, rankVisible | rankFunc | rankSized
	for name, tt := range map[string]struct {
		s, b symbol
		want bool
	}{
		"any":                    {symbol{value: 1, name: a, rank: rankLocal}, symbol{value: 9}, true},
		"the later one":          {symbol{value: 2, name: a, rank: rankLocal}, symbol{value: 1, name: a, rank: sized}, true},
		"the earlier one":        {symbol{value: 1, name: a, rank: sized}, symbol{value: 2, name: a, rank: rankLocal}, false},
		"the one with a size":    {symbol{value: 1, name: a, rank: sized}, symbol{value: 1, name: b, rank: unsized}, true},
		"the one without a size": {symbol{value: 1, name: b, rank: unsized}, symbol{value: 1, name: a, rank: sized}, false},
		"by name":                {symbol{value: 1, name: b, rank: sized}, symbol{value: 1, name: a, rank: sized}, true},
		"by name, the first":     {symbol{value: 1, name: a, rank: sized}, symbol{value: 1, name: b, rank: sized}, false},
		"the same":               {symbol{value: 1, size: 5, name: a, rank: sized}, symbol{value: 1, size: 4, name: a, rank: sized}, false},
	} {
		if got := table.better(&tt.s, &tt.b); got != tt.want {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
}

// Some names are not of functions, unless the symbol is typed as one.
func TestNamesOfFunctions(t *testing.T) {
	for name, want := range map[string]bool{
		"f\x00": true, "\x00f": false, "": false, "$x\x00": false, "$x.\x00": false, "$x.1\x00": false, "$d\x00x": false, "$a\x00": false, "$t\x00": false,
		"$x": true, "$": true, "$xy\x00": true, "$e\x00": true, "$e.1\x00": true, "$L": false, "$L1\x00": false, "$M": true,
		".L": false, ".L1\x00": false, ".l": true, ".": true, ".annobin_": false, ".annobin_f\x00": false, ".annobinf\x00": true,
		"x$x\x00": true, "x.L\x00": true, "$x\x01": true,
	} {
		table := &table{tab: elfx.SymTab{Strings: []byte(name)}}
		if got := table.names(&symbol{rank: rankLocal | rankSized}); got != want {
			t.Errorf("%q: got %v, want %v", name, got, want)
		}
		if got := table.names(&symbol{rank: rankLocal | rankFunc}); got != (name != "" && name[0] != 0) {
			t.Errorf("%q of a function: got %v", name, got)
		}
	}
	table, a, b := strtab("f@@V1", "g", "")
	for at, want := range map[uint32]string{0: "", a: "f", b: "g", b + 1: "", 1 << 31: ""} {
		if got := table.name(at); got != want {
			t.Errorf("name at %d: got %q, want %q", at, got, want)
		}
	}
}

// TestDecodeFunc has which symbols may be of functions in some section.
func TestDecodeFunc(t *testing.T) {
	for order, byteOrder := range orders {
		for _, tt := range []struct {
			info    uint8
			section uint16
			size    uint64
			rank    rank // 0 if it is none
		}{
			{global | function, 1, 4, rankVisible | rankFunc | rankSized},
			{weak | function, 1, 0, rankVisible | rankFunc},
			{local | function, 1, 4, rankLocal | rankFunc | rankSized},
			{unique | function, 1, 4, rankVisible | rankFunc | rankSized},
			{global | notype, 1, 0, rankVisible},
			{local | notype, 1, 0, rankLocal},
			{global | ifunc, 1, 4, rankLocal | rankFunc | rankSized},
			{global | function, elfx.ShnXindex, 4, rankVisible | rankFunc | rankSized},
			{global | function, elfx.ShnLoreserve - 1, 4, rankVisible | rankFunc | rankSized},
			{global | function, elfx.ShnLoreserve, 4, 0},
			{global | function, 0xfff1, 4, 0},
			{global | function, elfx.ShnUndef, 4, 0},
			{global | object, 1, 4, 0},
			{local | section, 1, 4, 0},
			{global | 11, 1, 4, 0},
		} {
			data := testkit.New(byteOrder).D32(7).D8(tt.info, 0).D16(tt.section).D64(0x1234, tt.size).Done()
			table := table{tab: elfx.SymTab{BigEndian: order == "BE"}}
			s, section, ok := table.decodeFunc(data)
			if ok != (tt.rank != 0) || ok && (s != symbol{0x1234, tt.size, 7, tt.rank} || section != tt.section) {
				t.Errorf("%s, %+v: got %+v in section %d, %v", order, tt, s, section, ok)
			}
		}
	}
}

// A symbol of unknown section may be in any region; others are in their own.
func TestRegions(t *testing.T) {
	own, unknown := region{0x1000, 0x2000, 3}, region{0x1000, 0x2000, 0}
	for _, tt := range []struct {
		r       region
		value   uint64
		section uint16
		want    bool
	}{
		{own, 0x1000, 3, true},
		{own, 0xfff, 3, false},
		{own, 0x1000, 4, false},
		{own, 0x1000, elfx.ShnXindex, true},
		{own, 0xfff, elfx.ShnXindex, false},
		{unknown, 0x1000, 4, true},
		{unknown, 0xfff, 4, false},
	} {
		if got := tt.r.holds(tt.value, tt.section); got != tt.want {
			t.Errorf("%+v: got %v", tt, got)
		}
	}
	rs := []region{{0x1000, 0x1100, 1}, {0x2000, 0x3000, 2}}
	for addr, want := range map[uint64]uint16{0: 0, 0xfff: 0, 0x1000: 1, 0x10ff: 1, 0x1100: 0, 0x1fff: 0, 0x2000: 2, 0x2fff: 2, 0x3000: 0} {
		if got := regionAt(rs, addr); got.section != want || (got.hi == 0) != (want == 0) {
			t.Errorf("%#x: got %+v, want section %d", addr, got, want)
		}
	}
}

// A guide leads to the first query at or after an address, however the queries are
// spread.
func TestGuide(t *testing.T) {
	run := func(n int, from, step uint64) (addrs []uint64) {
		for i := range n {
			addrs = append(addrs, from+uint64(i)*step)
		}
		return addrs
	}
	for name, addrs := range map[string][]uint64{
		"one":                      {0x1000},
		"two":                      {0x1000, 0x1001},
		"as many as buckets":       run(512, 0x1000, 1),
		"one more":                 run(513, 0x1000, 1),
		"far apart":                {0, 1, 1 << 62, 1<<62 + 5, 1<<63 + 1, 1<<64 - 1},
		"many in one bucket":       append(run(100, 0x1000, 1), 1<<40),
		"many in the last bucket":  append([]uint64{0x1000}, run(100, 1<<40, 1)...),
		"many, spread out":         run(3000, 0x1000, 7),
		"at the end of the space":  run(16, 1<<64-16, 1),
		"some in a bucket between": append(append([]uint64{0x1000}, run(9, 0x5000, 3)...), 0x9000),
	} {
		qs := make([]query, len(addrs))
		for i, a := range addrs {
			qs[i].addr = a
		}
		g := newGuide(qs)
		for _, a := range addrs {
			for _, addr := range []uint64{a, a - 1, a + 1, a / 2, a + (addrs[len(addrs)-1]-a)/2} {
				if addr > addrs[len(addrs)-1] {
					continue
				}
				want := slices.IndexFunc(addrs, func(a uint64) bool { return a >= addr })
				if got := g.from(qs, addr); got != want {
					t.Fatalf("%s, %#x: got query %d, want %d", name, addr, got, want)
				}
			}
		}
	}
}

// A table is read in place a number of times, and then gets an index, once.
func TestIndexPays(t *testing.T) {
	o := New(parse(t, program(binary.LittleEndian, text("f", global|function, 0x2000, 0x1000)).File()))
	own := o.tables[0]
	for i := range uint64(maxReads) {
		if got := funcAt(o, 0x2000+i); got != "f" || own.index != nil || own.reads != int(i)+1 {
			t.Fatalf("reading %d: got %q, an index: %v", own.reads, got, own.index != nil)
		}
	}
	o.Prepare([]uint64{0x2000, 0x2001})
	if own.index != nil {
		t.Error("known addresses were looked up again")
	}
	if got := funcAt(o, 0x2800); got != "f" || own.index == nil {
		t.Errorf("got %q, an index: %v", got, own.index != nil)
	}
	index, reads := own.index, own.reads
	if got := funcAt(o, 0x2801); got != "f" || own.index != index || own.reads != reads {
		t.Errorf("got %q, and another index or reading", got)
	}
}

// Of the answers to many addresses, as many are kept as there is room for.
func TestPrepareBounded(t *testing.T) {
	name := strings.Repeat("x", maxName)
	o := New(parse(t, program(binary.LittleEndian, text(name, global|function, 0x2000, 0x1000)).File()))
	var addrs []uint64
	for i := range uint64(800) {
		addrs = append(addrs, 0x2000+i)
	}
	o.Prepare(addrs)
	if half := maxHeld / 2 / maxName; len(o.known) < half-10 || len(o.known) > half+1 {
		t.Errorf("got %d answers, want about %d", len(o.known), half)
	}
	for _, a := range addrs[790:] {
		if got := o.Lookup(a, nil); len(got) != 1 || got[0].Offset != a-0x2000 {
			t.Errorf("%#x: got %d locations", a, len(got))
		}
	}
}

// A defect is told once, however often it is met.
func TestProblemsOnce(t *testing.T) {
	o := New(parse(t, program(binary.LittleEndian).File()))
	for _, text := range []string{"a", "b", "a", "b", "a"} {
		o.problem(errors.New(text))
	}
	o.problem(nil)
	if got := fmt.Sprint(o.Problems()); got != "[a b]" {
		t.Errorf("got %s, want [a b]", got)
	}
}
