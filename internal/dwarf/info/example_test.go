package info_test

import (
	"fmt"

	"github.com/sfcore/sfcore/internal/dwarf/info"
	"github.com/sfcore/sfcore/internal/elfx"
)

// Show what a program has at an address: the function, its line in the source,
// and the variables in scope.
func Example() {
	f, release, err := elfx.Open("../../../testdata/cores/amd64-v3-threads/exe/threads", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer release()
	d := info.New(f, info.Options{})
	if d == nil {
		fmt.Println("no debug information")
		return
	}

	const addr = 0x4012c1 // link-time
	locations, err := d.Lookup(addr, nil)
	for _, l := range locations {
		fmt.Printf("%s at %s:%d\n", l.Func, l.File, l.Line)
	}
	fmt.Println(err)
	scopes, err := d.Scopes(addr)
	for _, s := range scopes {
		for _, v := range s.Variables {
			fmt.Printf("%s %s, parameter: %v\n", v.Type, v.Name, v.Parameter)
		}
	}
	fmt.Println(err)
	// Output:
	// crash_leaf at /srv/corpus/src/threads.c:9
	// <nil>
	// int n, parameter: true
	// volatile int [4] q, parameter: false
	// <nil>
}
