package cfi

import (
	"errors"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/dwarf/expr"
	"github.com/sfcore/sfcore/internal/testkit"
)

// TestCIEs covers what a CIE may say about its FDEs.
func TestCIEs(t *testing.T) {
	plain := func(b *builder) { b.D64(testText, testSize) }
	augmented := func(b *builder) { b.D64(testText, testSize).ULEB(3).D8(1, 2, 3) }
	relative := func(b *builder) { // DW_EH_PE_pcrel | DW_EH_PE_sdata4
		b.Diff(4, "", here(b), testText-testFrame).D32(testSize).ULEB(0)
	}
	initial := []byte{byte(cfaDefCFA), 31, 16}
	tests := []struct {
		name  string
		debug bool
		long  bool
		cie   cieText
		fde   func(b *builder)
		want  string
	}{
		{name: "version 1", cie: cieText{version: 1}, fde: plain},
		{name: "version 3", cie: cieText{version: 3}, fde: plain},
		{name: "version 4", cie: cieText{version: 4}, fde: plain},
		{name: "version 3 with another return address", cie: cieText{version: 3, ra: 200, initial: append(initial, byte(cfaUndefined), 0xc8, 1)}, fde: plain, want: "cfa=sp+16 ra=u fp=x29"},
		{name: "z", cie: cieText{augmentation: "z"}, fde: augmented},
		{name: "zR", cie: cieText{augmentation: "zR", data: []byte{pePCRel | peSData4}}, fde: relative},
		{name: "zPLR", cie: cieText{augmentation: "zPLR", data: []byte{pePCRel | peIndirect | peSData4, 1, 2, 3, 4, peSData4, pePCRel | peSData4}}, fde: relative},
		{name: "zPR, ULEB128", cie: cieText{augmentation: "zPR", data: []byte{peULEB128, 0x80, 1, pePCRel | peSData4}}, fde: relative},
		{name: "zPR, aligned, from 18 to 24", cie: cieText{augmentation: "zPR", data: append([]byte{peAligned}, append(make([]byte, 6+8), pePCRel|peSData4)...)}, fde: relative},
		{name: "zRS", cie: cieText{augmentation: "zRS", data: []byte{pePCRel | peSData4}}, fde: relative, want: "cfa=sp+16 ra=x30 fp=x29 signal"},
		{name: "zRB, key B", cie: cieText{augmentation: "zRB", data: []byte{pePCRel | peSData4}}, fde: relative},
		{name: "zRG, memory tagging", cie: cieText{augmentation: "zRGS", data: []byte{pePCRel | peSData4}}, fde: relative, want: "cfa=sp+16 ra=x30 fp=x29 signal"},
		{name: "unknown letters with data", cie: cieText{augmentation: "zRX", data: []byte{pePCRel | peSData4, 1, 2, 3}}, fde: relative},
		{name: "64-bit", long: true, cie: cieText{augmentation: "zR", data: []byte{pePCRel | peSData4}}, fde: relative},
		{name: ".debug_frame", debug: true, cie: cieText{version: 3}, fde: plain},
		{name: ".debug_frame version 4", debug: true, cie: cieText{version: 4}, fde: plain},
		{name: ".debug_frame, 64-bit", debug: true, long: true, cie: cieText{version: 3}, fde: plain},
	}
	for _, a := range bothOrders {
		for _, tt := range tests {
			t.Run(orderOf(a).String()+"/"+tt.name, func(t *testing.T) {
				b := newBuilder(a)
				b.debug, b.long = tt.debug, tt.long
				if tt.debug { // so that the CIE is not at 0
					b.fde("other", "cie", 0x500, 1, nil)
				}
				if tt.cie.initial == nil {
					tt.cie.initial = initial
				}
				b.cie("cie", tt.cie)
				b.entry("fde", "cie", func() { tt.fde(b) })
				s := b.section(t, a)
				if tt.want == "" {
					tt.want = "cfa=sp+16 ra=x30 fp=x29"
				}
				for _, pc := range []uint64{testText, testText + testSize - 1} {
					row, found, err := findRow(s, pc, numbered(), nil)
					if !found || err != nil {
						t.Fatal(found, err)
					}
					if got := row.Format(a); got != tt.want {
						t.Errorf("got  %s\nwant %s", got, tt.want)
					}
				}
				for _, pc := range []uint64{0, testText - 1, testText + testSize, 1<<64 - 1} {
					if _, found, err := findRow(s, pc, numbered(), nil); found || err != nil {
						t.Errorf("at %#x: got %v, %v, want nothing", pc, found, err)
					}
				}
			})
		}
	}
}

