package core

import (
	"encoding/binary"
	"fmt"

	"github.com/sfcore/sfcore/internal/elfx"
)

// Note types of owner "CORE", and of owner "LINUX" from 0x200 on [elf.h].
const (
	ntPRStatus   = 1
	ntFPRegSet   = 2
	ntPRPSInfo   = 3
	ntAuxv       = 6
	ntFile       = 0x46494c45
	ntSigInfo    = 0x53494749
	ntX86XState  = 0x202
	ntARMPACMask = 0x406
)

// foreignOwners are note owners that show that a core is not of a Linux
// process.
var foreignOwners = map[string]string{
	"FreeBSD":     "a FreeBSD core file",
	"NetBSD-CORE": "a NetBSD core file",
	"OpenBSD":     "an OpenBSD core file",
	"VMCOREINFO":  "a dump of the Linux kernel, not of a process",
}

const (
	// maxThreads bounds the threads. A thread takes about 3 KB here. The kernel
	// allows 4194304 thread ids, but a thread needs two mappings of its own, of
	// which it allows 65530 unless it is told otherwise.
	maxThreads = 1 << 18
	// minPrStatus is the size of the smallest struct elf_prstatus, in bytes. So many
	// there must be for each thread on average, once there are more than
	// maxShortThreads: a thread takes ten times that here.
	minPrStatus     = 336
	maxShortThreads = 1000
	// maxProblems bounds the list of problems of a damaged core.
	maxProblems = 100
)

// notes collects what the notes of a core say.
type notes struct {
	img   *Image
	order binary.ByteOrder
	files []Mapping
	// sigInfo is an NT_SIGINFO that came before any NT_PRSTATUS.
	sigInfo []byte
	ids     map[int]bool // of the threads so far
	dropped int          // problems that are not in the list
	status  int          // bytes of NT_PRSTATUS so far
	leftOut int          // threads
	loads   []Load       // as the first note of our own lists them
}

// read decodes the notes of the core. The kernel writes the crashing thread's
// NT_PRSTATUS, the notes of the process, the other notes of that thread, and then
// the notes of each other thread. gcore writes the notes of each thread, and then
// those of the process. So the notes that follow an NT_PRSTATUS belong to its
// thread [linux fs/binfmt_elf.c: write_note_info].
func (n *notes) read(f *elfx.File) error {
	n.ids = map[int]bool{}
	for note, err := range f.Notes() {
		if err != nil {
			n.problem(err)
		}
		if what, ok := foreignOwners[note.Name]; ok {
			return fmt.Errorf("this is %s", what)
		}
		switch note.Name {
		case "CORE", "LINUX":
			n.add(&note)
		case ownerSfcore:
			if note.Type == ntLoads && n.loads == nil {
				n.loads = parseLoads(note.Desc, n.order)
			}
		}
	}
	n.finishThreads()
	if n.leftOut > 0 {
		n.img.Problems = append(n.img.Problems, fmt.Errorf("%d threads are left out: with %d bytes of NT_PRSTATUS there may be %d",
			n.leftOut, n.status, n.mostThreads()))
	}
	if n.dropped > 0 {
		n.img.Problems = append(n.img.Problems, fmt.Errorf("%d more problems", n.dropped))
	}
	return nil
}

func (n *notes) add(note *elfx.Note) {
	switch note.Type {
	case ntPRStatus:
		n.prStatus(note)
	case ntPRPSInfo:
		n.prPSInfo(note)
	case ntAuxv:
		if n.img.Auxv == nil {
			n.img.Auxv = parseAuxv(note.Desc, n.order)
		}
	case ntFile:
		files, err := parseNTFile(note, n.order)
		if n.files == nil {
			n.files = files // there is one such note, which may be long
		} else {
			n.files = append(n.files, files...)
		}
		n.problem(err)
	case ntSigInfo:
		if len(note.Desc) < siMin {
			n.problem(note.Errorf(0, "siginfo_t", "NT_SIGINFO has %d bytes, but needs at least %d", len(note.Desc), siMin))
		}
		if t := n.thread(); t != nil {
			t.SigInfo = note.Desc
		} else {
			n.sigInfo = note.Desc
		}
	case ntFPRegSet:
		if t := n.thread(); t != nil {
			t.FPRegSet = note.Desc
			if !setRegs(&t.Regs, n.img.Arch.FPRegSet, note.Desc, n.order) {
				n.problem(note.Errorf(0, "fpregset", "thread %d: NT_FPREGSET has only %d bytes, too few for all registers", t.ID, len(note.Desc)))
			}
		}
	case ntX86XState:
		if t := n.thread(); t != nil {
			t.XState = note.Desc
		}
	case ntARMPACMask:
		if len(note.Desc) < pacMaskSize {
			n.problem(note.Errorf(0, "insn_mask", "NT_ARM_PAC_MASK has %d of %d bytes", len(note.Desc), pacMaskSize))
		} else if t := n.thread(); t != nil {
			t.PACMask = insnMask(note.Desc, n.order)
		}
	}
}

// thread returns the thread that a note belongs to, or nil.
func (n *notes) thread() *Thread {
	if len(n.img.Threads) == 0 {
		return nil
	}
	return &n.img.Threads[len(n.img.Threads)-1]
}

// problem adds err, unless it is nil, to the image's problems.
func (n *notes) problem(err error) {
	if err == nil {
		return
	}
	if len(n.img.Problems) >= maxProblems {
		n.dropped++
		return
	}
	n.img.Problems = append(n.img.Problems, err)
}

// pacMaskSize is the size of struct user_pac_mask: data_mask, insn_mask [linux
// arch/arm64/include/uapi/asm/ptrace.h].
const pacMaskSize = 16

// insnMask decodes the mask of code addresses, 0 if desc is too short.
func insnMask(desc []byte, order binary.ByteOrder) uint64 {
	if len(desc) < pacMaskSize {
		return 0
	}
	return order.Uint64(desc[8:])
}
