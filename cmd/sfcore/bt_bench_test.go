package main

import (
	"context"
	"io"
	"os"
	"testing"
)

// BenchmarkBt prints all stacks of a core, in process: of SFCORE_BENCH_CORE,
// or of a recorded one.
func BenchmarkBt(b *testing.B) {
	args := []string{os.Getenv("SFCORE_BENCH_CORE")}
	if args[0] == "" {
		const dir = "../../testdata/cores/amd64-v2-threads/"
		args = []string{"--path", dir + "exe", dir + "core.zst"}
	}
	b.ReportAllocs()
	for b.Loop() {
		cmd := newBtCommand()
		cmd.SetArgs(args)
		cmd.SetOut(io.Discard)
		cmd.SetErr(io.Discard)
		if err := cmd.ExecuteContext(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}