// here marks the current position, and returns the label.
func here(b *builder) string {
	label := "here " + string(rune('a'+b.Len()))
	b.Mark(label)
	return label
}

// TestOldAugmentation covers that of GCC 2, a pointer in the middle.
func TestOldAugmentation(t *testing.T) {
	a := arch.AMD64
	b := newBuilder(a)
	b.entry("cie", "", func() {
		b.D8(1).Str("eh").D64(0x1234).ULEB(1).SLEB(-8).D8(16, byte(cfaDefCFA), 7, 8, byte(cfaOffset|16), 1)
	})
	b.fde("fde", "cie", testText, testSize, nil)
	row, found, err := findRow(b.section(t, a), testText, numbered(), nil)
	if want := "cfa=rsp+8 ra=*(c-8) fp=rbp"; !found || err != nil || row.Format(a) != want {
		t.Errorf("got %v, %v, %s, want %s", found, err, row.Format(a), want)
	}
}

// TestSegmentSelectors covers FDEs of version 4 that begin with one.
func TestSegmentSelectors(t *testing.T) {
	a := arch.AArch64
	b := newBuilder(a)
	b.entry("cie", "", func() { b.D8(4).Str("").D8(8, 2).ULEB(4).SLEB(-8).ULEB(30).Raw(initialSP) })
	b.entry("fde", "cie", func() { b.D16(7).D64(testText, testSize) })
	if _, found, err := findRow(b.section(t, a), testText, numbered(), nil); !found || err != nil {
		t.Error(found, err)
	}
}

// TestPointers covers every encoding of the addresses of an FDE.
func TestPointers(t *testing.T) {
	const text, data = 0x700, 0x900
	type build func(b *builder)
	tests := []struct {
		name string
		enc  uint8
		fde  build
	}{
		{"absptr", peAbsPtr, func(b *builder) { b.D64(testText, testSize) }},
		{"signed", peSigned, func(b *builder) { b.D64(testText, testSize) }},
		{"udata8", peUData8, func(b *builder) { b.D64(testText, testSize) }},
		{"sdata8", peSData8, func(b *builder) { b.D64(testText, testSize) }},
		{"udata4", peUData4, func(b *builder) { b.D32(testText, testSize) }},
		{"sdata4", peSData4, func(b *builder) { b.D32(testText, testSize) }},
		{"udata2", peUData2, func(b *builder) { b.D16(testText, testSize) }},
		{"sdata2", peSData2, func(b *builder) { b.D16(testText, testSize) }},
		{"uleb128", peULEB128, func(b *builder) { b.ULEB(testText, testSize) }},
		{"sleb128", peSLEB128, func(b *builder) { b.SLEB(testText, testSize) }},
		{"pcrel sdata8", pePCRel | peSData8, func(b *builder) { b.Diff(8, "", here(b), testText-testFrame).D64(testSize) }},
		{"pcrel absptr", pePCRel | peAbsPtr, func(b *builder) { b.Diff(8, "", here(b), testText-testFrame).D64(testSize) }},
		{"pcrel sdata2", pePCRel | peSData2, func(b *builder) { b.Diff(2, "", here(b), testText-testFrame).D16(testSize) }},
		{"textrel udata2", peTextRel | peUData2, func(b *builder) { b.D16(testText-text, testSize) }},
		{"datarel sdata4", peDataRel | peSData4, func(b *builder) { b.D32(testText-data, testSize) }},
		{"aligned", peAligned, func(b *builder) { b.Align(8).D64(testText, testSize) }},
	}
	for _, a := range bothOrders {
		for _, tt := range tests {
			t.Run(orderOf(a).String()+"/"+tt.name, func(t *testing.T) {
				b := newBuilder(a)
				b.cie("cie", cieText{augmentation: "zR", data: []byte{tt.enc}, initial: initialSP})
				b.entry("fde", "cie", func() { tt.fde(b); b.ULEB(0) })
				s, err := ParseEHFrame(a, b.Done(), testFrame, nil, 0, Bases{Text: text, Data: data})
				if err != nil {
					t.Fatal(err)
				}
				for f, err := range s.FDEs() {
					if err != nil || f.Start != testText || f.Size != testSize {
						t.Errorf("got [%#x, +%#x), %v, want [%#x, +%#x)", f.Start, f.Size, err, testText, testSize)
					}
				}
				if _, found, err := findRow(s, testText, numbered(), nil); !found || err != nil {
					t.Error(found, err)
				}
			})
		}
	}
}

