package core

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/elfx"
)

// prStatus makes a thread of an NT_PRSTATUS note: struct elf_prstatus [linux
// include/linux/elfcore.h].
func (n *notes) prStatus(note *elfx.Note) {
	d := note.Desc
	if len(d) < arch.PrStatusPID+4 {
		n.problem(note.Errorf(0, "pr_pid", "NT_PRSTATUS has only %d bytes, too few for a thread id", len(d)))
		return
	}
	n.status += len(d)
	if len(n.img.Threads) >= n.mostThreads() {
		n.leftOut++
		return
	}
	t := Thread{
		ID:       int(int32(n.order.Uint32(d[arch.PrStatusPID:]))),
		Signal:   int(n.order.Uint16(d[arch.PrStatusSignal:])),
		PrStatus: d,
	}
	all := setRegs(&t.Regs, n.img.Arch.PrStatus, d, n.order)
	if t.Regs == (arch.Regs{}) {
		n.problem(note.Errorf(arch.PrStatusRegs, "pr_reg", "thread %d is left out: NT_PRSTATUS has only %d bytes, too few for registers", t.ID, len(d)))
		return
	}
	if !all {
		n.problem(note.Errorf(arch.PrStatusRegs, "pr_reg", "thread %d: NT_PRSTATUS has only %d bytes, too few for all registers", t.ID, len(d)))
	}
	if n.ids[t.ID] {
		n.problem(note.Errorf(arch.PrStatusPID, "pr_pid", "NT_PRSTATUS: more than one thread has the id %d", t.ID))
	}
	n.ids[t.ID] = true
	n.img.Threads = append(n.img.Threads, t)
}

// mostThreads returns how many threads there may be, by the notes so far.
func (n *notes) mostThreads() int {
	return min(maxThreads, max(maxShortThreads, n.status/minPrStatus))
}

// setRegs takes registers from the descriptor of a note, and reports whether
// it holds all of them.
func setRegs(regs *arch.Regs, table []arch.RegLoc, desc []byte, order binary.ByteOrder) bool {
	all := true
	for _, l := range table {
		if len(desc) < int(l.Off)+8 {
			all = false
			continue
		}
		regs.Set(l.Reg, order.Uint64(desc[l.Off:]))
	}
	return all
}

// Offsets in struct elf_prpsinfo of 64-bit architectures [linux
// include/linux/elfcore.h].
const (
	prPID    = 24 // pr_pid, 32 bits
	prFName  = 40 // pr_fname
	prPSArgs = 56 // pr_psargs
	prEnd    = 136
)

func (n *notes) prPSInfo(note *elfx.Note) {
	d := note.Desc
	if len(d) < prEnd {
		n.problem(note.Errorf(0, "pr_psargs", "NT_PRPSINFO has %d of %d bytes", len(d), prEnd))
		return
	}
	n.img.PID = int(int32(n.order.Uint32(d[prPID:])))
	n.img.Name = elfx.CString(d[prFName:prPSArgs], 0)
	args := bytes.TrimRight(d[prPSArgs:prEnd], " \x00")
	n.img.Command = strings.ReplaceAll(string(args), "\x00", " ") // qemu-user leaves the separators in
}

// finishThreads sets the fields that depend on all threads.
func (n *notes) finishThreads() {
	threads := n.img.Threads
	if len(threads) == 0 {
		n.problem(errors.New("the core has no threads: no NT_PRSTATUS note"))
		return
	}
	pacMask := n.img.Arch.PACMask
	for i := range threads {
		if threads[i].PACMask != 0 {
			pacMask = threads[i].PACMask
			break
		}
	}
	for i := range threads {
		t := &threads[i]
		if t.PACMask == 0 {
			t.PACMask = pacMask
		}
		if t.ID == n.img.PID {
			t.Name = n.img.Name
		}
	}
	n.findSignal()
}

// findSignal finds the thread that crashed: the first one with a signal. The
// kernel and gcore write it first and give every thread its signal; qemu-user
// writes the threads in any order and gives only that one a signal.
func (n *notes) findSignal() {
	for i := range n.img.Threads {
		t := &n.img.Threads[i]
		if t.Signal == 0 {
			continue
		}
		t.Crashed = true
		info := t.SigInfo
		if info == nil {
			info = n.sigInfo
		}
		n.img.Signal = n.signal(t, info)
		return
	}
}

func (n *notes) signal(t *Thread, info []byte) *Signal {
	if s := decodeSigInfo(info, n.order); s != nil {
		s.Thread = t.ID
		return s
	}
	s := &Signal{Number: t.Signal, Name: SignalName(t.Signal), Thread: t.ID}
	if code := int(int32(n.order.Uint32(t.PrStatus[prInfoCode:]))); code != siUser {
		s.Code, s.CodeName = code, signalCodeName(s.Number, code)
	}
	return s
}

// prInfoCode is the offset of pr_info.si_code in struct elf_prstatus. Valgrind
// sets it; the kernel and gdb leave it 0, which means nothing.
const prInfoCode = 4
