package gate

import (
	"errors"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/module"
)

// Kind is what an ELF file is for.
type Kind string

// The kinds.
const (
	Object       Kind = "object"
	Program      Kind = "program"
	Library      Kind = "library"
	Kernel       Kind = "kernel"
	KernelModule Kind = "kernel module"
)

// Linked reports whether the dynamic linker, or the kernel, loads such a file by its
// segments, and finds the section by one.
func (k Kind) Linked() bool { return k == Program || k == Library }

// Final reports whether no linker has anything left to do with such a file.
func (k Kind) Final() bool { return k.Linked() || k == Kernel }

// ErrForeign is for ELF files that are not of the machines that SFrame is defined for,
// or that are core files.
var ErrForeign = errors.New("not a program, library or object file of " + arch.Names())

// foreign reports whether data is an ELF file for which there is [ErrForeign], or for
// another class. The rest may be damaged.
func foreign(data []byte) bool {
	f, err := elfx.Parse(data)
	if format := (*elfx.FormatError)(nil); err != nil {
		return errors.As(err, &format) && format.Field == "EI_CLASS"
	}
	_, known := arch.ForMachine(f.Machine, f.BigEndian)
	return !known || f.Type == elfx.TypeCore
}

// kindOf tells the kind by the sections that only one kind has [linux:
// include/asm-generic/vmlinux.lds.h].
func kindOf(f *elfx.File) Kind {
	switch {
	case f.Type == elfx.TypeRel && f.Section(".modinfo") != nil:
		return KernelModule
	case f.Type == elfx.TypeRel:
		return Object
	case f.Section("__ksymtab") != nil && f.Section(".init.text") != nil:
		return Kernel
	case f.Type == elfx.TypeExec || f.Prog(elfx.ProgInterp) != nil:
		return Program
	}
	return Library
}

// archOf returns the architecture of a module that [module.FromBytes] has opened.
func archOf(m *module.Module) *arch.Arch {
	a, _ := arch.ForMachine(m.Image().Machine, m.Image().BigEndian)
	return a
}