// TestSetLocEncodings makes sure that DW_CFA_set_loc is encoded like the
// addresses of the FDE.
func TestSetLocEncodings(t *testing.T) {
	for _, tt := range []struct {
		name string
		enc  uint8
		to   func(b *builder)
	}{
		{"pcrel", pePCRel | peSData4, func(b *builder) { b.Diff(4, "", here(b), testText+0x20-testFrame) }},
		{"funcrel", peFuncRel | peSData4, func(b *builder) { b.D32(0x20) }},
	} {
		for _, a := range bothOrders {
			t.Run(orderOf(a).String()+"/"+tt.name, func(t *testing.T) {
				b := newBuilder(a)
				b.cie("cie", cieText{augmentation: "zR", data: []byte{tt.enc}, initial: initialSP})
				b.entry("fde", "cie", func() {
					if tt.enc&peBase == pePCRel {
						b.Diff(4, "", here(b), testText-testFrame)
					} else {
						b.D32(testText) // relative to no function yet
					}
					b.D32(testSize).ULEB(0).D8(byte(cfaSetLoc))
					tt.to(b)
					b.D8(byte(cfaDefCFAOffset), 16)
				})
				s := b.section(t, a)
				for at, want := range map[uint64]string{0x1f: "cfa=sp ra=x30 fp=x29", 0x20: "cfa=sp+16 ra=x30 fp=x29"} {
					row, found, err := findRow(s, testText+at, numbered(), nil)
					if got := row.Format(a); !found || err != nil || got != want {
						t.Errorf("at +%#x: got %v, %v, %s, want %s", at, found, err, got, want)
					}
				}
			})
		}
	}
}

// TestDebugFrameBias makes sure that .debug_frame follows its module.
func TestDebugFrameBias(t *testing.T) {
	const bias = 0x5555_0000_0000
	b := newBuilder(arch.AArch64)
	b.debug = true
	b.cie("cie", cieText{version: 3, initial: initialSP})
	b.fde("fde", "cie", testText, testSize, []byte{byte(cfaDefCFAExpression), 9, expr.OpAddr, 0, 0, 0, 0, 0, 0, 0, 0})
	s, err := ParseDebugFrame(arch.AArch64, b.Done(), bias)
	if err != nil {
		t.Fatal(err)
	}
	row, found, err := findRow(s, bias+testText, numbered(), nil)
	if !found || err != nil || uint64(row.CFA.Off) != bias {
		t.Errorf("got %v, %v, CFA %#x, want %#x", found, err, row.CFA.Off, uint64(bias))
	}
	if _, found, _ := findRow(s, testText, numbered(), nil); found {
		t.Error("found at the link-time address")
	}
}

