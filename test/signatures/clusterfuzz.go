package main

import (
	"regexp"
	"strings"

	"github.com/sfcore/sfcore/report"
)

// clusterFuzz is the crash type and the crash state of ClusterFuzz: the first three
// frames that its list does not ignore, without parameters, at most 80 characters each
// [src/clusterfuzz/stacktraces/__init__.py, constants.py; Apache-2.0]. A frame without
// a name is the name of its file, as in the traces of sanitizers.
func clusterFuzz(c *crash) string {
	const most, width = 3, 80
	state := []string{c.sig.Fault}
	for i := range c.thread.Frames {
		frame := clusterFuzzFrame(&c.thread.Frames[i])
		if len(frame) < 3 || clusterFuzzIgnores.MatchString(frame) {
			continue
		}
		for _, part := range []string{"non-virtual thunk to ", "(anonymous namespace)::"} {
			frame = strings.ReplaceAll(frame, part, "")
		}
		if at := strings.IndexAny(frame, "(["); at > 0 {
			frame = strings.TrimSpace(frame[:at])
		} else {
			frame, _, _ = strings.Cut(strings.TrimSpace(frame), " ")
		}
		if state = append(state, frame[:min(width, len(frame))]); len(state) == 1+most {
			break
		}
	}
	if len(state) == 1 {
		return "" // it takes the name of what was fuzzed
	}
	return strings.Join(state, "\n")
}

func clusterFuzzFrame(f *report.Frame) string {
	if f.Function != "" {
		return f.Function
	}
	return f.ModuleName
}

// clusterFuzzIgnores is what STACK_FRAME_IGNORE_REGEXES and
// STACK_FRAME_IGNORE_REGEXES_IF_SYMBOLIZED have for programs in C, C++, Rust and Go on
// Linux, without sanitizers.
var clusterFuzzIgnores = regexp.MustCompile(`^(?:(?:` + strings.Join([]string{
	`abort$`, `exit$`, `pthread_create$`, `pthread_kill$`, `raise$`, `tgkill$`, `__chk_fail$`, `__fortify_fail$`,
	`(?:|__)memcmp`, `(?:|__)memcpy`, `(?:|__)memmove`, `(?:|__)memset`, `(?:|__)strcmp`, `(?:|__)strcpy`, `(?:|__)strdup`,
	`(?:|__)strlen`, `(?:|__)strncpy`, `New`, `SignalAction`, `SignalHandler`, `_L_unlock_`, `_\$LT\$`, `__GI_`, `__assert_`, `__cxa_atexit`,
	`__cxa_rethrow`, `__cxa_throw`, `__libc_`, `__pthread_kill`, `__run_exit_handlers`, `__rust_try`, `_start`, `abort`, `alloc::`, `calloc`,
	`core::fmt::write`, `delete`, `free`, `g_log`, `gsignal`, `main`, `malloc`, `new`, `operator`, `panic_abort::`, `realloc`,
	`rust_begin_unwind`, `rust_oom`, `rust_panic`, `scanf`, `std::__terminate`, `std::io::Write::write_fmt`, `std::panic`,
	`std::process::abort`, `std::sys::unix::abort`, `std::sys_common::backtrace`, `__rust_start_panic`, `libgcc_s.so.*`,
	`.*assert`, `.*libpthread`, `.*logger`, `\[vdso\]$`, `panic$`, `runtime\.`,
	`.*libc\.so`, `.*libc\+\+\.so`, `.*libstdc\+\+\.so`, `.*libc-.*\.so`,
}, `)|(?:`) + `))`)
