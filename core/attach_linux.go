package core

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/memreader"
)

// maxExecs is how often a process may start another program, between the
// preparation and the stop, before Attach gives up.
const maxExecs = 8

var (
	errExecuted = errors.New("the process keeps starting other programs (execve)")
	errNoMemory = errors.New("the process has no memory of its own: it is a kernel thread, or about to end")
)

// Attach makes an image of process pid as it is at one moment. It first prepares
// everything that it can while the process runs. Then it stops all threads,
// copies their registers and the used parts of their stacks, and of the stack
// that the process began on, and lets the threads go. Of other memory the image
// holds only what opts.Memory asks for, the first pages of mapped ELF files and
// the vDSO. Code that is in no file is read when it is needed, as it is then.
//
// The process continues whatever happens to the caller, even if the caller is
// killed while it holds the process. Attach does not hold it for longer than
// opts.MaxStop.
//
// Threads that cannot be stopped are in the image without registers, with the
// reason. The error matches [ErrNoProcess] if there is no such process, and
// [ErrDenied] if access is denied. Attach needs Linux.
func Attach(ctx context.Context, pid int, opts AttachOptions) (*Image, error) {
	if opts.StackBudget == 0 {
		opts.StackBudget = DefaultStackBudget
	}
	if opts.StackTotal == 0 {
		opts.StackTotal = DefaultStackTotal
	}
	if opts.MaxStop == 0 {
		opts.MaxStop = DefaultMaxStop
	}
	if pid == os.Getpid() {
		return nil, fmt.Errorf("process %d is sfcore, which cannot stop itself", pid)
	}
	if err := checkTracers(pid); err != nil {
		return nil, err
	}
	var img *Image
	err := takeTurns(func() (err error) {
		img, err = visitOnce(ctx, pid, &opts)
		return err
	})
	return img, err
}

// visitOnce makes an image of a process that nobody else visits. It begins again when
// the process executes another program.
func visitOnce(ctx context.Context, pid int, opts *AttachOptions) (*Image, error) {
	return tryAgain(ctx, pid, func() (*Image, bool, error) {
		v := begin(pid, opts)
		if err := v.prepareInTime(ctx, opts); err != nil {
			return nil, executes(err), err
		}
		err := v.stop(opts)
		if err == nil {
			return v.image(), false, nil
		}
		if errors.Is(err, errSeizing) {
			return nil, false, err // the tracer's thread still uses v
		}
		v.close()
		return nil, passes(err), err
	})
}

// passes reports whether a process that could not be stopped may be stopped the next
// time. It was not denied before: most likely a thread is in execve.
func passes(err error) bool {
	busy := (*busyError)(nil)
	return executes(err) || errors.Is(err, ErrDenied) && !errors.As(err, &busy)
}

// executes reports whether a visit failed because the process began another program.
func executes(err error) bool { return errors.Is(err, errExecuted) || errors.Is(err, errNoMemory) }

// tryAgain calls visit as long as it says that the next time may be better.
func tryAgain(ctx context.Context, pid int, visit func() (img *Image, again bool, err error)) (*Image, error) {
	var err error
	for try := range maxExecs {
		time.Sleep(time.Duration(try) * time.Millisecond)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		img, again, why := visit()
		if !again {
			return img, why
		}
		err = why
	}
	if errors.Is(err, ErrDenied) {
		return nil, err
	}
	return nil, fmt.Errorf("process %d: %w", pid, err)
}