// TestDamagedEntries covers every error in a CIE and an FDE.
func TestDamagedEntries(t *testing.T) {
	goodCIE := func(b *builder) { b.cie("cie", cieText{initial: initialSP}) }
	goodFDE := func(b *builder) { b.fde("fde", "cie", testText, testSize, nil) }
	cie := func(body func(b *builder)) func(b *builder) {
		return func(b *builder) { b.entry("cie", "", func() { body(b) }) }
	}
	tests := []struct {
		name  string
		debug bool
		cie   func(b *builder) // goodCIE if nil
		fde   func(b *builder) // goodFDE if nil
		field string
		at    string // label of the damage; "" is not checked
	}{
		{name: "cut off CIE", cie: cie(func(*builder) {}), field: "version"},
		{name: "version", cie: cie(func(b *builder) { b.Mark("bad").D8(2).Str("").D8(1, 0x78, 30) }), field: "version", at: "bad"},
		{name: "endless augmentation", cie: cie(func(b *builder) { b.D8(1).Mark("bad").D8('z', 'R') }), field: "augmentation", at: "bad"},
		{name: "long augmentation", cie: cie(func(b *builder) { b.D8(1).Mark("bad").Str("z234567890123456789012345678901234567890").Zero(20) }), field: "augmentation", at: "bad"},
		{name: "unknown augmentation", cie: cie(func(b *builder) { b.D8(1).Mark("bad").Str("armcc+").D8(1, 0x78, 30) }), field: "augmentation", at: "bad"},
		{name: "cut off eh_ptr", cie: cie(func(b *builder) { b.D8(1).Str("eh").Mark("bad").D8(1, 0x78, 30) }), field: "eh_ptr", at: "bad"},
		{name: "address_size", cie: cie(func(b *builder) { b.D8(4).Str("").Mark("bad").D8(4, 0, 1, 0x78, 30) }), field: "address_size", at: "bad"},
		{name: "cut off segment_selector_size", cie: cie(func(b *builder) { b.D8(4).Str("").D8(8) }), field: "segment_selector_size"},
		{name: "cut off code_alignment_factor", cie: cie(func(b *builder) { b.D8(1).Str("").D8(0x80) }), field: "code_alignment_factor"},
		{name: "cut off data_alignment_factor", cie: cie(func(b *builder) { b.D8(1).Str("").D8(1, 0x80) }), field: "data_alignment_factor"},
		{name: "cut off return_address_register", cie: cie(func(b *builder) { b.D8(1).Str("").D8(1, 0x78).Mark("bad") }), field: "return_address_register", at: "bad"},
		{name: "augmentation_data_length", cie: cie(func(b *builder) { b.D8(1).Str("zR").D8(1, 0x78, 30, 9).Mark("bad").D8(0) }), field: "augmentation_data", at: "bad"},
		{name: "no FDE_encoding", cie: cie(func(b *builder) { b.D8(1).Str("zR").D8(1, 0x78, 30, 0).Mark("bad").D8(0) }), field: "FDE_encoding", at: "bad"},
		{name: "no LSDA_encoding", cie: cie(func(b *builder) { b.D8(1).Str("zRL").D8(1, 0x78, 30, 1, 0) }), field: "LSDA_encoding"},
		{name: "cut off personality", cie: cie(func(b *builder) { b.D8(1).Str("zP").D8(1, 0x78, 30, 4, 0, 1, 2, 3) }), field: "personality"},
		{name: "format of personality", cie: cie(func(b *builder) { b.D8(1).Str("zP").D8(1, 0x78, 30, 4, 5, 1, 2, 3) }), field: "personality"},

		{name: "CIE before the section", fde: func(b *builder) { b.D32(20).Mark("fde").D32(0x7fff).D64(testText, testSize) }, field: "CIE_pointer"},
		{name: "CIE behind the section", debug: true, fde: func(b *builder) { b.D32(20).D32(0x7fff).D64(testText, testSize) }, field: "CIE_pointer"},
		{name: "FDE as CIE", fde: func(b *builder) { b.entry("fde", "fde", func() { b.D64(testText, testSize) }) }, field: "CIE_id", at: "fde"},
		{name: "cut off initial_location", fde: func(b *builder) { b.entry("", "cie", func() { b.Mark("bad").D32(1) }) }, field: "initial_location", at: "bad"},
		{name: "cut off address_range", fde: func(b *builder) { b.entry("", "cie", func() { b.D64(testText).Mark("bad").D32(1) }) }, field: "address_range", at: "bad"},
		{name: "negative address_range", fde: func(b *builder) { b.fde("", "cie", testText, 1<<63, nil) }, field: "address_range"},
		{name: "long program", fde: func(b *builder) { b.fde("", "cie", testText, testSize, make([]byte, maxProgram+1)) }, field: "instructions"},
		{name: "length past the end", fde: func(b *builder) { b.Mark("bad").D32(1000) }, field: "length", at: "bad"},
		{name: "64-bit length past the end", fde: func(b *builder) { b.Mark("bad").D32(0xffffffff).D64(1 << 63) }, field: "length", at: "bad"},
		{name: "cut off length", fde: func(b *builder) { b.Mark("bad").D16(1) }, field: "length", at: "bad"},
		{name: "cut off CIE_pointer", fde: func(b *builder) { b.D32(3).Mark("bad").D8(1, 1, 1) }, field: "CIE_pointer", at: "bad"},
		{name: "cut off CIE_id", debug: true, fde: func(b *builder) { b.D32(3).Mark("bad").D8(1, 1, 1) }, field: "CIE_id", at: "bad"},
	}
	for _, a := range bothOrders {
		for _, tt := range tests {
			t.Run(orderOf(a).String()+"/"+tt.name, func(t *testing.T) {
				b := newBuilder(a)
				b.debug = tt.debug
				if tt.cie == nil {
					tt.cie = goodCIE
				}
				if tt.fde == nil {
					tt.fde = goodFDE
				}
				tt.cie(b)
				tt.fde(b)
				s := b.section(t, a)
				at := -1
				if tt.at != "" {
					at = b.Pos(tt.at)
				}
				_, found, err := findRow(s, testText, numbered(), nil)
				if found {
					t.Error("found")
				}
				checkFormatError(t, err, tt.field, at)
				damaged := 0
				for _, err := range s.FDEs() {
					if err != nil {
						checkFormatError(t, err, tt.field, at)
						damaged++
					}
				}
				if damaged != 1 {
					t.Errorf("FDEs yields %d errors, want 1", damaged)
				}
			})
		}
	}
}

