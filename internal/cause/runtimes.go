package cause

import (
	"strconv"
	"strings"
)

// goPanic is for panics of Go that were not recovered, where GOTRACEBACK=crash has the
// program abort. What it calls then is not called for anything else.
func goPanic(f *Facts) *Cause {
	if !f.is("SIGABRT", "") || !f.Own {
		return nil
	}
	switch {
	case f.calls("runtime.fatalpanic") && f.calls("runtime.gopanic"):
		c := &Cause{"go-panic", "a panic of Go was not recovered", []string{"runtime.gopanic called runtime.fatalpanic"}}
		if f.Panic != "" {
			c.Text += ": " + f.Panic
			c.Evidence = append(c.Evidence, "the goroutine panics with "+strconv.Quote(f.Panic))
		}
		return c
	case f.calls("runtime.fatalthrow"):
		return &Cause{"go-fatal", "Go's runtime found an error that it cannot go on after", []string{"runtime.fatalthrow is on the stack"}}
	}
	return nil
}

// rustPanics are functions of Rust's libraries that do nothing but panic, and what they
// panic with [library/core/src/panicking.rs, option.rs, result.rs, slice/index.rs].
var rustPanics = []struct{ name, means string }{
	{"core::panicking::panic_bounds_check", "an index is out of bounds"},
	{"core::option::unwrap_failed", "Option::unwrap() was called on None"},
	{"core::option::expect_failed", "Option::expect() was called on None"},
	{"core::result::unwrap_failed", "Result::unwrap() or the like was called on the other variant"},
	{"core::panicking::assert_failed", "two values that an assertion compares are not as it wants them"},
	{"core::panicking::panic_const::panic_const_div_by_zero", "a division by zero"},
	{"core::panicking::panic_const::panic_const_rem_by_zero", "a remainder of a division by zero"},
	{"core::panicking::panic_const::panic_const_add_overflow", "an addition overflowed"},
	{"core::panicking::panic_const::panic_const_sub_overflow", "a subtraction overflowed"},
	{"core::panicking::panic_const::panic_const_mul_overflow", "a multiplication overflowed"},
	{"core::cell::panic_already_borrowed", "a RefCell was borrowed already"},
	{"core::cell::panic_already_mutably_borrowed", "a RefCell was borrowed mutably already"},
	{"core::slice::index::slice_start_index_len_fail", "a range begins behind the end of a slice"},
	{"core::slice::index::slice_end_index_len_fail", "a range ends behind the end of a slice"},
	{"core::slice::index::slice_index_order_fail", "a range of a slice ends before it begins"},
	{"core::panicking::panic_in_cleanup", "a destructor panicked while a panic unwound the stack"},
	{"core::panicking::panic_cannot_unwind", "a panic left a function that must not be unwound"},
}

// rustPanic is for panics of Rust that abort the program: those that unwind no stack, which
// rust_panic ends, and those that must not.
func rustPanic(f *Facts) *Cause {
	last := []string{"rust_panic", "__rustc::rust_panic", "core::panicking::panic_cannot_unwind", "core::panicking::panic_in_cleanup"}
	if !f.is("SIGABRT", "") || !f.Own || !f.calls(last...) || !f.calls("abort") {
		return nil
	}
	c := &Cause{"rust-panic", "a panic of Rust", []string{"rust_panic or the like is on the stack, and called abort"}}
	for _, known := range rustPanics {
		if f.calls(known.name) {
			if f.Panic == "" {
				c.Text += ": " + known.means
			}
			c.Evidence = append(c.Evidence, known.name+" is on the stack")
			break
		}
	}
	if f.Panic != "" {
		c.Text += ": " + f.Panic
		c.Evidence = append(c.Evidence, "the message of the panic is "+strconv.Quote(f.Panic))
	}
	if f.PanicAt != "" {
		c.Text += ", at " + f.PanicAt
	}
	return c
}

// sanitizers are the beginnings of the functions by which programs call sanitizers.
var sanitizers = []struct{ begins, name string }{
	{"__asan_", "AddressSanitizer"},
	{"__hwasan_", "HWAddressSanitizer"},
	{"__ubsan_", "UndefinedBehaviorSanitizer"},
	{"__tsan_", "ThreadSanitizer"},
	{"__msan_", "MemorySanitizer"},
	{"__lsan_", "LeakSanitizer"},
}

// sanitizer is for reports of sanitizers that end the program: with abort_on_error=1.
func sanitizer(f *Facts) *Cause {
	if !f.is("SIGABRT", "") || !f.Own || f.Sanitizer == "" {
		return nil
	}
	evidence := []string{"abort was called by the sanitizer, in which the program called " + f.Sanitizer}
	for _, s := range sanitizers {
		does, ok := strings.CutPrefix(f.Sanitizer, s.begins)
		if !ok {
			continue
		}
		return &Cause{"sanitizer", s.name + " reported " + sanitized(does), evidence}
	}
	return nil
}

// sanitized says what the rest of such a name tells.
func sanitized(does string) string {
	for _, access := range []struct{ begins, what string }{{"report_load", "a bad read"}, {"report_store", "a bad write"}, {"report_exp_load", "a bad read"}, {"report_exp_store", "a bad write"}} {
		if size, ok := strings.CutPrefix(does, access.begins); ok {
			if n, err := strconv.Atoi(strings.TrimSuffix(size, "_noabort")); err == nil && n > 0 {
				return access.what + " of " + plural(n, "byte")
			}
			return access.what
		}
	}
	if what, ok := strings.CutPrefix(does, "handle_"); ok {
		return "undefined behaviour: " + strings.ReplaceAll(strings.TrimSuffix(strings.TrimSuffix(what, "_abort"), "_v1"), "_", " ")
	}
	return "an error"
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// usedAfterFree is for accesses through a pointer that the program has just read from a
// block that malloc says is free.
func usedAfterFree(f *Facts) *Cause {
	if f.Signal.Name != "SIGSEGV" || f.Freed == nil {
		return nil
	}
	o, at := f.accessed()
	for i := range f.Effect.Operands {
		if o != nil || !f.is("SIGSEGV", "SI_KERNEL") || !f.Arch.HidesAddress || f.Effect.Privileged {
			break
		}
		if addr, ok := f.Effect.Operands[i].Address(f.Regs); ok && !canonical(addr) {
			o, at = &f.Effect.Operands[i], addr
		}
	}
	if o == nil {
		return nil
	}
	why, ok := f.Freed(o.Base)
	if !ok {
		return nil
	}
	return &Cause{
		"use-after-free", "an access to " + hex(at) + throughFreed,
		append(f.evidence(o), why),
	}
}

func hex(v uint64) string { return "0x" + strconv.FormatUint(v, 16) }
