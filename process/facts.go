package process

import (
	"slices"
	"strings"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/cause"
	"github.com/sfcore/sfcore/internal/disasm"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/unwind"
)

const (
	// factFrames bounds the frames that are looked at for the cause of a crash: those of
	// handlers, abort and the functions that call it.
	factFrames = 64
	// maxMessage bounds the bytes that are read of a message.
	maxMessage = 1 << 10
)

// facts collects what package cause needs to know of a signal.
func (p *Process) facts(s *core.Signal) *cause.Facts {
	f := &cause.Facts{Arch: p.img.Arch, Signal: s, Own: s.HasSender && s.SenderPID == p.img.PID}
	th := p.gotSignal(s)
	if th == nil {
		return f
	}
	words := &memreader.Words{R: p.Memory(), BigEndian: p.img.Arch.BigEndian}
	f.Regs, f.Load = &th.Regs, func(addr uint64, size int) (uint64, bool) { return p.load(words, addr, size) }
	pc, _ := th.Regs.Get(p.img.Arch.PC)
	sp, _ := th.Regs.Get(p.img.Arch.SP)
	f.PC, f.SP, f.Above = p.img.Mapping(pc), p.img.Mapping(sp), p.mappingAbove(sp)
	if s.HasAddress {
		f.At = p.img.Mapping(s.Address)
		f.Guarded = f.At != nil && !p.dumped(s.Address)
	}
	if s.HasSender {
		if f.Own && s.Name == "SIGABRT" {
			p.addStack(f, th)
		}
		return f
	}
	if ra, ok := p.calledThroughPointer(words, &th.Regs); ok {
		f.Called = true
		if s.HasAddress && s.Address == pc {
			f.CalledFreed = p.calledFromFreed(th, ra)
		}
	}
	if m := p.modules.At(pc); m != nil {
		m.Image() // whose bytes memory has from now on
	}
	code := make([]byte, disasm.MaxSize)
	n, _ := p.Memory().ReadMem(code, pc)
	if inst := disasm.Decode(p.img.Arch, code[:n], pc, nil); inst.Valid {
		f.Text, f.Effect = inst.Text, disasm.EffectOf(p.img.Arch, code[:n], pc)
	}
	f.Freed = func(reg arch.Reg) (string, bool) { return p.loadedFromFreed(&th.Regs, pc, reg) }
	f.InFreed = p.inFreed
	if f.At == nil || f.Guarded {
		p.addStack(f, th)
	}
	return f
}

// calledThroughPointer returns the return address of a function that has executed nothing,
// and reports whether it follows a call which does not tell its target.
func (p *Process) calledThroughPointer(words *memreader.Words, regs *arch.Regs) (ra uint64, ok bool) {
	a := p.img.Arch
	if a.LR != arch.NoReg {
		ra, ok = regs.Get(a.LR)
	} else if sp, known := regs.Get(a.SP); known {
		v, err := words.Uint64(sp)
		ra, ok = v, err == nil
	}
	m := p.modules.At(ra)
	if !ok || m == nil {
		return 0, false
	}
	m.Image() // whose bytes memory has from now on
	before := make([]byte, maxCall)
	if n, _ := p.Memory().ReadMem(before, ra-maxCall); n < maxCall || !a.EndsInCall(before) {
		return 0, false
	}
	_, direct := a.CallTarget(before, ra)
	return ra, !direct
}

// maxCall is how many bytes before a return address [arch.Arch.EndsInCall] wants.
const maxCall = 8

// gotSignal returns the thread that got the signal; nil if it is unknown.
func (p *Process) gotSignal(s *core.Signal) *core.Thread {
	for i := range p.img.Threads {
		if th := &p.img.Threads[i]; th.ID == s.Thread {
			return th
		}
	}
	return nil
}

// mappingAbove returns the mapping that follows an address; nil if there is none.
func (p *Process) mappingAbove(addr uint64) *core.Mapping {
	for i := range p.img.Mappings {
		if m := &p.img.Mappings[i]; m.Lo > addr {
			return m
		}
	}
	return nil
}

// load reads an integer of 1, 2, 4 or 8 bytes.
func (p *Process) load(words *memreader.Words, addr uint64, size int) (uint64, bool) {
	if size < 1 || size > 8 {
		return 0, false
	}
	v, err := words.Uint(addr, size)
	return v, err == nil
}