// TestPointerErrors covers encodings that give no address.
func TestPointerErrors(t *testing.T) {
	for _, enc := range []uint8{peOmit, peIndirect | pePCRel | peSData4, 0x05, 0x0d, 0x60 | peSData4, 0x70 | peSData4} {
		b := newBuilder(arch.AArch64)
		b.cie("cie", cieText{augmentation: "zR", data: []byte{enc}, initial: initialSP})
		b.entry("fde", "cie", func() { b.Mark("bad").D64(1, 1, 0) })
		_, found, err := findRow(b.section(t, arch.AArch64), testText, numbered(), nil)
		if found {
			t.Errorf("encoding %#x: found", enc)
		}
		checkFormatError(t, err, "initial_location", b.Pos("bad"))
	}
}

// TestDamageElsewhere makes sure that damage costs only the FDEs it hits, and
// that a lookup which finds nothing then says so.
func TestDamageElsewhere(t *testing.T) {
	b := newBuilder(arch.AArch64)
	b.cie("cie", cieText{initial: initialSP})
	b.fde("", "cie", testText, testSize, nil)
	b.entry("bad", "cie", func() { b.D8(1) })
	b.fde("", "cie", 2*testText, testSize, nil)
	s := b.section(t, arch.AArch64)
	for _, pc := range []uint64{testText, 2 * testText} {
		if _, found, err := findRow(s, pc, numbered(), nil); !found || err != nil {
			t.Errorf("at %#x: got %v, %v", pc, found, err)
		}
	}
	for _, pc := range []uint64{0, 3 * testText} {
		_, found, err := findRow(s, pc, numbered(), nil)
		if found {
			t.Errorf("at %#x: found", pc)
		}
		checkFormatError(t, err, "initial_location", -1)
	}
}

