package core

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sfcore/sfcore/memreader"
)

// sleeper is a thread that a snapshot does not stop: it has not run since an earlier
// one, but to fall asleep again where it was stopped.
type sleeper struct {
	thread Thread
	sp     uint64
	wait   uint64   // the first argument of its system call
	stack  []copied // ascending
	runs   runCount // while it sleeps
	file   int      // its schedstat; -1 if none is held open
}

// runCount is the text of /proc/PID/task/TID/schedstat: for how long a thread has run,
// has waited to run, and how often it began to run.
type runCount [64]byte

const (
	// maxSleepers bounds the threads that are not stopped, by the descriptors that they
	// take.
	maxSleepers = 4096
	// shareOfSleepers is the part of the descriptors, and of StackTotal, that threads
	// take which are not stopped, 1/2.
	shareOfSleepers = 2
	// namesEvery is after how many snapshots a thread that is not stopped is asked for its
	// name, which others may change.
	namesEvery = 16
	// maxConfirming bounds the time for which the stacks of threads that sleep are
	// compared with those of the snapshot before.
	maxConfirming = time.Second
)

// sleepers are the threads that are not stopped.
type sleepers struct {
	byID  map[int]*sleeper // by thread id
	bytes uint64           // of their stacks
	most  int              // how many there may be
	turn  int              // how often they were asked whether they sleep
}

func (s *sleepers) forget(tid int) {
	if t := s.byID[tid]; t != nil {
		delete(s.byID, tid)
		_ = unix.Close(t.file)
		for _, c := range t.stack {
			s.bytes -= uint64(len(c.data))
		}
	}
}

func (s *sleepers) close() {
	for tid := range s.byID {
		s.forget(tid)
	}
}

// limit returns how many threads may be let sleep.
func (s *sleepers) limit() int {
	if s.most == 0 {
		var files unix.Rlimit
		_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &files)
		s.most = int(min(files.Cur/shareOfSleepers, maxSleepers))
	}
	return s.most
}

// slept reports whether a sleeper has not run since it was seen asleep.
func (s *sleeper) slept() bool {
	now, ok := readRuns(s.file)
	return ok && now == s.runs
}

// readRuns reads a schedstat. It returns false if the thread has ended, or if the system
// does not count.
func readRuns(file int) (runs runCount, ok bool) {
	n, err := unix.Pread(file, runs[:], 0)
	return runs, err == nil && n < len(runs) && n > 0 && !bytes.HasPrefix(runs[:], []byte("0 0 0"))
}

// candidate is a thread that was stopped, and may have slept on since.
type candidate struct {
	sleeper
	copies []memreader.Copy // of its stack, as it is now
}

// candidate returns what a thread was in the snapshot before if it sleeps now in the
// same system call, and nil if it does not. It opens the thread's schedstat.
func (v *visit) candidate(tid int, call procSyscall) *candidate {
	old := v.before
	i, found := slices.BinarySearchFunc(old.threads, tid, func(th Thread, tid int) int { return cmp.Compare(th.ID, tid) })
	if !found || len(v.sleepers.byID) >= v.sleepers.limit() {
		return nil
	}
	c := &candidate{sleeper: sleeper{thread: old.threads[i], sp: call.sp}}
	th := &c.thread
	was, inCall := arguments(v.arch, &th.Regs, th.PrStatus)
	sp, _ := th.Regs.Get(v.arch.SP)
	pc, _ := th.Regs.Get(v.arch.PC)
	now := v.threads[tid]
	if th.Err != nil || th.Signal != 0 || th.State != Sleeping || now.state != Sleeping || th.Name != now.name || !inCall || sp != call.sp || pc != call.pc ||
		!slices.Equal(was.Args[:], call.args[:len(was.Args)]) {
		return nil
	}
	c.wait = was.Args[0]
	sps := []uint64{sp}
	if was, ok := interruptedSP(v.arch, sp, stackAt(old.stacks, sp)); ok {
		sps = append(sps, was)
	}
	for _, s := range spansWithin(sps, v.maps, old.budget) {
		data := stackAt(old.stacks, s.lo)
		if uint64(len(data)) < s.hi-s.lo {
			return nil
		}
		c.stack = append(c.stack, copied{span: s, data: data[:s.hi-s.lo]})
		c.copies = append(c.copies, memreader.Copy{Addr: s.lo, Data: make([]byte, s.hi-s.lo)})
	}
	if len(c.stack) == 0 {
		return nil
	}
	return c
}

// earlier is the snapshot before.
type earlier struct {
	threads []Thread // ascending
	stacks  []copied
	budget  uint64
}

