// Package core makes process images. An [Image] is a stopped process as data:
// its threads with their registers, its mappings, its signal, and the memory
// that was saved. It comes from an ELF core file, written by the Linux kernel,
// gdb's gcore, qemu-user or valgrind, or from a live process, which is stopped
// only while it is copied. The package does not open the files that the process
// had mapped, and does not walk stacks.
package core

import (
	"os"
	"sort"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/memreader"
)

// Image is a stopped process. It is immutable, and safe for concurrent use
// until it is closed.
type Image struct {
	// Path is the name of the core file; "" for a live process.
	Path string
	// Holder names the debugger that holds the process, as "dlv at
	// 127.0.0.1:4040"; "" for core files and for processes that were copied.
	Holder string
	Arch   *arch.Arch
	// PID is the process id, 0 if unknown.
	PID int
	// Name is the name of the main thread, up to 15 bytes; Command the first
	// bytes of the arguments, 79 in core files and up to 4096 otherwise,
	// separated by spaces; "" if unknown.
	Name, Command string
	// Executable is the path of the program as the process saw it, "" if
	// unknown. It may be relative if no mapping names the file.
	Executable string
	// Signal is what stopped the process, or nil.
	Signal *Signal
	// Threads are in the order in which the core file or the kernel lists them.
	Threads []Thread
	// Mappings ascend and do not overlap.
	Mappings []Mapping
	Auxv     Auxv
	// Mem is the memory that the image itself holds; for a core file, what was
	// dumped. Its errors tell memory that was mapped but not dumped from memory
	// that was not mapped.
	Mem memreader.Reader
	// Process reads the present memory of a live process; nil for other images.
	Process memreader.Reader
	// Size is the size of the core file in bytes, when decompressed; 0 for other
	// images.
	Size uint64
	// Truncated says what a truncated core file has lost; nil if it is whole.
	Truncated *Truncation
	// Root is a path through which sfcore can open the root directory of a live
	// process as long as the image is open, even if the process ends. It is "" for
	// other images, and if file systems that may never answer could be below it.
	Root string
	// Held are the files by the names in Mapping.File that cannot be opened by them: a
	// sandbox may not open what the process has. They belong to the image.
	Held map[string]*os.File
	// Problems are defects that leave the rest of the image usable.
	Problems []error
	// Live says how [Attach] or [OpenDying] took the image; nil for other images.
	Live *Snapshot
	// OnClose releases what Mem needs; it may be nil.
	OnClose func()

	file   *elfx.File // that has the notes; nil if there is none
	loads  []Load
	listed bool     // the notes list the loads
	mapped []byte   // the core file, if it is mapped
	source *os.File // of mapped, if it is open
}

// Close releases the memory of the image: Mem, and the slices of Threads, must
// not be used any more.
func (i *Image) Close() error {
	if release := i.OnClose; release != nil {
		i.OnClose, i.mapped = nil, nil
		release()
	}
	return nil
}

// Unload gives back the memory that the image takes of a mapped core file. What is read
// again comes from the system's cache of the file. It does nothing for other images.
func (i *Image) Unload() { elfx.Unload(i.mapped) }

// Copy copies memory from addr on into p, as Mem has it, up to the end of the segment. It
// reads the core file, which takes less time than mapping pages that are used once. It
// returns how many bytes it has copied: none if the image has no file to read.
func (i *Image) Copy(p []byte, addr uint64) int {
	space, ok := i.Mem.(*memreader.Space)
	if !ok || i.source == nil {
		return 0
	}
	mem, base := space.View(addr)
	if mem == nil {
		return 0
	}
	mem = mem[addr-base:]
	n, _ := i.source.ReadAt(p[:min(len(p), len(mem))], int64(cap(i.mapped)-cap(mem))) // mem is a part of mapped
	return n
}

// Mapping returns the mapping that contains addr, or nil.
func (i *Image) Mapping(addr uint64) *Mapping {
	n := sort.Search(len(i.Mappings), func(n int) bool { return i.Mappings[n].Hi > addr })
	if n == len(i.Mappings) || i.Mappings[n].Lo > addr {
		return nil
	}
	return &i.Mappings[n]
}

// Thread is a thread of the process.
type Thread struct {
	// ID is the thread id. The id of the main thread is that of the process.
	ID int
	// NSID is the id in the process's own pid namespace; 0 if that is ours too,
	// and for core files.
	NSID int
	// Name is the thread's name, "" if unknown. Core files have only the name
	// of the main thread.
	Name string
	// State is what a live process's thread was doing; "" in a core file.
	State State
	// Same is set if the thread has not run since the snapshot before, and was not stopped.
	// Its registers and its stack are as they were then.
	Same bool
	// Err is why the registers of a live process's thread are not known; nil
	// if they are.
	Err error
	// Regs are the registers. Registers that the file does not hold are unknown.
	Regs arch.Regs
	// PACMask are the bits of code addresses in which AArch64 keeps a pointer
	// authentication code; 0 elsewhere.
	PACMask uint64
	// Signal is the number of the signal that stopped the thread, 0 if none. The
	// kernel gives all threads the signal of the crash.
	Signal int
	// Crashed is set for the thread that got the signal that ended the
	// process. At most one thread has it.
	Crashed bool

	// PrStatus, FPRegSet, XState and SigInfo are the descriptors of the
	// thread's notes NT_PRSTATUS, NT_FPREGSET, NT_X86_XSTATE and NT_SIGINFO,
	// in target byte order; nil if there is no such note. They must not be modified.
	PrStatus, FPRegSet, XState, SigInfo []byte
}

// Mapping is a range of addresses that the process had mapped.
type Mapping struct {
	// Lo is the first address, Hi the one after the last.
	Lo, Hi uint64
	// Off is the offset of Lo in the file Path, in bytes.
	Off uint64
	// Path is the mapped file as the process saw it or, as in /proc/pid/maps,
	// "[vdso]", "[vsyscall]" or "[stack]". It is "" if there is no file, or if
	// the core file does not name it.
	Path string
	// File is a path through which sfcore can open the file as long as the image
	// is open, even if the process ends; "" for a core file, or if the file could
	// not be opened.
	File string
	// Unanswering is set for a file that must not be opened by its path: it is in a
	// file system that may never answer.
	Unanswering bool
	// Deleted is set when the file was removed or replaced while it was mapped.
	Deleted bool
	// Exec is set if the mapping is executable, or if the image does not say.
	Exec bool
}

// Contains reports whether addr is in the mapping.
func (m *Mapping) Contains(addr uint64) bool { return m.Lo <= addr && addr < m.Hi }

// Truncation describes what is missing at the end of a core file that was cut
// off, or that is still being written.
type Truncation struct {
	// Size is the size of the file. Missing is how many bytes should follow.
	Size, Missing uint64
	// Mappings are the indexes in Image.Mappings of those that have lost
	// memory, ascending.
	Mappings []int
}
