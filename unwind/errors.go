package unwind

import (
	"errors"
	"fmt"
	"time"

	"github.com/sfcore/sfcore/arch"
)

var (
	errZeroRA       = errors.New("the return address is 0")
	errBeyondStart  = errors.New("the word at the place of the return address is not an address, and this SFrame version does not mark the outermost frame")
	errNeverReturns = errors.New("the function made a call without saving its return address, so it has no caller")
	errDeadEnd      = errors.New("the code at this return address ends the process or thread")
	errEntry        = errors.New("the program or its dynamic linker begins here")
	errFrameChain   = errors.New("the frame pointer is 0, which ends the chain")
	errNoCaller     = errors.New("the frame that it leads to has no caller")
	errSignalLoop   = errors.New("the signal frames form a loop")
)

type limitError struct {
	frames int
	steps  int64
	time   time.Duration
	all    bool // steps or time are those of all stacks
}

func (e limitError) Error() string {
	switch {
	case e.all && e.time > 0:
		return fmt.Sprintf("all stacks together took more than %v", e.time)
	case e.all:
		return fmt.Sprintf("all stacks together took more than %d steps in unwind tables", e.steps)
	case e.steps > 0:
		return fmt.Sprintf("the end of the stack was not reached after %d steps in unwind tables", e.steps)
	case e.time > 0:
		return fmt.Sprintf("the end of the stack was not reached after %v", e.time)
	}
	return fmt.Sprintf("the end of the stack was not reached after %d frames", e.frames)
}

type notExecutableError struct {
	pc  uint64
	why error // why the caller was not found; may be nil
}

func (e notExecutableError) Error() string {
	s := fmt.Sprintf("%#x is not in an executable mapping", e.pc)
	if e.why != nil {
		s += ", and its caller is not known: " + e.why.Error()
	}
	return s
}

func (e notExecutableError) Unwrap() error { return e.why }

type noInfoError struct {
	pc  uint64
	why error // why conventions did not help; may be nil
}

func (e noInfoError) Error() string {
	s := fmt.Sprintf("nothing describes the code at %#x", e.pc)
	if e.why != nil {
		s += "; " + e.why.Error()
	}
	return s
}

func (e noInfoError) Unwrap() error { return e.why }

// miss says why a method did not find a caller. It is turned into an error only
// if somebody will see it.
type miss struct {
	method Method
	kind   missKind
	addr   uint64 // an address; for missRegister, the register
	low    uint64
	err    error
}

type missKind uint8

const (
	missTable     missKind = iota // err says what is wrong with the table
	missUndefined                 // the table does not say
	missRegister                  // a register that the row needs is unknown
	missMemory                    // err says which memory could not be read
	missAlign                     // the CFA addr is misaligned
	missGrowth                    // the CFA addr is not above low
	missFar                       // the CFA addr is too far above low
	missRA                        // addr is not a return address
	missCall                      // the call before addr does not lead to the frame
	missDisputed                  // err says what another table says
)

// missOf returns the miss of a method if a rule of its row has no value.
func missOf(m Method, err error) miss {
	if err == arch.ErrUndefined { //nolint:errorlint // Rule.Eval returns it as it is
		return miss{method: m, kind: missUndefined}
	}
	if reg, ok := err.(arch.UnknownRegister); ok { //nolint:errorlint // Rule.Eval returns it as it is
		return miss{method: m, kind: missRegister, addr: uint64(reg)}
	}
	return miss{method: m, kind: missMemory, err: err}
}

// maxMisses is how many methods can fail for one frame.
const maxMisses = 8

// misses are the misses of one step.
type misses struct {
	list [maxMisses]miss
	n    int
}

func (ms *misses) add(m miss) {
	if ms.n < maxMisses {
		ms.list[ms.n] = m
		ms.n++
	}
}

// needs reports whether the last miss is a row that needs a register whose value is
// unknown.
func (ms *misses) needs(reg arch.Reg) bool {
	if ms.n == 0 {
		return false
	}
	last := &ms.list[ms.n-1]
	return last.kind == missRegister && arch.Reg(last.addr) == reg
}

// err returns all misses as one error, or nil if there are none.
func (ms *misses) err(a *arch.Arch) error {
	if ms.n == 0 {
		return nil
	}
	errs := make([]error, ms.n)
	for i := range errs {
		errs[i] = ms.list[i].error(a)
	}
	return skipped(errs)
}

// skipped are the reasons of several methods, on one line.
type skipped []error

func (s skipped) Error() string {
	text := s[0].Error()
	for _, err := range s[1:] {
		text += "; " + err.Error()
	}
	return text
}

func (s skipped) Unwrap() []error { return s }

func (m *miss) error(a *arch.Arch) error {
	switch m.kind {
	case missTable, missMemory, missDisputed:
		return fmt.Errorf("%v: %w", m.method, m.err)
	case missUndefined:
		return fmt.Errorf("%v: the table does not say where the caller is", m.method)
	case missRegister:
		return fmt.Errorf("%v: needs %s, which is not known in this frame", m.method, a.RegName(arch.Reg(m.addr)))
	case missAlign:
		return fmt.Errorf("%v: CFA %#x is not a multiple of 8", m.method, m.addr)
	case missGrowth:
		return fmt.Errorf("%v: CFA %#x is not above %#x, where the frame begins", m.method, m.addr, m.low)
	case missFar:
		return fmt.Errorf("%v: CFA %#x is %d bytes above SP", m.method, m.addr, m.addr-m.low)
	case missCall:
		return fmt.Errorf("%v: the call before %#x does not lead here", m.method, m.addr)
	case missRA:
		return fmt.Errorf("%v: %#x is not a return address", m.method, m.addr)
	}
	return fmt.Errorf("%v: miss %d", m.method, m.kind)
}

// reason returns the stop reason if this miss ended the walk.
func (m *miss) reason(f *Frame) Reason {
	switch m.kind {
	case missMemory:
		return UnreadableMemory
	case missAlign, missFar:
		return BadCFA
	case missGrowth:
		if sp := m.low; m.addr == sp && !f.Exact {
			return Loop
		}
		return BadCFA
	case missRA, missCall:
		return BadReturnAddress
	case missTable, missUndefined, missRegister, missDisputed:
	}
	return NoUnwindInfo
}
