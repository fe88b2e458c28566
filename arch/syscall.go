package arch

// SystemCall says how a thread is recognized that the kernel stopped in a system
// call, and where it has the arguments. The kernel stops such a thread as if the call
// had been interrupted, with a result that programs never see, and calls again when
// the thread goes on [linux arch/*/kernel/signal.c; syscall(2)].
type SystemCall struct {
	// Insn is the instruction that enters the kernel. If Immediate is set, the last
	// byte is the number of the call, unless it is 0.
	Insn      []byte
	Immediate bool
	// Number has the number of the call. If NumberAt is not 0, struct elf_prstatus has
	// it instead, at that offset in bytes, and no instruction needs to be looked at.
	Number   Reg
	NumberAt int
	// Args have the first four arguments.
	Args [4]Reg
	// Result has the result; NoReg if the kernel has put the first argument back there,
	// and PC at the instruction. If it is the first of Args, struct elf_prstatus has the
	// argument at FirstAt, an offset in bytes.
	Result  Reg
	FirstAt int
	// Futex and Restart are the numbers of futex(2) and restart_syscall(2).
	Futex, Restart uint64
}

// Interrupted reports whether a result says that a call was interrupted before it
// came to its end: ERESTARTSYS, ERESTARTNOINTR, ERESTARTNOHAND or
// ERESTART_RESTARTBLOCK [linux include/linux/errno.h].
func Interrupted(result uint64) bool {
	e := -int64(result)
	return e >= 512 && e <= 514 || e == 516
}
