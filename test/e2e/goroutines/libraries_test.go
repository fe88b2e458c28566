//go:build e2e

package goroutines

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const pluginMain = `package main

import (
	"plugin"
	"time"
)

func main() {
	p, err := plugin.Open("./lib.so")
	if err != nil {
		panic(err)
	}
	wait, err := p.Lookup("Wait")
	if err != nil {
		panic(err)
	}
	go wait.(func())()
	time.Sleep(200 * time.Millisecond)
	var null *int
	*null = 1
}
`

const library = `package main

import "C"

//export Wait
func Wait() { deep(2) }

//go:noinline
func deep(n int) int {
	if n == 0 {
		select {}
	}
	return deep(n-1) + 1
}

func main() {}
`

const host = `
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
extern void Wait(void);
static void *thread(void *p) { Wait(); return p; }
int main(void) {
	pthread_t t;
	pthread_create(&t, 0, thread, 0);
	sleep(1);
	abort();
}
`

// A goroutine that waits in a Go plugin has its whole stack, and so has one that C
// called in a library: also if these have no symbols and no debug information.
func TestLibraries(t *testing.T) {
	bin := t.TempDir()
	command := func(dir, name string, args ...string) {
		t.Helper()
		c := exec.Command(name, args...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
	}
	command("../../..", "go", "build", "-o", bin+"/", "./cmd/sfcore", "./cmd/sfcore-delve")
	for _, tt := range []struct {
		mode string
		want []string // functions, one after the other
	}{
		{"plugin", []string{"runtime.gopark", "runtime.block", "deep", "deep", "deep", "Wait", "runtime.goexit"}},
		{"c-shared", []string{"runtime.gopark", "runtime.block", "main.deep", "main.deep", "main.deep", "main.Wait", "crosscall2", "thread"}},
	} {
		for _, flags := range []string{"", "-s -w"} {
			t.Run(tt.mode+flags, func(t *testing.T) {
				dir := t.TempDir()
				for name, text := range map[string]string{
					"go.mod": "module many\n\ngo 1.26\n", "main/main.go": pluginMain, "lib/lib.go": library, "host.c": host,
				} {
					path := filepath.Join(dir, name)
					if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				command(dir, "go", "build", "-trimpath", "-buildmode="+tt.mode, "-ldflags="+flags, "-o", "lib.so", "./lib")
				if tt.mode == "plugin" {
					command(dir, "go", "build", "-trimpath", "-ldflags="+flags, "-o", "exe", "./main")
				} else {
					command(dir, "cc", "-o", "exe", "host.c", "./lib.so", "-lpthread")
				}
				c := exec.Command("sh", "-c", "ulimit -c unlimited; exec env -i GOTRACEBACK=crash ./exe")
				c.Dir = dir
				out, _ := c.CombinedOutput()
				cores, _ := filepath.Glob(filepath.Join(dir, "core*"))
				if len(cores) == 0 {
					t.Fatalf("no core file; is kernel.core_pattern core?\n%s", out)
				}
				text := run(t, "", filepath.Join(bin, "sfcore"), "goroutines", "--format", "folded", "--path", dir, cores[0], filepath.Join(dir, "exe"))
				found := slices.ContainsFunc(strings.Split(text, "\n"), func(stack string) bool {
					frames := strings.Split(strings.TrimSpace(stack), ";") // the outermost first
					slices.Reverse(frames)
					i := 0
					for _, f := range frames {
						name, _, _ := strings.Cut(f, " ")
						name = strings.TrimSuffix(name, ".abi0")
						if i < len(tt.want) && (name == tt.want[i] || strings.HasSuffix(name, "."+tt.want[i])) {
							i++
						}
					}
					return i == len(tt.want)
				})
				if !found || strings.HasPrefix(text, "[") || strings.Contains(text, "\n[") {
					t.Errorf("no whole stack has %v:\n%s", tt.want, text)
				}
			})
		}
	}
}
