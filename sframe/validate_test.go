package sframe

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/testkit"
)

// fault is damage planted in one field of a table.
type fault struct {
	name  string
	table func() *rawTable
	field string // label of the field, or "" for none to change
	size  int    // bytes of the field
	value uint64
	// What Validate must say, and at which label.
	id    string
	at    string
	names string // the field in the message
	// found says that Find still answers for pc 0x1008 and 0x1048.
	found [2]bool
}

func v1() *rawTable    { return plain(V1, AMD64LE) }
func v2() *rawTable    { return plain(V2, AMD64LE) }
func v3() *rawTable    { return plain(V3, AMD64LE) }
func ctf() *rawTable   { return plain(CTFFrame, AArch64LE) }
func arm2() *rawTable  { return plain(V2, AArch64BE) }
func s390() *rawTable  { return plain(V2, S390XBE) }
func s3903() *rawTable { return plain(V3, S390XBE) }

// with changes a table before it is written.
func with(table func() *rawTable, change func(*rawTable)) func() *rawTable {
	return func() *rawTable {
		t := table()
		change(t)
		return t
	}
}

// flexRows makes the first function flexible, with these words in its only row.
func flexRow(words ...int8) func() *rawTable {
	return with(v3, func(t *rawTable) {
		t.funcs[0].info2 = fdeFlex
		t.funcs[0].rows = []rawRow{row(0, 0, words...)}
	})
}

var (
	first  = [2]bool{true, false}
	second = [2]bool{false, true}
	both   = [2]bool{true, true}
)

