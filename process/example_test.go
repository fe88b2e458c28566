package process_test

import (
	"context"
	"fmt"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/process"
)

// Print the stack of the thread that crashed.
func Example() {
	const dir = "../testdata/cores/amd64-v3-threads"
	img, err := core.Open(context.Background(), dir+"/core.zst", core.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	t := process.New(img, process.Options{Paths: []string{dir + "/exe"}})
	defer t.Close()

	stack, err := t.Stack(t.Threads()[0].ID)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range stack.Frames {
		f := &stack.Frames[i]
		for _, l := range t.Locate(f.LookupPC()).Functions {
			fmt.Printf("%#x %s %s: %s at %s:%d\n", f.PC, f.Method, f.Trust, l.Name, l.File, l.Line)
		}
	}
	fmt.Println(stack.Stop.Reason, stack.Complete())
	// Output:
	// 0x4011a5 registers full: boom at /srv/corpus/src/fs.h:61
	// 0x4012c2 sframe full: crash_leaf at /srv/corpus/src/threads.c:9
	// 0x4012e9 sframe full: crasher at /srv/corpus/src/threads.c:10
	// 0x401375 sframe full: thread_entry at /srv/corpus/src/rt.S:40
	// outermost true
}
