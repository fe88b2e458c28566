package symbol

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
)

// FuzzLookup takes any bytes as an ELF file. Oracle: asking one by one, in a
// batch, with an index, and comparing every symbol must give the same answers.
func FuzzLookup(f *testing.F) {
	for _, name := range []string{"amd64-v3-plt-2/exe/pltmain", "aarch64-v3-plt-2/exe/pltmain", "s390x-v3-plt-2/exe/pltmain", "amd64-v2-stripped-minidebug/exe/deep", "aarch64be-v3-fpframe/exe/fpframe"} {
		data, err := os.ReadFile(filepath.Join(cores, name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, uint16(0))
	}
	for _, order := range orders {
		e := program(order,
			text("outer", local|function, 0x2100, 0x100), text("inner", global|function, 0x2140, 0x80), text("label", global|notype, 0x2150, 0),
			text("alias", weak|function, 0x2100, 0x100), text("_etext", global|notype, 0x3000, 0))
		e.Sections = append(e.Sections, testkit.ELFSection{
			Name: ".gopclntab", Type: elfx.SectProgbits, Flags: alloc, Addr: 0x5000, Data: testkit.GoTable(order, testkit.GoMagic120, goTextAt),
		})
		f.Add(e.File(), uint16(0x80))
	}
	f.Fuzz(func(t *testing.T, data []byte, skew uint16) {
		ef, err := elfx.Parse(data)
		if err != nil {
			return
		}
		var addrs []uint64
		for _, c := range codeRegions(ef) {
			for _, a := range []uint64{c.lo, c.hi - 1, c.lo + uint64(skew), c.lo + (c.hi-c.lo)/2} {
				addrs = append(addrs, a, a-1)
			}
			if len(addrs) > 100 {
				break
			}
		}
		if tab, _ := ef.Symtab(); tab.Len() > 0 {
			for i := range min(tab.Len(), 50) {
				s := tab.Sym(i)
				addrs = append(addrs, s.Value, s.Value+s.Size, s.Value+uint64(skew))
			}
		}
		one, batch, indexed := New(ef), New(ef), New(ef)
		for _, table := range indexed.tables {
			table.reads = maxReads
		}
		batch.Prepare(addrs)
		for _, a := range addrs {
			want := one.Lookup(a, nil)
			if got := batch.Lookup(a, nil); !slices.Equal(got, want) {
				t.Errorf("%#x: batch gives %+v, one by one %+v", a, got, want)
			}
			if got := indexed.Lookup(a, nil); !slices.Equal(got, want) {
				t.Errorf("%#x: index gives %+v, one by one %+v", a, got, want)
			}
			tab := one.tables[0]
			if s := naive(tab, a); s.rank&rankSized != 0 && len(want) == 1 && want[0].From == FromSymtab && (want[0].Func != tab.name(s.name) || want[0].Offset != a-s.value) {
				t.Errorf("%#x: got %+v, comparing all symbols gives %s+%#x", a, want, tab.name(s.name), a-s.value)
			}
		}
		one.Source()
	})
}

// naive returns the best sized symbol that contains addr.
func naive(t *table, addr uint64) (best symbol) {
	code := regionAt(t.code, addr)
	for i := range t.tab.Len() {
		s, section, ok := t.decodeFunc(t.tab.Data[i*elfx.SymSize:][:elfx.SymSize])
		if ok && s.value <= addr && addr-s.value < s.size && code.hi != 0 && code.holds(s.value, section) && t.names(&s) && t.better(&s, &best) {
			best = s
		}
	}
	return best
}

// FuzzDemangle must end soon, within the length that it promises.
func FuzzDemangle(f *testing.F) {
	for _, s := range []string{
		"main", "_ZN5outer5driveERKSt6vectorIiSaIiEE", "_Znam@plt", "_RNvCs15kBYyAo9fc_7mycrate7example",
		"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "_Z1fIJiiiEEvDp1aIT_DpT_E", "_ZN4DspsIiEEDpOT_spS1D_A12_3spD.sp",
		"_ZZNK4node6crypto10CipherBase6UpdateEvENKUlvE_clEv", "_ZGVZ1fvE1x_0", "_ZTv0_n24_N1A1fEv", "_Z1fIXadL_Z1gvEEEvDTplfp_fp0_E",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got := Demangle(name)
		if len(got) > 1<<maxDemangledLog2+len("@plt") && got != name {
			t.Errorf("got %d bytes from %d", len(got), len(name))
		}
		if len(name) > 0 && got == "" {
			t.Errorf("got nothing from %q", name)
		}
	})
}

// FuzzDebugdata unpacks any bytes as .gnu_debugdata: what comes of it or an
// error, in bounds.
func FuzzDebugdata(f *testing.F) {
	// A dictionary of 64 KiB is enough for the symbols, and is made a hundred times as fast.
	const dictionary = 8
	packed := withDictionary(f, packedSymbols(f), dictionary)
	if _, err := unpackXZ(packed, maxDebugdata, anyFile(f)); err != nil {
		f.Fatal(err)
	}
	f.Add(packed)
	f.Add(packed[:len(packed)/2])
	f.Add([]byte("\xfd7zXZ\x00"))
	const limit = 1 << 20
	f.Fuzz(func(t *testing.T, packed []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		data, err := unpackXZ(packed, limit, anyFile(t))
		runtime.ReadMemStats(&after)
		if err != nil && data != nil || len(data) > limit {
			t.Errorf("got %d bytes and %v", len(data), err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 2*maxDictionary {
			t.Errorf("%d bytes took %d bytes of memory", len(packed), used)
		}
	})
}