var faults = []fault{
	// Headers.
	{"flag 0x8 in V2", v2, "flags", 1, 0xd, "flags-undefined", "flags", "sfp_flags", both},
	{"frame pointer flag in V3", v3, "flags", 1, 0x7, "flags-undefined", "flags", "sfp_flags", both},
	{"PC-relative flag in V1", v1, "flags", 1, 0x5, "flags-undefined", "flags", "sfp_flags", both},
	{"flag in CTF Frame", ctf, "flags", 1, 0x5, "flags-undefined", "flags", "ctfp_flags", both},
	{"fixed RA 0 on AMD64", v2, "ra", 1, 0, "fixed-ra-unusual", "ra", "sfh_cfa_fixed_ra_offset", both},
	{"fixed RA 8 on AMD64", v3, "ra", 1, 8, "fixed-ra-unusual", "ra", "sfh_cfa_fixed_ra_offset", both},
	{"fixed RA on AArch64", arm2, "ra", 1, 0xf8, "fixed-ra-unusual", "ra", "sfh_cfa_fixed_ra_offset", both},
	{"fixed FP", v2, "fp", 1, 0xf0, "fixed-fp-unusual", "fp", "sfh_cfa_fixed_fp_offset", both},
	{"fixed FP in CTF Frame", ctf, "fp", 1, 0xf0, "fixed-fp-unusual", "fp", "cth_cfa_fixed_fp_offset", both},
	{"more rows counted", v1, "numfres", 4, 7, "fre-count-mismatch", "numfres", "sfh_num_fres", both},
	{"no rows counted", v3, "numfres", 4, 0, "fre-count-mismatch", "numfres", "sfh_num_fres", both},
	{"FREs end early", v2, "frelen", 4, 20, "fre-out-of-range", "words1.2", "data words", first},
	{"FREs end late", v2, "frelen", 4, 0x100, "fres-cut", "frelen", "sfh_fre_len", both},
	{"FREs end very late", arm2, "frelen", 4, 0xffff_ffff, "fres-cut", "frelen", "sfh_fre_len", both},
	{"function with fewer rows", v2, "count1", 4, 2, "fre-len-mismatch", "frelen", "sfh_fre_len", both},
	{"gaps", with(v2, func(t *rawTable) { t.gap = 12 }), "", 0, 0, "sub-section-gap", "fdeoff", "sfh_fdeoff", both},
	{"gaps, V3", with(s3903, func(t *rawTable) { t.gap, t.aux = 4, 4 }), "", 0, 0, "sub-section-gap", "fdeoff", "sfh_fdeoff", both},
	{"auxiliary header", with(v3, func(t *rawTable) { t.aux = 12 }), "", 0, 0, "aux-header", "aux", "sfh_auxhdr_len", both},

	// Functions.
	{"unsorted in spite of the flag", v2, "start0", 4, 0x3000, "not-sorted", "start1", "sfde_func_start_address", second},
	{"unsorted, V3", v3, "start0", 8, 0x3000, "not-sorted", "start1", "sfdi_func_start_offset", second},
	{"unsorted, CTF Frame", ctf, "start0", 4, 0x3000, "not-sorted", "start1", "ctf_func_start_address", second},
	{"unsorted as its flag says", with(v2, func(t *rawTable) { t.flags = FuncStartPCRel }), "", 0, 0, "unsorted", "flags", "sfp_flags", both},
	{"data of a function outside", v1, "off0", 4, 0x1000, "fre-off-out-of-range", "off0", "sfde_func_start_fre_off", second},
	{"data of a function far outside", arm2, "off1", 4, 0xffff_ffff, "fre-off-out-of-range", "off1", "sfde_func_start_fre_off", first},
	{"attributes cut off", v3, "off1", 4, 28, "fre-off-out-of-range", "off1", "sfdi_func_start_fre_off", first},
	{"FRE type 3", v2, "info0", 1, 0x03, "fre-type-unknown", "info0", "sfde_func_info", second},
	{"FRE type 15", v3, "info0", 1, 0x0f, "fre-type-unknown", "info0", "sfda_func_info", second},
	{"FRE type 0 in CTF Frame", ctf, "info1", 1, 0x00, "fre-type-unknown", "info1", "ctf_func_info", first},
	{"FRE type 4 in CTF Frame", ctf, "info1", 1, 0x04, "fre-type-unknown", "info1", "ctf_func_info", first},
	{"FDE type 2", v3, "info20", 1, 0x02, "fde-type-unknown", "info20", "sfda_func_info2", second},
	{"FDE type 31", s3903, "info21", 1, 0x1f, "fde-type-unknown", "info21", "sfda_func_info2", first},
	{"blocks of 0 bytes", v2, "info0", 1, 0x10, "rep-size-zero", "rep0", "sfde_func_rep_size", second},
	{"blocks of 0 bytes, V3", v3, "info0", 1, 0x10, "rep-size-zero", "rep0", "sfda_func_rep_size", second},
	{"block size without blocks", v2, "rep0", 1, 16, "rep-size-unused", "rep0", "sfde_func_rep_size", both},
	{"blocks in V1", v1, "info0", 1, 0x10, "mask-block-assumed", "info0", "sfde_func_info", both},
	{"function too long", v2, "size0", 4, 0x41, "funcs-overlap", "start1", "sfde_func_start_address", both},
	{"function around the end of memory", v3, "start1", 8, ^uint64(0) - rawAddr - 0x40, "func-wraps", "size1", "sfdi_func_size", first},
	{"function without bytes", v2, "size0", 4, 0, "func-empty", "size0", "sfde_func_size", second},
	{"undefined info bits in V1", v1, "info0", 1, 0xc0, "info-reserved", "info0", "sfde_func_info", both},
	{"undefined info bit in V2", v2, "info0", 1, 0x80, "info-reserved", "info0", "sfde_func_info", both},
	{"undefined info bit in V3", v3, "info0", 1, 0x40, "info-reserved", "info0", "sfda_func_info", both},
	{"undefined info2 bits", v3, "info20", 1, 0xe0, "info-reserved", "info20", "sfda_func_info2", both},
	{"padding", v2, "padding0", 2, 0x100, "padding-not-zero", "padding0", "sfde_func_padding2", both},
	{"key B on AMD64", v2, "info0", 1, 0x20, "key-without-pauth", "info0", "sfde_func_info", both},
	{"key in CTF Frame", ctf, "info0", 1, 0x21, "info-reserved", "info0", "ctf_func_info", both},
	{"no rows in V2", v2, "count0", 4, 0, "func-without-fres", "count0", "sfde_func_num_fres", second},
	{"no rows in V3", v3, "count0", 2, 0, "func-without-fres", "count0", "sfda_func_num_fres", both},
	{"signal frame without rows", with(v3, func(t *rawTable) { t.funcs[0].info = infoSignal }), "count0", 2, 0, "signal-without-fres", "count0", "sfda_func_num_fres", second},
	{"too many rows", v2, "count0", 4, 0xffff_ffff, "fre-not-ascending", "frestart1.0", "sfre_start_address", second},
	{"too many rows in the last function", v3, "count1", 2, 0xffff, "fre-out-of-range", "end", "sfre_start_address", [2]bool{true, false}},

	// Rows.
	{"word size 3", v2, "freinfo0.2", 1, 0x62, "fre-word-size", "freinfo0.2", "sfre_info", second},
	{"word size 3 before", v3, "freinfo0.0", 1, 0x62, "fre-word-size", "freinfo0.0", "sfre_info", second},
	{"words run out", v2, "freinfo1.2", 1, 0x1e, "fre-out-of-range", "words1.2", "data words", first},
	{"rows descend", v2, "frestart0.2", 1, 2, "fre-not-ascending", "frestart0.2", "sfre_start_address", second},
	{"second row for the first", v2, "frestart0.1", 1, 0, "fre-not-ascending", "frestart0.1", "sfre_start_address", second},
	{"rows repeat", v1, "frestart1.2", 1, 4, "fre-not-ascending", "frestart1.2", "sfre_start_address", first},
	{"rows repeat, CTF Frame", ctf, "frestart1.2", 1, 4, "fre-not-ascending", "frestart1.2", "ctf_fre_start_address", first},
	{"row after the function", v2, "frestart0.2", 1, 0x41, "fre-after-function", "frestart0.2", "sfre_start_address", both},
	{"row at the end of the function", v2, "frestart0.2", 1, 0x40, "fre-at-end", "frestart0.2", "sfre_start_address", both},
	{"row after the block", with(v2, func(t *rawTable) { t.funcs[0].info, t.funcs[0].rep = infoPCMask, 16 }), "frestart0.2", 1, 16, "fre-after-block", "frestart0.2", "sfre_start_address", both},
	{"no row at the start", v3, "frestart1.0", 1, 1, "fre-first-late", "frestart1.0", "sfre_start_address", both},
	{"no words in V1", with(v1, func(t *rawTable) { t.funcs[0].rows = []rawRow{row(0, sp)} }), "", 0, 0, "fre-without-words", "freinfo0.0", "sfre_info", second},
	{"no words in CTF Frame", with(ctf, func(t *rawTable) { t.funcs[0].rows = []rawRow{row(0, sp)} }), "", 0, 0, "fre-without-words", "freinfo0.0", "ctf_fre_info", second},
	{"no words in V2", with(v2, func(t *rawTable) { t.funcs[0].rows = []rawRow{row(0, sp)} }), "", 0, 0, "outermost-errata-2", "freinfo0.0", "sfre_info", both},
	{"one word, flexible", flexRow(0x39), "", 0, 0, "flex-word-count", "freinfo0.0", "sfre_info", second},
	{"three words, flexible", flexRow(0x39, 8, 0), "", 0, 0, "flex-word-count", "freinfo0.0", "sfre_info", second},
	{"five words without padding", flexRow(0x39, 8, 2, 2, -16), "", 0, 0, "flex-word-count", "freinfo0.0", "sfre_info", second},
	{"seven words, flexible", flexRow(0x39, 8, 2, -8, 2, -16, 0), "", 0, 0, "flex-word-count", "freinfo0.0", "sfre_info", second},
	{"CFA relative to itself", flexRow(0x02, 8), "", 0, 0, "flex-cfa-base", "freinfo0.0", "sfre_info", second},
	{"padding without FP", flexRow(0x39, 8, 0, -16), "", 0, 0, "flex-ra-control-zero", "freinfo0.0", "sfre_info", second},
	{"padding and a word more", flexRow(0x39, 8, 0, 2, -16, 0), "", 0, 0, "flex-ra-control-zero", "freinfo0.0", "sfre_info", second},
	{"control bit 2 of the CFA", flexRow(0x3d, 8), "", 0, 0, "flex-control-reserved", "freinfo0.0", "sfre_info", second},
	{"control bit 2 of FP", flexRow(0x39, 8, 0, 6, -16), "", 0, 0, "flex-control-reserved", "freinfo0.0", "sfre_info", second},
	{"register 31 of AMD64", flexRow(-7, 8), "", 0, 0, "register-unknown", "freinfo0.0", "sfre_info", second},
	{"register 60 of s390x", with(s390, func(t *rawTable) { t.funcs[0].rows[1].words = []int8{0, 121, -72} }), "", 0, 0, "register-unknown", "freinfo0.1", "sfre_info", both},
	{"negative register of s390x", with(s390, func(t *rawTable) { t.funcs[0].rows = []rawRow{row(0, sp, 0, -1)} }), "", 0, 0, "register-unknown", "freinfo0.0", "sfre_info", second},
	{"no return address", with(v2, func(t *rawTable) { t.fixedRA = 0 }), "", 0, 0, "ra-missing", "freinfo0.0", "sfre_info", both},
	{"padding for no return address", with(v3, func(t *rawTable) {
		t.fixedRA = 0
		t.funcs[0].rows = []rawRow{row(0, sp, 16, 0, -16)}
	}), "", 0, 0, "ra-missing", "freinfo0.0", "sfre_info", second},
	{"signed RA on AMD64", v2, "freinfo0.2", 1, 0x84, "mangled-ra-reserved", "freinfo0.2", "sfre_info", both},
	{"signed RA in CTF Frame", ctf, "freinfo0.2", 1, 0x86, "mangled-ra-reserved", "freinfo0.2", "ctf_fre_info", both},
	{"three words on AMD64", with(v2, func(t *rawTable) { t.funcs[0].rows[2] = row(8, fp, 16, -16, -8) }), "", 0, 0, "words-extra", "freinfo0.2", "sfre_info", both},
	{"CFA is FP", with(v2, func(t *rawTable) { t.funcs[0].rows[2] = row(8, fp, 0) }), "", 0, 0, "cfa-too-low", "freinfo0.2", "sfre_info", both},
	{"RA above the CFA", flexRow(0x39, 8, 2, 112), "", 0, 0, "slot-above-cfa", "freinfo0.0", "sfre_info", both},
	{"FP not aligned", with(v2, func(t *rawTable) { t.funcs[0].rows[2] = row(8, fp, 16, -12) }), "", 0, 0, "slot-unaligned", "freinfo0.2", "sfre_info", both},
}

