package gostack

import (
	"errors"
	"fmt"
	"iter"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/unwind/pclntab"
)

// Program is a Go program in memory. Its goroutines are found by the shape of the
// runtime's structures, without symbols and debug information.
type Program struct {
	Arch *arch.Arch
	Mem  memreader.Reader
	// Version is the version of Go that built the program, as "go1.26.1".
	Version string
	// Data is the memory of the program's variables. Only Addr and Size are used.
	Data []memreader.Segment
	// Find returns the Go function that is at an address.
	Find func(addr uint64) (pclntab.Func, bool)
}

// Goroutine is a goroutine that is alive.
type Goroutine struct {
	// ID is its number.
	ID int64
	// Status is as Go's tracebacks have it: idle, runnable, running, syscall,
	// waiting, copystack, preempted or leaked; "status N" if it is another.
	Status string
	// WaitReason is what a waiting goroutine waits for, in the words of its version
	// of Go; "" if unknown.
	WaitReason string
	// TID is the id of the thread that runs it, in the process's own pid namespace;
	// 0 if none does.
	TID int
	// Start is the address of its first function, Created the address after the go
	// statement that made it; 0 if unknown.
	Start, Created uint64
	// StackHi is the end of its stack.
	StackHi uint64
	// Saved are the registers with which it continues if no thread runs it.
	Saved Saved
}

// Saved are the registers that Go's scheduler saved of a goroutine, and the address
// of its structure g. LR and FP are 0 if they were not saved.
type Saved struct{ G, PC, SP, LR, FP uint64 }

// Regs returns the registers as they are when the goroutine continues.
func (s *Saved) Regs(a *arch.Arch) arch.Regs {
	var regs arch.Regs
	regs.Set(a.PC, s.PC)
	regs.Set(a.SP, s.SP)
	if abi := abiOf(a); abi != nil {
		regs.Set(abi.g, s.G)
	}
	if s.FP != 0 && a.FP != arch.NoReg {
		regs.Set(a.FP, s.FP)
	}
	if s.LR != 0 && a.LR != arch.NoReg {
		regs.Set(a.LR, s.LR)
	}
	return regs
}

// fields holds the offsets in g, in bytes, that differ between versions of Go
// [src/runtime/runtime2.go: g].
type fields struct {
	minor int // from Go 1.minor on
	layout
	syscallSP, status, id, waitReason uint64
	created, start                    uint64
}

// versions are the layouts from Go 1.18 on, as the debug information of programs by
// Go 1.18, 1.20 to 1.26 has them, for amd64 and s390x alike.
var versions = []fields{
	{18, layouts[1], 112, 144, 152, 176, 296, 312},
	{21, layouts[1], 112, 144, 152, 176, 280, 296},
	{23, layouts[1], 112, 152, 160, 184, 288, 304},
	{25, layouts[0], 104, 144, 152, 176, 280, 296},
	{26, layouts[0], 104, 144, 152, 176, 288, 304},
}

const (
	gSchedG = 72 // g.sched.g
	gSaved  = 8  // from g.syscallsp to g.syscallpc, and from g.sched.lr to g.sched.bp
	mProcID = 8  // from m.procid to m.gsignal
)

// States of a goroutine [src/runtime/runtime2.go].
const (
	gSyscall   = 3
	gWaiting   = 4
	gDead      = 6
	gDeadExtra = 11     // of a thread that may call Go from C; from Go 1.26 on
	gScan      = 0x1000 // its stack is being scanned, in addition to its other state
)

// statuses are the names of states [src/runtime/traceback.go: gStatusStrings].
var statuses = []string{
	"idle", "runnable", "running", "syscall", "waiting", 6: "dead", 8: "copystack", 9: "preempted", 10: "leaked",
}

// stateOf returns the name of a goroutine's state, and whether the goroutine is alive.
func stateOf(status uint64) (name string, alive bool) {
	s := status &^ gScan
	if s < uint64(len(statuses)) {
		name = statuses[s]
	}
	if name == "" {
		name = fmt.Sprintf("status %d", s)
	}
	return name, s != gDead && s != gDeadExtra
}

// Errors of [Program.Goroutines].
var (
	errVersion = errors.New("the version of Go that built the program is unknown")
	errNoAllgs = errors.New("the runtime's list of goroutines is not in memory")
	errFields  = errors.New("the structures of goroutines are not those of this version")
)

// version returns the layout of g for a version of Go.
func version(name string) (*fields, error) {
	var minor int
	if n, _ := fmt.Sscanf(name, "go1.%d", &minor); n != 1 {
		return nil, errVersion
	}
	for i := len(versions) - 1; i >= 0; i-- {
		if versions[i].minor <= minor {
			return &versions[i], nil
		}
	}
	return nil, fmt.Errorf("the structures of %s are not known", name)
}

