package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/sfcore/sfcore/report"
)

// socorro is the signature of Mozilla's Socorro: from the innermost frame on, irrelevant
// frames are left out, and frames are joined while they are of the list of prefixes
// [socorro/signature/rules.py, class SignatureGenerationRule, and the lists of
// socorro/signature/siglists]. Special rules for hangs, memory and Firefox do not fit here.
func socorro(c *crash) string {
	const longest = 255
	var parts []string
	for i := range c.thread.Frames {
		name := socorroName(&c.thread.Frames[i])
		if socorroIrrelevant.MatchString(name) {
			continue
		}
		parts = append(parts, name)
		if !socorroPrefix.MatchString(name) {
			break
		}
	}
	s := strings.Join(parts, " | ")
	return s[:min(longest, len(s))]
}

// socorroName is a frame as it is in a signature: the function without parameters and
// with <T> for template arguments, or the file and the offset.
func socorroName(f *report.Frame) string {
	switch {
	case f.Function == "" && f.ModuleName == "":
		return fmt.Sprintf("@%#x", uint64(f.PC))
	case f.Function == "":
		return fmt.Sprintf("%s@%#x", f.ModuleName, uint64(f.ModuleOffset.Addr))
	}
	var b strings.Builder
	angles, rounds := 0, 0
	name := strings.ReplaceAll(f.Function, "(anonymous namespace)", "anonymous namespace")
	for i, r := range name {
		opens := r == '<' && i > 0 && !strings.HasSuffix(name[:i], "operator") && !strings.HasSuffix(name[:i], "operator<")
		switch {
		case r == '(':
			rounds++
		case r == ')' && rounds > 0:
			rounds--
		case rounds > 0:
		case opens:
			if angles == 0 {
				b.WriteString("<T>")
			}
			angles++
		case r == '>' && angles > 0:
			angles--
		case angles == 0:
			b.WriteRune(r)
		}
	}
	return strings.TrimSpace(b.String())
}

// What the lists irrelevant_signature_re.txt and prefix_signature_re.txt have that
// matches frames of programs in C, C++, Rust and Go on Linux, without those of Mozilla.
var (
	socorroIrrelevant = startsWith(
		`@0x[0-9a-fA-F]{2,}`, `alloc::alloc::handle_alloc_error`, `alloc::vec::impl`, `__assert`, `__chk_fail`, `compiler_builtins::`,
		`core::intrinsics`, `core::mem::drop`, `core::mem::replace`, `core::ops::function::FnOnce::call_once<T>`, `core::option::Option<T>`,
		`core::option::unwrap_failed`, `core::panicking::`, `core::ptr::write`, `core::result::Result<T>`, `core::slice::index`, `__cxa_rethrow`,
		`__cxa_throw`, `__fdelt_chk`, `_fini`, `__fortify_fail`, `g_assertion_message`, `__GI`, `g_log`, `g_malloc`, `handle_error$`,
		`__libc_fatal`, `__libc_message`, `__memcmp`, `__memcpy`, `__memmove`, `__memset`, `operator==`, `panic_abort::`, `_pthread_`, `__pthread_`,
		`rust_oom`, `__stack_chk_fail`, `std::__`, `std::_Hash`, `std::_Tree`, `std::all_of`, `std::collections`, `std::panicking::`,
		`std::sys_common::backtrace::__rust_end_short_backtrace<T>`, `std::terminate`, `std::unique_ptr`, `__str`, `_Unwind_Resume`,
	)
	socorroPrefix = startsWith(
		`@0x0`, `Abort`, `.*abort`, `arena_`, `.*calloc`, `chunk_alloc`, `core::ops::function::Fn::call<T>`, `core::option::expect_failed`,
		`core::ptr::drop_in_place`, `core::result::unwrap_failed`, `core::str::slice_error_fail`, `__cxxabiv1::failed_throw`, `dlmalloc`, `.*free`,
		`gsignal`, `je_`, `kill`, `__libc_message`, `libc\.so(\.\d+)?`, `libc-\d+\.\d+(\.\d+)?\.so`, `malloc`, `memcmp`, `memcpy`, `memmove`,
		`memset`, `new\[\]`, `<.*>::operator\(\)`, `operator new`, `pthread_mutex_lock`, `pthread_kill`, `raise`, `realloc`, `recv`, `__rust_start_panic`,
		`send`, `setjmp`, `std::list<.*>::`, `strcat`, `strncmp`, `strchr`, `strcmp`, `strcpy`, `.*strdup`, `strlen`, `strncpy`, `strstr`, `syscall`,
		`unlink`, `.*WaitFor`, `wcslen`,
	)
)

func startsWith(patterns ...string) *regexp.Regexp {
	return regexp.MustCompile(`^(?:(?:` + strings.Join(patterns, `)|(?:`) + `))`)
}