func TestFaults(t *testing.T) {
	var all strings.Builder // all findings, with their texts
	for _, c := range faults {
		t.Run(c.name, func(t *testing.T) {
			b := c.table().bytes()
			data := b.Done()
			if c.field != "" {
				plant(b, data, c.field, c.size, c.value)
			}
			s := parseRaw(t, data)
			list := s.Validate()
			checkFinding(t, list, c.id, b.Pos(c.at), c.names)
			fmt.Fprintf(&all, "%s:\n", c.name)
			for _, f := range list {
				fmt.Fprintf(&all, "\t%s at %#x, %s: %s\n", f.ID, f.Off, f.Field, f.Msg)
			}

			for i, pc := range []uint64{0x1008, 0x1048} {
				var row arch.Row
				found, err := s.Find(pc, &row)
				if found != c.found[i] {
					t.Errorf("Find(%#x): got %v, %v, want %v", pc, found, err, c.found[i])
				}
				if fe, ok := errors.AsType[*FormatError](err); found && err != nil || ok && fe.ID != c.id {
					t.Errorf("Find(%#x): got %v, %v", pc, found, err)
				}
			}
		})
	}
	if strings.Count(all.String(), ":\n") == len(faults) { // all were run
		testkit.Golden(t, "testdata/faults.golden", []byte(all.String()))
	}
}

