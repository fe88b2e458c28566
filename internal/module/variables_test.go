package module

import (
	"encoding/binary"
	"fmt"
	"maps"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
)

// TestVariables has the smallest variable at each address, by its symbol.
func TestVariables(t *testing.T) {
	const object = elfx.SymObject
	e := testkit.ELF{Order: binary.LittleEndian, Type: elfx.TypeDyn, Machine: arch.EMX86_64, Sections: []testkit.ELFSection{
		text(elfx.SectProgbits),
		{Name: ".data", Type: elfx.SectProgbits, Flags: 3, Addr: 0x1100, Data: make([]byte, 0x100)},
	}, Symbols: []testkit.ELFSymbol{
		{Name: "server", Info: object, Section: ".data", Value: 0x1110, Size: 0x40},
		{Name: "_ZN3app5tableE", Info: 1<<4 | object, Section: ".data", Value: 0x1120, Size: 8},
		{Name: "old@V1", Info: object, Section: ".data", Value: 0x1160, Size: 8},
		{Name: "empty", Info: object, Section: ".data", Value: 0x1180},
		{Name: "f", Info: elfx.SymFunc, Section: ".data", Value: 0x1188, Size: 8},
		{Name: "elsewhere", Info: object, Value: 0x1190, Size: 8},
	}}
	set, err := OpenFile(write(t, t.TempDir(), "library", e.File()), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	server, table := Variable{"server", 0x1110}, Variable{"app::table", 0x1120}
	want := map[uint64]Variable{0x1110: server, 0x111f: server, 0x1120: table, 0x1127: table, 0x1128: server, 0x114f: server, 0x1160: {"old", 0x1160}}
	addrs := []uint64{0x1188, 0x1128, 0x1190, 0x1120, 0x1127, 0x1150, 0x1110, 0x114f, 0x110f, 0x111f, 0x1180, 0x1160, 0x1160, 0xffffffff}
	if got := set.Variables(addrs); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, addr := range addrs {
		name, start, ok := set.Only().Object(addr)
		if v, known := want[addr]; ok != known || name != v.Name || start != v.Start {
			t.Errorf("%#x: got %s at %#x, %v, want %v", addr, name, start, ok, v)
		}
	}
}

// TestVariablesOverlap has a table of symbols each of which contains all addresses, where
// the search would take their product.
func TestVariablesOverlap(t *testing.T) {
	e := testkit.ELF{Order: binary.LittleEndian, Type: elfx.TypeDyn, Machine: arch.EMX86_64, Sections: []testkit.ELFSection{text(elfx.SectProgbits)}}
	for i := range 100 {
		e.Symbols = append(e.Symbols, testkit.ELFSymbol{Name: fmt.Sprint("v", i), Info: elfx.SymObject, Section: ".text", Value: 0x1000, Size: 0x100})
	}
	set, err := OpenFile(write(t, t.TempDir(), "library", e.File()), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	for n, want := range map[int]int{1: 1, 10: 0, 200: 0} {
		addrs := make([]uint64, n)
		for i := range addrs {
			addrs[i] = 0x1000 + uint64(i)
		}
		if got := set.Variables(addrs); len(got) != want {
			t.Errorf("%d addresses: got %v", n, got)
		}
	}
}
