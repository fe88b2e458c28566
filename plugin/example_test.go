package plugin_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"github.com/sfcore/sfcore/plugin"
	"github.com/sfcore/sfcore/process"
)

// A host starts the plugin, opens a core file and prints the crashed thread's
// stack.
func Example() {
	ctx := context.Background()
	cmd := exec.Command(os.Args[0]) // of a real host: "sfcore", "plugin"
	client, err := plugin.Start(ctx, cmd, plugin.StartOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()

	const dir = "../testdata/cores/amd64-v3-threads"
	session, err := client.Open(ctx, plugin.Spec{
		Core:    dir + "/core.zst",
		Options: process.Options{Paths: []string{dir + "/exe"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for thread, err := range session.Stacks(ctx, false) {
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, frame := range thread.Frames {
			fmt.Println(frame.Index, frame.Function, frame.Method)
		}
		fmt.Println(thread.Stop.Reason)
		break // the crashed thread is the first
	}

	// Output:
	// 0 boom registers
	// 1 crash_leaf sframe
	// 2 crasher sframe
	// 3 thread_entry sframe
	// outermost
}
