package core

import (
	"bytes"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/memreader"
)

// stop stops the process, copies registers and memory, and lets it go.
func (v *visit) stop(opts AttachOptions) error {
	var err error
	onTracerThread(func() { err = v.hold(opts) })
	return err
}

func (v *visit) hold(opts AttachOptions) error {
	v.clock = time.Now()
	t := &tracer{dir: v.dir, known: make(map[int]bool, len(v.threads)), listed: make(map[int]bool, len(v.threads))}
	defer t.reaper()()
	if _, err := t.seizeNew(); err != nil {
		return err
	}
	v.phase(PhaseSeize, false)

	v.snap.Time = v.clock
	deadline := v.clock.Add(opts.MaxStop)
	t.deadline = v.clock.Add(opts.MaxStop / 2) // the other half is for copying
	err := t.stopAll()
	v.phase(PhaseStop, true)
	if err == nil {
		err = v.copyAll(t.tracees, opts.StackBudget, deadline)
	}
	if err == nil && opts.Follow != nil {
		v.copyFollowed(opts.Follow, opts.StackBudget, deadline)
		v.phase(PhaseStacks, true)
	}
	if err == nil && opts.Memory > 0 {
		v.copyMemory(opts.Memory, deadline)
		v.phase(PhaseMemory, true)
	}
	t.release()
	v.phase(PhaseRelease, true)
	for _, p := range v.snap.Phases {
		if p.Held {
			v.snap.StoppedFor += p.Took
		}
	}
	v.snap.Ended = t.ended
	v.tracees = t.tracees
	if err != nil {
		return err
	}
	return v.check(t)
}

// copyAll copies registers and stacks while the process stands still.
func (v *visit) copyAll(tracees []tracee, budget uint64, deadline time.Time) error {
	// One byte shows whether the address space is still the prepared one.
	if n, err := v.mem.ReadMem(make([]byte, 1), v.maps[0].Lo); n == 0 {
		if fault := (*memreader.FaultError)(nil); errors.As(err, &fault) && fault.Why == memreader.Gone {
			return errExecuted
		}
	}
	v.copyRegisters(tracees)
	v.phase(PhaseRegisters, true)
	err := v.copyStacks(budget, deadline)
	v.phase(PhaseStacks, true)
	return err
}

// check tells a process that could not be stopped from one that was.
func (v *visit) check(t *tracer) error {
	var refused error
	for i := range t.tracees {
		switch c := &t.tracees[i]; {
		case c.step == stopped:
			return nil
		case refused == nil && c.step == missed:
			refused = c.err
		}
	}
	if refused == nil {
		return fmt.Errorf("process %d ended while it was being stopped: %w", v.dir.pid, ErrNoProcess)
	}
	for _, cause := range []error{unix.EPERM, unix.EACCES, unix.ENOSYS, unix.EIO} {
		if errors.Is(refused, cause) {
			return v.dir.explain(cause)
		}
	}
	if traced := (*tracedError)(nil); errors.As(refused, &traced) {
		return v.dir.explain(unix.EPERM)
	}
	return nil
}

// maxRegset is larger than NT_PRSTATUS and NT_FPREGSET of any architecture, in
// bytes. amd64's FXSAVE area has 512.
const maxRegset = 1024

