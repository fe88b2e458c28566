//go:build e2e && linux

package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sfcore/sfcore/report"
)

// causes are what testdata/cause/causes.cc does, and what is said of it. A twin looks like
// the one before it.
var causes = []struct{ name, cause, says string }{
	{"null", "null-access", "an access through a null pointer, at offset 0x4"},
	{"null-twin", "bad-pointer", "an access to 0x14 through a pointer that is 0x10, and not null"},
	{"null-call", "null-call", "a call or jump through a null pointer"},
	{"null-call-twin", "bad-call", "a call or jump to 0x10, where nothing is mapped"},
	{"data-call", "data-call", "a call or jump to 0x"},
	{"data-call-twin", "no-access", "a read of 0x"},
	{"overflow", "stack-overflow", "the stack is full: "},
	{"overflow-twin", "", "an access to 0x"},
	{"thread-overflow", "stack-overflow", "the stack is full: "},
	{"non-canonical", "non-canonical", "an access to 0xdead000000000000, which no pointer can be"},
	{"non-canonical-twin", "", "the processor refused the instruction"},
	{"misaligned", "misaligned", "an access to 0x"},
	{"misaligned-twin", "non-canonical", "an access to 0xdead000000000000, which no pointer can be"},
	{"privileged", "privileged", "the program executed hlt, which only the kernel may"},
	{"privileged-twin", "non-canonical", "an access to 0xdead000000000000, which no pointer can be"},
	{"read-only", "read-only", "a write to 0x"},
	{"read-only-twin", "no-access", "a read of 0x"},
	{"past-file", "past-file", "an access to 0x"},
	{"past-file-twin", "self", "the program sent itself the signal"},
	{"division", "division", "an integer was divided by zero"},
	{"division-twin", "quotient", "the quotient of a division did not fit its integer"},
	{"trap", "trap", "the program executed ud2, "},
	{"trap-twin", "", "the processor refused this instruction"},
	{"breakpoint", "breakpoint", "the program executed a breakpoint instruction"},
	{"breakpoint-twin", "self", "the program sent itself the signal"},
	{"seccomp", "seccomp", "a filter (seccomp) forbade a system call"},
	{"seccomp-twin", "self", "the program sent itself the signal"},
	{"assertion", "assertion", `an assertion failed: none > 0 && "a: reason", at `},
	{"assertion-twin", "abort", "the program called abort"},
	{"assertion-late-twin", "abort", "the program called abort"},
	{"double-free", "heap-misuse", "the program freed memory twice: free(): double free"},
	{"double-free-twin", "abort", "the program called abort"},
	{"bad-free", "heap-misuse", "the program freed what malloc had not returned, or"},
	{"smashed", "stack-smashing", "a function wrote beyond an array on the stack"},
	{"overrun", "buffer-overflow", "a function of libc would have written beyond the end of a buffer"},
	{"exception", "exception", "an exception was not caught: no_disk: no disk"},
	{"exception-twin", "terminate", "std::terminate was called"},
	{"exception-nested", "exception", "an exception was not caught: no_disk: no disk"},
	{"memory", "exception", "memory ran out, "},
	{"raised", "self", "the program sent itself the signal"},
	{"aborted", "abort", "the program called abort"},
	{"sent", "sent", "process "},
}

// What is said of real crashes is true, and their twins are not named. Cores are those of
// the kernel, of a program without an environment.
func TestCauses(t *testing.T) {
	if pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern"); err != nil || strings.TrimSpace(string(pattern)) != "core" {
		t.Skipf("kernel.core_pattern is %q (%v), and not core", bytes.TrimSpace(pattern), err)
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_CORE, &limit); err != nil || limit.Max < 64<<20 {
		t.Skip("cores are not allowed:", limit, err)
	}
	sfcore, dir := buildSfcore(t), t.TempDir()
	prog := filepath.Join(dir, "causes")
	if out, err := exec.Command("g++", "-g", "-O1", "-w", "-o", prog, "testdata/cause/causes.cc", "-lpthread").CombinedOutput(); err != nil {
		t.Skipf("g++ is needed: %v\n%s", err, out)
	}
	for _, tt := range causes {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			cmd := exec.Command("/bin/sh", "-c", `ulimit -c unlimited; exec "$0" "$1"`, prog, tt.name)
			cmd.Dir, cmd.Env = dir, []string{}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if tt.name == "sent" {
				time.Sleep(time.Second) // until it is the program
				_ = cmd.Process.Signal(syscall.SIGSEGV)
			}
			_ = cmd.Wait()
			cores, err := filepath.Glob(filepath.Join(dir, "core*"))
			if err != nil || len(cores) != 1 {
				t.Fatalf("there are the cores %q (%v), want one", cores, err)
			}
			out, err := exec.Command(sfcore, "bt", "--crashed", "--frames", "3", cores[0]).CombinedOutput()
			if !strings.Contains(string(out), tt.says) {
				t.Errorf("text has not %q (%v):\n%s", tt.says, err, out)
			}
			out, err = exec.Command(sfcore, "info", "--format", "json", cores[0]).Output()
			var doc report.Document
			if bad := json.Unmarshal(out, &doc); bad != nil || doc.Process.Signal == nil {
				t.Fatalf("no report: %v, %v", err, bad)
			}
			s := doc.Process.Signal
			if s.Cause != tt.cause || !strings.HasPrefix(s.Meaning, tt.says) || (s.Evidence != "") != (tt.cause != "") {
				t.Errorf("got %s: %q by %q, want %s: %q", s.Cause, s.Meaning, s.Evidence, tt.cause, tt.says)
			}
		})
	}
}
