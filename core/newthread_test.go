package core

import (
	"encoding/binary"
	"testing"

	"github.com/sfcore/sfcore/arch"
)

func TestBegins(t *testing.T) {
	const pid, clone, clone3, read = 10, 56, 435, 0
	for _, test := range []struct {
		name         string
		arch         *arch.Arch
		id           int
		call, result uint64
		want         bool
	}{
		{"made by clone", arch.AMD64, 11, clone, 0, true},
		{"made by clone3", arch.AMD64, 11, clone3, 0, true},
		{"the maker", arch.AMD64, 11, clone, 12, false},
		{"in clone", arch.AMD64, 11, clone, ^uint64(37), false},
		{"another call", arch.AMD64, 11, read, 0, false},
		{"interrupted later", arch.AMD64, 11, ^uint64(0), 0, false},
		{"the first thread, by fork", arch.AMD64, pid, clone, 0, false},
		{"unknown architecture", arch.S390X, 11, clone, 0, false},
	} {
		th := Thread{ID: test.id, PrStatus: make([]byte, arch.PrStatusRegs+27*8)}
		binary.LittleEndian.PutUint64(th.PrStatus[arch.PrStatusRegs+15*8:], test.call)
		th.Regs.Set(0, test.result) // rax
		if got := (&Image{Arch: test.arch, PID: pid}).Begins(&th); got != test.want {
			t.Errorf("%s: got %v", test.name, got)
		}
		th.PrStatus = th.PrStatus[:arch.PrStatusRegs+15*8+8]
		if got := (&Image{Arch: test.arch, PID: pid}).Begins(&th); got != test.want {
			t.Errorf("%s, without what follows the number: got %v", test.name, got)
		}
		th.PrStatus = th.PrStatus[:arch.PrStatusRegs+15*8+7]
		if (&Image{Arch: test.arch, PID: pid}).Begins(&th) {
			t.Errorf("%s: a number that is cut off is none", test.name)
		}
		th.PrStatus = th.PrStatus[:arch.PrStatusRegs]
		if (&Image{Arch: test.arch, PID: pid}).Begins(&th) {
			t.Errorf("%s: a note that is cut off tells nothing", test.name)
		}
	}
}
