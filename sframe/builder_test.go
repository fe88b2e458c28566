package sframe

import (
	"cmp"
	"encoding/binary"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
)

// rebuild returns a Builder for what the first table of a section says.
func rebuild(s *Section) (*Builder, error) {
	b := new(Builder)
	for table, err := range s.Tables() {
		if err != nil {
			return nil, err
		}
		b.Version, b.ABI, b.FixedFP, b.FixedRA = table.Version, table.ABI, table.FixedFP, table.FixedRA
		break
	}
	for f, err := range s.Funcs() {
		if err != nil {
			return nil, err
		}
		if f.Table().Off != 0 {
			break
		}
		out := FuncRows{Start: f.Start, Size: f.Size, Signal: f.Signal(), KeyB: f.KeyB()}
		if f.PCMask() {
			out.RepSize = f.maskBlock()
		}
		for e, err := range s.FREs(f) {
			if err != nil {
				return nil, err
			}
			r := RowAt{At: e.Start}
			if err := f.Row(&e, &r.Row); err != nil {
				return nil, err
			}
			r.Row.Signal = false
			out.Rows = append(out.Rows, r)
		}
		b.Funcs = append(b.Funcs, out)
	}
	slices.SortStableFunc(b.Funcs, func(x, y FuncRows) int { return cmp.Compare(x.Start, y.Start) })
	return b, nil
}

// checkBuilt writes b and fails unless reading gives what was written.
func checkBuilt(t *testing.T, b *Builder, addr uint64) *Section {
	t.Helper()
	data, err := b.Append(nil, addr)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Parse(data, addr, Options{CTFFrame: b.Version == CTFFrame})
	if err != nil {
		t.Fatal(err)
	}
	got, err := rebuild(s)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, b) {
		t.Errorf("got %+v, want %+v", got, b)
	}
	return s
}

