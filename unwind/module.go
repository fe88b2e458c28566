package unwind

import (
	"github.com/sfcore/sfcore/cfi"
	"github.com/sfcore/sfcore/sframe"
	"github.com/sfcore/sfcore/unwind/pclntab"
)

// Module is an ELF image at its place in memory, with its unwind tables. All
// tables use run-time addresses. They are immutable. A table that the image does
// not have is nil.
type Module struct {
	// Lo and Hi bound the addresses of the image: Lo <= addr < Hi.
	Lo, Hi uint64
	SFrame *sframe.Section
	// CFI are .eh_frame and .debug_frame, in the order in which to search them.
	CFI []*cfi.Section
	// Go is the table of functions of a Go program.
	Go *pclntab.Table
	// Entry is the address of the first instruction of the program or the
	// dynamic linker. It is 0 in other modules.
	Entry uint64
	// Section returns the name of the section that contains an address. It may be
	// nil. Habits of linkers are recognized by it.
	Section func(addr uint64) string
	// Writable is set if the tables are in memory that the process could write
	// to. A stray write may have changed them.
	Writable bool
	// Slots are the global offset tables. Only the dynamic linker writes the
	// addresses of functions there.
	Slots []Range
}

// entrySize is the size in bytes of the first function, which begins at the entry
// point of the program or the dynamic linker and has no caller. The start code of
// every libc fits, up to its last call, and no other function is linked within
// that distance.
const entrySize = 80

// Starts reports whether pc is in the first function of the program or of the
// dynamic linker, which has no caller. It returns false for a nil Module.
func (m *Module) Starts(pc uint64) bool {
	return m != nil && m.Entry != 0 && pc-m.Entry < entrySize
}

// Place is what is known about a range of addresses.
type Place struct {
	// Lo and Hi bound the range, Lo <= addr < Hi. The other fields hold for all of
	// it.
	Lo, Hi uint64
	// Module contains the range; nil if no module does.
	Module     *Module
	Executable bool
}
