package unwind_test

import (
	"context"
	"fmt"
	"os"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/sframe"
	"github.com/sfcore/sfcore/unwind"
)

// Walk the stack of the thread that crashed, by the .sframe section of its program,
// and show by which rules. The kernel left the program's code and tables out of the
// core, since the file has them.
func Example() {
	const dir = "../testdata/cores/amd64-v3-threads"
	img, err := core.Open(context.Background(), dir+"/core.zst", core.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer img.Close()
	file, err := os.ReadFile(dir + "/exe/threads")
	if err != nil {
		fmt.Println(err)
		return
	}
	// As readelf -lS has it: the file is mapped from 0x400000 on.
	const base, size, section, sectionSize = 0x400000, 0x241f, 0x2208, 0x1f4
	table, err := sframe.Parse(file[section:section+sectionSize], base+section, sframe.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	program := &unwind.Module{Lo: base, Hi: base + size, SFrame: table}
	code := memreader.NewSpace([]memreader.Segment{{Addr: base, Size: size, Data: file[:size]}})

	u := unwind.Unwinder{
		Arch: img.Arch,
		Mem:  &memreader.Layers{Top: img.Mem, Under: code},
		Find: func(addr uint64) unwind.Place {
			m := img.Mapping(addr)
			if m == nil {
				return unwind.Place{}
			}
			place := unwind.Place{Lo: m.Lo, Hi: m.Hi, Executable: m.Exec}
			if addr-program.Lo < program.Hi-program.Lo {
				place.Module = program
			}
			return place
		},
		Steppers: []unwind.Stepper{unwind.NewSFrame()},
	}
	frames, stop := u.Unwind(nil, &img.Threads[0].Regs)
	for i := range frames {
		f := &frames[i]
		fmt.Printf("%#x %s %s: %s\n", f.PC, f.Method, f.Trust, f.Row.Format(img.Arch))
	}
	fmt.Println(stop)
	// Output:
	// 0x4011a5 registers full: cfa=rsp+8 ra=*(c-8) fp=rbp
	// 0x4012c2 sframe full: cfa=rsp+32 ra=*(c-8) fp=rbp
	// 0x4012e9 sframe full: cfa=rsp+16 ra=*(c-8) fp=rbp
	// 0x401375 sframe full: cfa=u ra=u fp=u
	// outermost
}
