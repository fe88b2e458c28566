package cfi

import (
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/testkit"
)

const testHdr = 0x7000 // address of the .eh_frame_hdr that tests build

// hdrText is what a .eh_frame_hdr says.
type hdrText struct {
	version                 uint8 // 1 if 0
	frameEnc, countEnc, enc uint8
	count                   int // of entries, if it is not their number
	entries                 [][2]uint64
}

// build builds the section. Addresses are stored as enc says.
func (h hdrText) build(a *arch.Arch) []byte {
	b := testkit.New(orderOf(a))
	b.D8(max(h.version, 1), h.frameEnc, h.countEnc, h.enc)
	put := func(enc uint8, v uint64) {
		switch enc & peBase {
		case pePCRel:
			v -= testHdr + uint64(b.Len())
		case peDataRel:
			v -= testHdr
		}
		switch enc & peFormat {
		case peULEB128:
			b.ULEB(v)
		case peSLEB128:
			b.SLEB(int64(v))
		default:
			switch columnSize(enc) {
			case 8:
				b.D64(v)
			case 4:
				b.D32(uint32(v))
			case 2:
				b.D16(uint16(v))
			}
		}
	}
	put(h.frameEnc, testFrame)
	if h.count == 0 {
		h.count = len(h.entries)
	}
	put(h.countEnc, uint64(h.count))
	for _, e := range h.entries {
		put(h.enc, e[0])
		put(h.enc, e[1])
	}
	return b.Done()
}

// usualHdr is what linkers write.
func usualHdr(entries [][2]uint64) hdrText {
	return hdrText{frameEnc: pePCRel | peSData4, countEnc: peUData4, enc: peDataRel | peSData4, entries: entries}
}

// someFDEs builds .eh_frame with functions at ascending addresses, in an order
// of their own, and the entries of a table for them.
func someFDEs(a *arch.Arch) (frame []byte, entries [][2]uint64) {
	b := newBuilder(a)
	b.cie("cie", cieText{ra: uint64(a.RA()), initial: []byte{byte(cfaDefCFA), byte(a.SP), 0, byte(cfaOffset) | byte(a.RA()), 1}})
	starts := []uint64{0x4000, 0x1000, 0x3000, 0x1100, 0x3800}
	at := map[uint64]uint64{}
	for i, start := range starts {
		at[start] = testFrame + uint64(b.Len())
		b.fde("", "cie", start, 0x100, []byte{byte(cfaDefCFAOffset), byte(i + 1)})
	}
	for _, start := range []uint64{0x1000, 0x1100, 0x3000, 0x3800, 0x4000} {
		entries = append(entries, [2]uint64{start, at[start]})
	}
	return b.Done(), entries
}

// checkSomeFDEs looks up every function and every gap of someFDEs.
func checkSomeFDEs(t *testing.T, s *Section) {
	t.Helper()
	var m Machine
	var row arch.Row
	for pc, want := range map[uint64]int64{
		0: 0, 0xfff: 0, 0x1000: 2, 0x10ff: 2, 0x1100: 4, 0x11ff: 4, 0x1200: 0, 0x2fff: 0,
		0x3000: 3, 0x30ff: 3, 0x3100: 0, 0x3800: 5, 0x3fff: 0, 0x4000: 1, 0x40ff: 1, 0x4100: 0, 1<<64 - 1: 0,
	} {
		found, err := m.Find(s, pc, numbered(), nil, &row)
		if err != nil || found != (want != 0) || found && row.CFA.Off != want {
			t.Errorf("at %#x: got %v, %v, offset %d, want %d", pc, found, err, row.CFA.Off, want)
		}
	}
}

