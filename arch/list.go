package arch

import (
	"iter"
	"slices"
	"strings"
)

// ELF machine numbers [elf.h].
const (
	EMS390    = 22
	EMX86_64  = 62
	EMAArch64 = 183
)

// known are the architectures, each in every byte order that it has.
var known = [...]*Arch{AMD64, AArch64, AArch64BE, S390X}

// All yields the architectures that sfcore knows, each in every byte order
// that it has.
func All() iter.Seq[*Arch] { return slices.Values(known[:]) }

// ForMachine returns the architecture of an ELF file by its e_machine and byte
// order, and whether it is one that sfcore knows.
func ForMachine(machine uint16, bigEndian bool) (*Arch, bool) {
	for _, a := range known {
		if a.Machine == machine && a.BigEndian == bigEndian {
			return a, true
		}
	}
	return nil, false
}

// Named returns the architecture that has a Name and a byte order, and whether
// sfcore knows it.
func Named(name string, bigEndian bool) (*Arch, bool) {
	for _, a := range known {
		if a.Name == name && a.BigEndian == bigEndian {
			return a, true
		}
	}
	return nil, false
}

// Names lists the names of the architectures, for messages: "amd64, aarch64
// and s390x".
func Names() string {
	var names []string
	for _, a := range known {
		if !slices.Contains(names, a.Name) {
			names = append(names, a.Name)
		}
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
