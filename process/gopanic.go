package process

import (
	"fmt"
	"strconv"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/module"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/unwind/gostack"
)

// Go's descriptions of types [src/internal/abi/type.go: Type].
const (
	goTFlag    = 20 // tflagExtraStar is in it
	goKind     = 23 // the kind, in the low 5 bits
	goNameOff  = 40 // 32 bits, from the beginning of the types
	goKindMask = 31

	goInt, goInt64, goUint, goUintptr = 2, 6, 7, 12
	goString                          = 24
)

// goErrors are types of errors that begin with their text, and are pointers to it.
var goErrors = []string{"*errors.errorString", "*fmt.wrapError", "*fmt.wrapErrors"}

// goPanic returns the text of the value that the goroutine panics with which a thread
// runs, as Go prints it; "" if that is not known.
func (p *Process) goPanic(regs *arch.Regs) string {
	typ, data, ok := gostack.Panic(p.img.Arch, p.Memory(), regs)
	m := p.modules.At(typ)
	if !ok || m == nil {
		return ""
	}
	words := &memreader.Words{R: p.Memory(), BigEndian: p.img.Arch.BigEndian}
	kind, err := words.Uint(typ+goKind, 1)
	if err != nil {
		return ""
	}
	name := p.goTypeName(words, m, typ)
	switch kind &= goKindMask; {
	case kind == goString && name == "runtime.errorString":
		return withPrefix("runtime error: ", goText(words, data))
	case kind == goString:
		return goText(words, data)
	case kind >= goInt && kind <= goInt64:
		return p.goNumber(words, name, data, int(kind-goInt), true)
	case kind >= goUint && kind <= goUintptr:
		return p.goNumber(words, name, data, int(kind-goUint), false)
	}
	for _, known := range goErrors {
		if name == known {
			return goText(words, data)
		}
	}
	if name == "" {
		return ""
	}
	return "a value of type " + name
}

func withPrefix(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// goText reads the string at an address.
func goText(words *memreader.Words, at uint64) string {
	text, err := words.Uint64(at)
	size, bad := words.Uint64(at + 8)
	if err != nil || bad != nil || size == 0 || size > maxMessage {
		return ""
	}
	b := make([]byte, size)
	if n, _ := words.R.ReadMem(b, text); n < len(b) {
		return ""
	}
	return string(b)
}

// goNumber reads an integer: of the kinds, the first has 8 bytes, and the others 1 to 8.
func (p *Process) goNumber(words *memreader.Words, name string, at uint64, kind int, signed bool) string {
	size := 8
	if kind > 0 {
		size = min(1<<(kind-1), 8)
	}
	v, err := words.Uint(at, size)
	if err != nil || name == "" {
		return ""
	}
	text := strconv.FormatUint(v, 10)
	if unused := 64 - 8*size; signed {
		text = strconv.FormatInt(int64(v<<unused)>>unused, 10)
	}
	if name == "int" {
		return text
	}
	return fmt.Sprintf("%s(%s)", name, text)
}

// goTypeName returns the name of a type; "" if the module has no symbols.
func (p *Process) goTypeName(words *memreader.Words, m *module.Module, typ uint64) string {
	types, ok := m.Address("runtime.types")
	off, err := words.Uint(typ+goNameOff, 4)
	if !ok || err != nil {
		return ""
	}
	at := types + off
	head, err := words.Bytes(at, 3) // flags, and the length in one or two bytes
	if err != nil {
		return ""
	}
	size, data := uint64(head[1]), at+2
	if head[1] >= 0x80 {
		size, data = uint64(head[1]&0x7f)|uint64(head[2])<<7, at+3
	}
	if size == 0 || size > maxType {
		return ""
	}
	b := make([]byte, size)
	if n, _ := words.R.ReadMem(b, data); n < len(b) {
		return ""
	}
	const extraStar = 2 // a name that a type shares with the pointer to it
	if flags, err := words.Uint(typ+goTFlag, 1); err == nil && flags&extraStar != 0 && b[0] == '*' {
		b = b[1:]
	}
	return string(b)
}
