package cause

import (
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/disasm"
)

const (
	codeAt  = 0x401000
	stackLo = 0x7ffff7000000
)

var (
	text  = core.Mapping{Lo: 0x401000, Hi: 0x402000, Path: "/bin/p", Exec: true}
	data  = core.Mapping{Lo: 0x500000, Hi: 0x501000}
	ro    = core.Mapping{Lo: 0x600000, Hi: 0x601000, Path: "/bin/p"}
	stack = core.Mapping{Lo: stackLo, Hi: stackLo + 0x10000}
)

// made makes the facts of a fault of amd64: the instruction, the registers by number
// (0 rax, 1 rdx, 2 rcx, 7 rsp), and the signal.
func made(code string, signal core.Signal, regs map[arch.Reg]uint64) *Facts {
	f := &Facts{
		Arch: arch.AMD64, Signal: &signal, Regs: new(arch.Regs), PC: &text, SP: &stack,
		Load: func(addr uint64, size int) (uint64, bool) { return 0, addr == data.Lo && size == 4 },
	}
	f.Regs.Set(arch.AMD64.PC, codeAt)
	f.Regs.Set(arch.AMD64.SP, stackLo+0x8000)
	for reg, v := range regs {
		f.Regs.Set(reg, v)
	}
	if sp, _ := f.sp(); !stack.Contains(sp) {
		f.SP, f.Above = nil, &stack
	}
	if pc, _ := f.pc(); pc != codeAt {
		f.PC = nil
		for _, m := range []*core.Mapping{&data, &ro} {
			if m.Contains(pc) {
				f.PC = m
			}
		}
	}
	if inst := disasm.Decode(f.Arch, []byte(code), codeAt, nil); inst.Valid {
		f.Text, f.Effect = inst.Text, disasm.EffectOf(f.Arch, []byte(code), codeAt)
	}
	for _, m := range []*core.Mapping{&data, &ro, &stack} {
		if signal.HasAddress && m.Contains(signal.Address) {
			f.At = m
		}
	}
	return f
}

func segv(code string, addr uint64) core.Signal {
	return core.Signal{Name: "SIGSEGV", CodeName: code, Code: 1, HasAddress: true, Address: addr, Thread: 1}
}

func general() core.Signal {
	return core.Signal{Name: "SIGSEGV", CodeName: "SI_KERNEL", Code: 128, Thread: 1}
}

func own(signal string) core.Signal {
	return core.Signal{Name: signal, CodeName: "SI_TKILL", Code: -6, HasSender: true, SenderPID: 7, Thread: 1}
}

// aborted makes the facts of an abort.
func aborted(message string, e *Exception, functions ...string) *Facts {
	f := made("\x0f\x05", own("SIGABRT"), nil)
	f.Own, f.Message, f.Exception, f.Functions, f.ByLibc = true, message, e, functions, true
	return f
}

// panics makes the facts of a panic that aborts.
func panics(text, place string, functions ...string) *Facts {
	f := aborted("", nil, functions...)
	f.Panic, f.PanicAt, f.ByLibc = text, place, false
	return f
}

func reportedBy(entry string) *Facts {
	f := aborted("", nil, "raise", "abort", "main")
	f.Sanitizer, f.ByLibc = entry, false
	return f
}

// freed adds that a register was read from freed memory.
func freed(f *Facts, reg arch.Reg) *Facts {
	f.Freed = func(r arch.Reg) (string, bool) { return "it was loaded from a freed block", r == reg }
	return f
}

// inFreed adds an address that is in freed memory.
func inFreed(f *Facts, at uint64) *Facts {
	f.InFreed = func(addr uint64) (string, bool) { return "in a block that is free", addr == at }
	return f
}

// stored adds what memory has at an address.
func stored(f *Facts, at, v uint64) *Facts {
	f.Load = func(addr uint64, _ int) (uint64, bool) { return v, addr == at }
	return f
}

// calledFreed makes the facts of a call of a pointer in freed memory.
func calledFreed(s core.Signal, pc uint64) *Facts {
	f := made("", s, map[arch.Reg]uint64{arch.AMD64.PC: pc})
	f.Text, f.Called, f.CalledFreed = "", true, "it was read from a freed block"
	return f
}

// wild is what no pointer can be.
const wild = 0xdead_0000_0000_0000

