package unwind

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/memreader"
)

// Every limit says what was reached: in frames, steps or time, of one stack or of all.
func TestLimitError(t *testing.T) {
	for want, e := range map[string]limitError{
		"the end of the stack was not reached after 7 frames":                 {frames: 7},
		"the end of the stack was not reached after 9 steps in unwind tables": {steps: 9},
		"the end of the stack was not reached after 1s":                       {time: time.Second},
		"all stacks together took more than 9 steps in unwind tables":         {steps: 9, all: true},
		"all stacks together took more than 1s":                               {time: time.Second, all: true},
	} {
		if got := e.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// An error has its reason, and wraps it.
func TestErrorsWithReason(t *testing.T) {
	why := &memreader.FaultError{Addr: 0x10, Why: memreader.Truncated}
	for _, tt := range []struct {
		err  error
		want string
	}{
		{notExecutableError{pc: 0x20}, "0x20 is not in an executable mapping"},
		{notExecutableError{0x20, why}, "0x20 is not in an executable mapping, and its caller is not known: memory at 0x10: the core file is truncated"},
		{noInfoError{pc: 0x20}, "nothing describes the code at 0x20"},
		{noInfoError{0x20, why}, "nothing describes the code at 0x20; memory at 0x10: the core file is truncated"},
	} {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
		fault, ok := errors.AsType[*memreader.FaultError](tt.err)
		if ok != strings.Contains(tt.want, "truncated") || ok && fault != why {
			t.Errorf("%q wraps %v", tt.want, fault)
		}
	}
}

// A method that fails says what it found and what that should be. The reason of the
// stop follows from that.
func TestMisses(t *testing.T) {
	why := errors.New("why")
	const low = 0x7000
	for _, tt := range []struct {
		miss   miss
		exact  bool
		want   string
		reason Reason
	}{
		{miss{method: CFI, kind: missTable, err: why}, false, "cfi: why", NoUnwindInfo},
		{miss{method: SFrame, kind: missUndefined}, false, "sframe: the table does not say where the caller is", NoUnwindInfo},
		{miss{method: SFrame, kind: missRegister, addr: 3}, false, "sframe: needs rbx, which is not known in this frame", NoUnwindInfo},
		{miss{method: CFI, kind: missMemory, err: why}, false, "cfi: why", UnreadableMemory},
		{miss{method: CFI, kind: missAlign, addr: 0x7001}, false, "cfi: CFA 0x7001 is not a multiple of 8", BadCFA},
		{miss{method: CFI, kind: missGrowth, addr: 0x6ff8, low: low}, false, "cfi: CFA 0x6ff8 is not above 0x7000, where the frame begins", BadCFA},
		{miss{method: CFI, kind: missGrowth, addr: low, low: low}, false, "cfi: CFA 0x7000 is not above 0x7000, where the frame begins", Loop},
		{miss{method: CFI, kind: missGrowth, addr: low, low: low}, true, "cfi: CFA 0x7000 is not above 0x7000, where the frame begins", BadCFA},
		{miss{method: FramePointer, kind: missFar, addr: low + 40, low: low}, false, "frame-pointer: CFA 0x7028 is 40 bytes above SP", BadCFA},
		{miss{method: CFI, kind: missRA, addr: 0x20}, false, "cfi: 0x20 is not a return address", BadReturnAddress},
		{miss{method: Code, kind: missCall, addr: 0x20}, false, "code: the call before 0x20 does not lead here", BadReturnAddress},
		{miss{method: SFrame, kind: missDisputed, err: why}, false, "sframe: why", NoUnwindInfo},
		{miss{method: SFrame, kind: missDisputed + 1}, false, "sframe: miss 10", NoUnwindInfo},
	} {
		err := tt.miss.error(arch.AMD64)
		if err.Error() != tt.want || errors.Is(err, why) != (tt.miss.err != nil) {
			t.Errorf("got %q, want %q", err, tt.want)
		}
		if got := tt.miss.reason(&Frame{Exact: tt.exact}); got != tt.reason {
			t.Errorf("%q: got %v, want %v", tt.want, got, tt.reason)
		}
	}
	if got := missOf(CFI, arch.ErrUndefined); got != (miss{method: CFI, kind: missUndefined}) {
		t.Errorf("no rule: got %+v", got)
	}
	if got := missOf(CFI, arch.UnknownRegister(3)); got != (miss{method: CFI, kind: missRegister, addr: 3}) {
		t.Errorf("an unknown register: got %+v", got)
	}
	if got := missOf(CFI, why); got != (miss{method: CFI, kind: missMemory, err: why}) {
		t.Errorf("no memory: got %+v", got)
	}
}

// The misses of a step are one error that has all of them, in their order. A forged
// list of steppers does not overflow it.
func TestMissesTogether(t *testing.T) {
	why1, why2 := errors.New("why 1"), errors.New("why 2")
	var ms misses
	if ms.err(arch.AMD64) != nil || ms.needs(arch.AMD64.SP) {
		t.Error("there are misses at the start")
	}
	ms.add(miss{method: SFrame, kind: missTable, err: why1})
	if got := ms.err(arch.AMD64).Error(); got != "sframe: why 1" {
		t.Errorf("got %q", got)
	}
	ms.add(miss{method: CFI, kind: missTable, err: why2})
	err := ms.err(arch.AMD64)
	if got, want := err.Error(), "sframe: why 1; cfi: why 2"; got != want || !errors.Is(err, why1) || !errors.Is(err, why2) {
		t.Errorf("got %q, want %q", got, want)
	}
	if ms.needs(arch.AMD64.SP) {
		t.Error("a damaged table needs SP")
	}
	ms.add(miss{method: CFI, kind: missRegister, addr: uint64(arch.AMD64.SP)})
	if !ms.needs(arch.AMD64.SP) || ms.needs(arch.AMD64.FP) {
		t.Error("the last miss needs SP, and nothing else")
	}
	ms.add(miss{method: CFI, kind: missAlign, addr: uint64(arch.AMD64.SP)})
	if ms.needs(arch.AMD64.SP) {
		t.Error("the last miss needs no register")
	}
	for range 2 * maxMisses {
		ms.add(miss{method: FramePointer, kind: missUndefined})
	}
	if ms.n != maxMisses || strings.Count(ms.err(arch.AMD64).Error(), ";") != maxMisses-1 {
		t.Errorf("got %d misses: %v", ms.n, ms.err(arch.AMD64))
	}
}
