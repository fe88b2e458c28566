package core

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/sfcore/sfcore/memreader"
)

// The mask of pointer authentication is the kernel's own: bits 54 down to the
// size of an address [linux arch/arm64/include/asm/pointer_auth.h:
// ptrauth_user_pac_mask]. Processors without it have the one that always fits.
func TestAttachPACMask(t *testing.T) {
	needPtrace(t)
	s := startSubject(t, os.Args[0], "plain")
	s.ready(t)
	img := attach(t, s.pid)
	if !img.Arch.PAC {
		t.Skip("this architecture has no pointer authentication")
	}
	const (
		atHWCAP   = 16
		hwcapPACA = 1 << 30
	)
	hwcap, _ := img.Auxv.Get(atHWCAP)
	for i := range img.Threads {
		mask := img.Threads[i].PACMask
		lowest := mask & -mask
		switch {
		case hwcap&hwcapPACA == 0 && mask != img.Arch.PACMask:
			t.Errorf("got mask %#x without pointer authentication, want %#x", mask, img.Arch.PACMask)
		case hwcap&hwcapPACA != 0 && (mask+lowest != 1<<55 || lowest < 1<<36):
			t.Errorf("got mask %#x, want bits 54 down to 36 or more", mask)
		}
	}
}

// What could not be copied in time is said to be that.
func TestAttachOutOfTime(t *testing.T) {
	needPtrace(t)
	s := startSubject(t, os.Args[0], "plain")
	s.ready(t)
	late := false
	for try := 0; try < 100 && !late; try++ { // the copying may be done at once
		v := begin(s.pid, &AttachOptions{})
		err := v.prepare(&AttachOptions{StackBudget: DefaultStackBudget, StackTotal: DefaultStackTotal})
		if err != nil {
			t.Fatal(err)
		}
		m := slices.IndexFunc(v.maps, func(m procMapping) bool { return m.Path == "[stack]" })
		lo, hi := v.maps[m].Lo, v.maps[m].Hi
		v.copySpans([]span{{lo: lo, hi: hi, end: hi}}, nil, time.Now().Add(-time.Second))
		n, err := v.space().ReadMem(make([]byte, 8), lo)
		fault := (*memreader.FaultError)(nil)
		late = errors.As(err, &fault)
		if n != 8 && (!late || fault.Why != memreader.OutOfTime) {
			t.Errorf("got %d bytes, %v, want that there was no time", n, err)
		}
		v.close()
	}
	if !late {
		t.Error("all copies were in time")
	}
}

// What was not copied of a stack is said to be beyond the budget.
func TestAttachBudget(t *testing.T) {
	needPtrace(t)
	s := startSubject(t, os.Args[0], "plain")
	s.ready(t)
	const budget = 64
	img, err := Attach(context.Background(), s.pid, AttachOptions{StackBudget: budget})
	if err != nil {
		t.Fatal(err)
	}
	defer img.Close()
	i := slices.IndexFunc(img.Threads, func(th Thread) bool { return th.ID == s.tids[0] })
	sp, _ := img.Threads[i].Regs.Get(img.Arch.SP)
	got := make([]byte, 4096)
	n, err := img.Mem.ReadMem(got, sp)
	fault := (*memreader.FaultError)(nil)
	if n < budget || !errors.As(err, &fault) || fault.Why != memreader.OverBudget || fault.Addr != sp+uint64(n) {
		t.Errorf("got %d bytes, %v, want %d or more and a fault beyond the budget", n, err, budget)
	}
}