// visit is one snapshot of a process in the making.
type visit struct {
	pid   int
	dir   *procDir
	mem   *carefulMemory
	arch  *arch.Arch
	auxv  Auxv
	files *heldFiles
	root  *os.File // nil if nothing may be looked for below it
	// command and executable are as in Image.
	command, executable string

	mapsText []byte // the file that maps was made of
	mapsRoom []byte // for reading it again
	maps     []procMapping
	// threads is what /proc said of the threads before they were stopped.
	threads map[int]procStat
	asleep  map[int]procSyscall // those that slept
	nsIDs   map[int]int
	// sleepers are not stopped. before is what is used of the snapshot before; nil if
	// there is none, or if all threads are stopped.
	sleepers sleepers
	before   *earlier
	heads    []memreader.Segment // memory that does not change

	snap    Snapshot
	clock   time.Time
	began   time.Duration // processor time that was used before the visit
	tracees []tracee
	regs    [][]byte // by tracee: NT_PRSTATUS, nil if unknown
	fpRegs  [][]byte // by tracee: NT_FPREGSET
	pacMask uint64
	sps     []uint64
	known   []arch.Regs // of the threads that have stopped
	waits   []uint64    // the first arguments of their system calls
	notes   []byte      // room for registers
	topRoom []byte      // for the tops of stacks
	room    []byte      // for longer stacks
	tops    *tops       // if they are all that was to be copied
	have    []copied    // the tops that are there when more is copied; ascending
	stacks  []copied
	over    bool // it holds nothing open any more
}

// phase ends a phase that began where the one before it ended.
func (v *visit) phase(name string, held bool) {
	now := time.Now()
	v.snap.Phases = append(v.snap.Phases, Phase{Name: name, Took: now.Sub(v.clock), Held: held})
	v.clock = now
}

// takeOver begins a visit with what an earlier one holds, which need not be closed
// any more.
func (v *visit) takeOver(old *visit) {
	v.dir, v.mem, v.files, v.root = old.dir, old.mem, old.files, old.root
	v.arch, v.auxv, v.command, v.executable = old.arch, old.auxv, old.command, old.executable
	v.mapsText, v.maps, v.heads = old.mapsText, old.maps, old.heads
	v.sleepers = old.sleepers
	old.over = true
}

func (v *visit) close() {
	if v.over {
		return
	}
	v.over = true
	v.sleepers.close()
	v.files.close()
	if v.root != nil {
		v.root.Close()
	}
	if v.mem != nil {
		_ = v.mem.Close()
	}
	v.dir.close()
}

// begin begins a visit of a process, with what an earlier snapshot of it holds open
// unless another visit took that over.
func begin(pid int, opts *AttachOptions) *visit {
	v := &visit{clock: time.Now(), began: processorTime(), pid: pid}
	if after := opts.After; after != nil && after.PID == pid {
		if mem, ok := after.Mem.(*liveMemory); ok && !mem.visit.over {
			v.takeOver(mem.visit)
			if opts.LetSleep {
				v.before = &earlier{after.Threads, mem.visit.stacks, mem.visit.snap.StackBudget}
			}
		}
	}
	return v
}

// prepare finds out everything that it can while the process runs. If that fails, the
// visit is closed.
func (v *visit) prepare(opts *AttachOptions) error {
	if v.dir == nil {
		var err error
		if v.dir, err = openProc(v.pid); errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("process %d: %w", v.pid, ErrNoProcess)
		} else if err != nil {
			return (&procDir{pid: v.pid, fd: -1}).explain(err)
		}
		v.files = newHeldFiles()
	}
	if err := v.lookAround(opts); err != nil {
		v.close()
		return err
	}
	v.phase(PhasePrepare, false)
	return nil
}

func (v *visit) lookAround(opts *AttachOptions) error {
	if err := v.openMemory(); err != nil {
		return err
	}
	if err := v.lookAtMaps(opts); err != nil {
		return err
	}
	keepOwnCode()
	if err := v.readThreads(); err != nil {
		return err
	}
	v.findSleepers(opts)
	if err := v.makeRoom(opts); err != nil {
		return err
	}
	return v.awaitExec()
}

// openMemory opens the memory of the process, unless it has ended.
func (v *visit) openMemory() error {
	pid := v.dir.pid
	text, err := v.dir.read("status")
	if err != nil {
		return v.dir.explain(err)
	}
	status := parseStatus(text)
	if leader := status.number("Tgid", 0); leader != pid {
		return fmt.Errorf("%d is a thread of process %d; use the id of the process", pid, leader)
	}
	leader, err := v.dir.stat("stat")
	if err != nil {
		return v.dir.explain(err)
	}
	v.snap.Started = leader.started
	if leader.state == Zombie && !v.dir.findAlive() {
		return fmt.Errorf("process %d has ended and is a zombie until its parent waits for it: %w", pid, ErrNoProcess)
	}
	if v.mem == nil {
		mem, err := memreader.OpenLive(v.dir.alive)
		if errors.Is(err, unix.ESRCH) && v.dir.has("status") {
			return errNoMemory
		} else if err != nil {
			return v.dir.explain(err)
		}
		v.mem = &carefulMemory{Live: mem}
	}
	if !v.mem.Alive() { // which waits for the lock of the mappings, and can be killed
		return errNoMemory
	}
	if v.dir.link("ns/pid") != ownNamespace("pid") {
		v.snap.NSPID = status.innermost()
	}
	return nil
}

