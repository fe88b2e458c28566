package sframe

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/sfcore/sfcore/arch"
)

// found is what Find says, on one line.
func found(s *Section, pc uint64) string {
	var row arch.Row
	ok, err := s.Find(pc, &row)
	switch {
	case ok && err != nil:
		return "both a row and " + err.Error()
	case err != nil:
		if fe, ok := errors.AsType[*FormatError](err); ok {
			return fe.ID
		}
		return err.Error()
	case !ok:
		return "nothing"
	}
	return row.Format(s.Arch())
}

// Each row holds up to the next one, and the last one to the end of its
// function.
func TestFind(t *testing.T) {
	rows := map[*arch.Arch][3]string{
		arch.AMD64:     {"cfa=rsp+8 ra=*(c-8) fp=rbp", "cfa=rsp+16 ra=*(c-8) fp=*(c-16)", "cfa=rbp+16 ra=*(c-8) fp=*(c-16)"},
		arch.AArch64:   {"cfa=sp ra=x30 fp=x29", "cfa=sp+16 ra=*(c-8) fp=*(c-16)", "cfa=x29+16 ra=*(c-8) fp=*(c-16)"},
		arch.AArch64BE: {"cfa=sp ra=x30 fp=x29", "cfa=sp+16 ra=*(c-8) fp=*(c-16)", "cfa=x29+16 ra=*(c-8) fp=*(c-16)"},
		arch.S390X:     {"cfa=r15+160 ra=r14 fp=r11", "cfa=r15+320 ra=*(c-48) fp=*(c-72)", "cfa=r11+320 ra=*(c-48) fp=*(c-72)"},
	}
	everyABI(t, func(t *testing.T, v Version, abi ABI) {
		s := parseRaw(t, plain(v, abi).bytes().Done())
		want := rows[abi.Arch()]
		for pc, want := range map[uint64]string{
			0: "nothing", 0xfff: "nothing",
			0x1000: want[0], 0x1003: want[0], 0x1004: want[1], 0x1007: want[1], 0x1008: want[2], 0x103f: want[2],
			0x1040: want[0], 0x1048: want[2], 0x105f: want[2],
			0x1060: "nothing", rawAddr: "nothing", ^uint64(0): "nothing",
		} {
			if got := found(s, pc); got != want {
				t.Errorf("%#x: got %q, want %q", pc, got, want)
			}
		}
	})
}

// What a function's start is relative to.
func TestStarts(t *testing.T) {
	const section, field = true, false
	tests := []struct {
		v       Version
		flags   Flags
		section bool
	}{
		{CTFFrame, FDESorted, section},
		{CTFFrame, 0, field},
		{CTFFrame, FDESorted | FuncStartPCRel, section}, // not a flag of CTF Frame
		{V1, FDESorted, section},
		{V1, 0, field},
		{V1, FDESorted | FuncStartPCRel, section}, // not a flag of V1
		{V2, FDESorted, section},
		{V2, 0, field},
		{V2, FDESorted | FuncStartPCRel, field},
		{V2, FuncStartPCRel, field},
		{V3, FDESorted, section},
		{V3, 0, section},
		{V3, FDESorted | FuncStartPCRel, field},
		{V3, FuncStartPCRel, field},
	}
	for _, c := range tests {
		for _, abi := range abisOf(c.v) {
			for _, aux := range []int{0, 12} {
				raw := plain(c.v, abi)
				if raw.flags, raw.section = c.flags, c.section; c.v != CTFFrame {
					raw.aux = aux
				}
				s := parseRaw(t, raw.bytes().Done())
				for _, start := range []uint64{0x1000, 0x1040} {
					if f, ok, err := s.Lookup(start); !ok || err != nil || f.Start != start {
						t.Errorf("version %s, flags %#x, ABI %d: got %#x, %v, %v, want %#x", c.v, c.flags, abi, f.Start, ok, err, start)
					}
				}
			}
		}
	}
}