const (
	callAt     = "\xff\x50\x18" // call *0x18(%rax)
	jump       = "\xff\xe0"     // jmp *%rax
	ret        = "\xc3"
	load       = "\x8b\x40\x08"             // mov 0x8(%rax),%eax
	loadSum    = "\x8b\x04\x90"             // mov (%rax,%rdx,4),%eax
	loadEither = "\x8b\x04\x10"             // mov (%rax,%rdx),%eax
	store      = "\xc7\x00\x01\x00\x00\x00" // movl $1,(%rax)
	push       = "\x50"                     // push %rax
	call       = "\xff\xd0"                 // call *%rax
	vector     = "\x0f\x29\x00"             // movaps %xmm0,(%rax)
	loose      = "\x0f\x11\x00"             // movups %xmm0,(%rax)
	divide     = "\xf7\xf9"                 // idiv %ecx
	divMem     = "\xf7\x38"                 // idivl (%rax)
	halt       = "\xf4"                     // hlt
	ud2        = "\x0f\x0b"
)

// Each cause is named, and not its twin, which looks like it.
func TestExplain(t *testing.T) {
	const rax, rdx, rcx, rsp, pc = 0, 1, 2, 7, 16
	regs := func(pairs ...uint64) map[arch.Reg]uint64 {
		m := map[arch.Reg]uint64{}
		for i := 0; i < len(pairs); i += 2 {
			m[arch.Reg(pairs[i])] = pairs[i+1]
		}
		return m
	}
	frames := func(f *Facts, cfas ...uint64) *Facts { f.CFAs = cfas; return f }
	called := func(f *Facts) *Facts { f.Called = true; return f }
	guarded := func(f *Facts) *Facts { f.Guarded = true; return f }
	deep := []uint64{stackLo + 0x100, stackLo + 0x200, stackLo + 0x300}
	for name, tt := range map[string]struct {
		facts      *Facts
		kind, text string
	}{
		"null pointer":                  {made(load, segv("SEGV_MAPERR", 8), regs(rax, 0)), "null-access", "an access through a null pointer, at offset 0x8"},
		"a small number for a pointer":  {made(load, segv("SEGV_MAPERR", 0x18), regs(rax, 0x10)), "bad-pointer", "an access to 0x18 through a pointer that is 0x10, and not null"},
		"an index from null":            {made(loadSum, segv("SEGV_MAPERR", 40), regs(rax, 0, rdx, 10)), "null-access", "an access through a null pointer, with an index, to 0x28"},
		"either may be the pointer":     {made(loadEither, segv("SEGV_MAPERR", 40), regs(rax, 0, rdx, 40)), "", ""},
		"either, the other way":         {made(loadEither, segv("SEGV_MAPERR", 40), regs(rax, 40, rdx, 0)), "", ""},
		"both are null":                 {made(loadEither, segv("SEGV_MAPERR", 0), regs(rax, 0, rdx, 0)), "null-access", "an access through a null pointer, at offset 0x0"},
		"null without the instruction":  {made("", segv("SEGV_MAPERR", 8), regs(rax, 0)), "", ""},
		"another operand than at fault": {made(load, segv("SEGV_MAPERR", 0x800), regs(rax, 0)), "", ""},
		"a register that is unknown":    {made("\x8b\x43\x08", segv("SEGV_MAPERR", 8), regs(rax, 0)), "", ""},

		"null call":                      {called(made("", segv("SEGV_MAPERR", 0), regs(pc, 0))), "null-call", "a call through a null pointer"},
		"call of a small number":         {called(made("", segv("SEGV_MAPERR", 0x10), regs(pc, 0x10))), "bad-call", "a call to 0x10, where nothing is mapped"},
		"call of data":                   {called(made("", segv("SEGV_ACCERR", data.Lo), regs(pc, data.Lo))), "data-call", "a call to 0x500000, which is data and not code"},
		"return to null":                 {made("", segv("SEGV_MAPERR", 0), regs(pc, 0)), "bad-pc", "a call, jump or return to 0x0, where nothing is mapped"},
		"return to data":                 {made("", segv("SEGV_ACCERR", data.Lo), regs(pc, data.Lo)), "bad-pc", "a call, jump or return to 0x500000, which is data"},
		"call of memory that is lacking": {made("", segv("SEGV_ACCERR", 0x700000), regs(pc, 0x700000)), "", ""},
		"call of what may be code":       {made("", segv("SEGV_PKUERR", data.Lo), regs(pc, data.Lo)), "", ""},

		"stack overflow by push":       {frames(made(push, segv("SEGV_MAPERR", stackLo-8), regs(rsp, stackLo)), deep...), "stack-overflow", "the stack is full: an access to 0x7ffff6fffff8, below the stack, which begins at 0x7ffff7000000"},
		"stack overflow by call":       {frames(made(call, segv("SEGV_MAPERR", stackLo-8), regs(rsp, stackLo, rax, codeAt)), deep...), "stack-overflow", "the stack is full"},
		"stack overflow by an array":   {frames(made("\xc6\x44\x24\x08\x00", segv("SEGV_MAPERR", stackLo-0x2000+8), regs(rsp, stackLo-0x2000)), deep...), "stack-overflow", "the stack is full"},
		"a bad index near the stack":   {frames(made("\xc6\x44\x14\x08\x00", segv("SEGV_MAPERR", stackLo-0x100), regs(rsp, stackLo+0x8000, rdx, ^uint64(0x8107))), deep...), "", ""},
		"a bad pointer near the stack": {frames(made(store, segv("SEGV_MAPERR", stackLo-8), regs(rsp, stackLo+8, rax, stackLo-8)), deep...), "", ""},
		"SP was changed":               {made(push, segv("SEGV_MAPERR", stackLo-0x108), regs(rsp, stackLo-0x100)), "", ""},
		"a guard page that is mapped":  {guarded(frames(made(push, segv("SEGV_ACCERR", stackLo-8), regs(rsp, stackLo)), deep...)), "stack-overflow", "the stack is full"},

		"non-canonical":                {made(load, general(), regs(rax, 0xdead000000000000)), "non-canonical", "an access to 0xdead000000000008, which no pointer can be"},
		"general protection otherwise": {made("\x8e\xd8", general(), regs(rax, 0xdead000000000000)), "", ""},
		"misaligned":                   {made(vector, general(), regs(rax, data.Lo+8)), "misaligned", "an access to 0x500008, which has to be a multiple of 16"},
		"need not be aligned":          {made(loose, general(), regs(rax, data.Lo+8)), "", ""},
		"aligned, but not canonical":   {made(vector, general(), regs(rax, 0xdead000000000008)), "non-canonical", "an access to 0xdead000000000008"},
		"privileged":                   {made(halt, general(), nil), "privileged", "the program executed hlt, which only the kernel may"},
		"privileged, sent by itself":   {func() *Facts { f := made(halt, own("SIGSEGV"), nil); f.Own = true; return f }(), "self", "the program sent itself the signal"},

		"write to constants":       {made(store, segv("SEGV_ACCERR", ro.Lo), regs(rax, ro.Lo)), "read-only", "a write to 0x600000, which may not be written (/bin/p)"},
		"read of what is closed":   {made("\x8b\x00", segv("SEGV_ACCERR", data.Lo), regs(rax, data.Lo)), "no-access", "a read of 0x500000, which may not be read"},
		"read and write":           {made("\x01\x00", segv("SEGV_ACCERR", data.Lo), regs(rax, data.Lo)), "", ""},
		"a protection key forbids": {made(store, segv("SEGV_PKUERR", ro.Lo), regs(rax, ro.Lo)), "", ""},

		"past a file":          {made(load, core.Signal{Name: "SIGBUS", CodeName: "BUS_ADRERR", HasAddress: true, Address: ro.Lo}, nil), "past-file", "an access to 0x600000, for which the mapped file has no bytes, or the kernel could not get them (/bin/p)"},
		"SIGBUS, sent":         {made(load, core.Signal{Name: "SIGBUS", CodeName: "SI_USER", HasSender: true, SenderPID: 9, SenderUID: 5}, nil), "sent", "process 9 of user 5 sent the signal"},
		"sent from outside":    {made(load, core.Signal{Name: "SIGTERM", CodeName: "SI_USER", HasSender: true}, nil), "sent", "a process outside of its pid namespace sent the signal"},
		"division by zero":     {made(divide, core.Signal{Name: "SIGFPE", CodeName: "FPE_INTDIV"}, regs(rcx, 0xffffffff00000000)), "division", "an integer was divided by zero"},
		"a quotient too large": {made(divide, core.Signal{Name: "SIGFPE", CodeName: "FPE_INTDIV"}, regs(rcx, 0xffffffff)), "quotient", "the quotient of a division did not fit its integer"},
		"division by memory":   {made(divMem, core.Signal{Name: "SIGFPE", CodeName: "FPE_INTDIV"}, regs(rax, data.Lo)), "division", "an integer was divided by zero"},
		"memory is missing":    {made(divMem, core.Signal{Name: "SIGFPE", CodeName: "FPE_INTDIV"}, regs(rax, data.Lo+64)), "", ""},
		"SIGFPE, sent":         {made(divide, own("SIGFPE"), regs(rcx, 0)), "sent", "process 7"},
		"breakpoint":           {made("\xcc", core.Signal{Name: "SIGTRAP", CodeName: "SI_KERNEL"}, nil), "breakpoint", "the program executed a breakpoint instruction"},
		"a single step":        {made("\xcc", core.Signal{Name: "SIGTRAP", CodeName: "TRAP_TRACE"}, nil), "", ""},
		"ud2":                  {made(ud2, core.Signal{Name: "SIGILL", CodeName: "ILL_ILLOPN"}, nil), "trap", "the program executed ud2,"},
		"an unknown opcode":    {made("\x06", core.Signal{Name: "SIGILL", CodeName: "ILL_ILLOPN"}, nil), "", ""},
		"seccomp":              {made("\x0f\x05", core.Signal{Name: "SIGSYS", Code: 1}, nil), "seccomp", "a filter (seccomp) forbade a system call"},
		"another SIGSYS":       {made("\x0f\x05", core.Signal{Name: "SIGSYS", Code: 2}, nil), "", ""},

		"assertion":             {aborted("p: a.c:7: main: Assertion `n > 0' failed.\n", nil, "raise", "abort", "__assert_fail"), "assertion", "an assertion failed: n > 0, at a.c:7"},
		"an assertion in C++":   {aborted("p: src/a.cc:7: int A::f(int): Assertion `a: b' failed.\n", nil, "raise", "abort", "__assert_fail"), "assertion", "an assertion failed: a: b, at src/a.cc:7"},
		"abort without message": {aborted("", nil, "raise", "abort", "main"), "abort", "the program called abort"},
		"raise, old message": {func() *Facts {
			f := aborted("p: a.c:7: main: Assertion `n > 0' failed.\n", nil, "raise", "main")
			f.ByLibc = false
			return f
		}(), "self", "the program sent itself the signal"},
		"double free":         {aborted("free(): double free detected in tcache 2\n", nil, "abort"), "heap-misuse", "the program freed memory twice: free(): double free detected in tcache 2"},
		"stack smashing":      {aborted("*** stack smashing detected ***: terminated\n", nil, "abort.cold"), "stack-smashing", "a function wrote beyond an array on the stack"},
		"buffer overflow":     {aborted("*** buffer overflow detected ***: terminated\n", nil, "__GI_abort"), "buffer-overflow", "a function of libc would have written"},
		"heap damage":         {aborted("malloc(): corrupted top size\n", nil, "abort"), "heap-damage", "libc found the heap damaged"},
		"another message":     {aborted("Fatal glibc error: x\n", nil, "abort"), "message", "libc aborted the program: Fatal glibc error: x"},
		"exception":           {aborted("", &Exception{"std::runtime_error", "no disk"}, "abort", "std::terminate()", "__cxa_throw"), "exception", "an exception was not caught: std::runtime_error: no disk"},
		"out of memory":       {aborted("", &Exception{Type: "std::bad_alloc"}, "abort", "std::terminate()", "__cxa_throw"), "exception", "memory ran out,"},
		"terminate by itself": {aborted("", &Exception{"std::runtime_error", "no disk"}, "abort", "std::terminate()", "main"), "terminate", "std::terminate was called"},
		"a caught exception":  {aborted("", &Exception{"std::runtime_error", "no disk"}, "abort", "main"), "abort", "the program called abort"},

		"Go's panic":          {panics("no disk", "", "runtime.raise.abi0", "runtime.fatalpanic", "runtime.gopanic", "main.main"), "go-panic", "a panic of Go was not recovered: no disk"},
		"a signal in a panic": {panics("no disk", "", "runtime.raise.abi0", "syscall.Kill", "main.main.func1", "runtime.gopanic", "main.main"), "self", "the program sent itself the signal"},
		"Go's runtime fails":  {panics("", "", "runtime.raise.abi0", "runtime.fatalthrow", "runtime.throw"), "go-fatal", "Go's runtime found an error"},
		"a name with a dot":   {panics("", "", "runtime.raise.abi0", "abort.Now", "main.main"), "self", "the program sent itself the signal"},
		"Rust's panic":        {panics("no disk", "src/a.rs:7", "abort", "__rustc::rust_panic", "core::panicking::panic_fmt"), "rust-panic", "a panic of Rust: no disk, at src/a.rs:7"},
		"an index of Rust":    {panics("", "src/a.rs:7", "abort", "rust_panic", "core::panicking::panic_fmt", "core::panicking::panic_bounds_check"), "rust-panic", "a panic of Rust: an index is out of bounds, at src/a.rs:7"},
		"Rust's abort":        {panics("", "", "abort", "std::process::abort", "main"), "abort", "the program called abort"},
		"AddressSanitizer":    {reportedBy("__asan_report_load8"), "sanitizer", "AddressSanitizer reported a bad read of 8 bytes"},
		"of any size":         {reportedBy("__asan_report_store_n"), "sanitizer", "AddressSanitizer reported a bad write"},
		"undefined behaviour": {reportedBy("__ubsan_handle_add_overflow_abort"), "sanitizer", "UndefinedBehaviorSanitizer reported undefined behaviour: add overflow"},
		"a wrapper":           {reportedBy("__interceptor_memcpy"), "abort", "the program called abort"},
		"no sanitizer":        {reportedBy(""), "abort", "the program called abort"},

		"read after it was freed": {freed(made(load, segv("SEGV_MAPERR", 0x18), regs(rax, 0x10)), rax), "use-after-free", "an access to 0x18 through a pointer that was read from memory that malloc has as free"},
		"garbage of freed memory": {freed(made(load, general(), regs(rax, 0xdead000000000000)), rax), "use-after-free", "an access to 0xdead000000000008"},
		"another register was":    {freed(made(load, general(), regs(rax, 0xdead000000000000)), rdx), "non-canonical", "an access to 0xdead000000000008"},
		"freed, and not at fault": {freed(made(load, segv("SEGV_MAPERR", 0x800), regs(rax, 0x10)), rax), "", ""},
		"freed, sent by itself":   {func() *Facts { f := freed(made(load, own("SIGSEGV"), regs(rax, 0x10)), rax); f.Own = true; return f }(), "self", "the program sent itself"},

		"call through freed memory":     {inFreed(stored(made(callAt, general(), regs(rax, 0x1000, rsp, 0x8000)), 0x1018, wild), 0x1018), "use-after-free", "a call to 0xdead000000000000 through a pointer that was read from memory that malloc has as free"},
		"call through memory":           {inFreed(stored(made(callAt, general(), regs(rax, 0x1000, rsp, 0x8000)), 0x1018, wild), 0x1000), "bad-call", "a call to 0xdead000000000000, which no pointer can be"},
		"call of what was freed":        {freed(made(call, general(), regs(rax, wild, rsp, 0x8000)), rax), "use-after-free", "a call to 0xdead000000000000 through a pointer"},
		"call of what no pointer is":    {freed(made(call, general(), regs(rax, wild, rsp, 0x8000)), rdx), "bad-call", "a call to 0xdead000000000000, which no pointer can be"},
		"call of what may be a pointer": {made(call, general(), regs(rax, 0x1000, rsp, 0x8000)), "", ""},
		"call of what is unknown":       {stored(made(callAt, general(), regs(rax, 0x1000, rsp, 0x8000)), 0x1020, wild), "", ""},
		"jump to what no pointer is":    {made(jump, general(), regs(rax, wild)), "bad-call", "a jump to 0xdead000000000000, which no pointer can be"},
		"return to what no pointer is":  {stored(made(ret, general(), regs(rsp, 0x8000)), 0x8000, wild), "bad-return", "a return to 0xdead000000000000, which no pointer can be: the stack has it in place of a return address"},
		"return to what may be one":     {stored(made(ret, general(), regs(rsp, 0x8000)), 0x8000, 0x1000), "", ""},
		"return by an SP that is wrong": {stored(made(ret, general(), regs(rsp, wild)), wild, wild), "non-canonical", "an access to 0xdead000000000000"},
		"null call of freed memory":     {calledFreed(segv("SEGV_MAPERR", 0), 0), "use-after-free", "a call to 0x0 through a pointer that was read from memory that malloc has as free"},

		"no signal":    {&Facts{}, "", ""},
		"no registers": {&Facts{Signal: &core.Signal{Name: "SIGABRT"}}, "", ""},
	} {
		c := Explain(tt.facts)
		switch {
		case c == nil && tt.kind != "":
			t.Errorf("%s: nothing is said, want %q", name, tt.text)
		case c != nil && (c.Kind != tt.kind || !strings.HasPrefix(c.Text, tt.text) || len(c.Evidence) == 0):
			t.Errorf("%s: got %s: %q by %q, want %s: %q", name, c.Kind, c.Text, c.Evidence, tt.kind, tt.text)
		}
	}
}