// lookAtMaps reads the mappings, and opens the mapped files, unless the mappings are
// those that are known.
func (v *visit) lookAtMaps(opts *AttachOptions) error {
	if v.mem.pagemap == nil {
		v.mem.pagemap, _ = v.dir.open(v.dir.memory("pagemap"), os.O_RDONLY)
	}
	text, err := v.dir.read(v.dir.memory("maps"))
	switch {
	case err != nil:
		return v.dir.explain(err)
	case len(text) == 0:
		return errNoMemory
	case bytes.Equal(text, v.mapsText):
		return nil
	}
	if !opts.FUSE {
		v.files.mounted, v.files.mayHang = v.dir.fileSystems()
	}
	if err := v.setMaps(text); err != nil {
		return err
	}
	if v.arch == nil {
		if err := v.lookAtProgram(); err != nil {
			return err
		}
	}
	v.files.hold(v.dir, v.maps)
	v.copyHeads(time.Now().Add(maxOpening))
	return nil
}

// lookAtProgram finds out what the process runs. That does not change before it
// executes another program.
func (v *visit) lookAtProgram() error {
	var err error
	if v.arch, err = v.findArch(); err != nil {
		return err
	}
	if auxv, err := v.dir.read(v.dir.memory("auxv")); err == nil {
		v.auxv = parseAuxv(auxv, byteOrder(v.arch))
	}
	v.command = v.dir.commandLine()
	v.executable, _ = strings.CutSuffix(v.dir.link(v.dir.memory("exe")), deletedSuffix)
	v.openRoot()
	return nil
}

// setMaps decodes the mappings, and keeps reads away from those of files that may
// never answer.
func (v *visit) setMaps(text []byte) (err error) {
	if v.maps, err = parseMaps(text); err != nil {
		return err
	}
	v.mapsText = text
	var doubtful []span
	for i := range v.maps {
		if m := &v.maps[i]; v.files.doubt(m) != "" {
			doubtful = append(doubtful, span{m.Lo, m.Hi, m.Hi})
		}
	}
	v.mem.avoid(doubtful)
	return nil
}

// openRoot opens the root directory of the process, unless something below it may
// never answer that is not mounted here.
func (v *visit) openRoot() {
	shared := v.dir.link("ns/mnt") == ownNamespace("mnt") && v.dir.link(v.dir.memory("root")) == "/"
	if !shared && v.files.mayHang {
		v.files.problems = append(v.files.problems,
			errors.New("no files are looked for where the process sees them: it has mounted FUSE, or an overlay of its own, which may never answer"))
		return
	}
	v.root, _ = v.dir.open(v.dir.memory("root"), unix.O_PATH|unix.O_DIRECTORY)
}

// readThreads looks at all threads.
func (v *visit) readThreads() error {
	tids, err := v.dir.threads()
	if err != nil {
		return err
	}
	v.threads, v.nsIDs = make(map[int]procStat, len(tids)), map[int]int{}
	v.asleep = make(map[int]procSyscall, len(tids))
	v.sleepers.turn++
	for i, tid := range tids {
		if s := v.sleepers.byID[tid]; s != nil && v.before != nil && s.slept() &&
			((i+v.sleepers.turn)%namesEvery != 0 || v.dir.name(tid) == s.thread.Name) {
			continue
		}
		v.sleepers.forget(tid)
		v.readThread(tid)
		if call, ok := v.dir.syscall(tid); ok {
			v.asleep[tid] = call
		}
	}
	return nil
}

