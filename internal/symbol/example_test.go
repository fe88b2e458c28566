package symbol_test

import (
	"fmt"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/symbol"
)

// Name three addresses of programs: one of a C++ function, one of an entry of
// a linkage table, one of nothing.
func Example() {
	for _, at := range []struct {
		path string
		addr uint64
	}{
		{"../../testdata/cores/amd64-v3-cxx/exe/cxx", 0x402a88},
		{"../../testdata/cores/amd64-v3-plt-2/exe/pltmain", 0x1020},
		{"../../testdata/cores/amd64-v3-plt-2/exe/pltmain", 0x1},
	} {
		f, release, err := elfx.Open(at.path, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		locations := symbol.New(f).Lookup(at.addr, nil)
		for _, l := range locations {
			fmt.Printf("%#x: %s+%#x (%s)\n", at.addr, symbol.Demangle(l.Func), l.Offset, l.From)
		}
		if len(locations) == 0 {
			fmt.Printf("%#x: unknown\n", at.addr)
		}
		release()
	}
	// Output:
	// 0x402a88: outer::(anonymous namespace)::operator+(outer::(anonymous namespace)::Node<long, 7> const&, int)+0x8 (symtab)
	// 0x1020: lib_other@plt+0x0 (plt)
	// 0x1: unknown
}