// plant overwrites the field at a label.
func plant(b *testkit.Bytes, data []byte, label string, size int, value uint64) {
	at := data[b.Pos(label):]
	switch size {
	case 1:
		at[0] = uint8(value)
	case 2:
		b.Order.PutUint16(at, uint16(value))
	case 4:
		b.Order.PutUint32(at, uint32(value))
	case 8:
		b.Order.PutUint64(at, value)
	}
}

// checkFinding fails unless id is in the list, with that offset and field.
func checkFinding(t *testing.T, list []Finding, id string, off int, field string) {
	t.Helper()
	for _, f := range list {
		if f.ID == id && f.Off == int64(off) && f.Field == field && f.Severity == kinds[id].severity {
			return
		}
	}
	t.Errorf("got %v, want %s at offset %#x in %s", list, id, off, field)
}

// shared returns a table in which n functions have the rows of the first.
func shared(n int) (*testkit.Bytes, []byte) {
	raw := v2()
	f := raw.funcs[0]
	raw.funcs = raw.funcs[:1]
	for i := range n - 1 {
		raw.funcs = append(raw.funcs, rawFunc{start: f.start + 0x40*uint64(i+1), size: f.size})
	}
	b := raw.bytes()
	data := b.Done()
	for i := range n {
		plant(b, data, fmt.Sprintf("off%d", i), 4, 0)
		plant(b, data, fmt.Sprintf("count%d", i), 4, uint64(len(f.rows)))
	}
	return b, data
}

