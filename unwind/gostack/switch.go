package gostack

import (
	"errors"
	"fmt"

	"github.com/sfcore/sfcore/arch"
)

// A goroutine has a stack of its own. Go's runtime leaves it for g0, the stack that
// the thread was made with, to call C (asmcgocall), to run code that needs more
// room (systemstack, morestack), and to schedule (mcall). g.sched.sp and
// g.sched.pc say where the goroutine continues, and g0.sched.sp says where g0 is
// entered [src/runtime/runtime2.go: gobuf]. In the drawings, higher addresses are
// at the top.
//
// Go calls C [src/runtime/asm_amd64.s: asmcgocall, gosave_systemstack_switch]:
//
//	goroutine's stack                    g0
//	  hi  +--------------------+         +------------------------+
//	      | main.main          |         | mstart, or crosscall2  |
//	      | runtime.cgocall    |         +------------------------+ g0.sched.sp
//	      +--------------------+         | aligned to 16          |
//	      | return address     |         | saved g       8(SP)    | abi.saved
//	      +--------------------+         | hi - sp       0(SP)    | abi.saved
//	  sp: SP in asmcgocall               +------------------------+ SP in asmcgocall
//	      = g.sched.sp                   | the C function         |
//
// Then C calls Go [src/runtime/asm_amd64.s: cgocallback]. cgocallback has a frame
// of the same size on both stacks, with the same three arguments. The first frame
// is on g0. The second is on the goroutine's stack, below the frames there;
// cgocallback copies the arguments to it:
//
//	goroutine's stack                    g0
//	  hi  +--------------------+         +------------------------+
//	      | ... asmcgocall     |         | the C function         |
//	      +--------------------+         | crosscall2             |
//	  sp: | g.sched.pc         | pushed  | fn, frame, ctxt        | abi.args
//	      | frame              |         | return address         |
//	      | fn, frame, ctxt    |         | frame                  | abi.callbackFrame
//	      +--------------------+ SP      | old g0.sched.sp        | abi.outer
//	      | cgocallbackg       |         +------------------------+ g0.sched.sp
//	      | the Go function    |
//
// So g0.sched.sp leads to the last call from C, and the word at abi.outer leads to
// the call before it. Calls to C and to Go alternate to any depth.

var (
	errUnknownSwitch = errors.New("the function writes to SP in an unknown way")
	errSwitching     = errors.New("the thread was switching between two stacks")
	errDepth         = errors.New("the goroutine's saved SP is outside its stack or disagrees with g.sched")
	errSched         = errors.New("g.sched does not fit the goroutine's stack or code")
	errG0            = errors.New("SP is not where the runtime entered g0")
	errCallback      = errors.New("the call from C that led here is not on g0; a panic may have unwound it")
	errWaiting       = errors.New("the thread is waiting for a goroutine that C called, and that goroutine is unknown")
)

// maxAligned bounds how far the runtime lowers SP, in bytes, when it aligns SP and
// makes room for two words. On s390x it makes room for a register save area, too.
const maxAligned = 256

// jump makes the row of a function that writes to SP.
func (s *Stepper) jump(f *frame, row *arch.Row) error {
	row.Evaluated = true
	name := string(f.fn.Name())
	if reg, ok := s.abi.savedSP[name]; ok {
		return s.saved(f, row, reg)
	}
	s.learnFrom(f)
	switch {
	case name == "runtime.cgocallback":
		return s.cgocallback(f, row)
	case f.Exact && s.onGoroutine(f):
		s.plain(f, row) // the switch is still to come, or is over
		return nil
	case f.Exact:
		return errSwitching
	}
	switch name {
	case "runtime.asmcgocall":
		return s.asmcgocall(f, row)
	case "runtime.systemstack":
		return s.systemstack(f, row)
	case "runtime.mcall":
		return s.mcall(f, row)
	case "runtime.morestack":
		return s.morestack(f, row)
	}
	return errUnknownSwitch
}

// learnFrom learns the structures of the thread if g is known in the frame. A
// failure is not an error yet: asmcgocall has another g, and functions that need
// the thread report that it is unknown. A goroutine that the runtime has put aside
// may lead to the thread that waits for it.
func (s *Stepper) learnFrom(f *frame) {
	if g, known := f.Regs.Get(s.abi.g); known && s.thread.learn(f.Mem, g) != nil {
		_ = s.thread.learnWaiting(f.Mem, g)
	}
}

// onGoroutine reports whether SP is on the stack of the thread's goroutine.
func (s *Stepper) onGoroutine(f *frame) bool {
	if !s.thread.known || s.thread.curg == 0 {
		return false
	}
	w := words{mem: f.Mem}
	bounds := stackOf(&w, s.thread.curg)
	return w.err == nil && bounds.contains(f.sp)
}

// saved makes the row of a function that keeps SP in a register while it calls C.
// The C code does not change that register. The function may have switched to g0
// for the call [src/runtime/sys_linux_amd64.s: walltime, nanotime1, sigfwd].
func (s *Stepper) saved(f *frame, row *arch.Row, reg arch.Reg) error {
	if f.Exact {
		return errSwitching
	}
	sp, ok := f.Regs.Get(reg)
	if !ok {
		return fmt.Errorf("needs %s, which is not known in this frame", f.Arch.RegName(reg))
	}
	s.frameAt(f, row, arch.RegOffset(reg, 0), f.delta)
	if _, known := f.Regs.Get(s.abi.g); known {
		s.extra(row, s.abi.g, arch.SameValue(s.abi.g))
	}
	if sp >= f.sp && sp-f.sp < maxAligned {
		return nil // the same stack
	}
	s.learnFrom(f)
	if !s.thread.known || s.thread.curg == 0 {
		return errNoG
	}
	if ok, err := s.fits(f, s.thread.curg, sp, f.delta); !ok {
		return errors.Join(errSched, err)
	}
	row.Switch = true
	return nil
}

// fits reports whether a frame of size bytes at sp is on g's stack, including all
// bytes up to the caller's SP.
func (s *Stepper) fits(f *frame, g, sp uint64, size int64) (bool, error) {
	w := words{mem: f.Mem}
	bounds, up := stackOf(&w, g), sp+uint64(size+s.abi.pushed)
	if w.err != nil {
		return false, w.err
	}
	return bounds.contains(sp) && sp <= up && up <= bounds.hi, nil
}

// goroutineAt makes the row of a function that switched to another stack. It left
// its frame of size bytes at sp, on the stack of goroutine g.
func (s *Stepper) goroutineAt(f *frame, row *arch.Row, g, sp uint64, size int64) {
	s.frameAt(f, row, arch.Rule{Base: arch.Absolute, Off: int64(sp)}, size)
	s.extra(row, s.abi.g, arch.Rule{Base: arch.Absolute, Off: int64(g)})
	row.Switch = true
}

// in reports whether pc is in the named function of the module.
func (s *Stepper) in(pc uint64, name string) bool {
	fn, ok := s.module.Go.Find(pc)
	return ok && string(fn.Name()) == name
}