// Writing what was read of the sections of all producers says the same.
func TestRebuildVectors(t *testing.T) {
	rebuilt := 0
	for _, name := range vectors(t) {
		s := openVector(t, name)
		b, err := rebuild(s)
		if err != nil {
			if name != "amd64-v3/amd64-flex" { // has r40, which has no name here
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		checkBuilt(t, b, linkedAt[name])
		rebuilt++
		if b.Version != V2 {
			continue
		}
		// V3 says everything that V2 does.
		b.Version = V3
		checkBuilt(t, b, linkedAt[name])
	}
	if rebuilt < 50 {
		t.Errorf("only %d sections were written again", rebuilt)
	}
}

// Sections of GNU ld in which the data is in the order of functions are
// written again byte for byte.
func TestRebuildExactly(t *testing.T) {
	exact := 0
	for _, name := range []string{"amd64-v1/linked-plt", "amd64-v3/linked-plt", "aarch64-v3/linked-exec", "aarch64be-v3/linked-exec", "s390x-v3/linked-plt"} {
		s := openVector(t, name)
		b, err := rebuild(s)
		if err != nil {
			t.Fatal(err)
		}
		data, err := b.Append(nil, linkedAt[name])
		if err != nil {
			t.Fatal(err)
		}
		offsets := func(s *Section) (list []uint32) {
			for f := range s.Funcs() {
				list = append(list, f.DataOff)
			}
			return list
		}
		if !slices.IsSorted(offsets(s)) {
			continue // ld leaves the data in the order of its inputs
		}
		exact++
		if string(data) != string(s.data[:len(data)]) {
			t.Errorf("%s:\n got %x\nwant %x", name, data, s.data)
		}
	}
	if exact < 2 {
		t.Errorf("only %d sections could be compared", exact)
	}
}

// All kinds of rows and functions, in every version and ABI that has them.
func TestBuilder(t *testing.T) {
	everyABI(t, func(t *testing.T, v Version, abi ABI) {
		a := abi.Arch()
		ra := arch.AtCFA(-8)
		b := &Builder{Version: v, ABI: abi}
		if abi == AMD64LE {
			b.FixedRA = -8
		}
		keep := arch.SameValue(a.FP)
		offsets := []int64{160, 168, 8000, 1 << 20, -8 * 100}
		var rows []RowAt
		for i, off := range offsets {
			rows = append(rows,
				RowAt{uint32(3 * i), arch.Row{CFA: arch.RegOffset(a.SP, off), RA: ra, FP: arch.AtCFA(-16)}},
				RowAt{uint32(3*i + 1), arch.Row{CFA: arch.RegOffset(a.FP, off), RA: ra, FP: arch.AtCFA(-1600)}})
			if v != CTFFrame || abi == AMD64LE {
				rows = append(rows, RowAt{uint32(3*i + 2), arch.Row{CFA: arch.RegOffset(a.SP, off), RA: ra, FP: keep}})
			}
		}
		if a.LR != arch.NoReg {
			rows = append(rows,
				RowAt{100, arch.Row{CFA: arch.RegOffset(a.SP, 160), RA: arch.SameValue(a.LR), FP: keep}},
				RowAt{101, arch.Row{CFA: arch.RegOffset(a.SP, 160), RA: arch.SameValue(a.LR), FP: arch.AtCFA(-16)}})
		}
		if a.PAC && v > CTFFrame {
			rows = append(rows, RowAt{110, arch.Row{CFA: arch.RegOffset(a.SP, 160), RA: ra, FP: keep, SignedRA: true}})
		}
		if abi == S390XBE {
			rows = append(rows, RowAt{120, arch.Row{CFA: arch.RegOffset(a.SP, 160), RA: arch.SameValue(17), FP: arch.SameValue(16)}})
		}
		if v >= V2 {
			rows = append(rows, RowAt{130, arch.Row{}})
		}
		for i, size := range []uint32{200, 255, 256, 65535, 65536} {
			b.Funcs = append(b.Funcs, FuncRows{Start: rawAddr + uint64(i)<<20, Size: size, Rows: append(slices.Clip(rows), RowAt{size, rows[0].Row}), KeyB: a.PAC && v > CTFFrame})
		}
		b.Funcs = append(b.Funcs,
			FuncRows{Start: rawAddr + 1<<24, Size: 160, RepSize: 16, Rows: rows[:2]},
			FuncRows{Start: rawAddr + 1<<25, Size: 8, Signal: v == V3})
		if v == V3 {
			b.Funcs = append(b.Funcs, FuncRows{Start: rawAddr + 1<<40, Size: 9, Rows: []RowAt{
				{0, arch.Row{CFA: arch.RegOffset(1, 8), RA: ra, FP: keep}},
				{1, arch.Row{CFA: arch.Rule{Base: arch.Register, Reg: a.FP, Off: -8, Deref: true}, RA: ra, FP: arch.AtReg(a.FP, 0)}},
				{2, arch.Row{CFA: arch.RegOffset(a.SP, 8), RA: arch.SameValue(2), FP: arch.RegOffset(3, 1000)}},
				{3, arch.Row{CFA: arch.RegOffset(a.SP, 8), RA: arch.AtReg(4, -40000), FP: arch.AtCFA(-24)}},
				{4, arch.Row{}},
			}})
		}
		s := checkBuilt(t, b, rawAddr-1<<20)
		for _, f := range s.Validate() {
			if f.Severity == Error {
				t.Errorf("got %v", f)
			}
		}
	})
}

// Functions are sorted, and tables can follow one another.
func TestBuilderAppends(t *testing.T) {
	row := arch.Row{CFA: arch.RegOffset(arch.AMD64.SP, 8), RA: arch.AtCFA(-8), FP: arch.SameValue(arch.AMD64.FP)}
	var data []byte
	for i, v := range []Version{V2, V3} {
		b := Builder{Version: v, ABI: AMD64LE, FixedRA: -8}
		for j := range 3 {
			b.Funcs = append(b.Funcs, FuncRows{Start: uint64(0x9000*(i+1) - 0x100*j), Size: 4, Rows: []RowAt{{0, row}}})
		}
		for len(data)%8 != 0 {
			data = append(data, 0)
		}
		var err error
		if data, err = b.Append(data, rawAddr+uint64(len(data))); err != nil {
			t.Fatal(err)
		}
	}
	s := parseRaw(t, data)
	for i := range 2 {
		for j := range 3 {
			if got, want := found(s, uint64(0x9000*(i+1)-0x100*j)+3), "cfa=rsp+8 ra=*(c-8) fp=rbp"; got != want {
				t.Errorf("table %d, function %d: got %q, want %q", i, j, got, want)
			}
		}
	}
	for _, f := range s.Validate() {
		if f.Severity != Note {
			t.Errorf("got %v", f)
		}
	}
}

// What a version cannot say is an error, not something else.
func TestBuilderErrors(t *testing.T) {
	sp, fp := arch.AMD64.SP, arch.AMD64.FP
	good := arch.Row{CFA: arch.RegOffset(sp, 8), RA: arch.AtCFA(-8), FP: arch.SameValue(fp)}
	one := func(r arch.Row) []FuncRows { return []FuncRows{{Size: 16, Rows: []RowAt{{0, r}}}} }
	change := func(f func(*arch.Row)) []FuncRows {
		r := good
		f(&r)
		return one(r)
	}
	armRow := arch.Row{CFA: arch.RegOffset(31, 16), RA: arch.AtCFA(-8), FP: arch.SameValue(29)}
	tests := []struct {
		name string
		b    Builder
		want string
	}{
		{"version", Builder{Version: 4, ABI: AMD64LE}, "unknown version 4"},
		{"ABI 0", Builder{Version: V3}, "0 is not an ABI"},
		{"ABI 5", Builder{Version: V3, ABI: 5}, "5 is not an ABI"},
		{"s390x in V1", Builder{Version: V1, ABI: S390XBE}, "4 is not an ABI of version 1"},
		{"far", Builder{Version: V2, ABI: AMD64LE, FixedRA: -8, Funcs: []FuncRows{{Start: 1 << 33}}}, "more than 32 bits"},
		{"signal in V2", Builder{Version: V2, ABI: AMD64LE, Funcs: []FuncRows{{Signal: true}}}, "no signal frames"},
		{"key in CTF Frame", Builder{Version: CTFFrame, ABI: AArch64LE, Funcs: []FuncRows{{KeyB: true}}}, "no signal frames or keys"},
		{"key on AMD64", Builder{Version: V3, ABI: AMD64LE, Funcs: []FuncRows{{KeyB: true}}}, "amd64 has no keys"},
		{"block in V1", Builder{Version: V1, ABI: AMD64LE, Funcs: []FuncRows{{RepSize: 8}}}, "blocks of 8 bytes"},
		{"too many rows", Builder{Version: V3, ABI: AMD64LE, FixedRA: -8, Funcs: []FuncRows{{Rows: make([]RowAt, math.MaxUint16+1)}}}, "65536 rows"},
		{"descending", Builder{Version: V3, ABI: AMD64LE, FixedRA: -8, Funcs: []FuncRows{{Size: 9, Rows: []RowAt{{1, good}, {1, good}}}}}, "do not ascend"},
		{"beyond the function", Builder{Version: V3, ABI: AMD64LE, FixedRA: -8, Funcs: []FuncRows{{Size: 9, Rows: []RowAt{{10, good}}}}}, "function has 9 bytes"},
		{"beyond the block", Builder{Version: V3, ABI: AMD64LE, FixedRA: -8, Funcs: []FuncRows{{Size: 90, RepSize: 9, Rows: []RowAt{{9, good}}}}}, "block has 9 bytes"},
		{"outermost in V1", Builder{Version: V1, ABI: AMD64LE, FixedRA: -8, Funcs: one(arch.Row{})}, "no outermost rows"},
		{"signed on AMD64", Builder{Version: V3, ABI: AMD64LE, FixedRA: -8, Funcs: change(func(r *arch.Row) { r.SignedRA = true })}, "cannot be signed"},
		{"signed in CTF Frame", Builder{Version: CTFFrame, ABI: AArch64LE, Funcs: one(arch.Row{CFA: armRow.CFA, RA: armRow.RA, FP: armRow.FP, SignedRA: true})}, "cannot be signed"},
		{"RA without FP in CTF Frame", Builder{Version: CTFFrame, ABI: AArch64LE, Funcs: one(armRow)}, "needs flexible rows"},
		{"absolute", Builder{Version: V3, ABI: AMD64LE, FixedRA: -8, Funcs: change(func(r *arch.Row) { r.CFA.Base = arch.Absolute })}, "not of a kind"},
		{"undefined FP", Builder{Version: V3, ABI: AMD64LE, FixedRA: -8, Funcs: change(func(r *arch.Row) { r.FP = arch.Rule{} })}, "not of a kind"},
		{"sum in memory", Builder{Version: V3, ABI: AMD64LE, FixedRA: -8, Funcs: change(func(r *arch.Row) { r.CFA.Deref, r.CFA.Add = true, 8 })}, "not of a kind"},
		{"CFA of CFA", Builder{Version: V3, ABI: AMD64LE, FixedRA: -8, Funcs: change(func(r *arch.Row) { r.CFA.Base = arch.CFA })}, "no base register"},
		{"CFA register in V2", Builder{Version: V2, ABI: AMD64LE, FixedRA: -8, Funcs: change(func(r *arch.Row) { r.CFA.Reg = 10 })}, "needs flexible rows"},
		{"RA elsewhere in V2", Builder{Version: V2, ABI: AMD64LE, FixedRA: -8, Funcs: change(func(r *arch.Row) { r.RA.Off = -16 })}, "needs flexible rows"},
		{"FP at a register in V2", Builder{Version: V2, ABI: AMD64LE, FixedRA: -8, Funcs: change(func(r *arch.Row) { r.FP = arch.AtReg(fp, -8) })}, "needs flexible rows"},
		{"FP is an address in V2", Builder{Version: V2, ABI: S390XBE, Funcs: one(arch.Row{CFA: arch.RegOffset(15, 160), RA: arch.SameValue(14), FP: arch.Rule{Base: arch.CFA}})}, "needs flexible rows"},
		{"RA is an address", Builder{Version: V3, ABI: AMD64LE, FixedRA: -8, Funcs: change(func(r *arch.Row) { r.RA.Deref = false })}, "cannot be told"},
		{"register without a number", Builder{Version: V3, ABI: AArch64LE, Funcs: one(arch.Row{CFA: armRow.CFA, RA: arch.SameValue(arch.AArch64.PC), FP: armRow.FP})}, "no DWARF number"},
		{"offset too large", Builder{Version: V3, ABI: AMD64LE, FixedRA: -8, Funcs: change(func(r *arch.Row) { r.CFA.Off = 1 << 31 })}, "32 bits"},
		{"CFA not aligned on s390x", Builder{Version: V3, ABI: S390XBE, Funcs: one(arch.Row{CFA: arch.RegOffset(15, 164), RA: arch.SameValue(14), FP: arch.SameValue(11)})}, "not aligned"},
	}
	for _, c := range tests {
		dst := []byte("before")
		got, err := c.b.Append(dst, 0)
		if err == nil || !strings.Contains(err.Error(), c.want) || string(got) != "before" {
			t.Errorf("%s: got %q, %v, want %q", c.name, got, err, c.want)
		}
	}
}

// TestWordSize has how many bytes a data word needs.
func TestWordSize(t *testing.T) {
	for w, want := range map[word]int{
		{0, false}: 1, {127, false}: 1, {-128, false}: 1, {128, false}: 2, {-129, false}: 2, {1<<15 - 1, false}: 2, {-1 << 15, false}: 2,
		{1 << 15, false}: 4, {-1<<15 - 1, false}: 4, {1<<31 - 1, false}: 4, {-1 << 31, false}: 4, {1 << 31, false}: 0, {-1<<31 - 1, false}: 0,
		{0, true}: 1, {128, true}: 1, {255, true}: 1, {256, true}: 2, {1<<16 - 1, true}: 2, {1 << 16, true}: 4, {1<<32 - 1, true}: 4, {1 << 32, true}: 0, {-1, true}: 0,
	} {
		if got := w.size(); got != want {
			t.Errorf("%+v: got %d bytes, want %d", w, got, want)
		}
	}
}

// What is written is read again as it was, whatever it is.
func FuzzBuilder(f *testing.F) {
	for v := range layouts {
		for _, abi := range abisOf(Version(v)) {
			f.Add(uint8(v), uint8(abi), int8(0), int8(-8), []byte("some 40 bytes for functions and for rows"))
		}
	}
	f.Fuzz(func(t *testing.T, v, abi uint8, fixedFP, fixedRA int8, in []byte) {
		b := &Builder{Version: Version(v), ABI: ABI(abi), FixedFP: fixedFP, FixedRA: fixedRA}
		for len(in) >= 8 {
			fn := FuncRows{Start: uint64(in[0])<<16 | uint64(len(in)), Size: uint32(in[1])<<8 | uint32(in[2]), RepSize: in[3], Signal: in[4]&1 != 0, KeyB: in[4]&2 != 0}
			rows := int(in[5] % 8)
			in = in[8:]
			for ; rows > 0 && len(in) >= 20; rows-- {
				rule := func(p []byte) arch.Rule {
					r := arch.Rule{Base: arch.Base(p[0] & 3), Deref: p[0]&4 != 0, Off: int64(int32(binary.LittleEndian.Uint32(p[2:]))) >> (p[0] >> 3)}
					if r.Base == arch.Register {
						r.Reg = arch.Reg(p[1] % arch.NumRegs)
					}
					return r
				}
				row := arch.Row{CFA: rule(in), RA: rule(in[6:]), FP: rule(in[12:]), SignedRA: in[19]&1 != 0}
				if row.Outermost() {
					row = arch.Row{}
				}
				fn.Rows = append(fn.Rows, RowAt{uint32(in[18]), row})
				in = in[20:]
			}
			b.Funcs = append(b.Funcs, fn)
		}
		slices.SortStableFunc(b.Funcs, func(x, y FuncRows) int { return cmp.Compare(x.Start, y.Start) })
		if _, err := b.Append(nil, rawAddr); err != nil {
			if !strings.HasPrefix(err.Error(), "sframe: ") {
				t.Errorf("got %v", err)
			}
			return
		}
		checkBuilt(t, b, rawAddr)
	})
}
