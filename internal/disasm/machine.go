package disasm

import "github.com/sfcore/sfcore/arch"

// machine decodes the instructions of an architecture.
type machine struct {
	// decode writes the instruction that code, of one byte or more, begins with. It
	// leaves out the text of a valid one if names is nil.
	decode func(code []byte, pc uint64, names func(uint64) (string, uint64)) Inst
	// flow is FlowOf.
	flow func(a *arch.Arch, code []byte, pc uint64) Flow
	// effect is EffectOf.
	effect func(a *arch.Arch, code []byte, pc uint64) Effect
}

var (
	amd64   = machine{decodeAMD64, flowAMD64, effectAMD64}
	aarch64 = machine{decodeAArch64, flowAArch64, effectAArch64}
	s390x   = machine{decodeS390X, flowS390X, effectS390X}
	unknown = machine{decodeUnknown, flowUnknown, func(*arch.Arch, []byte, uint64) Effect { return Effect{} }}
)

// machineOf is the one place of this package that tells architectures apart.
func machineOf(a *arch.Arch) *machine {
	switch a.Machine {
	case arch.EMX86_64:
		return &amd64
	case arch.EMAArch64:
		return &aarch64
	case arch.EMS390:
		return &s390x
	}
	return &unknown
}

func decodeUnknown(code []byte, _ uint64, _ func(uint64) (string, uint64)) Inst {
	return invalid(code, 1)
}

func flowUnknown(a *arch.Arch, _ []byte, _ uint64) Flow { return unchanged(a) }
