package unwind_test

import (
	"context"
	"fmt"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/unwind"
)

// Walk the stack of the thread that crashed, in memory and with tables that
// package process has found, and show by which rules.
func Example() {
	const dir = "../testdata/cores/amd64-v3-threads"
	img, err := core.Open(context.Background(), dir+"/core.zst", core.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	t := process.New(img, process.Options{Paths: []string{dir + "/exe"}})
	defer t.Close()

	u := unwind.Unwinder{
		Arch: img.Arch,
		Mem:  t.Memory(),
		Find: func(addr uint64) unwind.Place {
			m := img.Mapping(addr)
			if m == nil {
				return unwind.Place{}
			}
			return unwind.Place{Lo: m.Lo, Hi: m.Hi, Module: t.Locate(addr).Tables, Executable: m.Exec}
		},
		Steppers: process.DefaultSteppers(),
	}
	frames, stop := u.Unwind(nil, &img.Threads[0].Regs)
	for i := range frames {
		f := &frames[i]
		fmt.Printf("%#x %s %s: %s\n", f.PC, f.Method, f.Trust, f.Row.Format(img.Arch))
	}
	fmt.Println(stop.Reason)
	// Output:
	// 0x4011a5 registers full: cfa=rsp+8 ra=*(c-8) fp=rbp
	// 0x4012c2 sframe full: cfa=rsp+32 ra=*(c-8) fp=rbp
	// 0x4012e9 sframe full: cfa=rsp+16 ra=*(c-8) fp=rbp
	// 0x401375 sframe full: cfa=u ra=u fp=u
	// outermost
}
