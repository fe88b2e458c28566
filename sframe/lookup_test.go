package sframe

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/sfcore/sfcore/arch"
)

// FindCounting counts the rows up to the one after that of the pc, as a function may
// have any number.
func TestFindCounting(t *testing.T) {
	everyABI(t, func(t *testing.T, v Version, abi ABI) {
		s := parseRaw(t, plain(v, abi).bytes().Done())
		for pc, want := range map[uint64]int{0x1000: 2, 0x1003: 2, 0x1004: 3, 0x1008: 4, 0x103f: 4, 0x1040: 2, 0x105f: 4, 0x1060: 0, 0xfff: 0} {
			var row arch.Row
			looked := 100
			if _, err := s.FindCounting(pc, &row, &looked); err != nil || looked != 100+want {
				t.Errorf("%#x: looked at %d rows, %v, want %d", pc, looked-100, err, want)
			}
		}
	})
}

// TestFuncInfo has what the info bytes say, in each version.
func TestFuncInfo(t *testing.T) {
	for _, tt := range []struct {
		v           Version
		abi         ABI
		info, info2 uint8 // beside the FRE type
		rep         uint8
		want        string
	}{
		{CTFFrame, AArch64LE, 0, 0, 0, "block 0"},
		{CTFFrame, AArch64LE, infoPCMask, 0, 0, "block 16 mask"},
		{CTFFrame, AArch64LE, infoPAuthKey | infoSignal, 0, 0, "block 0"},
		{V1, AArch64LE, infoPCMask | infoPAuthKey | infoSignal, 0, 0, "block 16 mask key B"},
		{V2, AArch64BE, infoPCMask | infoPAuthKey | infoSignal, 0, 12, "block 12 mask key B"},
		{V2, AMD64LE, 0, 0, 12, "block 0"},
		{V3, AArch64BE, infoPCMask | infoPAuthKey | infoSignal, 0, 12, "block 12 mask key B signal"},
		{V3, AMD64LE, infoSignal, fdeFlex, 0, "block 0 signal flexible"},
		{V3, AMD64LE, 0, fdeFlex | 0xe0, 0, "block 0 flexible"},
	} {
		raw := plain(tt.v, tt.abi)
		raw.funcs[0].info |= tt.info
		raw.funcs[0].info2, raw.funcs[0].rep = tt.info2, tt.rep
		s := parseRaw(t, raw.bytes().Done())
		f := firstFunc(t, s)
		got := fmt.Sprint("block ", f.Block())
		for _, part := range []struct {
			set  bool
			name string
		}{{f.PCMask(), " mask"}, {f.KeyB(), " key B"}, {f.Signal(), " signal"}, {f.Flexible(), " flexible"}} {
			if part.set {
				got += part.name
			}
		}
		if got != tt.want || f.Table().Version != tt.v {
			t.Errorf("version %s, info %#x, %#x: got %s of version %s, want %s", tt.v, tt.info, tt.info2, got, f.Table().Version, tt.want)
		}
		if s.Addr() != rawAddr || s.Size() != raw.bytes().Len() {
			t.Errorf("got a section of %d bytes at %#x", s.Size(), s.Addr())
		}
	}
	for v, want := range map[Version]string{CTFFrame: "CTF Frame", V1: "1", V2: "2", V3: "3"} {
		if got := v.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for s, want := range map[Severity]string{Error: "error", Warning: "warning", Note: "note", Note + 5: "note"} {
		if got := s.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// A table is searched in place if its functions are in order and few in a row are
// empty or share a start; any other has an index.
func TestSearchedInPlace(t *testing.T) {
	functions := func(starts ...uint64) *rawTable {
		raw := plain(V3, AMD64LE)
		f := raw.funcs[0]
		f.size = 8
		raw.funcs = nil
		for _, start := range starts {
			f.start = start
			raw.funcs = append(raw.funcs, f)
		}
		return raw
	}
	empty := func(raw *rawTable, n int) *rawTable {
		f := raw.funcs[len(raw.funcs)-1]
		f.size = 0
		for range n {
			f.start++
			raw.funcs = append(raw.funcs, f)
		}
		return raw
	}
	for name, tt := range map[string]struct {
		raw     *rawTable
		inPlace bool
		ties    bool
	}{
		"in order":                      {functions(0x1000, 0x1010, 0x1020), true, false},
		"out of order":                  {functions(0x1010, 0x1000), false, false},
		"as many as are stepped over":   {functions(append(slices.Repeat([]uint64{0x1000}, maxTies+1), 0x1010)...), true, true},
		"one more":                      {functions(append(slices.Repeat([]uint64{0x1000}, maxTies+2), 0x1010)...), false, false},
		"empty, as many":                {empty(functions(0x1000), maxTies), true, true},
		"empty, one more":               {empty(functions(0x1000), maxTies+1), false, false},
		"as many, twice":                {functions(append(slices.Repeat([]uint64{0x1000}, maxTies+1), slices.Repeat([]uint64{0x1010}, maxTies+1)...)...), true, true},
		"two that share a start, first": {functions(0x1000, 0x1000, 0x1010), true, true},
	} {
		s := parseRaw(t, tt.raw.bytes().Done())
		f, ok, err := s.Lookup(0x1004)
		if !ok || err != nil || f.Start != 0x1000 {
			t.Errorf("%s: got %#x, %v, %v", name, f.Start, ok, err)
		}
		if got := s.lookup.index == nil; got != tt.inPlace || got && s.lookup.ties != tt.ties {
			t.Errorf("%s: searched in place: %v, ties: %v; want %v, %v", name, got, s.lookup.ties, tt.inPlace, tt.ties)
		}
	}
}

// The part of ascending addresses that a guide leaves has all that a search needs:
// addresses before it are at most pc, those after it are greater. It has few.
func TestGuide(t *testing.T) {
	run := func(n int, from, step uint64) (addrs []uint64) {
		for i := range n {
			addrs = append(addrs, from+uint64(i)*step)
		}
		return addrs
	}
	for name, addrs := range map[string][]uint64{
		"one":              {0x1000},
		"one sample":       run(sampled, 0x1000, 16),
		"one more":         run(sampled+1, 0x1000, 16),
		"evenly":           run(1000, 0x1000, 16),
		"the same":         slices.Repeat([]uint64{0x1000}, 100),
		"many at one end":  append(run(500, 0x1000, 1), run(20, 1<<40, 1<<30)...),
		"the whole space":  {0, 1, 2, 3, 4, 5, 6, 7, 1 << 63, 1<<64 - 1},
		"around the top":   run(64, 1<<64-1024, 16),
		"by powers of two": {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1 << 10, 1 << 20, 1 << 30, 1 << 40, 1 << 50, 1 << 60, 1 << 62, 1 << 63},
	} {
		g := makeGuide(len(addrs), func(i int) uint64 { return addrs[i] })
		for _, a := range addrs {
			for _, pc := range []uint64{a, a - 1, a + 1, a / 2, a + (1<<63-a/2)/3} {
				lo, hi := g.bucket(pc)
				if lo < 0 || lo > hi || hi > len(addrs) || lo > 0 && addrs[lo-1] > pc || hi < len(addrs) && addrs[hi] <= pc {
					t.Fatalf("%s, %#x: got %d to %d of %d", name, pc, lo, hi, len(addrs))
				}
				if name == "evenly" && hi-lo > 4*sampled {
					t.Errorf("%s, %#x: %d addresses are left of %d", name, pc, hi-lo, len(addrs))
				}
				if pc < addrs[0] && hi != 0 {
					t.Errorf("%s, %#x: got %d to %d below the first", name, pc, lo, hi)
				}
			}
		}
	}
}

// A list that is left early ends there.
func TestListsEnd(t *testing.T) {
	_, data := three()
	s := parseRaw(t, data)
	tables, funcs, rows := 0, 0, 0
	for range s.Tables() {
		if tables++; tables == 2 {
			break
		}
	}
	for f := range s.Funcs() {
		for range s.FREs(f) {
			if rows++; rows == 2 {
				break
			}
		}
		if funcs++; funcs == 3 {
			break
		}
	}
	if tables != 2 || funcs != 3 || rows != 2+2*3 {
		t.Errorf("got %d tables, %d functions, %d rows", tables, funcs, rows)
	}
	for range s.FREs(Func{}) {
		t.Error("got a row of no function")
	}
	var format *FormatError
	raw := plain(V2, AMD64LE)
	raw.funcs[0].info |= infoFREType
	for f, err := range parseRaw(t, raw.bytes().Done()).Funcs() {
		if !errors.As(err, &format) || f.Start != 0x1000 {
			t.Errorf("got %#x, %v", f.Start, err)
		}
		break
	}
}

// A header that is cut off is told as such, wherever it ends.
func TestHeaderCutOff(t *testing.T) {
	for v := range layouts {
		data := plain(Version(v), AMD64LE).bytes().Done()
		for n := 1; n < layouts[v].headerSize; n++ {
			_, err := Parse(data[:n], 0, Options{CTFFrame: Version(v) == CTFFrame})
			if fe, ok := errors.AsType[*FormatError](err); !ok || fe.ID != "header-truncated" || fe.Off != 0 {
				t.Errorf("version %s, %d bytes: got %v", Version(v), n, err)
			}
		}
	}
}
