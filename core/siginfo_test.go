package core

import (
	"encoding/binary"
	"testing"

	"github.com/sfcore/sfcore/internal/testkit"
)

func TestDecodeSigInfo(t *testing.T) {
	const addr = 0x1122334455667788
	fault := func(number int, name string, code int, codeName string) Signal {
		return Signal{Number: number, Name: name, Code: code, CodeName: codeName, Address: addr, HasAddress: true}
	}
	sent := func(number int, name string, code int, codeName string) Signal {
		return Signal{Number: number, Name: name, Code: code, CodeName: codeName, HasSender: true, SenderPID: 0x1234, SenderUID: 0x89abcdef}
	}
	tests := []struct {
		name string
		want Signal
	}{
		{"unmapped", fault(11, "SIGSEGV", 1, "SEGV_MAPERR")},
		{"permissions", fault(11, "SIGSEGV", 2, "SEGV_ACCERR")},
		{"shadow stack", fault(11, "SIGSEGV", 10, "SEGV_CPERR")},
		{"code without a name", fault(11, "SIGSEGV", 99, "")},
		{"not canonical", Signal{Number: 11, Name: "SIGSEGV", Code: 0x80, CodeName: "SI_KERNEL"}},
		{"asynchronous tag fault", Signal{Number: 11, Name: "SIGSEGV", Code: 8, CodeName: "SEGV_MTEAERR"}},
		{"beyond the end of a mapped file", fault(7, "SIGBUS", 2, "BUS_ADRERR")},
		{"illegal instruction", fault(4, "SIGILL", 2, "ILL_ILLOPN")},
		{"division", fault(8, "SIGFPE", 1, "FPE_INTDIV")},
		{"after a gap in the table", fault(8, "SIGFPE", 14, "FPE_FLTUNK")},
		{"in a gap of the table", fault(8, "SIGFPE", 10, "")},
		{"breakpoint", fault(5, "SIGTRAP", 1, "TRAP_BRKPT")},
		{"abort", sent(6, "SIGABRT", -6, "SI_TKILL")},
		{"kill", sent(15, "SIGTERM", 0, "SI_USER")},
		{"kill -SEGV", sent(11, "SIGSEGV", 0, "SI_USER")},
		{"sigqueue", sent(10, "SIGUSR1", -1, "SI_QUEUE")},
		{"timer", Signal{Number: 14, Name: "SIGALRM", Code: -2, CodeName: "SI_TIMER"}},
		{"seccomp", Signal{Number: 31, Name: "SIGSYS", Code: 1, CodeName: "SYS_SECCOMP"}},
		{"mq_notify", sent(10, "SIGUSR1", -3, "SI_MESGQ")},
		{"raised by a timer", Signal{Number: 11, Name: "SIGSEGV", Code: -2, CodeName: "SI_TIMER"}},
		{"first", sent(1, "SIGHUP", 0, "SI_USER")},
		{"last with a name", sent(31, "SIGSYS", 0, "SI_USER")},
		{"first real-time", sent(32, "SIG32", 0, "SI_USER")},
		{"real-time", sent(40, "SIG40", -1, "SI_QUEUE")},
		{"negative", Signal{Number: -3, Name: "SIG-3", Code: 77}},
	}
	for _, tt := range tests {
		for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
			t.Run(tt.name+"/"+order.String(), func(t *testing.T) {
				b := testkit.New(order).D32(uint32(tt.want.Number), 0, uint32(tt.want.Code), 0)
				if tt.want.HasSender {
					b.D32(0x1234, 0x89abcdef)
				} else {
					b.D64(addr)
				}
				if got := decodeSigInfo(b.Done(), order); *got != tt.want {
					t.Errorf("got %+v, want %+v", got, tt.want)
				}
			})
		}
	}
}

// What is too short, or all zero, is no signal.
func TestNoSigInfo(t *testing.T) {
	for _, words := range [][]uint32{{0, 5, 1, 0, 7, 7}, {11, 0, 1, 0, 7}, nil} {
		if got := decodeSigInfo(testkit.New(binary.LittleEndian).D32(words...).Done(), binary.LittleEndian); got != nil {
			t.Errorf("%d: got %+v", words, got)
		}
	}
	if got := SignalName(0); got != "SIG0" {
		t.Errorf("got %s", got)
	}
}
