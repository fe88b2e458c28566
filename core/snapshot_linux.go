package core

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sfcore/sfcore/arch"
)

// stop stops the process, copies registers and memory, and lets it go. After
// errSeizing, the tracer's thread still uses v.
func (v *visit) stop(opts *AttachOptions) error {
	defer moreProcs()()
	defer v.awaitQuota()()
	err, ok := inTime(time.Now().Add(maxPreparing+2*opts.MaxStop), func() (err error) {
		onTracerThread(func() { err = v.hold(opts) })
		return err
	})
	if !ok {
		return fmt.Errorf("process %d: %w", v.dir.pid, errSeizing)
	}
	return err
}

// hold runs on the tracer's thread. It reads neither memory nor mappings of the
// process by itself: both may wait for a file.
func (v *visit) hold(opts *AttachOptions) error {
	v.clock = time.Now()
	t := &tracer{dir: v.dir, known: make(map[int]bool, len(v.threads)), listed: make(map[int]bool, len(v.threads)), sleeping: len(v.sleepers.byID)}
	for tid := range v.sleepers.byID {
		t.known[tid] = true
	}
	defer t.reaper()()
	if _, err := t.seizeNew(false); err != nil {
		return err
	}
	tops, maps := v.newTops(opts), make(chan mapsAnswer, 1)
	readMaps := v.mapsReader()
	tops.begin(func() { maps <- readMaps() })
	if len(v.threads) > few {
		tops.begin(func() {})
	}
	if !spin(time.Now().Add(maxRehearsal), spinning, tops.ready) {
		tops.late.Store(true)
	}
	v.phase(PhaseSeize, false)

	v.snap.Time = v.clock
	deadline := v.clock.Add(opts.MaxStop)
	t.deadline = v.clock.Add(opts.MaxStop / 2) // the other half is for copying
	err := t.stopAll()
	if err == nil {
		err = v.stopWoken(t)
	}
	tops.standing.Store(err == nil)
	v.phase(PhaseStop, true)
	if err == nil {
		v.copyRegisters(t.tracees, tops)
		v.phase(PhaseRegisters, true)
		err = v.copyRest(tops, maps, opts, deadline)
	}
	tops.late.Store(true)
	hurry()
	t.release()
	v.phase(PhaseRelease, true)
	for _, p := range v.snap.Phases {
		if p.Held {
			v.snap.StoppedFor += p.Took
		}
	}
	v.snap.Ended, v.snap.Slept = t.ended, t.sleeping
	v.tracees = t.tracees
	if err != nil {
		return err
	}
	if v.tops != nil {
		v.addTops(opts)
	}
	return v.check(t)
}

// copyRest waits for the tops, and copies what is more than these, if there is more.
func (v *visit) copyRest(t *tops, maps <-chan mapsAnswer, opts *AttachOptions, deadline time.Time) error {
	if t.late.Load() {
		maps = v.askForMaps()
	} else if t.await(deadline, func() bool { return len(maps) > 0 }) {
		a := <-maps
		if a.same(v.mapsText) && !t.more && opts.Memory == 0 && len(v.withFirstStack(v.sps, 0)) == len(v.sps) {
			v.tops = t
			v.phase(PhaseStacks, true)
			return nil
		}
		again := make(chan mapsAnswer, 1)
		again <- a
		maps = again
	}
	v.have, _ = t.end()
	// To pass work between goroutines costs ten times as much on a thread of its own.
	copied := make(chan error)
	go func() { copied <- v.copyAll(maps, opts, deadline) }()
	return <-copied
}

// addTops takes what was copied, when that is all.
func (v *visit) addTops(opts *AttachOptions) {
	stacks, locks := v.tops.end()
	v.snap.StackBudget = opts.StackBudget
	for _, c := range stacks {
		v.snap.Copied += uint64(len(c.data))
	}
	v.stacks = stacks
	v.addSleepers()
	v.addLocks(locks)
}