// Functions may share rows, but not so that a check takes forever.
func TestValidateShared(t *testing.T) {
	for n, want := range map[int]bool{3: false, 1000: true} {
		b, data := shared(n)
		got := false
		for _, f := range parseRaw(t, data).Validate() {
			if f.ID == "rows-shared" {
				got = true
				if f.Off <= int64(b.Pos("start3")) || f.Off > int64(b.Pos("start5")) {
					t.Errorf("%d functions: got %v", n, f)
				}
			}
		}
		if got != want {
			t.Errorf("%d functions: got %v, want %v", n, got, want)
		}
	}
}

// A fault that is everywhere is listed up to a limit, and counted.
func TestValidateMany(t *testing.T) {
	raw := v2()
	f := raw.funcs[0]
	f.info = 0x80
	raw.funcs = nil
	for i := range 150 {
		f.start = 0x1000 + 0x40*uint64(i)
		raw.funcs = append(raw.funcs, f)
	}
	list := parseRaw(t, raw.bytes().Done()).Validate()
	if len(list) != maxPerID || !strings.Contains(list[0].Msg, "first of 150") || strings.Contains(list[1].Msg, "first of") {
		t.Errorf("got %d findings, the first %v", len(list), list[0])
	}
}

func TestTooManyTables(t *testing.T) {
	header := (&rawTable{v: V3, abi: AMD64LE}).bytes().Align(tableAlign).Done()
	data := bytes.Repeat(header, maxTables+2)
	s := parseRaw(t, data)
	checkFinding(t, s.Validate(), "too-many-tables", maxTables*len(header), "sfp_magic")
	if got := found(s, 0x1000); got != "too-many-tables" {
		t.Errorf("got %s", got)
	}
}

// Every kind of finding has a meaning and is found in the tests above.
func TestMeanings(t *testing.T) {
	tested := map[string]bool{
		// TestParseErrors, TestArch, TestTables, TestTablesDamaged
		"header-truncated": true, "magic-unknown": true, "version-unsupported": true, "abi-unknown": true,
		"abi-byte-order": true, "abi-machine": true, "abi-differs": true, "fdes-out-of-range": true,
		"fres-out-of-range": true, "sub-sections-overlap": true, "trailing-data": true, "too-many-tables": true,
		"tables-unmerged": true, "versions-mixed": true, "zero-tail": true, "starts-from-field": true,
		// TestCTFFrameShape, TestValidateShared
		"ctf-frame": true, "rows-shared": true,
	}
	for _, c := range faults {
		tested[c.id] = true
	}
	for id, meaning := range Meanings() {
		if !tested[id] || meaning == "" {
			t.Errorf("%s: tested %v, meaning %q", id, tested[id], meaning)
		}
	}
	for id := range tested {
		if _, ok := kinds[id]; !ok {
			t.Errorf("%s has no meaning", id)
		}
	}
}

// Without a fault there is no finding, with every version and ABI.
func TestValidateSound(t *testing.T) {
	everyABI(t, func(t *testing.T, v Version, abi ABI) {
		for _, f := range parseRaw(t, plain(v, abi).bytes().Done()).Validate() {
			if f.ID != "ctf-frame" || v != CTFFrame {
				t.Errorf("got %v", f)
			}
		}
	})
}

// What producers write has no errors, and warnings only where they are known
// to err.
func TestValidateVectors(t *testing.T) {
	known := map[string][]string{
		"amd64-v1/amd64-edges":  {"cfa-too-low"},
		"amd64-v2/amd64-flex":   {"cfa-too-low"},
		"amd64-v2e1/amd64-flex": {"cfa-too-low"},
		"amd64-v3/amd64-flex":   {"register-unknown"},
		"hostile/fre-15-words":  {"slot-above-cfa", "slot-unaligned", "words-extra"},
	}
	for _, name := range vectors(t) {
		for _, f := range openVector(t, name).Validate() {
			if f.Severity == Note || f.ID == "funcs-overlap" && linkedAt[name] == 0 {
				continue // without relocation all functions are at their FDEs
			}
			if !slices.Contains(known[name], f.ID) {
				t.Errorf("%s: got %v: %s", name, f.Severity, &f.FormatError)
			}
		}
	}
}

