package cause

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// sent is for signals that another process sent. What the instruction was does not matter.
func sent(f *Facts) *Cause {
	if !f.Signal.HasSender || f.Own {
		return nil
	}
	who := fmt.Sprintf("process %d of user %d sent the signal", f.Signal.SenderPID, f.Signal.SenderUID)
	if f.Signal.SenderPID == 0 { // which the pid namespace of the process does not have
		who = "a process outside of its pid namespace sent the signal"
	}
	return &Cause{Kind: "sent", Text: who, Evidence: []string{"the code of the signal is " + f.Signal.CodeName}}
}

// messages are how libc begins what it notes before it aborts, and what that tells.
var messages = []struct{ kind, begins, means string }{
	{"heap-misuse", "free(): double free", "the program freed memory twice"},
	{"heap-misuse", "double free or corruption", "libc found the heap damaged, or memory freed twice"},
	{"heap-misuse", "free(): invalid pointer", "the program freed what malloc had not returned, or the heap was damaged"},
	{"heap-misuse", "munmap_chunk(): invalid pointer", "the program freed what malloc had not returned, or the heap was damaged"},
	{"heap-damage", "malloc", "libc found the heap damaged"},
	{"heap-damage", "free(): ", "libc found the heap damaged"},
	{"heap-damage", "corrupted ", "libc found the heap damaged"},
	{"heap-damage", "realloc(): ", "libc found the heap damaged"},
	{"stack-smashing", "*** stack smashing detected ***", "a function wrote beyond an array on the stack"},
	{"buffer-overflow", "*** buffer overflow detected ***", "a function of libc would have written beyond the end of a buffer"},
}

// message is for what libc notes when it aborts.
func message(f *Facts) *Cause {
	text := strings.TrimRight(f.Message, "\n")
	if !f.is("SIGABRT", "") || !f.Own || text == "" || !f.ByLibc {
		return nil
	}
	evidence := []string{"libc noted: " + text}
	if at := strings.Index(text, ": Assertion `"); at >= 0 && strings.HasSuffix(text, "' failed.") {
		return &Cause{"assertion", "an assertion failed: " + text[at+len(": Assertion `"):len(text)-len("' failed.")] + assertedAt(text[:at]), evidence}
	}
	for _, m := range messages {
		if strings.HasPrefix(text, m.begins) {
			return &Cause{m.kind, m.means + ": " + text, evidence}
		}
	}
	return &Cause{"message", "libc aborted the program: " + text, evidence}
}

// assertedAt reads "prog: file.c:12: function" from the right.
func assertedAt(head string) string {
	parts := strings.Split(head, ": ")
	for i := len(parts) - 1; i >= 0; i-- {
		if colon := strings.LastIndexByte(parts[i], ':'); colon > 0 {
			if _, err := strconv.Atoi(parts[i][colon+1:]); err == nil {
				return ", at " + parts[i]
			}
		}
	}
	return ""
}

// calls reports whether a function of the stack has one of the names, with or without what
// is behind it: parameters, and what compilers add to parts and copies of a function.
func (f *Facts) calls(names ...string) bool {
	return slices.ContainsFunc(f.Functions, func(fn string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			rest, ok := strings.CutPrefix(strings.TrimPrefix(fn, "__GI_"), name)
			return ok && (rest == "" || behindName().MatchString(rest))
		})
	})
}

var behindName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\.(cold|part|isra|constprop|localalias|lto_priv|llvm|abi0)(\.\d+)*)*( \[clone.*|\(.*)?$`)
})

// exception is for a C++ exception that nobody caught.
func exception(f *Facts) *Cause {
	if !f.is("SIGABRT", "") || !f.Own || f.Exception == nil || !f.calls("std::terminate", "__cxxabiv1::__terminate") || !f.calls("__cxa_throw", "__cxa_rethrow") {
		return nil
	}
	e := f.Exception
	text := "an exception was not caught: " + e.Type
	evidence := []string{"std::terminate was called while the exception was thrown"}
	if e.Type == "std::bad_alloc" {
		text = "memory ran out, or more was asked for than there can be: std::bad_alloc was not caught"
	}
	if e.What != "" {
		text += ": " + e.What
		evidence = append(evidence, "what() is "+strconv.Quote(e.What))
	}
	return &Cause{"exception", text, evidence}
}

// abort is for signals that the program sent itself.
func abort(f *Facts) *Cause {
	switch {
	case !f.Signal.HasSender:
		return nil
	case f.is("SIGABRT", "") && f.calls("std::terminate", "__cxxabiv1::__terminate"):
		return &Cause{"terminate", "std::terminate was called", []string{"it is on the stack"}}
	case f.is("SIGABRT", "") && f.calls("abort"):
		return &Cause{"abort", "the program called abort", []string{"abort is on the stack"}}
	}
	return &Cause{"self", "the program sent itself the signal", []string{"the sender is the process itself"}}
}

// breakpoint is for instructions that stop a program for a debugger.
func breakpoint(f *Facts) *Cause {
	if f.is("SIGTRAP", "SI_KERNEL") {
		return &Cause{"breakpoint", "the program executed a breakpoint instruction, which programs also use to abort", []string{"the signal is from the kernel"}}
	}
	return nil
}

// undefined is for instructions that are meant to fail.
func undefined(f *Facts) *Cause {
	if f.is("SIGILL", "") && !f.Signal.HasSender && f.Effect.Undefined {
		return &Cause{
			"trap", "the program executed " + f.Text + ", which compilers write where a program must not get to, as __builtin_trap does",
			[]string{"the instruction at the pc is " + f.Text},
		}
	}
	return nil
}

// seccomp is for system calls that a filter forbids.
func seccomp(f *Facts) *Cause {
	if f.is("SIGSYS", "") && f.Signal.Code == sysSeccomp {
		return &Cause{"seccomp", "a filter (seccomp) forbade a system call", []string{"the code of the signal is SYS_SECCOMP"}}
	}
	return nil
}

// sysSeccomp is SYS_SECCOMP [linux include/uapi/asm-generic/siginfo.h].
const sysSeccomp = 1

// division is for divisions of integers.
func division(f *Facts) *Cause {
	if !f.is("SIGFPE", "FPE_INTDIV") || !f.Effect.Divides {
		return nil
	}
	value, ok := f.Regs.Get(f.Effect.Divisor)
	if len(f.Effect.Operands) == 1 {
		addr, known := f.Effect.Operands[0].Address(f.Regs)
		if ok = known; known {
			value, ok = f.Load(addr, f.Effect.DivisorSize)
		}
	}
	if !ok || f.Effect.DivisorSize == 0 {
		return nil
	}
	mask := ^uint64(0) >> (64 - 8*f.Effect.DivisorSize)
	unused := 64 - 8*f.Effect.DivisorSize
	evidence := []string{fmt.Sprintf("%s divides by %d", f.Text, int64(value<<unused)>>unused)}
	if value&mask == 0 {
		return &Cause{"division", "an integer was divided by zero", evidence}
	}
	return &Cause{"quotient", "the quotient of a division did not fit its integer", evidence}
}