// copyRegisters copies the registers of the threads that have stopped, behind
// the room for the head of a struct elf_prstatus.
func (v *visit) copyRegisters(tracees []tracee) {
	const size = arch.PrStatusRegs + maxRegset
	room := make([]byte, size*len(tracees))
	order := byteOrder(v.arch)
	v.regs = make([][]byte, len(tracees))
	v.fpRegs = make([][]byte, len(tracees))
	for i := range tracees {
		c := &tracees[i]
		if c.step != stopped {
			continue
		}
		desc := room[i*size : (i+1)*size : (i+1)*size]
		got, err := regset(c.tid, ntPRStatus, desc[arch.PrStatusRegs:])
		if err != nil { // it was killed
			c.step, c.err = missed, fmt.Errorf("the registers cannot be read: %w", err)
			continue
		}
		order.PutUint32(desc[arch.PrStatusPID:], uint32(c.tid))
		if c.stop.undelivered() != 0 || c.stop.groupStop() {
			order.PutUint16(desc[arch.PrStatusSignal:], uint16(c.stop.signal))
		}
		v.regs[i] = desc[:arch.PrStatusRegs+len(got)]
		var regs arch.Regs
		setRegs(&regs, v.arch.PrStatus, v.regs[i], order)
		v.known = append(v.known, regs)
		if sp, ok := regs.Get(v.arch.SP); ok {
			v.sps = append(v.sps, sp)
		}
		if len(v.arch.FPRegSet) > 0 {
			v.fpRegs[i], _ = regset(c.tid, ntFPRegSet, make([]byte, maxRegset))
		}
		if v.arch.PAC && v.pacMask == 0 { // the same for all threads
			if masks, err := regset(c.tid, ntARMPACMask, make([]byte, 16)); err == nil && len(masks) == 16 {
				v.pacMask = order.Uint64(masks[8:])
			}
		}
	}
}

// copyStacks copies the used parts of the stacks: those of the stack pointers,
// then those that signal handlers on alternate stacks have interrupted.
func (v *visit) copyStacks(budget uint64, deadline time.Time) error {
	text, err := v.dir.readInto(v.dir.memory("maps"), make([]byte, 0, len(v.mapsText)+64<<10))
	if err != nil {
		return v.dir.explain(err)
	}
	if !bytes.Equal(text, v.mapsText) {
		if v.maps, err = parseMaps(text); err != nil {
			return err
		}
		heads := v.headCopies()
		v.setHeads(heads[:v.copyUntil(heads, deadline)])
	}
	v.copySpans(stackSpans(withFirstStack(v.sps, v.maps, budget), v.maps, budget, maxCopied), deadline)
	var old []uint64
	first := v.stacks
	for _, sp := range v.sps {
		if stack := stackAt(first, sp); stack != nil {
			if was, ok := interruptedSP(v.arch, sp, stack); ok {
				old = append(old, was)
			}
		}
	}
	if len(old) > 0 {
		v.copySpans(without(stackSpans(old, v.maps, budget, maxCopied), first), deadline)
	}
	return nil
}

// copySpans copies spans until the deadline.
func (v *visit) copySpans(spans []span, deadline time.Time) {
	list := v.copies(spans)
	done := v.copyUntil(list, deadline)
	for i, s := range spans {
		c := copied{span: s, err: &memreader.FaultError{Addr: s.lo, Why: memreader.OutOfTime}}
		if i < done {
			c.data, c.err = list[i].Data[:list[i].N], list[i].Err
		}
		v.snap.Copied += uint64(len(c.data))
		v.stacks = append(v.stacks, c)
	}
}

// copies prepares copies of spans, in the prepared room or else in new memory.
func (v *visit) copies(spans []span) []memreader.Copy {
	size := uint64(0)
	for _, s := range spans {
		size += s.hi - s.lo
	}
	if size > uint64(len(v.room)) {
		v.room = make([]byte, size)
	}
	list := make([]memreader.Copy, len(spans))
	for i, s := range spans {
		n := s.hi - s.lo
		list[i] = memreader.Copy{Addr: s.lo, Data: v.room[:n:n]}
		v.room = v.room[n:]
	}
	return list
}

// copyUntil copies until the deadline, and returns how many copies are
// complete. The others must not be touched. A separate goroutine copies: a page of
// the process may be in a file system that does not answer, which must not hold the
// process.
func (v *visit) copyUntil(list []memreader.Copy, deadline time.Time) (done int) {
	progress := make(chan int, len(list)+1)
	var late atomic.Bool
	go func() {
		v.mem.ReadAll(list, func(done int) bool {
			progress <- done
			return !late.Load()
		})
		close(progress)
	}()
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	for {
		select {
		case n, more := <-progress:
			if !more {
				return done
			}
			done = n
		case <-timer.C:
			late.Store(true)
			return done
		}
	}
}
