package core

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/memreader"
)

// image makes an image from the copies of the visit, which it then owns.
func (v *visit) image() *Image {
	v.files.hold(v.dir, v.maps)
	present := &presentMemory{v.mem, v.mem.lose}
	img := &Image{
		Arch: v.arch, PID: v.dir.pid, Name: v.name(), Auxv: v.auxv,
		Command: v.command, Executable: v.executable, Live: &v.snap, Process: present,
		Mappings: make([]Mapping, len(v.maps)),
		Problems: v.files.problems,
		OnClose:  v.close,
	}
	if v.root != nil {
		img.Root = fmt.Sprintf("/proc/self/fd/%d", v.root.Fd())
	}
	for i := range v.maps {
		m := &v.maps[i]
		img.Mappings[i] = m.Mapping
		img.Mappings[i].File = v.files.name(m)
		img.Mappings[i].Unanswering = v.files.doubt(m) != ""
	}
	img.Mem = &liveMemory{Space: v.space(), process: present, image: img, visit: v}
	for i := range v.tracees {
		if v.tracees[i].step != ended {
			img.Threads = append(img.Threads, v.thread(i))
		}
	}
	for _, s := range v.sleepers.byID {
		img.Threads = append(img.Threads, s.thread)
	}
	slices.SortFunc(img.Threads, func(a, b Thread) int { return cmp.Compare(a.ID, b.ID) })
	v.phase(PhaseComplete, false)
	return img
}

// name returns the name of the first thread.
func (v *visit) name() string {
	if s := v.sleepers.byID[v.dir.pid]; s != nil {
		return s.thread.Name
	}
	return v.threads[v.dir.pid].name
}

// thread makes the thread of a tracee.
func (v *visit) thread(i int) Thread {
	c := &v.tracees[i]
	st, ok := v.threads[c.tid]
	if !ok {
		v.readThread(c.tid)
		st = v.threads[c.tid]
	}
	t := Thread{
		ID: c.tid, NSID: v.nsIDs[c.tid], Name: st.name, State: st.state, Err: c.err,
		PrStatus: v.regs[i], FPRegSet: v.fpRegs[i], PACMask: v.pacMask,
	}
	if t.PACMask == 0 {
		t.PACMask = v.arch.PACMask
	}
	switch {
	case c.stop.groupStop():
		t.State, t.Signal = Stopped, c.stop.signal
	case errors.Is(c.err, errZombie):
		t.State = Zombie
	case errors.Is(c.err, errUninterruptible):
		t.State = Uninterruptible
	case c.stop.event == 0:
		t.Signal = c.stop.signal
	}
	order := byteOrder(v.arch)
	setRegs(&t.Regs, v.arch.PrStatus, t.PrStatus, order)
	pc, _ := t.Regs.Get(v.arch.PC)
	sp, _ := t.Regs.Get(v.arch.SP)
	if st.worker && t.Err == nil && pc == 0 && sp == 0 { // old kernels use a flag for something else
		t.State, t.Err, t.Regs, t.PrStatus, t.FPRegSet = KernelWorker, errWorker, arch.Regs{}, nil, nil
		return t
	}
	if t.State == "" && t.Err == nil {
		t.State = Running // it is new, and has ended since
	}
	setRegs(&t.Regs, v.arch.FPRegSet, t.FPRegSet, order)
	return t
}

var errWorker = errors.New("the thread works for the kernel (io_uring or vhost) and runs no code of the process")

// space is the copied memory. Stacks come first, then the parts of stacks beyond the
// budget, the heads of files, and everything else that is mapped.
func (v *visit) space() *memreader.Space {
	segs := make([]memreader.Segment, 0, len(v.maps)+len(v.heads)+2*len(v.stacks))
	for i := range v.maps {
		m := &v.maps[i]
		segs = append(segs, memreader.Segment{Addr: m.Lo, Size: m.Hi - m.Lo, Why: memreader.NotCopied})
	}
	segs = append(segs, v.heads...)
	for _, s := range v.stacks {
		segs = append(segs, memreader.Segment{Addr: s.lo, Size: s.end - s.lo, Why: memreader.OverBudget})
	}
	for _, s := range v.stacks {
		seg := memreader.Segment{Addr: s.lo, Size: s.hi - s.lo, Data: s.data, Why: memreader.NotCopied}
		if fault := (*memreader.FaultError)(nil); errors.As(s.err, &fault) {
			seg.Why = fault.Why
		}
		segs = append(segs, seg)
	}
	return memreader.NewSpace(segs)
}

// maxCommand bounds the arguments that are kept, in bytes. More would not help to
// tell processes apart.
const maxCommand = 4096

// commandLine returns the arguments of the process, separated by spaces.
func (d *procDir) commandLine() string {
	text, _ := d.read(d.memory("cmdline"))
	text = bytes.TrimRight(text[:min(len(text), maxCommand)], "\x00")
	return string(bytes.ReplaceAll(text, []byte{0}, []byte{' '}))
}

// liveMemory is the copied memory, and code that is in no ELF file. Such code is
// read from the process, which may have changed it since the stop.
type liveMemory struct {
	*memreader.Space
	process memreader.Reader
	image   *Image
	visit   *visit
}

// ReadMem implements memreader.Reader.
func (l *liveMemory) ReadMem(p []byte, addr uint64) (int, error) {
	n, err := l.Space.ReadMem(p, addr)
	if n == len(p) {
		return n, nil
	}
	at := addr + uint64(n)
	m := l.image.Mapping(at)
	if fault := (*memreader.FaultError)(nil); !errors.As(err, &fault) || fault.Why != memreader.NotCopied ||
		m == nil || !m.Exec || m.File != "" {
		return n, err
	}
	k, _ := l.process.ReadMem(p[n:n+int(min(uint64(len(p)-n), m.Hi-at))], at)
	return n + k, err
}