// findSleepers finds the threads that sleep since the snapshot before, among those that
// say that they sleep. A stack that is the same was not left: registers that the system
// does not tell of a thread that sleeps are then taken to be the same, too.
func (v *visit) findSleepers(opts *AttachOptions) {
	if v.before == nil {
		return
	}
	left := opts.StackTotal/shareOfSleepers - min(opts.StackTotal/shareOfSleepers, v.sleepers.bytes)
	var all []*candidate
	var copies []memreader.Copy
	for tid := range v.asleep {
		if c := v.confirmable(tid, &left); c != nil {
			all, copies = append(all, c), append(copies, c.copies...)
		}
	}
	v.before = nil // which may hold much memory
	done := v.copyUntil(copies, time.Now().Add(maxConfirming))
	for _, c := range all {
		n := len(c.copies)
		if same(c.stack, copies[:n], done[:n]) && c.slept() && len(v.sleepers.byID) < v.sleepers.limit() {
			v.keepSleeper(&c.sleeper)
		} else {
			_ = unix.Close(c.file)
		}
		copies, done = copies[n:], done[n:]
	}
}

// confirmable opens the schedstat of a thread that sleeps, and looks whether it sleeps
// where it was stopped.
func (v *visit) confirmable(tid int, left *uint64) *candidate {
	file, err := unix.Openat(v.dir.fd, "task/"+strconv.Itoa(tid)+"/schedstat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	runs, ok := readRuns(file)
	if ok {
		if call, asleep := v.dir.syscall(tid); asleep && call.number >= 0 {
			if c := v.candidate(tid, call); c != nil && c.size() <= *left {
				*left -= c.size()
				c.runs, c.file = runs, file
				return c
			}
		}
	}
	_ = unix.Close(file)
	return nil
}

func (c *candidate) size() (n uint64) {
	for _, s := range c.stack {
		n += uint64(len(s.data))
	}
	return n
}

// same reports whether copies are complete and have the bytes of a stack.
func same(stack []copied, copies []memreader.Copy, done []bool) bool {
	for i := range stack {
		if !done[i] || copies[i].Err != nil || !bytes.Equal(copies[i].Data[:copies[i].N], stack[i].data) {
			return false
		}
	}
	return true
}

// keepSleeper keeps a sleeper, with memory of its own: that of a snapshot is large.
func (v *visit) keepSleeper(s *sleeper) {
	for i := range s.stack {
		s.stack[i].data = bytes.Clone(s.stack[i].data)
		v.sleepers.bytes += uint64(len(s.stack[i].data))
	}
	th := &s.thread
	th.Same, th.PrStatus, th.FPRegSet = true, bytes.Clone(th.PrStatus), bytes.Clone(th.FPRegSet)
	if v.sleepers.byID == nil {
		v.sleepers.byID = map[int]*sleeper{}
	}
	v.sleepers.byID[th.ID] = s
	delete(v.threads, th.ID)
	delete(v.asleep, th.ID)
}

// stopWoken stops the sleepers that have run meanwhile, until all others stand still or
// sleep at one moment.
func (v *visit) stopWoken(t *tracer) error {
	for {
		woken, late := 0, time.Now().After(t.deadline)
		for tid, s := range v.sleepers.byID {
			if s.slept() {
				continue
			}
			v.sleepers.forget(tid)
			if woken++; late {
				t.tracees = append(t.tracees, tracee{tid: tid, step: missed, err: errLate})
			} else {
				delete(t.known, tid)
			}
		}
		t.sleeping = len(v.sleepers.byID)
		if woken == 0 || late {
			return nil
		}
		if _, err := t.seizeNew(true); err != nil {
			return err
		}
		if err := t.stopAll(); err != nil {
			return err
		}
	}
}

// addSleepers adds the stacks of the sleepers, where they are not copied with another.
func (v *visit) addSleepers() {
	var kept []copied
	for _, s := range v.sleepers.byID {
		kept = append(kept, s.stack...)
		v.known, v.waits = append(v.known, s.thread.Regs), append(v.waits, s.wait)
	}
	if len(kept) == 0 {
		return
	}
	slices.SortFunc(kept, func(a, b copied) int { return cmp.Compare(a.lo, b.lo) })
	fresh, end := v.ascending(), uint64(0)
	for _, c := range kept {
		for _, s := range without([]span{{max(c.lo, min(end, c.hi)), c.hi, c.end}}, fresh) {
			v.stacks = append(v.stacks, copied{span: s, data: c.data[s.lo-c.lo : s.hi-c.lo]})
		}
		end = max(end, c.hi)
	}
	v.stacks = v.ascending()
}

// withFirstStack adds a stack pointer for the stack that the process began on, unless a
// thread has one in it, be it asleep.
func (v *visit) withFirstStack(sps []uint64, budget uint64) []uint64 {
	all := make([]uint64, 0, len(v.sleepers.byID)+len(sps)+1)
	for _, s := range v.sleepers.byID {
		all = append(all, s.sp)
	}
	n := len(all)
	return withFirstStack(append(all, sps...), v.maps, budget)[n:]
}
