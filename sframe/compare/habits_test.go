package compare_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/cfi"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/sframe"
	"github.com/sfcore/sfcore/sframe/compare"
)

const (
	codeAt   = 0x1000
	codeSize = 0x20
)

// ehFrame makes .eh_frame with one FDE for codeSize bytes at codeAt.
func ehFrame(order binary.ByteOrder, ra uint8, initial, program []byte) []byte {
	b := testkit.New(order)
	entry := func(name string, body func()) {
		b.Diff(4, name+" end", name, 0).Mark(name)
		body()
		b.Align(4).Mark(name + " end")
	}
	entry("CIE", func() { b.D32(0).D8(1, 0, 1, 0x78, ra).Raw(initial) }) // data_alignment_factor -8
	entry("FDE", func() {
		b.Diff(4, "FDE", "", 0).D64(codeAt, codeSize).Raw(program)
	})
	return b.D32(0).Done()
}

const (
	defCFA, offset, undefined, regRule, advance1 = 0x0c, 0x80, 0x07, 0x09, 0x41
	offsetExtended                               = 0x05
)

// Bugs that no recorded file shows, and every cause.
func TestCauses(t *testing.T) {
	amd64Start := []byte{defCFA, 7, 8, offset | 16, 1}
	usual := arch.Row{CFA: arch.RegOffset(7, 8), RA: arch.AtCFA(-8), FP: arch.SameValue(6)}
	with := func(change func(*arch.Row)) arch.Row {
		r := usual
		change(&r)
		return r
	}
	lr := arch.Row{CFA: arch.RegOffset(31, 0), RA: arch.SameValue(30), FP: arch.SameValue(29)}
	tests := []struct {
		name    string
		section string
		version sframe.Version
		arch    *arch.Arch
		row     arch.Row // of SFrame
		program []byte   // of CFI
		want    string   // cause/field/habit
	}{
		{"same", ".text", sframe.V3, arch.AMD64, usual, nil, ""},
		{"wrong offset", ".text", sframe.V3, arch.AMD64, with(func(r *arch.Row) { r.CFA.Off = 16 }), nil, "wrong offset/cfa/"},
		{"wrong rule", ".text", sframe.V3, arch.AMD64, with(func(r *arch.Row) { r.FP = arch.AtCFA(-16) }), []byte{regRule, 6, 10}, "wrong rule/fp/"},
		{"restored FP in gas", ".text", sframe.V3, arch.AMD64, with(func(r *arch.Row) { r.FP = arch.AtCFA(-16) }), nil, "wrong rule/fp/fp-restore-ignored"},
		{"restored FP in gas 2.40", ".text", sframe.V1, arch.AMD64, with(func(r *arch.Row) { r.FP = arch.AtCFA(-16) }), nil, "wrong rule/fp/fp-restore-ignored"},
		{"FP lost", ".text", sframe.V3, arch.AMD64, usual, []byte{offset | 6, 2}, "rule lost/fp/"},
		{"FP undefined", ".text", sframe.V3, arch.AMD64, usual, []byte{undefined, 6}, ""},
		{"signal", ".text", sframe.V3, arch.AMD64, with(func(r *arch.Row) { r.Signal = true }), nil, "signal mark//"},
		{"signed", ".text", sframe.V2, arch.AArch64, with(func(r *arch.Row) { *r = lr; r.SignedRA = true }), nil, "signed return address//"},
		{"outermost", ".text", sframe.V3, arch.AMD64, usual, []byte{undefined, 16}, "outermost mark//"},
		{"outermost in V2", ".text", sframe.V2, arch.AMD64, usual, []byte{undefined, 16}, "outermost mark//outermost-before-v3"},
		{"RA offset of gas 2.46", ".text", sframe.V3, arch.AMD64, with(func(r *arch.Row) { r.RA = arch.AtCFA(112) }), []byte{offset | 16, 50}, "wrong offset/ra/ra-offset-truncated"},
		{"restored RA in gas 2.47", ".text", sframe.V3, arch.AMD64, with(func(r *arch.Row) { r.RA = arch.SameValue(2) }), nil, "wrong rule/ra/ra-restore-ignored"},
		{"restored RA at another offset", ".text", sframe.V3, arch.AMD64, with(func(r *arch.Row) { r.RA = arch.AtCFA(-24) }), nil, "wrong offset/ra/ra-restore-ignored"},
		{"RA in gas 2.44", ".text", sframe.V2, arch.AMD64, usual, []byte{regRule, 16, 1}, "rule lost/ra/ra-rule-ignored"},
		{"CFA in gas 2.40", ".text", sframe.V1, arch.AMD64, with(func(r *arch.Row) { r.CFA.Off = 16 }), []byte{defCFA, 10, 16}, "rule lost/cfa/cfa-register-ignored"},
		{"FP in LLVM", ".text", sframe.V2, arch.AMD64, usual, []byte{regRule, 6, 11}, "rule lost/fp/fp-register-ignored"},
		{"FP as RA in gas 2.40", ".text", sframe.V1, arch.AArch64, with(func(r *arch.Row) { *r = lr; r.RA = arch.AtCFA(-16) }), []byte{offset | 29, 2}, "wrong rule/ra/fp-as-ra"},
		{".plt.got", ".plt.got", sframe.V3, arch.AMD64, with(func(r *arch.Row) { r.CFA.Off = 16 }), nil, "wrong offset/cfa/plt-got-offset"},
		{".plt.sec", ".plt.sec", sframe.V1, arch.AMD64, with(func(r *arch.Row) { r.CFA.Off = 24 }), nil, "wrong offset/cfa/plt-sec-offset"},
		{".plt", ".plt", sframe.V2, arch.AMD64, usual, []byte{defCFA, 7, 16}, "wrong offset/cfa/plt-ibt-start"},
	}
	known := map[string]bool{"": true, "undefined-sticks": true, "signal-without-rows": true, "inexpressible": true, "plt-missing": true, "plt-sec-overlap": true} // the last in TestVectors, TestCorpus and TestOverlap
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			abi, ra, start := sframe.AMD64LE, uint8(16), amd64Start
			fixedRA := int8(-8)
			if tt.arch == arch.AArch64 {
				abi, ra, start, fixedRA = sframe.AArch64LE, 30, []byte{defCFA, 31, 0}, 0
			}
			b := sframe.Builder{Version: tt.version, ABI: abi, FixedRA: fixedRA, Funcs: []sframe.FuncRows{
				{Start: codeAt, Size: codeSize, Signal: tt.row.Signal, Rows: []sframe.RowAt{{Row: tt.row}}},
			}}
			data, err := b.Append(nil, 0x4000)
			if err != nil {
				t.Fatal(err)
			}
			r := compare.Compare(pair(t, tt.arch, data, ehFrame(binary.LittleEndian, ra, start, tt.program), tt.section))
			got := ""
			for _, d := range r.Differences {
				got += string(d.Cause) + "/" + d.Field + "/" + d.Habit
				known[d.Habit] = true
				if d.Lo != codeAt || d.Hi != codeAt+codeSize || d.Func != codeAt {
					t.Errorf("got %#x-%#x of %#x", d.Lo, d.Hi, d.Func)
				}
			}
			if got != tt.want || len(r.Problems) > 0 {
				t.Errorf("got %q, %v, want %q", got, r.Problems, tt.want)
			}
			if r.Compared != codeSize || (r.Differing == codeSize) != (tt.want != "") {
				t.Errorf("got %d bytes compared, %d differing", r.Compared, r.Differing)
			}
		})
	}
	for _, h := range compare.Habits {
		if !known[h.ID] {
			t.Errorf("no test shows %s", h.ID)
		}
	}
}