// usualStack is how much room is made for the stack of a thread that runs, in bytes.
const usualStack = 16 << 10

// newThreads is how many threads may begin before the process is stopped, and have room.
const newThreads = 16

// makeRoom makes room for the stacks as they are now. Making it while the process is
// stopped takes longer than the copying.
func (v *visit) makeRoom(opts *AttachOptions) error {
	var sps []uint64
	for _, call := range v.asleep {
		sps = append(sps, call.sp)
	}
	tops := uint64(len(v.threads)-len(v.asleep)) * (topSize + redZone)
	for _, sp := range sps {
		if m := mappingOf(v.maps, sp); m != nil {
			tops += topOf(sp, m).size()
		}
	}
	tops = min(tops, opts.StackTotal)
	each := eachBudget(sps, v.maps, opts.StackBudget, opts.StackTotal)
	size := uint64(usualStack)
	for _, s := range spansWithin(v.withFirstStack(sps, each), v.maps, each) {
		if s.size() > topSize+redZone {
			size += s.size()
		}
	}
	size = min(size, opts.StackTotal)
	memory := uint64(0)
	for _, s := range memorySpans(v.maps) {
		memory += s.hi - s.lo
	}
	memory = min(memory, opts.Memory)
	if err := checkRoom(tops + size + memory); err != nil {
		return fmt.Errorf("process %d: no room for copies of %d bytes of stacks and %d of other memory: %w", v.dir.pid, tops+size, memory, err)
	}
	v.mapsRoom = ready(uint64(len(v.mapsText)) + 64<<10)[:0]
	v.topRoom, v.room, v.notes = ready(tops), ready(size+memory), ready(noteSize*uint64(len(v.threads)+newThreads))
	clear(v.notes)
	return nil
}

// ready returns room whose pages exist when the process is stopped.
func ready(size uint64) []byte {
	room := make([]byte, size)
	for i := 0; i < len(room); i += headSize {
		room[i] = 1
	}
	return room
}

// checkRoom asks whether the system gives so much memory: what the Go runtime cannot
// get ends the program with a stack trace.
func checkRoom(size uint64) error {
	if size > math.MaxInt {
		return unix.ENOMEM
	}
	room, err := unix.Mmap(-1, 0, int(max(size, 1)), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return err
	}
	return unix.Munmap(room)
}

func (v *visit) readThread(tid int) {
	dir := "task/" + strconv.Itoa(tid)
	if st, err := v.dir.stat(dir + "/stat"); err == nil {
		v.threads[tid] = st
	}
	if v.snap.NSPID != 0 {
		v.nsIDs[tid] = v.dir.status(dir + "/status").innermost()
	}
}

const (
	// headSize is how much of a mapped ELF file is copied to recognise it by:
	// as much as the kernel puts into a core file, its first page.
	headSize = 4096
)

// headCopies returns what to copy of the mapped files with code, and of the
// vDSO.
func (v *visit) headCopies() []memreader.Copy {
	code := map[string]bool{}
	for i := range v.maps {
		if m := &v.maps[i]; m.Exec && m.inode != 0 {
			code[fileKey(m)] = true
		}
	}
	vdso, _ := v.auxv.Get(ATSysinfoEhdr)
	var list []memreader.Copy
	for i := range v.maps {
		m := &v.maps[i]
		switch {
		case m.Lo == vdso:
			list = append(list, memreader.Copy{Addr: m.Lo, Data: make([]byte, min(m.Hi-m.Lo, maxVDSO))})
		case m.Off == 0 && m.read && m.inode != 0 && code[fileKey(m)]:
			list = append(list, memreader.Copy{Addr: m.Lo, Data: make([]byte, min(m.Hi-m.Lo, headSize))})
		}
	}
	return list
}

// copyHeads copies them until the deadline.
func (v *visit) copyHeads(deadline time.Time) {
	list := v.headCopies()
	v.heads = nil
	for i, done := range v.copyUntil(list, deadline) {
		if c := &list[i]; done {
			v.heads = append(v.heads, memreader.Segment{Addr: c.Addr, Size: uint64(c.N), Data: c.Data[:c.N]})
		}
	}
}