// 64-bit starts reach everywhere, 32-bit ones wrap around at the ends.
func TestFarStarts(t *testing.T) {
	raw := plain(V3, AMD64LE)
	raw.funcs[0].start, raw.funcs[1].start = 0x10, 0xffff_ffff_8000_0000
	s := parseRaw(t, raw.bytes().Done())
	for _, start := range []uint64{0x10, 0xffff_ffff_8000_0000} {
		if f, ok, err := s.Lookup(start + 8); !ok || f.Start != start {
			t.Errorf("got %#x, %v, %v, want %#x", f.Start, ok, err, start)
		}
	}
	s, err := Parse(plain(V2, AMD64LE).bytes().Done(), 0x100, Options{})
	if err != nil {
		t.Fatal(err)
	}
	distance := int64(0x1000 - rawAddr)
	start := 0x100 + uint64(distance)
	if f, ok, err := s.Lookup(start); !ok || f.Start != start {
		t.Errorf("got %#x, %v, %v, want %#x", f.Start, ok, err, start)
	}
}

// PCMASK rows repeat every block.
func TestMask(t *testing.T) {
	for _, v := range []Version{CTFFrame, V1, V2, V3} {
		for _, rep := range []uint8{16, 12} {
			if v < V2 && rep != 16 {
				continue // no other size can be written
			}
			raw := plain(v, AMD64LE)
			f := &raw.funcs[0]
			f.info |= infoPCMask
			f.size = 5 * uint32(rep)
			f.rows = []rawRow{row(0, sp, 8), row(11, sp, 16)}
			f.rep = rep
			raw.funcs = raw.funcs[:1]
			s := parseRaw(t, raw.bytes().Done())
			for off := range uint64(f.size) {
				want := "cfa=rsp+8 ra=*(c-8) fp=rbp"
				if off%uint64(rep) >= 11 {
					want = "cfa=rsp+16 ra=*(c-8) fp=rbp"
				}
				if got := found(s, f.start+off); got != want {
					t.Errorf("version %s, blocks of %d: %#x: got %q, want %q", v, rep, off, got, want)
				}
			}
		}
	}
}

// Row starts and words of every size, in both byte orders.
func TestSizes(t *testing.T) {
	everyABI(t, func(t *testing.T, v Version, abi ABI) {
		for width, last := range map[uint8]uint32{0: 0xff, 1: 0xffff, 2: 0xf_ffff} {
			for size, word := range map[uint8]int64{0: -128, 1: -0x8000, 2: -0x8000_0000} {
				raw := plain(v, abi)
				f := &raw.funcs[0]
				f.size = last + 1
				f.info = layouts[v].firstFREType + width
				f.rows = []rawRow{row(0, sp, 8), {last, sp | 1<<1 | size<<5, bigWord(raw, word, 1<<size)}}
				raw.funcs = raw.funcs[:1]
				s := parseRaw(t, raw.bytes().Done())
				for e, err := range s.FREs(firstFunc(t, s)) {
					if err != nil || e.Start == last && (int64(e.Word(0)) != word || e.WordSize() != 1<<size) {
						t.Errorf("got %d in %d bytes, %v, want %d", e.Word(0), e.WordSize(), err, word)
					}
				}
				if abi == S390XBE {
					word = word*8 + 160
				}
				before, after := "nothing", "nothing"
				for pc, got := range map[uint64]*string{f.start + uint64(last) - 1: &before, f.start + uint64(last): &after} {
					var row arch.Row
					if ok, err := s.Find(pc, &row); !ok {
						t.Fatal(err)
					}
					*got = fmt.Sprint(row.CFA.Off)
				}
				if after != fmt.Sprint(word) || before == after {
					t.Errorf("starts of %d bytes, words of %d: got %s, then %s, want %d", 1<<width, 1<<size, before, after, word)
				}
			}
		}
	})
}

// bigWord returns the bytes of a word in the table's byte order.
func bigWord(t *rawTable, v int64, size int) []int8 {
	b := make([]int8, size)
	for i := range b {
		at := i
		if t.abi.Arch().BigEndian {
			at = size - 1 - i
		}
		b[at] = int8(v >> (8 * i))
	}
	return b
}