// TestTables looks up through tables of every encoding, and without one.
func TestTables(t *testing.T) {
	omit := func(h hdrText) hdrText { h.entries, h.enc = nil, peOmit; return h }
	tests := []struct {
		name string
		hdr  func(entries [][2]uint64) hdrText
		scan bool // the table cannot be used
	}{
		{"datarel sdata4", usualHdr, false},
		{"datarel udata2", func(e [][2]uint64) hdrText {
			return hdrText{frameEnc: peUData8, countEnc: peUData2, enc: peDataRel | peSData2, entries: e}
		}, false},
		{"absptr", func(e [][2]uint64) hdrText {
			return hdrText{frameEnc: peAbsPtr, countEnc: peULEB128, enc: peAbsPtr, entries: e}
		}, false},
		{"udata2", func(e [][2]uint64) hdrText {
			return hdrText{frameEnc: peUData4, countEnc: peUData8, enc: peUData2, entries: e}
		}, false},
		{"pcrel sdata8", func(e [][2]uint64) hdrText {
			return hdrText{frameEnc: pePCRel | peSData8, countEnc: peSLEB128, enc: pePCRel | peSData8, entries: e}
		}, false},
		{"table omitted", func(e [][2]uint64) hdrText { return omit(usualHdr(e)) }, true},
		{"count omitted", func(e [][2]uint64) hdrText { h := omit(usualHdr(e)); h.countEnc = peOmit; return h }, true},
		{"empty", func([][2]uint64) hdrText { return usualHdr(nil) }, true},
	}
	for _, a := range bothOrders {
		for _, tt := range tests {
			t.Run(orderOf(a).String()+"/"+tt.name, func(t *testing.T) {
				frame, entries := someFDEs(a)
				hdr := tt.hdr(entries).build(a)
				s, err := ParseEHFrame(a, frame, testFrame, hdr, testHdr, Bases{})
				if err != nil {
					t.Fatal(err)
				}
				checkSomeFDEs(t, s)
				if got := s.index.Load() != nil; got != tt.scan {
					t.Errorf("scanned: got %v, want %v", got, tt.scan)
				}
				if err := s.Problem(); err != nil {
					t.Errorf("got problem %v", err)
				}
				if addr, err := FrameAddr(a, hdr, testHdr); addr != testFrame || err != nil {
					t.Errorf("FrameAddr: got %#x, %v, want %#x", addr, err, testFrame)
				}
			})
		}
		t.Run(orderOf(a).String()+"/none", func(t *testing.T) {
			frame, _ := someFDEs(a)
			s, err := ParseEHFrame(a, frame, testFrame, nil, 0, Bases{})
			if err != nil {
				t.Fatal(err)
			}
			checkSomeFDEs(t, s)
			if s.Problem() != nil {
				t.Errorf("got problem %v", s.Problem())
			}
		})
	}
}

