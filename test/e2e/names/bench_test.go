//go:build e2e

package names

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkNaming names a stack of a program with 100 MB of debug information:
// the time of the whole command, which begins with nothing in memory but what
// the system keeps of files.
func BenchmarkNaming(b *testing.B) {
	dir := b.TempDir()
	for _, name := range []string{"heavy.cc", "trap.c"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	const copies = 60
	run(b, dir, "g++", "-std=c++17", "-O1", "-g", "-c", "heavy.cc")
	run(b, dir, "gcc", "-O2", "-g", "-c", "trap.c")
	objects := []string{"trap.o"}
	for i := range copies {
		name, prefix := fmt.Sprintf("%d.o", i), fmt.Sprintf("p%d_", i)
		run(b, dir, "objcopy", "--prefix-symbols="+prefix, "heavy.o", name)
		run(b, dir, "objcopy", "--redefine-sym", prefix+"__dso_handle=__dso_handle", name)
		objects = append(objects, name)
	}
	run(b, dir, "gcc", append(objects, "-static", "-nostdlib", "-no-pie", "-o", "prog", "-Wl,--unresolved-symbols=ignore-all,--build-id,-e,_start")...)
	st, err := os.Stat(filepath.Join(dir, "prog"))
	if err != nil || st.Size() < 80<<20 {
		b.Fatalf("got %v, %v, want a file of 100 MB", st, err)
	}
	dump(b, dir)
	for _, tool := range [][]string{
		{sfcore, "bt", "core"},
		{"gdb", "-nx", "-batch", "-ex", "bt", "prog", "core"},
		{"eu-stack", "-i", "-s", "--core=core", "-e", "prog"},
	} {
		b.Run(filepath.Base(tool[0]), func(b *testing.B) {
			for b.Loop() {
				if out := run(b, dir, tool[0], tool[1:]...); !strings.Contains(out, "innermost") {
					b.Fatalf("not named:\n%s", out)
				}
			}
		})
	}
}
