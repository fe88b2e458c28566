package core

import (
	"encoding/binary"

	"github.com/sfcore/sfcore/memreader"
)

// Auxv is the auxiliary vector that the kernel gave the process.
type Auxv []Aux

// Aux is an entry of the auxiliary vector.
type Aux struct{ Type, Value uint64 }

// Types of auxiliary vector entries that sfcore uses [linux
// include/uapi/linux/auxvec.h].
const (
	ATPhdr        = 3  // AT_PHDR: address of the program headers
	ATPhnum       = 5  // AT_PHNUM: their number
	ATBase        = 7  // AT_BASE: address of the dynamic linker, 0 if there is none
	ATEntry       = 9  // AT_ENTRY: entry point of the program
	ATUID         = 11 // AT_UID: real user id, as the process's user namespace has it
	ATRandom      = 25 // AT_RANDOM: address of 16 random bytes
	ATExecfn      = 31 // AT_EXECFN: address of the file name given to execve
	ATSysinfoEhdr = 33 // AT_SYSINFO_EHDR: address of the vDSO's ELF header
)

const (
	// maxAuxv bounds the entries of an auxiliary vector; the kernel has room
	// for about 30 [linux include/linux/mm_types.h: AT_VECTOR_SIZE].
	maxAuxv = 1024
	// maxPath bounds the length of file names: PATH_MAX, and what the kernel
	// appends to names of deleted files.
	maxPath = 4096 + len(deletedSuffix)
)

// Get returns the value of the first entry of a type, and whether there is one.
func (a Auxv) Get(typ uint64) (uint64, bool) {
	for _, e := range a {
		if e.Type == typ {
			return e.Value, true
		}
	}
	return 0, false
}

func parseAuxv(desc []byte, order binary.ByteOrder) Auxv {
	var a Auxv
	for ; len(desc) >= 16 && len(a) < maxAuxv; desc = desc[16:] {
		e := Aux{Type: order.Uint64(desc), Value: order.Uint64(desc[8:])}
		if e.Type == 0 { // AT_NULL
			break
		}
		a = append(a, e)
	}
	return a
}

// executable returns the path of the program, taken from the mapping with its
// entry point. Unlike AT_EXECFN it is absolute and not a symbolic link.
func (i *Image) executable() string {
	if entry, ok := i.Auxv.Get(ATEntry); ok {
		if m := i.Mapping(entry); m != nil && m.Path != "" {
			return m.Path
		}
	}
	if at, ok := i.Auxv.Get(ATExecfn); ok {
		w := memreader.Words{R: i.Mem, BigEndian: i.Arch.BigEndian}
		if name, err := w.CString(at, maxPath); err == nil {
			return name
		}
	}
	return ""
}
