package gostack

import "github.com/sfcore/sfcore/arch"

// abi says what Go's runtime does on one architecture
// [src/runtime/asm_amd64.s, asm_arm64.s, asm_s390x.s]. Offsets are in bytes.
type abi struct {
	g      arch.Reg // holds the current g in Go code
	pushed int64    // size of what a call pushes: the return address, or nothing

	// pushedLR is the room on the stack that preparePanic and pushCall take to save
	// the link register.
	pushedLR int64
	// args is the distance from the CFA to the arguments of functions in assembly.
	args int64

	// saved are the places, from SP on g0, where asmcgocall keeps the goroutine and
	// the distance of its SP from the top of its stack. They are in the order in
	// which to try them. noG is set if asmcgocall saves 0 for the goroutine when it
	// does not switch stacks. It then saves the old SP instead of the distance.
	saved []slots
	noG   bool
	// room is how far asmcgocall lowers SP on g0. The table counts it, because it
	// knows of only one stack.
	room int64
	// callbackFrame is the size of cgocallback's frame. outer is the place in it,
	// from SP, of the value that g0.sched.sp had before.
	callbackFrame, outer int64
	// mcallG is where mcall's callee, or mcall itself, keeps the goroutine, from SP.
	mcallG int64

	// savedSP are the registers in which functions keep SP while they call C, which
	// does not change them. The key is the name of the function.
	savedSP map[string]arch.Reg

	// crosscallFrame is the size of crosscall2's frame at its calls. Some versions
	// add a word to it. crosscallSaved are the places of saved registers, from SP.
	crosscallFrame int64
	crosscallSaved []arch.RegLoc
}

// slots are offsets from SP.
type slots struct{ g, depth uint64 }

func abiOf(a *arch.Arch) *abi {
	switch a.Machine {
	case arch.EMX86_64:
		return &amd64
	case arch.EMAArch64:
		return &arm64
	case arch.EMS390:
		return &s390x
	}
	return nil
}

var amd64 = abi{
	g: 14, pushed: 8,
	saved: []slots{{8, 0}, {48, 40}}, noG: true, callbackFrame: 32, outer: 0, mcallG: 0,
	savedSP: map[string]arch.Reg{
		"runtime.nanotime1": 12, "runtime.walltime": 12, "time.now": 12, // r12
		"runtime.sigfwd": 3, "runtime.callCgoSigaction": 3, "runtime.callCgoMmap": 3, "runtime.callCgoMunmap": 3, // rbx
	},
	crosscallFrame: 72,
	crosscallSaved: []arch.RegLoc{{Reg: 3, Off: 24}, {Reg: 12, Off: 32}, {Reg: 13, Off: 40}, {Reg: 14, Off: 48}, {Reg: 15, Off: 56}, {Reg: 6, Off: 64}},
}

var arm64 = abi{
	g: 28, pushedLR: 16, args: 8,
	saved: []slots{{0, 8}}, noG: true, callbackFrame: 48, outer: 16, mcallG: 8,
	savedSP:        map[string]arch.Reg{"runtime.nanotime1": 20, "runtime.walltime": 20},
	crosscallFrame: 192,
	crosscallSaved: append(registers(19, 28, 32), registers(29, 30, 176)...),
}

var s390x = abi{
	g: 13, pushedLR: 8, args: 8,
	saved: []slots{{168, 160}}, room: 176, callbackFrame: 32, outer: 8, mcallG: 8,
	savedSP:        map[string]arch.Reg{"runtime.nanotime1": 7, "runtime.walltime": 7},
	crosscallFrame: 96,
	crosscallSaved: registers(6, 14, 96+48),
}

// registers returns the places of registers that are stored one after the other.
func registers(first, last arch.Reg, off uint16) []arch.RegLoc {
	var locs []arch.RegLoc
	for r := first; r <= last; r++ {
		locs = append(locs, arch.RegLoc{Reg: r, Off: off})
		off += 8
	}
	return locs
}

// Offsets in the runtime's structures that have not changed from Go 1.17 to
// 1.26, in bytes [src/runtime/runtime2.go: stack, gobuf, g, m].
const (
	gStackLo = 0
	gStackHi = 8
	gM       = 48
	gSchedSP = 56
	gSchedPC = 64
	mG0      = 0
)

// layout holds the offsets of fields that follow a gobuf. A version of Go after
// 1.23 removed the field ret from gobuf.
type layout struct {
	schedLR, gsignal, curg uint64
}

// layouts are tried in turn. With the right one, the thread's structures refer to
// one another.
var layouts = []layout{
	{schedLR: 88, gsignal: 72, curg: 184},
	{schedLR: 96, gsignal: 80, curg: 192},
}