// copyAll copies stacks and other memory while the process stands still. It ends by the
// deadline.
func (v *visit) copyAll(maps <-chan mapsAnswer, opts *AttachOptions, deadline time.Time) error {
	changed, err := v.findMaps(maps, time.Now().Add(time.Until(deadline)/shareForMaps))
	if err == nil {
		v.copyStacks(opts, deadline)
		v.copyLocks(deadline)
	}
	if changed && err == nil {
		v.copyHeads(deadline)
	}
	budget, before := opts.Memory, v.snap.Copied
	if err == nil && opts.Follow != nil {
		v.copyFollowed(opts, deadline)
	}
	v.phase(PhaseStacks, true)
	if err == nil && opts.Memory > 0 {
		v.copyMemory(budget-min(budget, v.snap.Copied-before), deadline)
		v.phase(PhaseMemory, true)
	}
	return err
}

// shareForMaps is the part of the time that is left which the mappings may take, 1/4.
const shareForMaps = 4

// mapsAnswer is what the process has mapped now.
type mapsAnswer struct {
	alive bool // the address space is still the prepared one
	text  []byte
	err   error
}

// same reports whether nothing has changed.
func (a *mapsAnswer) same(text []byte) bool {
	return a.alive && a.err == nil && bytes.Equal(a.text, text)
}

// askForMaps reads the mappings again, in a goroutine of its own.
func (v *visit) askForMaps() <-chan mapsAnswer {
	said, read := make(chan mapsAnswer, 1), v.mapsReader()
	go func() { said <- read() }()
	return said
}

// mapsReader returns a function that reads the mappings again, and uses nothing of the visit
// that changes.
func (v *visit) mapsReader() func() mapsAnswer {
	mem, dir, room := v.mem, *v.dir, v.mapsRoom
	return func() (a mapsAnswer) {
		if a.alive = mem.Alive(); a.alive {
			a.text, a.err = dir.readInto(dir.memory("maps"), room)
		}
		return a
	}
}

// findMaps waits for the mappings, and finds out whether they are still the prepared
// ones. If a thread has their lock while it waits for a file, the visit goes on without
// memory.
func (v *visit) findMaps(said <-chan mapsAnswer, deadline time.Time) (changed bool, err error) {
	a, ok := receive(said, deadline)
	switch {
	case !ok:
		v.mem.lose()
		return false, nil
	case !a.alive:
		return false, errExecuted
	case a.err != nil:
		return false, v.dir.explain(a.err)
	case bytes.Equal(a.text, v.mapsText):
		return false, nil
	}
	return true, v.setMaps(a.text)
}

// check tells a process that could not be stopped from one that was.
func (v *visit) check(t *tracer) error {
	var refused error
	if v.snap.Slept > 0 {
		return nil
	}
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

// noteSize is the room for a struct elf_prstatus, in bytes.
const noteSize = arch.PrStatusRegs + maxRegset

// copyRegisters copies the registers of the threads that have stopped, behind
// the room for the head of a struct elf_prstatus.
func (v *visit) copyRegisters(tracees []tracee, tops *tops) {
	const size = noteSize
	room := v.notes
	if len(room) < size*len(tracees) {
		room = make([]byte, size*len(tracees))
	}
	v.known = make([]arch.Regs, 0, len(tracees))
	order := byteOrder(v.arch)
	v.regs = make([][]byte, len(tracees))
	v.fpRegs = make([][]byte, len(tracees))
	tops.expect(len(tracees) + len(v.sleepers.byID))
	for _, s := range v.sleepers.byID {
		tops.tell(halted{regs: &s.thread.Regs, wait: s.wait})
	}
	defer tops.all.Store(true)
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
		h := halted{regs: &v.known[len(v.known)-1]}
		if call, ok := arguments(v.arch, &regs, v.regs[i]); ok {
			h.wait = call.Args[0]
			v.waits = append(v.waits, h.wait)
		}
		if sp, ok := regs.Get(v.arch.SP); ok {
			h.sp = sp
			v.sps = append(v.sps, sp)
		}
		tops.tell(h)
		if len(v.arch.FPRegSet) > 0 {
			v.fpRegs[i], _ = regset(c.tid, ntFPRegSet, make([]byte, maxRegset))
		}
		if v.arch.PAC && v.pacMask == 0 { // the same for all threads
			masks, _ := regset(c.tid, ntARMPACMask, make([]byte, pacMaskSize)) // none without pointer authentication
			v.pacMask = insnMask(masks, order)
		}
	}
}
