package sframe

import (
	"encoding/binary"
	"testing"

	"github.com/sfcore/sfcore/internal/testkit"
)

// TestFitOf has how well tables of CTF Frame and of V1 agree with their own layout.
func TestFitOf(t *testing.T) {
	type change struct {
		field string
		size  int
		value uint64
	}
	keep := func(*rawTable) {}
	empty := func(t *rawTable) { t.funcs = nil }
	for _, version := range []Version{CTFFrame, V1} {
		for _, abi := range []ABI{AArch64LE, AArch64BE} {
			whole := plain(version, abi).bytes()
			frelen := uint64(whole.Pos("end") - whole.Pos("fres"))
			for name, tt := range map[string]struct {
				table   func(*rawTable)
				changes []change
				cut     int // bytes that are missing at the end
				want    fit
			}{
				"whole":                           {keep, nil, 0, compact},
				"a byte is missing":               {keep, nil, 1, gaps},
				"gaps":                            {func(t *rawTable) { t.gap = 4 }, nil, 0, gaps},
				"functions that are missing":      {keep, nil, int(frelen) + 1, noFit},
				"the header alone":                {keep, nil, int(frelen) + 2*17, noFit},
				"as many rows as fit":             {keep, []change{{"numfres", 4, frelen / 2}}, 0, compact},
				"more rows than fit":              {keep, []change{{"numfres", 4, frelen/2 + 1}}, 0, damaged},
				"a function has all rows":         {keep, []change{{"numfres", 4, 3}}, 0, compact},
				"a function has more rows":        {keep, []change{{"numfres", 4, 2}}, 0, damaged},
				"the first has more rows":         {keep, []change{{"count0", 4, 7}}, 0, damaged},
				"the last has more rows":          {keep, []change{{"count1", 4, 7}}, 0, damaged},
				"the last rows that fit":          {keep, []change{{"off1", 4, frelen - 6}}, 0, compact},
				"rows up to beyond the end":       {keep, []change{{"off1", 4, frelen - 5}}, 0, damaged},
				"rows beyond the end":             {keep, []change{{"off0", 4, frelen + 1}}, 0, damaged},
				"an unknown type of rows":         {keep, []change{{"info0", 1, 0xf}}, 0, damaged},
				"an unknown type of the last":     {keep, []change{{"info1", 1, 0xf}}, 0, damaged},
				"no functions":                    {empty, nil, 0, compact},
				"no functions, but rows":          {empty, []change{{"frelen", 4, 1}}, 0, damaged},
				"no functions, but rows counted":  {empty, []change{{"numfres", 4, 1}}, 0, damaged},
				"no functions, FREs before":       {func(t *rawTable) { t.funcs, t.gap = nil, 2 }, nil, 0, damaged},
				"no functions, both after a gap":  {func(t *rawTable) { t.funcs, t.gap = nil, 2 }, []change{{"freoff", 4, 2}}, 0, gaps},
				"one byte of gap before the FREs": {keep, []change{{"freoff", 4, 35}, {"frelen", 4, frelen - 1}}, 0, gaps},
			} {
				raw := plain(version, abi)
				tt.table(raw)
				b := raw.bytes()
				data := b.Done()
				for _, c := range tt.changes {
					plant(b, data, c.field, c.size, c.value)
				}
				data = data[:len(data)-tt.cut]
				got, size := fitOf(view{data, abi == AArch64BE}, version)
				if got != tt.want {
					t.Errorf("%s, %v, %s: got fit %d, want %d", version, abi, name, got, tt.want)
				}
				want := uint64(len(data))
				switch {
				case got == noFit:
					want = 0
				case name == "no functions, but rows": // which are not there
				case name == "no functions, both after a gap":
					want -= 2
				}
				if size != want {
					t.Errorf("%s, %v, %s: got %d bytes, want %d", version, abi, name, size, want)
				}
			}
		}
	}
}

// TestLooksLikeCTFFrame has tables that both layouts can be read from.
func TestLooksLikeCTFFrame(t *testing.T) {
	order := binary.LittleEndian
	// header is that of CTF Frame without functions, and the byte behind it.
	header := func(fdeOff, freOff uint32, size int) []byte {
		b := testkit.New(order).D16(Magic).D8(1, 1, uint8(AArch64LE), 0, 0).D32(0, 0, 0, fdeOff, freOff)
		return b.Zero(size - b.Len()).Done()
	}
	pad := func(t *rawTable) []byte { return append(t.bytes().Done(), make([]byte, 1<<16)...) }
	for name, tt := range map[string]struct {
		data []byte
		want bool
	}{
		"CTF Frame":                       {plain(CTFFrame, AArch64LE).bytes().Done(), true},
		"V1":                              {plain(V1, AArch64LE).bytes().Done(), false},
		"CTF Frame with padding":          {pad(plain(CTFFrame, AArch64LE)), true},
		"V1 with padding":                 {pad(plain(V1, AArch64LE)), false}, // as CTF Frame it is larger, and damaged
		"nothing in it":                   {header(0, 0, 28), false},
		"nothing in it, 27 bytes":         {header(0, 0, 27), true},
		"neither":                         {header(1<<30, 1<<30, 28), false},
		"both with gaps, of 256 and of 1": {header(256, 256, 27+256), true},
		"only V1 has the bytes":           {header(256, 256, 27+255), false},
	} {
		if got := looksLikeCTFFrame(view{tt.data, false}); got != tt.want {
			ctf, ctfSize := fitOf(view{tt.data, false}, CTFFrame)
			v1, v1Size := fitOf(view{tt.data, false}, V1)
			t.Errorf("%s: got %v, want %v: fits are %d of %d bytes and %d of %d", name, got, tt.want, ctf, ctfSize, v1, v1Size)
		}
	}
}
