package dap

import (
	"fmt"
	"strings"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
)

// rawRegs are the registers of an architecture that arch.Regs lacks.
type rawRegs struct {
	flags  []arch.RawReg
	vector []arch.RawReg
}

// rawRegsOf returns those of an architecture.
func rawRegsOf(a *arch.Arch) rawRegs {
	r := rawRegs{flags: a.Raw}
	for i := range int(a.Vector.Num) {
		r.vector = append(r.vector, arch.RawReg{
			Name: fmt.Sprintf("%s%d", a.Vector.Name, i), FP: true,
			Off: int(a.Vector.Off) + i*int(a.Vector.Size), Size: int(a.Vector.Size),
		})
	}
	return r
}

// rawBytes returns the bytes of a register of a, the least significant first.
func rawBytes(a *arch.Arch, r *arch.RawReg, th *core.Thread) ([]byte, bool) {
	desc := th.PrStatus
	if r.FP {
		desc = th.FPRegSet
	}
	if r.Off+r.Size > len(desc) {
		return nil, false
	}
	b := make([]byte, r.Size)
	for i := range b {
		from := i
		if a.BigEndian {
			from = r.Size - 1 - i
		}
		b[i] = desc[r.Off+from]
	}
	return b, true
}

// vectorBytes returns the bytes of vector register i, the least significant
// first, with the upper half if the image has it.
func vectorBytes(a *arch.Arch, i int, r *arch.RawReg, th *core.Thread) ([]byte, bool) {
	b, ok := rawBytes(a, r, th)
	if ok {
		b = append(b, a.Vector.UpperBytes(uint64(i), th.XState)...)
	}
	return b, ok
}

// littleEndian returns up to 8 bytes, the least significant first, as a number.
func littleEndian(b []byte) uint64 {
	var v uint64
	for i, c := range b {
		v |= uint64(c) << (8 * i)
	}
	return v
}

// hexBytes writes bytes, the least significant first, as a number.
func hexBytes(b []byte) string {
	var s strings.Builder
	s.WriteString("0x")
	for i := len(b) - 1; i >= 0; i-- {
		fmt.Fprintf(&s, "%02x", b[i])
	}
	return s.String()
}

// flagText lists the bits that are set: "0x246 [PF ZF IF]".
func flagText(v uint64, bits []arch.RegBit) string {
	var set []string
	for _, b := range bits {
		switch field := v >> b.Shift & (1<<b.Width - 1); {
		case b.Width > 0:
			set = append(set, fmt.Sprintf("%s=%d", b.Name, field))
		case v>>b.Shift&1 != 0:
			set = append(set, b.Name)
		}
	}
	return fmt.Sprintf("%#x [%s]", v, strings.Join(set, " "))
}