// addStack adds what the stack of a thread tells: its functions, and what those noted.
func (p *Process) addStack(f *cause.Facts, th *core.Thread) {
	w := p.NewWalker()
	w.unwinder.MaxFrames = factFrames // however few are asked for
	stack := w.Walk(th)
	w.prepare(stack)
	thrown := uint64(0) // the end of the frame that threw
	for i := range stack.Frames {
		fr := &stack.Frames[i]
		if fr.Trust != unwind.Guess && fr.CFA != 0 {
			f.CFAs = append(f.CFAs, fr.CFA)
		}
		for _, n := range w.name(fr.LookupPC()).names {
			f.Functions = append(f.Functions, n.demangled)
			if name := strings.TrimSuffix(n.demangled, ".cold"); name == "__cxa_throw" || name == "__cxa_rethrow" {
				thrown = fr.CFA
			}
			if (n.Func == "abort" || n.Func == "__GI_abort") && i+1 < len(stack.Frames) {
				f.ByLibc = p.ofLibc(w, fr.LookupPC(), stack.Frames[i+1].LookupPC())
				f.Message = p.abortMessage(fr.LookupPC())
				f.Sanitizer = p.sanitizer(w, stack.Frames[i+1:])
			}
			switch name, _, _ := strings.Cut(n.demangled, "::<"); name {
			case "runtime.fatalpanic":
				f.Panic = p.goPanic(&fr.Regs)
			case "std::panicking::begin_panic", "core::panicking::panic_fmt":
				f.Panic, f.PanicAt = p.rustPanic(name, fr)
			}
		}
	}
	if sp, ok := th.Regs.Get(p.img.Arch.SP); ok && thrown > sp {
		f.Exception = p.thrown(sp, thrown)
	}
}

// ofLibc reports whether the caller of abort belongs to the same libc.
func (p *Process) ofLibc(w *Walker, abort, caller uint64) bool {
	m := p.modules.At(caller)
	if m == nil || m != p.modules.At(abort) {
		return false
	}
	for _, n := range w.name(caller).names {
		switch name, _, _ := strings.Cut(n.Func, "."); strings.TrimPrefix(name, "__GI_") {
		case "__libc_message", "__libc_message_impl", "__assert_fail", "__assert_fail_base", "__fortify_fail", "__libc_fatal", "malloc_printerr":
			return true
		}
	}
	return !m.Main
}

// sanitizer returns the function by which the program called the sanitizer whose code the
// innermost of the frames are of: a library or, in programs that contain it, functions of
// its namespaces; "" if they are of something else.
func (p *Process) sanitizer(w *Walker, frames []unwind.Frame) (entry string) {
	for i := range frames {
		n := w.name(frames[i].LookupPC())
		if len(n.names) == 0 || n.module == nil {
			return ""
		}
		name := n.names[len(n.names)-1].demangled
		switch {
		case ofSanitizer(name):
		case i > 0 || isSanitizer(n.module.Name()):
			if !isSanitizer(n.module.Name()) {
				return entry
			}
		default:
			return ""
		}
		entry, _, _ = strings.Cut(name, "(")
	}
	return ""
}

// sanitizers are the names of those that report with a trace of their own.
var sanitizers = []string{"asan", "hwasan", "ubsan", "tsan", "msan", "lsan"}

// ofSanitizer reports whether a function is one of a sanitizer.
func ofSanitizer(name string) bool {
	rest, ok := strings.CutPrefix(name, "__")
	return ok && (strings.HasPrefix(rest, "sanitizer::") || slices.ContainsFunc(sanitizers, func(of string) bool {
		after, ok := strings.CutPrefix(rest, of)
		return ok && (strings.HasPrefix(after, "_") || strings.HasPrefix(after, "::"))
	}))
}

// isSanitizer reports whether a module, by its name, is a sanitizer.
func isSanitizer(module string) bool {
	rest, ok := strings.CutPrefix(module, "lib")
	return ok && (strings.HasPrefix(rest, "clang_rt.") || slices.ContainsFunc(sanitizers, func(of string) bool { return strings.HasPrefix(rest, of+".so") }))
}

// abortMessage returns what the libc of a pc noted before it aborted [glibc
// include/stdlib.h: struct abort_msg_s]; "" for nothing.
func (p *Process) abortMessage(pc uint64) string {
	m := p.modules.At(pc)
	if m == nil {
		return ""
	}
	at, ok := m.Address("__abort_msg")
	if !ok {
		return ""
	}
	words := memreader.Words{R: p.Memory(), BigEndian: p.img.Arch.BigEndian}
	msg, err := words.Uint64(at)
	if err != nil || msg == 0 {
		return ""
	}
	size, err := words.Uint(msg, 4) // of all of it, in whole pages
	if err != nil {
		return ""
	}
	text, err := words.CString(msg+4, maxMessage)
	if err != nil || uint64(len(text)) > size {
		return ""
	}
	return text
}
