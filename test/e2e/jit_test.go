//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// gdbFrame is a line of gdb's backtrace.
var gdbFrame = regexp.MustCompile(`(?m)^#\d+ +0x([0-9a-f]+) in (\S+?) ?\(`)

// Frames in code that LLVM made are those that gdb shows, in a live process and
// in a core of it.
func TestJIT(t *testing.T) {
	if _, err := exec.LookPath("lli"); err != nil {
		t.Fatal("lli, of LLVM, is needed: ", err)
	}
	bin := buildSfcore(t)
	for _, kind := range []string{"mcjit", "orc"} {
		t.Run(kind, func(t *testing.T) {
			cmd := exec.Command("lli", "-jit-kind="+kind, "testdata/jit/spin.ll")
			cmd.Env = append(cmd.Environ(), "JITDUMPDIR="+t.TempDir()) // for perf
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() {
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
			}()
			pid := strconv.Itoa(cmd.Process.Pid)
			inner := func(frames []reportFrame) bool { return len(frames) > 0 && frames[0].Function == "inner" }
			for try := 0; !inner(framesOf(t, bin, "-p", pid)); try++ {
				if try == 100 {
					t.Fatalf("got %+v", framesOf(t, bin, "-p", pid))
				}
				time.Sleep(50 * time.Millisecond)
			}
			core := filepath.Join(t.TempDir(), "core")
			out, err := exec.Command("gdb", "-q", "-nx", "-batch", "-p", pid, "-ex", "bt", "-ex", "gcore "+core).CombinedOutput()
			want := gdbFrame.FindAllStringSubmatch(string(out), -1)
			if err != nil || len(want) < 6 {
				t.Fatalf("gdb: %v\n%s", err, out)
			}
			for _, args := range [][]string{{"-p", pid}, {core}} {
				got := framesOf(t, bin, args...)
				for i, w := range want {
					if i >= len(got) {
						t.Fatalf("%v: got %d frames, gdb has %d", args, len(got), len(want))
					}
					f := &got[i]
					function, _, _ := strings.Cut(f.Function, "(")
					if i > 0 && strings.TrimLeft(f.PC[2:], "0") != strings.TrimLeft(w[1], "0") || function != w[2] {
						t.Errorf("%v: frame %d: got %s in %s, gdb has %s in %s", args, i, f.PC, f.Function, w[1], w[2])
					}
					if wantTrust := map[bool]string{true: "full", false: "checked"}[i == 0]; f.Trust != wantTrust || i < 5 && f.Module != "[jit]" {
						t.Errorf("%v: frame %d: got trust %s in %s", args, i, f.Trust, f.Module)
					}
				}
			}
		})
	}
}

type reportFrame struct{ PC, Function, Trust, Module string }

// framesOf returns the stack of a process's only thread.
func framesOf(t *testing.T, bin string, args ...string) []reportFrame {
	t.Helper()
	out, _ := exec.Command(bin, append([]string{"bt", "--format", "json"}, args...)...).Output()
	var r struct {
		Threads []struct{ Frames []reportFrame }
	}
	if err := json.Unmarshal(out, &r); err != nil || len(r.Threads) != 1 {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return r.Threads[0].Frames
}