func firstFunc(t *testing.T, s *Section) Func {
	t.Helper()
	for f, err := range s.Funcs() {
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	t.Fatal("no functions")
	return Func{}
}

// Tables out of order are searched as well as others, with the flag or not.
func TestUnsorted(t *testing.T) {
	everyABI(t, func(t *testing.T, v Version, abi ABI) {
		for _, sorted := range []bool{false, true} {
			raw := plain(v, abi)
			if !sorted {
				raw.flags &^= FDESorted
				raw.section = v == V3 && raw.flags&FuncStartPCRel == 0
			}
			f := raw.funcs[0]
			raw.funcs = nil
			for i := range 200 {
				f.start = 0x1000 + 0x100*uint64((i*77)%200)
				raw.funcs = append(raw.funcs, f)
			}
			s := parseRaw(t, raw.bytes().Done())
			for i := range uint64(200) {
				start := 0x1000 + 0x100*i
				for pc, want := range map[uint64]bool{start: true, start + 0x3f: true, start + 0x40: false, start - 1: false} {
					if got, ok, err := s.Lookup(pc); ok != want || err != nil || ok && got.Start != start {
						t.Fatalf("sorted %v: Lookup(%#x): got %#x, %v, %v, want %v", sorted, pc, got.Start, ok, err, want)
					}
				}
			}
		}
	})
}

// Empty functions are stepped over, wherever they are, and of functions that
// share a start the largest is found.
func TestTies(t *testing.T) {
	type fn struct {
		start uint64
		size  uint32
	}
	for name, funcs := range map[string][]fn{
		"before":        {{0x1000, 0}, {0x1000, 16}},
		"after":         {{0x1000, 16}, {0x1000, 0}},
		"within":        {{0x1000, 16}, {0x1004, 0}, {0x1008, 0}},
		"between":       {{0x1000, 0}, {0x1000, 16}, {0x1000, 0}, {0x1010, 0}, {0x1010, 4}},
		"smaller first": {{0x1000, 8}, {0x1000, 16}},
		"larger first":  {{0x1000, 16}, {0x1000, 8}},
		"many":          {{0x1000, 0}, {0x1000, 0}, {0x1000, 0}, {0x1000, 0}, {0x1000, 16}, {0x1000, 0}, {0x1000, 0}, {0x1000, 0}, {0x1000, 0}, {0x1000, 0}, {0x1000, 0}},
		"out of order":  {{0x1010, 0}, {0x1000, 16}, {0x1000, 0}},
	} {
		raw := plain(V3, AMD64LE)
		f := raw.funcs[0]
		raw.funcs = nil
		for _, fn := range funcs {
			f.start, f.size = fn.start, fn.size
			raw.funcs = append(raw.funcs, f)
		}
		s := parseRaw(t, raw.bytes().Done())
		for off := range uint64(16) {
			if f, ok, err := s.Lookup(0x1000 + off); !ok || err != nil || f.Size != 16 {
				t.Errorf("%s: %#x: got %#x, %d bytes, %v, %v", name, 0x1000+off, f.Start, f.Size, ok, err)
			}
		}
		if f, ok, _ := s.Lookup(0xfff); ok {
			t.Errorf("%s: 0xfff: got %#x, %d bytes", name, f.Start, f.Size)
		}
	}
	// Only empty functions.
	raw := plain(V2, AMD64LE)
	raw.flags, raw.funcs[0].size, raw.funcs[1].size = 0, 0, 0
	if got := found(parseRaw(t, raw.bytes().Done()), 0x1000); got != "nothing" {
		t.Errorf("only empty functions: got %s", got)
	}
}

// What ends a stack, and what needs more than SFrame.
func TestSpecialFunctions(t *testing.T) {
	outermost := []rawRow{row(0, sp, 8), {start: 4}}
	tests := []struct {
		name  string
		table func() *rawTable
		f     rawFunc
		want  string // at 0x1004
	}{
		{"outermost row, V3", v3, rawFunc{rows: outermost}, "cfa=u ra=u fp=u"},
		{"outermost row, V2 errata 2", v2, rawFunc{rows: outermost}, "cfa=u ra=u fp=u"},
		{"outermost row, flexible", v3, rawFunc{info2: fdeFlex, rows: outermost[1:]}, "cfa=u ra=u fp=u"},
		{"outermost row, V1", v1, rawFunc{rows: outermost}, "fre-without-words"},
		{"no rows, V3", v3, rawFunc{}, "cfa=u ra=u fp=u"},
		{"no rows, V2", v2, rawFunc{}, "nothing"},
		{"no rows, V1", v1, rawFunc{}, "nothing"},
		{"no rows, signal frame", v3, rawFunc{info: infoSignal}, ErrSignalContext.Error()},
		{"no rows, bit 7 of V2", v2, rawFunc{info: infoSignal}, "nothing"},
		{"signal frame", v3, rawFunc{info: infoSignal, rows: []rawRow{row(0, sp, 8)}}, "cfa=rsp+8 ra=*(c-8) fp=rbp signal"},
		{"bit 7 of V2", v2, rawFunc{info: infoSignal, rows: []rawRow{row(0, sp, 8)}}, "cfa=rsp+8 ra=*(c-8) fp=rbp"},
		{"no row yet", v3, rawFunc{rows: []rawRow{row(5, sp, 8)}}, "nothing"},
	}
	for _, c := range tests {
		raw := c.table()
		c.f.start, c.f.size = 0x1000, 0x10
		raw.funcs = []rawFunc{c.f}
		if got := found(parseRaw(t, raw.bytes().Done()), 0x1004); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// A row of a table with functions in order is found without allocating, from
// the second lookup on.
func TestFindAllocates(t *testing.T) {
	for v := range layouts {
		s, pcs := library(t, Version(v), 500)
		var row arch.Row
		i := 0
		n := testing.AllocsPerRun(1000, func() {
			if ok, err := s.Find(pcs[i%len(pcs)], &row); !ok {
				t.Fatal(err)
			}
			i++
		})
		if n != 0 {
			t.Errorf("version %s: got %v allocations, want 0", Version(v), n)
		}
	}
	_, data := three()
	s := parseRaw(t, data)
	var row arch.Row
	if n := testing.AllocsPerRun(1000, func() { _, _ = s.Find(0x1044, &row) }); n != 0 {
		t.Errorf("several tables: got %v allocations, want 0", n)
	}
}

// Lookups may begin at the same time.
func TestFindConcurrently(t *testing.T) {
	_, data := three()
	s := parseRaw(t, data)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			var row arch.Row
			if ok, err := s.Find(0x1044+0x1000*uint64(i%3), &row); !ok {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// What a row had before does not show in what is found.
func TestFindOverwrites(t *testing.T) {
	outermost := with(v3, func(t *rawTable) { t.funcs[0].rows = nil })
	for name, table := range map[string]func() *rawTable{"a function without rows": outermost, "a row without words": flexRow(), "a row": v3} {
		s := parseRaw(t, table().bytes().Done())
		var want arch.Row
		if found, err := s.Find(0x1000, &want); !found || err != nil {
			t.Fatalf("%s: got %v, %v", name, found, err)
		}
		got := arch.Row{CFA: arch.AtCFA(-99), RA: arch.AtCFA(-99), FP: arch.AtCFA(-99), Signal: true, SignedRA: true}
		if found, err := s.Find(0x1000, &got); !found || err != nil || got.CFA != want.CFA || got.RA != want.RA || got.FP != want.FP || got.Signal || got.SignedRA {
			t.Errorf("%s: got %+v, %v, %v, want %+v", name, got, found, err, want)
		}
	}
}

// A row whose size is not defined is no way to those behind it, wherever they are.
func TestBrokenRowBefore(t *testing.T) {
	for words := range 15 {
		raw := v2()
		info := uint8(words<<1) | freSizeBroken | sp
		raw.funcs[0].rows = []rawRow{{0, info, make([]int8, words*8)}, row(8, sp, 16, -16)}
		s := parseRaw(t, raw.bytes().Done())
		if got := found(s, 0x1010); got != "fre-word-size" {
			t.Errorf("%d words: got %s", words, got)
		}
	}
}

// TestMagicAt has where a table may begin.
func TestMagicAt(t *testing.T) {
	for data, want := range map[string]bool{
		"\xde\xe2": true, "\xe2\xde": true, "\xde\xe2\x01": true, "\xde": false, "": false,
		"\xde\xe3": false, "\xdf\xe2": false, "\xe2\xdf": false, "\xe3\xde": false, "\xde\xde": false, "\xe2\xe2": false, "\x00\xe2": false, "\xe2\x00": false, "\xde\xe0": false, "\xe0\xde": false,
	} {
		if got := (&Section{data: []byte(data)}).magicAt(0); got != want {
			t.Errorf("%x: got %v, want %v", data, got, want)
		}
		padded := &Section{data: append(make([]byte, 8), data...)}
		if got := padded.magicAt(8); got != want {
			t.Errorf("%x at 8: got %v, want %v", data, got, want)
		}
		if odd := (&Section{data: append(make([]byte, 7), data...)}); odd.magicAt(7) {
			t.Errorf("%x: got a table at 7", data)
		}
	}
}