// Goroutines returns the goroutines that are alive, in the order in which the
// runtime has them. A goroutine whose structure cannot be read has only Saved.G.
//
// The error says that the version of Go is not known, or that the runtime's list of
// goroutines was not found in Data, or that it does not hold goroutines of that
// version.
func (p *Program) Goroutines() (iter.Seq[Goroutine], error) {
	v, err := version(p.Version)
	if err != nil {
		return nil, err
	}
	l := lister{Program: p, fields: v, mem: memreader.Words{R: p.Mem, BigEndian: p.Arch.BigEndian}}
	if abiOf(p.Arch) == nil {
		return nil, fmt.Errorf("the runtime of Go on %s is not known", p.Arch.Name)
	}
	if l.search(); l.allgs.n == 0 {
		return nil, errNoAllgs
	}
	if err := l.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", p.Version, err)
	}
	return func(yield func(Goroutine) bool) {
		for i := range l.allgs.n {
			if g, alive := l.goroutine(i); alive && !yield(g) {
				return
			}
		}
	}, nil
}

// lister reads the runtime's structures.
type lister struct {
	*Program
	*fields
	mem     memreader.Words
	allgs   array
	reasons uint64 // the address of runtime.waitReasonStrings; 0 if unknown
	names   map[uint64]string
}

// at returns the address of goroutine number i; 0 if it cannot be read.
func (l *lister) at(i uint64) uint64 {
	g, _ := l.mem.Uint64(l.allgs.addr + i*8)
	return g
}

// maxChecked bounds the goroutines by which a layout is checked.
const maxChecked = 64

// check compares the first goroutines with the layout. Each that can be read has a
// number, and begins with the first instruction of a function.
func (l *lister) check() error {
	read := 0
	for i := range min(l.allgs.n, maxChecked) {
		w := words{mem: &l.mem}
		g := l.at(i)
		id, start := w.at(g+l.id), w.at(g+l.start)
		if w.err != nil {
			continue
		}
		read++
		if fn, ok := l.Find(start); id == 0 || id>>62 != 0 || start != 0 && (!ok || fn.Entry != start) {
			return errFields
		}
	}
	if read == 0 {
		return errNoAllgs
	}
	return nil
}

// goroutine reads a goroutine. alive is false if there is none any more.
func (l *lister) goroutine(i uint64) (r Goroutine, alive bool) {
	w := words{mem: &l.mem}
	g := l.at(i)
	status, err := l.mem.Uint(g+l.status, 4)
	if g == 0 || err != nil {
		return Goroutine{Saved: Saved{G: g}}, true
	}
	name, alive := stateOf(status)
	if !alive {
		return Goroutine{}, false
	}
	r = Goroutine{
		Status: name, ID: int64(w.at(g + l.id)), StackHi: w.at(g + gStackHi),
		Created: w.at(g + l.created), Start: w.at(g + l.start),
	}
	sp, pc := w.at(g+gSchedSP), w.at(g+gSchedPC)
	lr, fp := w.at(g+l.schedLR), w.at(g+l.schedLR+gSaved)
	if status&^gScan == gSyscall {
		sp, pc, lr, fp = w.at(g+l.syscallSP), w.at(g+l.syscallSP+gSaved), 0, 0
	}
	m := w.at(g + gM)
	if w.err != nil {
		return Goroutine{Saved: Saved{G: g}}, true
	}
	if status&^gScan == gWaiting {
		r.WaitReason = l.reason(g)
	}
	if curg := w.at(m + l.curg); m != 0 && w.err == nil && curg == g {
		if id := w.at(m + l.gsignal - mProcID); w.err == nil && id>>31 == 0 {
			r.TID = int(id)
		}
	}
	r.Saved = Saved{G: g, PC: pc, SP: sp, LR: lr, FP: fp}
	return r, true
}

const (
	// maxReasons is more than the reasons that a version of Go has.
	maxReasons = 64

	// maxReason bounds the name of one, in bytes.
	maxReason = 64
)

// reason returns what a goroutine waits for.
func (l *lister) reason(g uint64) string {
	n, err := l.mem.Uint(g+l.waitReason, 1)
	if err != nil || n == 0 || n >= maxReasons || l.reasons == 0 {
		return ""
	}
	if name, ok := l.names[n]; ok {
		return name
	}
	w := words{mem: &l.mem}
	at, size := w.at(l.reasons+16*n), w.at(l.reasons+16*n+8)
	name := ""
	if w.err == nil && size <= maxReason {
		if b, err := memreader.ReadFull(l.Mem, at, int(size)); err == nil && printable(b) {
			name = string(b)
		}
	}
	if l.names == nil {
		l.names = make(map[uint64]string)
	}
	l.names[n] = name
	return name
}

func printable(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}
