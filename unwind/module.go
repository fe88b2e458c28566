package unwind

import (
	"github.com/sfcore/sfcore/cfi"
	"github.com/sfcore/sfcore/sframe"
	"github.com/sfcore/sfcore/unwind/pclntab"
)

// Module is an ELF image at its place in memory, with the unwind tables it
// brought, all of which know run-time addresses. The tables are immutable; a nil
// one is absent.
type Module struct {
	// Lo and Hi bound the addresses of the image: Lo <= addr < Hi.
	Lo, Hi uint64
	SFrame *sframe.Section
	// CFI are .eh_frame and .debug_frame, in the order in which to ask.
	CFI []*cfi.Section
	// Go is the table of functions of a Go program.
	Go *pclntab.Table
	// Entry is the address of the first instruction of the program or the
	// dynamic linker, 0 in other modules.
	Entry uint64
	// Writable is set where the tables are in memory that the process could write
	// to: what they say may be what a stray write left.
	Writable bool
	// Slots are where nothing but the dynamic linker keeps addresses of
	// functions: the global offset tables.
	Slots []Range
}

// entrySize is how far from the entry point of the program or the dynamic linker
// a pc still belongs to the first function, which has no caller. The start code of
// every libc fits, up to its last call, and nothing else is linked before it.
const entrySize = 80

// Starts reports whether pc is in the first function of the program or of the
// dynamic linker, which has no caller. A nil Module starts nothing.
func (m *Module) Starts(pc uint64) bool {
	return m != nil && m.Entry != 0 && pc-m.Entry < entrySize
}

// Place is what is known of a range of addresses.
type Place struct {
	// Lo and Hi bound the range, to which everything here applies: Lo <= addr < Hi.
	Lo, Hi uint64
	// Module contains the range; nil if no module does.
	Module     *Module
	Executable bool
}
