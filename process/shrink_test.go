//go:build unix

package process_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/process"
)

// A core, a program, a library or a debug file that shrinks while it is in use
// costs what was in it, and is told; it does not end the program.
func TestShrinkingFiles(t *testing.T) {
	if runtime.GOOS == "linux" && runtime.GOARCH == "arm64" && os.Getenv("QEMU_LD_PREFIX") == "" {
		if _, err := os.Stat("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1"); err != nil {
			t.Skip("qemu-aarch64 does not tell where such a fault was")
		}
	}
	stages := []string{"opened", "joined", "loaded", "walked", "reported"}
	for _, tt := range []struct{ name, file string }{
		{"amd64-v2-stripped-debuglink", "core"},
		{"amd64-v2-stripped-debuglink", "exe/deep"},
		{"amd64-v2-stripped-debuglink", "debug/deep.debug"},
		{"amd64-v3-libcdyn-1", "core"},
		{"amd64-v3-libcdyn-1", "exe/libcdyn"},
		{"amd64-v3-libcdyn-1", "sysroot"}, // libc
		{"s390x-v3-threads", "core"},
		{"s390x-v3-threads", "exe/threads"},
	} {
		for at, stage := range stages {
			t.Run(tt.name+"/"+tt.file+"/"+stage, func(t *testing.T) {
				dir := copyCase(t, tt.name)
				file := filepath.Join(dir, tt.file)
				if tt.file == "sysroot" {
					_ = filepath.WalkDir(file, func(name string, e os.DirEntry, _ error) error {
						if strings.HasPrefix(e.Name(), "libc.so") {
							file = name
						}
						return nil
					})
				}
				shrink := func(now int) {
					if now == at {
						if err := os.Truncate(file, 0); err != nil {
							t.Fatal(err)
						}
					}
				}
				img, err := core.Open(context.Background(), filepath.Join(dir, "core"), core.Options{})
				if err != nil {
					t.Fatal(err)
				}
				shrink(0)
				tg := process.New(img, process.Options{Paths: []string{filepath.Join(dir, "exe"), filepath.Join(dir, "debug")}, Sysroot: filepath.Join(dir, "sysroot")})
				defer tg.Close()
				shrink(1)
				tg.OpenModules()
				shrink(2)
				walked := 0
				for _, th := range tg.Threads() {
					walked += len(tg.NewWalker().Walk(th).Frames)
				}
				shrink(3)
				report := func() *report.Document {
					r, err := tg.Report(context.Background(), tg.Threads())
					if err != nil {
						t.Fatal(err)
					}
					if _, err := json.Marshal(r); err != nil {
						t.Error(err)
					}
					return r
				}
				if at == 4 {
					report()
					shrink(4)
				}
				r := report()
				frames := 0
				for i := range r.Threads {
					frames += len(r.Threads[i].Frames)
				}
				if len(r.Threads) == 0 || frames == 0 {
					t.Errorf("got %d threads, %d frames", len(r.Threads), frames)
				}
				// What was walked before is not walked again without its file.
				told := len(r.Problems) > 0
				for i := range r.Threads {
					told = told || r.Threads[i].Stop.Reason != unwind.Outermost
				}
				if missed := at >= 2 && at < 4 && strings.HasSuffix(tt.file, "core"); missed && !told {
					t.Errorf("nothing tells of the loss: %d frames, walked %d", frames, walked)
				}
			})
		}
	}
}