// A function of .plt.sec that lies over the code behind it.
func TestOverlap(t *testing.T) {
	over := sframe.FuncRows{Start: codeAt, Size: codeSize, RepSize: 16, Rows: []sframe.RowAt{{Row: arch.Row{CFA: arch.RegOffset(7, 8), RA: arch.AtCFA(-8), FP: arch.SameValue(6)}}}}
	for version, want := range map[sframe.Version]string{sframe.V1: "plt-sec-overlap", sframe.V2: ""} {
		b := sframe.Builder{Version: version, ABI: sframe.AMD64LE, FixedRA: -8, Funcs: []sframe.FuncRows{over}}
		data, err := b.Append(nil, 0x4000)
		if err != nil {
			t.Fatal(err)
		}
		m := pair(t, arch.AMD64, data, ehFrame(binary.LittleEndian, 16, []byte{defCFA, 7, 16, offset | 16, 1}, nil), "")
		m.Section = func(addr uint64) string {
			if addr < codeAt {
				return ".plt.sec"
			}
			return ".text"
		}
		if r := compare.Compare(m); len(r.Differences) != 1 || r.Differences[0].Habit != want {
			t.Errorf("version %v: got %+v, want %q", version, r.Differences, want)
		}
	}
}

func pair(t testing.TB, a *arch.Arch, sf, eh []byte, section string) compare.Module {
	t.Helper()
	s, err := sframe.Parse(sf, 0x4000, sframe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := cfi.ParseEHFrame(a, eh, 0x5000, nil, 0, cfi.Bases{})
	if err != nil {
		t.Fatal(err)
	}
	return compare.Module{Arch: a, SFrame: s, CFI: c, Section: func(uint64) string { return section }}
}

// A row that is missing in a function, between rows that are there; a function
// that is longer than SFrame has it; damage.
func TestMissing(t *testing.T) {
	row := arch.Row{CFA: arch.RegOffset(7, 8), RA: arch.AtCFA(-8), FP: arch.SameValue(6)}
	eh := ehFrame(binary.LittleEndian, 16, []byte{defCFA, 7, 8, offset | 16, 1}, nil)
	build := func(funcs ...sframe.FuncRows) []byte {
		b := sframe.Builder{Version: sframe.V2, ABI: sframe.AMD64LE, FixedRA: -8, Funcs: funcs}
		data, err := b.Append(nil, 0x4000)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	late := []sframe.RowAt{{At: 4, Row: row}}
	whole := []sframe.RowAt{{Row: row}}
	tests := []struct {
		name string
		data []byte
		want string
	}{
		{"none", build(), "function missing 0x1000-0x1020"},
		{"elsewhere", build(sframe.FuncRows{Start: 0x2000, Size: 4, Rows: whole}), "function missing 0x1000-0x1020"},
		{"late", build(sframe.FuncRows{Start: codeAt, Size: codeSize, Rows: late}), "row missing 0x1000-0x1004"},
		{"no rows", build(sframe.FuncRows{Start: codeAt, Size: codeSize}), "row missing 0x1000-0x1020"},
		{"short", build(sframe.FuncRows{Start: codeAt, Size: 8, Rows: whole}), "row missing 0x1008-0x1020"},
		{"two", build(sframe.FuncRows{Start: codeAt, Size: 8, Rows: whole}, sframe.FuncRows{Start: codeAt + 16, Size: 16, Rows: whole}), "row missing 0x1008-0x1010"},
		{"beyond", build(sframe.FuncRows{Start: codeAt - 8, Size: 100, Rows: whole}), ""},
		{"blocks", build(sframe.FuncRows{Start: codeAt, Size: codeSize, RepSize: 16, Rows: late}), "row missing 0x1000-0x1004, row missing 0x1010-0x1014"},
		{"damaged row", append(build(sframe.FuncRows{Start: codeAt, Size: codeSize, Rows: whole})[:28+20], 0, 0x63, 8, 8, 8, 8), "row missing 0x1000-0x1020"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := compare.Compare(pair(t, arch.AMD64, tt.data, eh, ".text"))
			var got []string
			for _, d := range r.Differences {
				got = append(got, string(d.Cause)+" "+hex(d.Lo)+"-"+hex(d.Hi))
			}
			if s := strings.Join(got, ", "); s != tt.want {
				t.Errorf("got %q, want %q", s, tt.want)
			}
		})
	}
}

// Sections of a few bytes that speak of many rows take little time.
func TestCompareBounded(t *testing.T) {
	row := arch.Row{CFA: arch.RegOffset(7, 8), RA: arch.AtCFA(-8), FP: arch.SameValue(6)}
	b := sframe.Builder{Version: sframe.V3, ABI: sframe.AMD64LE, FixedRA: -8, Funcs: []sframe.FuncRows{
		{Start: 0, Size: 1<<32 - 1, RepSize: 1, Rows: []sframe.RowAt{{Row: row}}},
	}}
	data, err := b.Append(nil, 0x4000)
	if err != nil {
		t.Fatal(err)
	}
	eh := ehFrame(binary.LittleEndian, 16, []byte{defCFA, 7, 8, offset | 16, 1}, nil)
	copy(eh[len(eh)-4-8:], []byte{0xff, 0xff, 0xff, 0x7f}) // address_range
	r := compare.Compare(pair(t, arch.AMD64, data, eh, ".text"))
	if len(r.Problems) != 1 || len(r.Differences) > 1 {
		t.Errorf("got %v and %d differences, want one problem", r.Problems, len(r.Differences))
	}
}