// TestNoFinding has what looks like a fault and is none.
func TestNoFinding(t *testing.T) {
	for name, tt := range map[string]struct {
		table func() *rawTable
		id    string
	}{
		"no functions, not sorted":           {with(v2, func(t *rawTable) { t.funcs, t.flags = nil, 0 }), "starts-from-field"},
		"a function that is not sorted":      {with(v2, func(t *rawTable) { t.funcs, t.flags = t.funcs[:1], FuncStartPCRel }), "unsorted"},
		"V3 without its flag":                {with(v3, func(t *rawTable) { t.flags, t.section = FDESorted, true }), "starts-from-field"},
		"a negative CFA without a fixed RA":  {with(arm2, func(t *rawTable) { t.funcs[0].rows = []rawRow{row(0, sp, -16)} }), "cfa-too-low"},
		"the lowest CFA with a fixed RA":     {with(v2, func(t *rawTable) { t.funcs[0].rows = []rawRow{row(0, sp, 8)} }), "cfa-too-low"},
		"blocks larger than their function":  {with(v2, func(t *rawTable) { t.funcs[0].info, t.funcs[0].rep, t.funcs[0].size = infoPCMask, 16, 4 }), "fre-after-function"},
		"a block size in a function of them": {with(v2, func(t *rawTable) { t.funcs[0].info, t.funcs[0].rep = infoPCMask, 16 }), "rep-size-unused"},
		"all words of s390x":                 {s390, "words-extra"},
	} {
		for _, f := range parseRaw(t, tt.table().bytes().Done()).Validate() {
			if f.ID == tt.id {
				t.Errorf("%s: got %v", name, f)
			}
		}
	}
}

// A function that goes around the end of memory does not hide faults of others.
func TestWrapsAndOverlaps(t *testing.T) {
	raw := v3()
	f := raw.funcs[0]
	const high = 0xffff_ffff_ffff_0000
	raw.funcs = nil
	for _, at := range []struct {
		start uint64
		size  uint32
	}{{high, 0x10000}, {high + 0x100, 0x40}, {high + 0x120, 0x40}} {
		f.start, f.size = at.start, at.size
		raw.funcs = append(raw.funcs, f)
	}
	b := raw.bytes()
	data := b.Done()
	for i := range raw.funcs { // relative to their field
		label := fmt.Sprintf("start%d", i)
		plant(b, data, label, 8, raw.funcs[i].start-rawAddr-uint64(b.Pos(label)))
	}
	plant(b, data, "size0", 4, 0x10001)
	list := parseRaw(t, data).Validate()
	checkFinding(t, list, "func-wraps", b.Pos("size0"), "sfdi_func_size")
	checkFinding(t, list, "funcs-overlap", b.Pos("start2"), "sfdi_func_start_offset")
}

// A function within a larger one does not hide that the next is in that one, too.
func TestOverlapsWithin(t *testing.T) {
	raw := v3()
	f := raw.funcs[0]
	raw.funcs = nil
	for _, at := range []struct {
		start uint64
		size  uint32
	}{{0x1000, 0x100}, {0x1010, 0x40}, {0x1080, 0x40}, {0x1100, 0x40}} {
		f.start, f.size = at.start, at.size
		raw.funcs = append(raw.funcs, f)
	}
	b := raw.bytes()
	var got []int64
	for _, f := range parseRaw(t, b.Done()).Validate() {
		if f.ID == "funcs-overlap" {
			got = append(got, f.Off)
		}
	}
	if want := []int64{int64(b.Pos("start1")), int64(b.Pos("start2"))}; !slices.Equal(got, want) {
		t.Errorf("got overlaps at %#x, want %#x", got, want)
	}
}

// A gap before the FREs alone is found, and errors about rows that the end cuts off
// have the row whose words it is.
func TestGapBeforeRows(t *testing.T) {
	b := v2().bytes()
	data := b.Done()
	plant(b, data, "freoff", 4, 48) // eight bytes later
	s := parseRaw(t, data)
	checkFinding(t, s.Validate(), "sub-section-gap", b.Pos("fdeoff"), "sfh_fdeoff")
	var row arch.Row
	const want = "sframe: data words at offset 0x59: 8 bytes do not fit in the 1 that are left of the FREs; row 0 of 3"
	if found, err := s.Find(0x1048, &row); found || err == nil || err.Error() != want {
		t.Errorf("got %v, %v, want %s", found, err, want)
	}
}
