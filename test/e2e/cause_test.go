//go:build e2e && linux

package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
	{"null-call", "null-call", "a call through a null pointer"},
	{"null-call-twin", "bad-call", "a call to 0x10, where nothing is mapped"},
	{"null-return-twin", "bad-pc", "a call, jump or return to 0x0, where nothing is mapped"},
	{"data-call", "data-call", "a call to 0x"},
	{"data-return-twin", "bad-pc", "a call, jump or return to 0x"},
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
	{"freed", "use-after-free", "an access to 0xdead000000000018 through a pointer that was read from memory that malloc has as free"},
	{"freed-large", "use-after-free", "an access to 0x18 through a pointer that was read from memory that malloc has as free"},
	{"freed-twin", "non-canonical", "an access to 0xdead000000000018, which no pointer can be"},
	{"freed-before-twin", "non-canonical", "an access to 0xdead000000000018, which no pointer can be"},
	{"freed-call", "use-after-free", "a call to 0x20000 through a pointer that was read from memory that malloc has as free"},
	{"freed-call-twin", "bad-call", "a call to 0x20000, where nothing is mapped"},
	{"freed-wild-call", "use-after-free", "a call to 0xdead000000000000 through a pointer that was read from memory that malloc has as free"},
	{"freed-wild-call-twin", "bad-call", "a call to 0xdead000000000000, which no pointer can be"},
	{"wild-return", "bad-return", "a return to 0xdead000000000000, which no pointer can be: the stack has it in place of a return address"},
	{"wild-return-twin", "", ""},
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

// runtimeCauses are what the other programs of testdata/cause do.
var runtimeCauses = []struct{ prog, name, cause, says string }{
	{"gopanic", "text", "go-panic", "a panic of Go was not recovered: no disk"},
	{"gopanic", "error", "go-panic", "a panic of Go was not recovered: no disk"},
	{"gopanic", "wrapped", "go-panic", "a panic of Go was not recovered: reading: no disk"},
	{"gopanic", "number", "go-panic", "a panic of Go was not recovered: -7"},
	{"gopanic", "value", "go-panic", "a panic of Go was not recovered: a value of type main.trouble"},
	{"gopanic", "nil", "go-panic", "a panic of Go was not recovered: runtime error: invalid memory address or nil pointer dereference"},
	{"gopanic", "index", "go-panic", "a panic of Go was not recovered: runtime error: index out of range [5] with length 2"},
	{"gopanic", "recovered-twin", "self", "the program sent itself the signal"},
	{"gopanic", "deferred-twin", "self", "the program sent itself the signal"},
	{"panics", "text", "rust-panic", "a panic of Rust: no disk, at "},
	{"panics", "format", "rust-panic", "a panic of Rust, at "},
	{"panics", "index", "rust-panic", "a panic of Rust: an index is out of bounds, at "},
	{"panics", "none", "rust-panic", "a panic of Rust: called `Option::unwrap()` on a `None` value, at "},
	{"panics", "error", "rust-panic", "a panic of Rust: Result::unwrap() or the like was called on the other variant, at "},
	{"panics", "abort-twin", "abort", "the program called abort"},
	{"sanitized", "freed", "sanitizer", "AddressSanitizer reported a bad read of 8 bytes"},
	{"sanitized", "beyond", "sanitizer", "AddressSanitizer reported a bad write of 1 byte"},
	{"sanitized", "undefined", "sanitizer", "UndefinedBehaviorSanitizer reported undefined behaviour: add overflow"},
	{"sanitized", "abort-twin", "abort", "the program called abort"},
}

// runtimePrograms are how they are built, to the file that is the last argument.
var runtimePrograms = map[string][]string{
	"gopanic":   {"go", "build", "-o"},
	"panics":    {"rustc", "-O", "-C", "panic=abort", "-o"},
	"sanitized": {"g++", "-g", "-O1", "-w", "-fsanitize=address,signed-integer-overflow", "-fno-sanitize-recover=all", "-o"},
}

