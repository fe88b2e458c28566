// Package disasm writes machine instructions of amd64, aarch64 and s390x as
// text, in GNU syntax. It decodes one instruction at a time, from arbitrary
// bytes that the caller provides. It is safe for concurrent use.
package disasm

import (
	"encoding/binary"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/arch/arm64/arm64asm"
	"golang.org/x/arch/s390x/s390xasm"
	"golang.org/x/arch/x86/x86asm"

	"github.com/sfcore/sfcore/arch"
)

// MaxSize is the size in bytes of the longest instruction of any architecture
// [Intel SDM 2A, 2.3.11].
const MaxSize = 15

// Inst is a decoded instruction.
type Inst struct {
	// Text is the instruction. It is a directive such as ".byte 0x06" for bytes
	// that are not an instruction, and for AVX instructions, whose size alone is
	// known.
	Text string
	// Size is its size in bytes: at least 1, at most the size of the input.
	Size int
	// Valid is unset if the bytes are not an instruction.
	Valid bool
}

// Decode decodes the instruction at address pc, which code begins with. MaxSize
// bytes hold any instruction. Names, which may be nil,
// returns the name of the symbol that contains an address and where it begins.
// Empty code gives the zero Inst.
func Decode(a *arch.Arch, code []byte, pc uint64, names func(addr uint64) (string, uint64)) Inst {
	if names == nil {
		names = noNames
	}
	return decode(a, code, pc, names)
}

func noNames(uint64) (string, uint64) { return "", 0 }

// Measure returns Size and Valid of [Decode], in a fraction of the time.
func Measure(a *arch.Arch, code []byte) (size int, valid bool) {
	inst := decode(a, code, 0, nil)
	return inst.Size, inst.Valid
}

// decode leaves out the text of a valid instruction if names is nil.
func decode(a *arch.Arch, code []byte, pc uint64, names func(uint64) (string, uint64)) Inst {
	if len(code) == 0 {
		return Inst{}
	}
	return machineOf(a).decode(code, pc, names)
}

// invalid stands for up to size bytes that are not an instruction.
func invalid(code []byte, size int) Inst {
	size = min(size, len(code))
	var b strings.Builder
	b.WriteString(".byte")
	for i, c := range code[:size] {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, " 0x%02x", c)
	}
	return Inst{Text: b.String(), Size: size}
}

// endbr64 is what x86asm prints as a prefix and a NOP [Intel SDM 2A, ENDBR64].
const endbr64 = "\xf3\x0f\x1e\xfa"

func decodeAMD64(code []byte, pc uint64, names func(uint64) (string, uint64)) Inst {
	if len(code) >= 4 && string(code[:4]) == endbr64 {
		return Inst{Text: "endbr64", Size: 4, Valid: true}
	}
	if v := decodeVector(code); v.size > 0 {
		inst := Inst{Size: v.size}
		if names != nil {
			inst = invalid(code, v.size)
		}
		inst.Valid = true
		return inst
	}
	inst, err := instAMD64(code)
	if err != nil || inst.Op == 0 || inst.Len <= 0 {
		return invalid(code, 1)
	}
	if names == nil {
		return Inst{Size: inst.Len, Valid: true}
	}
	text := x86asm.GNUSyntax(inst, pc, nil)
	for _, arg := range inst.Args {
		switch arg := arg.(type) {
		case x86asm.Rel:
			text += symbolic(pc+uint64(inst.Len)+uint64(int64(arg)), names)
		case x86asm.Mem:
			if arg.Base == x86asm.RIP {
				text += comment("#", pc+uint64(inst.Len)+uint64(arg.Disp), names)
			}
		}
	}
	return Inst{Text: text, Size: inst.Len, Valid: true}
}

// decoding is held while arm64asm or s390xasm decode: they note in a variable of
// the package which formats of instructions they have met.
var decoding sync.Mutex

func oneAtATime[I any](decode func([]byte) (I, error), code []byte) (I, error) {
	decoding.Lock()
	defer decoding.Unlock()
	return decode(code)
}

func decodeAArch64(code []byte, pc uint64, names func(uint64) (string, uint64)) Inst {
	if len(code) < 4 {
		return invalid(code, len(code))
	}
	inst, err := oneAtATime(arm64asm.Decode, code[:4])
	if err != nil {
		return Inst{Text: fmt.Sprintf(".inst 0x%08x", binary.LittleEndian.Uint32(code)), Size: 4}
	}
	if names == nil {
		return Inst{Size: 4, Valid: true}
	}
	text := arm64asm.GNUSyntax(inst)
	for _, arg := range inst.Args {
		rel, ok := arg.(arm64asm.PCRel)
		if !ok {
			continue
		}
		from := pc
		if inst.Op == arm64asm.ADRP {
			from &^= 0xfff
		}
		to := from + uint64(int64(rel))
		text = strings.Replace(text, rel.String(), fmt.Sprintf("%#x", to), 1) + symbolic(to, names)
	}
	return Inst{Text: text, Size: 4, Valid: true}
}

func decodeS390X(code []byte, pc uint64, names func(uint64) (string, uint64)) Inst {
	size := s390Size(code[0])
	if len(code) < size {
		return invalid(code, len(code))
	}
	inst, err := oneAtATime(s390xasm.Decode, code[:size])
	if err != nil || inst.Len != size {
		return invalid(code, size)
	}
	text := s390Text(inst, pc)
	if strings.HasPrefix(text, ".long") { // s390xasm calls some zeros that
		return invalid(code, size)
	}
	if names == nil {
		return Inst{Size: size, Valid: true}
	}
	for _, arg := range inst.Args {
		switch arg := arg.(type) {
		case s390xasm.RegIm12:
			text += symbolic(pc+2*uint64(int64(int16(uint16(arg)<<4)>>4)), names)
		case s390xasm.RegIm16:
			text += symbolic(pc+2*uint64(int64(int16(uint16(arg)))), names)
		case s390xasm.RegIm24:
			text += symbolic(pc+2*uint64(int64(int32(uint32(arg)<<8)>>8)), names)
		case s390xasm.RegIm32:
			text += symbolic(pc+2*uint64(int64(int32(uint32(arg)))), names)
		}
	}
	return Inst{Text: text, Size: size, Valid: true}
}

// s390Text returns the text of an instruction. It leaves out the operands if
// s390xasm panics, as it does for VISTR without a mask.
func s390Text(inst s390xasm.Inst, pc uint64) (text string) {
	defer func() {
		if recover() != nil {
			text = inst.Op.String()
		}
	}()
	return strings.TrimSpace(s390xasm.GNUSyntax(inst, pc))
}

// symbolic is " <main+4>" for an address with a name, "" for one without.
func symbolic(addr uint64, names func(uint64) (string, uint64)) string {
	name, start := names(addr)
	switch {
	case name == "":
		return ""
	case addr == start:
		return " <" + name + ">"
	}
	return fmt.Sprintf(" <%s+%d>", name, addr-start)
}

func comment(mark string, addr uint64, names func(uint64) (string, uint64)) string {
	return fmt.Sprintf("  %s %#x%s", mark, addr, symbolic(addr, names))
}