// TestDamagedTables makes sure that a table which is damaged or lies changes
// no answer, and is reported.
func TestDamagedTables(t *testing.T) {
	tests := []struct {
		name   string
		damage func(h *hdrText)
		trim   int // bytes cut off the end
		field  string
	}{
		{name: "version", damage: func(h *hdrText) { h.version = 2 }, field: "version"},
		{name: "frame pointer format", damage: func(h *hdrText) { h.frameEnc = 0x05 }, field: "eh_frame_ptr"},
		{name: "count format", damage: func(h *hdrText) { h.countEnc = 0x05 }, field: "fde_count"},
		{name: "entries of any size", damage: func(h *hdrText) { h.enc = peULEB128 }, field: "table_enc"},
		{name: "entries relative to functions", damage: func(h *hdrText) { h.enc = peFuncRel | peSData4 }, field: "table_enc"},
		{name: "indirect entries", damage: func(h *hdrText) { h.enc = peIndirect | peDataRel | peSData4 }, field: "table_enc"},
		{name: "count too great", damage: func(h *hdrText) { h.count = 6 }, field: "fde_count"},
		{name: "count negative", damage: func(h *hdrText) { h.countEnc, h.count = peSData4, -1 }, field: "fde_count"},
		{name: "cut off", damage: func(*hdrText) {}, trim: 1, field: "fde_count"},
		{name: "header cut off", damage: func(*hdrText) {}, trim: 5*8 + 4 + 4 + 1, field: "table_enc"},
		{name: "unsorted", damage: func(h *hdrText) { h.entries[1], h.entries[2] = h.entries[2], h.entries[1] }, field: "initial_location"},
		{name: "doubled", damage: func(h *hdrText) { h.entries[1] = h.entries[0] }, field: "initial_location"},
		{name: "wrong address", damage: func(h *hdrText) { h.entries[1][0] += 8 }, field: "initial_location"},
		{name: "entries exchanged", damage: func(h *hdrText) { h.entries[1][1], h.entries[2][1] = h.entries[2][1], h.entries[1][1] }, field: "initial_location"},
		{name: "out of the section", damage: func(h *hdrText) { h.entries[2][1] = 0 }, field: "fde_address"},
		{name: "at the CIE", damage: func(h *hdrText) { h.entries[2][1] = testFrame }, field: "CIE_pointer"},
	}
	for _, a := range bothOrders {
		for _, tt := range tests {
			t.Run(orderOf(a).String()+"/"+tt.name, func(t *testing.T) {
				frame, entries := someFDEs(a)
				h := usualHdr(entries)
				tt.damage(&h)
				hdr := h.build(a)
				s, err := ParseEHFrame(a, frame, testFrame, hdr[:len(hdr)-tt.trim], testHdr, Bases{})
				if err != nil {
					t.Fatal(err)
				}
				if s.Problem() != nil {
					t.Errorf("a problem before the first lookup: %v", s.Problem())
				}
				checkSomeFDEs(t, s)
				checkFormatError(t, s.Problem(), tt.field, -1)
			})
		}
	}
}

func TestFrameAddrErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		hdr   []byte
		field string
	}{
		"empty":   {nil, "version"},
		"version": {[]byte{2, 0x1b, 3, 0x3b, 0, 0, 0, 0}, "version"},
		"cut off": {[]byte{1, 0x1b, 3, 0x3b, 0, 0, 0}, "eh_frame_ptr"},
		"omitted": {[]byte{1, peOmit, 3, 0x3b}, "eh_frame_ptr"},
		"none":    {[]byte{1, 0x1b, 3, 0x3b, 0, 0, 0, 0, 0, 0, 0, 0}, "eh_frame_ptr_enc"},
	} {
		t.Run(name, func(t *testing.T) {
			addr, err := FrameAddr(arch.AMD64, tt.hdr, testHdr)
			if addr != 0 {
				t.Errorf("got %#x", addr)
			}
			checkFormatError(t, err, tt.field, -1)
		})
	}
}

// TestIndexOrder covers what a table cannot say: FDEs of no bytes, two of one
// address, and one within another.
func TestIndexOrder(t *testing.T) {
	b := newBuilder(arch.AArch64)
	b.cie("cie", cieText{initial: initialSP})
	for i, f := range [][2]uint64{{0x1000, 0}, {0x1000, 0x100}, {0x1000, 0x200}, {0x2000, 0x1000}, {0x2100, 0x10}} {
		b.fde("", "cie", f[0], f[1], []byte{byte(cfaDefCFAOffset), byte(i)})
	}
	s := b.section(t, arch.AArch64)
	for pc, want := range map[uint64]int64{0x1000: 1, 0x10ff: 1, 0x20ff: 3, 0x2100: 4} {
		row, found, err := findRow(s, pc, numbered(), nil)
		if !found || err != nil || row.CFA.Off != want {
			t.Errorf("at %#x: got %v, %v, FDE %d, want %d", pc, found, err, row.CFA.Off, want)
		}
	}
	if _, found, err := findRow(s, 0x2110, numbered(), nil); found || err != nil {
		t.Errorf("past the inner FDE: got %v, %v", found, err)
	}
}