// Panics of Go and Rust and reports of sanitizers are told from what looks like them.
func TestCausesOfRuntimes(t *testing.T) {
	coresAllowed(t)
	sfcore, dir := buildSfcore(t), t.TempDir()
	for prog, source := range map[string]string{"gopanic": "gopanic/main.go", "panics": "panics.rs", "sanitized": "sanitized.cc"} {
		t.Run(prog, func(t *testing.T) {
			build := append(slices.Clone(runtimePrograms[prog]), filepath.Join(dir, prog), "testdata/cause/"+source)
			if out, err := exec.Command(build[0], build[1:]...).CombinedOutput(); err != nil {
				t.Skipf("%s is needed: %v\n%s", build[0], err, out)
			}
			for _, tt := range runtimeCauses {
				if tt.prog == prog {
					t.Run(tt.name, func(t *testing.T) {
						core := crash(t, filepath.Join(dir, prog), tt.name, nil)
						checkCause(t, sfcore, core, tt.cause, tt.says)
					})
				}
			}
		})
	}
}

// coresAllowed skips a test where the kernel does not write cores to the directory of the
// process.
func coresAllowed(t *testing.T) {
	t.Helper()
	if pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern"); err != nil || strings.TrimSpace(string(pattern)) != "core" {
		t.Skipf("kernel.core_pattern is %q (%v), and not core", bytes.TrimSpace(pattern), err)
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_CORE, &limit); err != nil || limit.Max < 64<<20 {
		t.Skip("cores are not allowed:", limit, err)
	}
}

// crash runs a program without an environment but for what has runtimes abort, and returns
// the core that the kernel writes. meanwhile may be nil.
func crash(t *testing.T, prog, how string, meanwhile func(*os.Process)) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command("/bin/sh", "-c", `ulimit -c unlimited; exec "$0" "$1"`, prog, how)
	cmd.Dir = dir
	cmd.Env = []string{"GOTRACEBACK=crash", "ASAN_OPTIONS=abort_on_error=1:disable_coredump=0", "UBSAN_OPTIONS=abort_on_error=1:disable_coredump=0"}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if meanwhile != nil {
		meanwhile(cmd.Process)
	}
	_ = cmd.Wait()
	cores, err := filepath.Glob(filepath.Join(dir, "core*"))
	if err != nil || len(cores) != 1 {
		t.Fatalf("there are the cores %q (%v), want one", cores, err)
	}
	return cores[0]
}

// checkCause compares what text and JSON say of a core with what is true. JSON is asked for
// one frame: a cause is known by more.
func checkCause(t *testing.T, sfcore, core, cause, says string) {
	t.Helper()
	out, err := exec.Command(sfcore, "bt", "--crashed", "--frames", "3", core).CombinedOutput()
	if !strings.Contains(string(out), says) {
		t.Errorf("text has not %q (%v):\n%s", says, err, out)
	}
	out, err = exec.Command(sfcore, "info", "--max-frames", "1", "--format", "json", core).Output()
	var doc report.Document
	if bad := json.Unmarshal(out, &doc); bad != nil || doc.Process.Signal == nil {
		t.Fatalf("no report: %v, %v", err, bad)
	}
	s := doc.Process.Signal
	if s.Cause != cause || !strings.HasPrefix(s.Meaning, says) || (s.Evidence != "") != (cause != "") {
		t.Errorf("got %s: %q by %q, want %s: %q", s.Cause, s.Meaning, s.Evidence, cause, says)
	}
}

// What is said of real crashes is true, and their twins are not named. Cores are those of
// the kernel, of a program without an environment.
func TestCauses(t *testing.T) {
	coresAllowed(t)
	sfcore, prog := buildSfcore(t), filepath.Join(t.TempDir(), "causes")
	if out, err := exec.Command("g++", "-g", "-O1", "-w", "-o", prog, "testdata/cause/causes.cc", "-lpthread").CombinedOutput(); err != nil {
		t.Skipf("g++ is needed: %v\n%s", err, out)
	}
	for _, tt := range causes {
		t.Run(tt.name, func(t *testing.T) {
			var meanwhile func(*os.Process)
			if tt.name == "sent" {
				meanwhile = func(p *os.Process) {
					time.Sleep(time.Second) // until it is the program
					_ = p.Signal(syscall.SIGSEGV)
				}
			}
			checkCause(t, sfcore, crash(t, prog, tt.name, meanwhile), tt.cause, tt.says)
		})
	}
}
