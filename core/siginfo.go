package core

import "encoding/binary"

// Signal is the signal that stopped a process.
type Signal struct {
	Number int
	// Name is SIGSEGV, SIGABRT, ...
	Name string
	// Thread is the id of the thread that got the signal.
	Thread int
	// Code is si_code and CodeName its name, SEGV_MAPERR for example. CodeName
	// is "" if the image does not have the code, or it has no name.
	Code     int
	CodeName string
	// Address is si_addr, if HasAddress is set. For SIGSEGV and SIGBUS it is the
	// address that was accessed; s390x gives only its page. For SIGILL, SIGFPE and
	// SIGTRAP it is the address of the instruction.
	Address    uint64
	HasAddress bool
	// SenderPID and SenderUID are the process and the user that sent the
	// signal, if HasSender is set. They are the process's own after abort().
	SenderPID, SenderUID int
	HasSender            bool
}

// Offsets in the siginfo_t of 64-bit architectures [linux
// include/uapi/asm-generic/siginfo.h].
const (
	siSigno = 0
	siCode  = 8
	siAddr  = 16 // si_addr, 64 bits
	siPID   = 16 // si_pid, 32 bits
	siUID   = 20 // si_uid, 32 bits
	siMin   = 24 // how much of it is read here
)

// decodeSigInfo decodes the descriptor of an NT_SIGINFO note. It returns nil if the
// descriptor is too short or has no signal.
func decodeSigInfo(desc []byte, order binary.ByteOrder) *Signal {
	if len(desc) < siMin {
		return nil
	}
	s := &Signal{
		Number: int(int32(order.Uint32(desc[siSigno:]))),
		Code:   int(int32(order.Uint32(desc[siCode:]))),
	}
	if s.Number == 0 {
		return nil
	}
	s.Name = SignalName(s.Number)
	s.CodeName = signalCodeName(s.Number, s.Code)
	switch {
	case s.sent():
		s.HasSender = true
		s.SenderPID = int(int32(order.Uint32(desc[siPID:])))
		s.SenderUID = int(order.Uint32(desc[siUID:]))
	case s.faulted():
		s.HasAddress = true
		s.Address = order.Uint64(desc[siAddr:])
	}
	return s
}

// faulted reports whether the union of the siginfo_t has si_addr. With
// SI_KERNEL it is zero and means nothing, for example after an access to a
// non-canonical address on amd64 [linux kernel/signal.c: siginfo_layout].
func (s *Signal) faulted() bool {
	switch s.Number {
	case sigILL, sigFPE, sigSEGV, sigBUS, sigTRAP:
		return s.Code > siUser && s.Code < siKernel && s.CodeName != segvMTEAsync
	}
	return false
}

// sent reports whether the union has si_pid and si_uid of the sender.
func (s *Signal) sent() bool {
	switch s.Code {
	case siUser, siQueue, siMesgq, siTkill:
		return true
	}
	return false
}
