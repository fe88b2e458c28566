package arch

// ELF is what the psABI of an architecture says about ELF files, in either byte
// order.
type ELF struct {
	// HashWord is the size of the words of DT_HASH tables, in bytes. It is 4 unless
	// the psABI says otherwise [gABI, 5.2.9].
	HashWord int
	// Relocs are the relocations, by type, that assemblers put in .sframe and
	// .eh_frame.
	Relocs map[uint32]Reloc
	// IRelative is the relocation of a slot that a resolver in the image itself
	// fills in [elf.h: R_*_IRELATIVE].
	IRelative uint32
	// PLT tells how procedure linkage tables are laid out.
	PLT PLT
}

// Reloc is a type of relocation that occurs in unwind tables.
type Reloc struct {
	Size  int  // the size of the field, in bytes
	PCRel bool // whether the address of the field is subtracted
}

// PLT describes the layout of procedure linkage tables. Arch.Slot decodes the code of
// an entry.
type PLT struct {
	// EntrySize is the size of an entry in bytes if the section does not tell; 0 if
	// linkers write entries of different sizes.
	EntrySize uint64
	// If sizes differ, an entry takes MaxSize bytes or less. It may begin with
	// the instruction First, which stands before those that Arch.Slot decodes,
	// and it ends with the instruction Last.
	MaxSize     uint64
	First, Last []byte
}

// ELFOf returns what the psABI of an architecture, given by its e_machine, says. For
// an architecture that sfcore does not know, it returns what the gABI says.
func ELFOf(machine uint16) *ELF {
	for _, a := range known {
		if a.Machine == machine {
			return &a.ELF
		}
	}
	return &gabi
}

var gabi = ELF{HashWord: 4}