// TestTerminator makes sure that .eh_frame ends at a zero length, whatever
// follows in its segment, and that .debug_frame goes on.
func TestTerminator(t *testing.T) {
	for _, debug := range []bool{false, true} {
		b := newBuilder(arch.AArch64)
		b.debug = debug
		b.cie("cie", cieText{initial: initialSP})
		b.fde("", "cie", testText, testSize, nil)
		b.D32(0)
		b.fde("", "cie", 2*testText, testSize, nil)
		s := b.section(t, arch.AArch64)
		_, found, err := findRow(s, testText, numbered(), nil)
		if !found || err != nil {
			t.Errorf("before the terminator: got %v, %v", found, err)
		}
		_, found, err = findRow(s, 2*testText, numbered(), nil)
		if found != debug || err != nil {
			t.Errorf("after the terminator: got %v, %v, want %v", found, err, debug)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for n := range lengthSize {
		_, err := ParseEHFrame(arch.AMD64, make([]byte, n), 0, nil, 0, Bases{})
		checkFormatError(t, err, "length", 0)
		_, err = ParseDebugFrame(arch.AMD64, make([]byte, n), 0)
		checkFormatError(t, err, "length", 0)
	}
}

// TestRows covers what a listing leaves out, and its errors.
func TestRows(t *testing.T) {
	program := code(arch.AArch64, func(b *testkit.Bytes) {
		b.D8(byte(cfaDefCFAOffset), 8)
		b.D8(byte(cfaAdvanceLoc|2), byte(cfaDefCFAOffset), 16)
		b.D8(byte(cfaAdvanceLoc), byte(cfaExpression), 19, 1, expr.OpNop) // a row of no bytes ends here
		b.D8(byte(cfaAdvanceLoc|2), byte(cfaDefCFAExpression), 1, expr.OpLit0)
		b.D8(byte(cfaAdvanceLoc1), 0xff, byte(cfaDefCFA), 1, 1) // past the end
	})
	s := oneFDE(t, arch.AArch64, cieText{initial: initialSP}, program)
	type row struct {
		lo, hi uint64
		text   string
		exprs  int
	}
	want := []row{
		{0, 8, "cfa=sp+8 ra=x30 fp=x29", 0},
		{8, 16, "cfa=sp+16 ra=x30 fp=x29 x19=u", 1},
		{16, testSize, "cfa=u ra=x30 fp=x29 x19=u", 2},
	}
	var got []row
	var m Machine
	for f, err := range s.FDEs() {
		if err != nil {
			t.Fatal(err)
		}
		for r, err := range m.Rows(s, f) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, row{r.Lo - testText, r.Hi - testText, r.Format(arch.AArch64), len(r.Exprs)})
		}
	}
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("got %v, want %v", got[i], want[i])
		}
	}
}

// TestRowsErrors makes sure that the rows before the damage are listed, and
// those without a rule for the CFA marked.
func TestRowsErrors(t *testing.T) {
	s := oneFDE(t, arch.AArch64, cieText{}, []byte{
		byte(cfaAdvanceLoc | 2), byte(cfaDefCFA), 31, 0, byte(cfaAdvanceLoc | 2), 0x3f,
	})
	var m Machine
	var fields []string
	for _, f := range allFDEs(t, s) {
		for _, err := range m.Rows(s, f) {
			field := ""
			if e, ok := errors.AsType[*FormatError](err); ok {
				field = e.Field
			}
			fields = append(fields, field)
		}
		for _, err := range m.Rows(s, f) {
			checkFormatError(t, err, "CFA", -1)
			break // must be possible
		}
	}
	if len(fields) != 3 || fields[0] != "CFA" || fields[1] != "" || fields[2] != "DW_CFA opcode 0x3f" {
		t.Errorf("got errors about %q", fields)
	}
	for _, err := range m.Rows(s, FDE{Off: 1 << 40}) {
		checkFormatError(t, err, "fde_address", -1)
	}
	for _, err := range m.Rows(s, FDE{}) {
		checkFormatError(t, err, "CIE_pointer", 0)
	}
}
