package core

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

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
	if opts.MaxStop == 0 {
		opts.MaxStop = DefaultMaxStop
	}
	if pid == os.Getpid() {
		return nil, fmt.Errorf("process %d is sfcore, which cannot stop itself", pid)
	}
	var err error
	for try := range maxExecs {
		time.Sleep(time.Duration(try) * time.Millisecond)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var v *visit
		if v, err = prepare(pid); err == nil {
			if err = v.stop(opts); err == nil {
				return v.image(), nil
			}
			v.close()
			if errors.Is(err, ErrDenied) {
				continue // it was not denied before: most likely a thread in execve
			}
		}
		if !errors.Is(err, errExecuted) && !errors.Is(err, errNoMemory) {
			return nil, err
		}
	}
	if errors.Is(err, ErrDenied) {
		return nil, err
	}
	return nil, fmt.Errorf("process %d: %w", pid, err)
}

// visit is one snapshot of a process in the making.
type visit struct {
	dir   *procDir
	mem   *memreader.Live
	arch  *arch.Arch
	auxv  Auxv
	files *heldFiles
	// command and executable are as in Image.
	command, executable string

	mapsText []byte
	maps     []procMapping
	// threads is what /proc said of the threads before they were stopped.
	threads map[int]procStat
	nsIDs   map[int]int
	heads   []memreader.Segment // memory that does not change

	snap    Snapshot
	clock   time.Time
	tracees []tracee
	regs    [][]byte // by tracee: NT_PRSTATUS, nil if unknown
	fpRegs  [][]byte // by tracee: NT_FPREGSET
	pacMask uint64
	sps     []uint64
	known   []arch.Regs // of the threads that have stopped
	room    []byte      // for stacks
	stacks  []copied
}

// phase ends a phase that began where the one before it ended.
func (v *visit) phase(name string, held bool) {
	now := time.Now()
	v.snap.Phases = append(v.snap.Phases, Phase{Name: name, Took: now.Sub(v.clock), Held: held})
	v.clock = now
}

func (v *visit) close() {
	v.files.close()
	if v.mem != nil {
		v.mem.Close()
	}
	v.dir.close()
}

// prepare finds out everything that it can while the process runs.
func prepare(pid int) (*visit, error) {
	v := &visit{clock: time.Now(), files: newHeldFiles()}
	var err error
	if v.dir, err = openProc(pid); errors.Is(err, os.ErrNotExist) {
		err = ErrNoProcess
	}
	if err != nil {
		return nil, fmt.Errorf("process %d: %w", pid, err)
	}
	if err := v.lookAround(); err != nil {
		v.close()
		return nil, err
	}
	v.phase(PhasePrepare, false)
	return v, nil
}

func (v *visit) lookAround() error {
	pid := v.dir.pid
	status := v.dir.status("status")
	switch leader := status.number("Tgid", 0); {
	case len(status) == 0:
		return fmt.Errorf("process %d: %w", pid, ErrNoProcess)
	case leader != pid:
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
	if v.mem, err = memreader.OpenLive(v.dir.alive); err != nil {
		return v.dir.explain(err)
	}
	if v.mapsText, err = v.dir.read(v.dir.memory("maps")); err != nil {
		return v.dir.explain(err)
	}
	if len(v.mapsText) == 0 {
		return errNoMemory
	}
	if v.maps, err = parseMaps(v.mapsText); err != nil {
		return err
	}
	if v.arch, err = v.dir.arch(); err != nil {
		return err
	}
	if auxv, err := v.dir.read(v.dir.memory("auxv")); err == nil {
		v.auxv = parseAuxv(auxv, byteOrder(v.arch))
	}
	if v.dir.link("ns/pid") != ownPIDNamespace() {
		v.snap.NSPID = status.innermost()
	}
	v.command = v.dir.commandLine()
	v.executable, _ = strings.CutSuffix(v.dir.link(v.dir.memory("exe")), deletedSuffix)
	v.files.hold(v.dir, v.maps)
	heads := v.headCopies()
	v.mem.ReadAll(heads, nil)
	v.setHeads(heads)
	return v.readThreads()
}

// readThreads looks at all threads.
func (v *visit) readThreads() error {
	tids, err := v.dir.threads()
	if err != nil {
		return err
	}
	v.threads, v.nsIDs = make(map[int]procStat, len(tids)), map[int]int{}
	for _, tid := range tids {
		v.readThread(tid)
	}
	v.room = make([]byte, min(len(tids)*usualStack, maxRoom))
	for i := 0; i < len(v.room); i += headSize {
		v.room[i] = 1 // so that the page exists when the process is stopped
	}
	return nil
}

const (
	// usualStack is how much room is made for each stack beforehand, in bytes.
	// Making it while the process is stopped takes as long as the copying.
	usualStack = 16 << 10

	// maxRoom bounds that room, in bytes.
	maxRoom = 64 << 20
)

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

func (v *visit) setHeads(heads []memreader.Copy) {
	v.heads = nil
	for _, c := range heads {
		v.heads = append(v.heads, memreader.Segment{Addr: c.Addr, Size: uint64(c.N), Data: c.Data[:c.N]})
	}
}
