// Package arch describes the architectures that sfcore knows, as data: which
// registers exist, where the kernel stores them, by which conventions a caller's
// frame is found, and what the formats of files say. It reads no files, and memory
// only to compute the value of a [Rule]. Of instructions it knows calls, jumps and
// entries of linkage tables.
//
// All of it is immutable and independent of the host: the files are called
// aarch64.go, not arm64.go, because Go leaves files with a GOARCH suffix out
// of other architectures' builds.
package arch

import "fmt"

// Arch describes one architecture in one byte order. It holds everything in
// which architectures differ, except for code that only one package needs;
// docs/ARCHITECTURE.md lists the places of that code.
//
// To add an architecture, write a file beside amd64.go that defines a variable
// like [AMD64], and add the variable to the list in list.go. The test of that
// list reports required fields that are missing. Fill in the fields in this
// order:
//
//  1. Name, Machine, BigEndian, ELF, Regs, PC, SP, FP and LR. The psABI's
//     chapter on DWARF has the numbers of the registers. If it gives PC no
//     number below [NumRegs], PC takes a free slot.
//  2. PrStatus, FPRegSet, Vector and Raw. The kernel's struct elf_prstatus and
//     elf_fpregset_t have the offsets. sfcore can now open cores.
//  3. CalleeSaved, SPFromCFA and StackAlign from the psABI, and SFrame from the
//     specification of SFrame. The walk can now use tables.
//  4. FramePointer, Entry, SignalFrames and AltStackToSP. The walk can now leave
//     signal handlers and code that has no tables.
//  5. EndsInCall and the fields that follow it. They decode calls and jumps. The
//     walk can now check return addresses, and sfcore can name PLT entries.
//  6. All other fields. The zero value says that the architecture does not have
//     what the field describes.
type Arch struct {
	// Name is the GOARCH-like name used in reports: amd64, aarch64, s390x.
	Name string
	// BFD is the name in binutils of the format of ELF files [binutils
	// bfd/config.bfd].
	BFD string
	// Delve is delve's name for the architecture, which is its GOARCH; "" if delve
	// does not know the architecture [delve pkg/proc/bininfo.go].
	Delve string
	// Machine is the ELF e_machine.
	Machine uint16
	// ELF is what the psABI says about ELF files.
	ELF ELF
	// SFrame is what the SFrame format says about the architecture.
	SFrame SFrame
	// BigEndian is the byte order of data. AArch64 instructions are
	// little-endian in either case.
	BigEndian bool

	// Regs are the names of the registers by number; "" if there is no register with
	// that number.
	Regs [NumRegs]string
	// PC, SP and FP exist on every architecture. LR is NoReg if calls push the return
	// address on the stack.
	PC, SP, FP, LR Reg
	// CalleeSaved are the registers, including FP, that have the same values after a
	// call as before it [psABI].
	CalleeSaved RegSet
	// SPFromCFA is the caller's SP minus the CFA, in bytes.
	SPFromCFA int64
	// SavedSP is the place, in bytes from the CFA, where a function that stores the
	// link register also stores SP; 0 if functions do not do that [s390x ELF ABI,
	// 1.2.3].
	SavedSP int64
	// StackAlign is the alignment of CFAs, in bytes [psABI]. Compilers ignore it only
	// if they know the function that is called.
	StackAlign uint64

	// PrStatus and FPRegSet say where the registers are in the descriptors of
	// the NT_PRSTATUS and NT_FPREGSET notes.
	PrStatus, FPRegSet []RegLoc
	// Vector and Raw are the registers without a slot in Regs.
	Vector VectorRegs
	Raw    []RawReg
	// Order is the usual order in which to list the general registers, including PC.
	// It is nil if that is PC and then the others by number.
	Order []Reg
	// Perf is how the kernel samples registers.
	Perf Perf
	// Floats are the registers of Regs that hold floating-point numbers. A number
	// of fewer than 8 bytes is in the first bytes, in either byte order.
	Floats RegSet
	// LongDouble is the format of C's long double, which takes 16 bytes.
	LongDouble FloatFormat

	// FramePointer recovers the caller by the frame-pointer convention, or by the
	// back chain on s390x.
	FramePointer Row
	// Entry recovers the caller at the first instruction of a function. It also
	// applies after a call to a bad address.
	Entry Row
	// SignalFrames are the frames that the kernel builds, recognised by the
	// instructions of their trampoline.
	SignalFrames []SignalFrame
	// Breakpoint is a breakpoint instruction after which the PC is at the next
	// instruction; nil if the PC stays at the breakpoint.
	Breakpoint []byte
	// HidesAddress is set if an access to an address that no pointer can have causes
	// a SIGSEGV with the code SI_KERNEL, which does not tell the address.
	HidesAddress bool
	// FaultsByPage is set if the address of a SIGSEGV is only that of the page
	// [linux arch/s390/mm/fault.c].
	FaultsByPage bool
	// VSyscall is the address of the vsyscall page; 0 if the kernel maps none.
	VSyscall uint64
	// ProgramBases are the addresses at which linkers put programs that are not
	// position-independent.
	ProgramBases []uint64
	// AltStackToSP is the distance in a ucontext from uc_stack, the settings of
	// the alternate signal stack, to the interrupted SP, in bytes.
	AltStackToSP int

	// NewThread recognizes a thread that has executed no instruction yet.
	NewThread NewThread

	// SystemCall recognizes a thread that is in the kernel.
	SystemCall SystemCall

	// PAC is set if return addresses may be signed. PACMask are the bits that a
	// signature may occupy if the core has no NT_ARM_PAC_MASK.
	PAC     bool
	PACMask uint64

	// EndsInCall reports whether code ends in a call instruction. code is up to 8
	// bytes right before a return address.
	EndsInCall func(code []byte) bool
	// CallTarget returns the target of the call at the end of code. The call returns
	// to ra. CallTarget returns false if the instruction does not tell its target, or
	// may be another instruction.
	CallTarget func(code []byte, ra uint64) (target uint64, ok bool)
	// Jump tells whether code, of one byte or more, begins with a jump, and where a direct jump goes. code
	// is one byte or more at addr. Instructions begin at multiples of InsnAlign, which
	// is also the size of the smallest instruction, in bytes.
	Jump      func(code []byte, addr uint64) (kind Jump, target uint64)
	InsnAlign uint64
	// Slot returns the address of the word through which code at addr jumps, if code
	// looks like an entry of a procedure linkage table. 16 bytes suffice.
	Slot func(code []byte, addr uint64) (slot uint64, ok bool)
	// CallSlot is like CallTarget, but for a call through a word in memory. It returns
	// the address of that word. It is nil if there is no such instruction.
	CallSlot func(code []byte, ra uint64) (slot uint64, ok bool)
}

