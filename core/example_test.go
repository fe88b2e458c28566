package core_test

import (
	"context"
	"fmt"

	"github.com/sfcore/sfcore/core"
)

func ExampleOpen() {
	img, err := core.Open(context.Background(), "../testdata/cores/amd64-v3-null-1/core.zst", core.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer img.Close()
	fmt.Println(img.Command)
	fmt.Println(img.Arch.Name, img.Signal.Name, img.Signal.CodeName)
	for _, t := range img.Threads {
		pc, _ := t.Regs.Get(img.Arch.PC)
		fmt.Printf("pc %#x, crashed: %v\n", pc, t.Crashed)
	}
	// Output:
	// /srv/corpus/cases/amd64-v3-null-1/exe/null 1
	// amd64 SIGSEGV SEGV_MAPERR
	// pc 0x0, crashed: true
}