// SignalFrame is one kind of signal frame.
type SignalFrame struct {
	// Code is the code of the trampoline, from the address to which a signal handler
	// returns.
	Code []byte
	// Row recovers the interrupted frame from the signal frame on the stack.
	Row Row
}

// RegName returns the name of r, or "r<n>?" for a register without one.
func (a *Arch) RegName(r Reg) string {
	if r < NumRegs && a.Regs[r] != "" {
		return a.Regs[r]
	}
	return fmt.Sprintf("r%d?", uint8(r))
}

// FromDWARF returns the register with DWARF number n, and whether its value
// can be tracked.
func (a *Arch) FromDWARF(n uint64) (Reg, bool) {
	if n < NumRegs && a.Regs[n] != "" && !(Reg(n) == a.PC && a.LR != NoReg) {
		return Reg(n), true
	}
	return NoReg, false
}

// RA returns the register that call frame information uses for the return
// address: PC if calls push the return address, and LR otherwise.
func (a *Arch) RA() Reg {
	if a.LR != NoReg {
		return a.LR
	}
	return a.PC
}

// NewThread tells by what a new thread is known: the kernel leaves the number of the
// system call that made it, and the result 0. If Number is 0, PC is behind the
// instruction that enters the kernel, which [SystemCall] describes.
type NewThread struct {
	// Number is the offset of the number in struct elf_prstatus, 8 bytes, which
	// another number replaces as soon as the thread enters the kernel again; 0 if it
	// is not there.
	Number int
	Result Reg
	// Calls are the numbers of clone and clone3.
	Calls []uint64
}
