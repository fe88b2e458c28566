package elfx

import (
	"fmt"

	"github.com/sfcore/sfcore/arch"
)

// Dynamic tags [gABI, 5.2.3; elf.h].
const (
	dynNull    = 0
	dynHash    = 4
	dynStrtab  = 5
	dynSymtab  = 6
	dynStrsz   = 10
	dynGNUHash = 0x6ffffef5

	dynSize = 16

	// maxDynamic bounds the entries of PT_DYNAMIC. Each needed library is one,
	// and no linker writes more than a hundred others.
	maxDynamic = 64 << 10
)

// dynamic returns the value of the first entry of PT_DYNAMIC with a tag.
func (f *File) dynamic(tag uint64) (value uint64, ok bool) {
	p := f.Prog(ProgDynamic)
	if p == nil {
		return 0, false
	}
	data := f.SegmentData(p)
	for i := 0; len(data) >= dynSize && i < maxDynamic; i++ {
		switch f.order.Uint64(data) {
		case tag:
			return f.order.Uint64(data[8:]), true
		case dynNull:
			return 0, false
		}
		data = data[dynSize:]
	}
	return 0, false
}

// dynamicData returns the bytes at the address that an entry of PT_DYNAMIC
// holds, up to the end of their segment, or nil. The dynamic linker may have
// added the load bias to the address in an image in memory: see File.Bias.
func (f *File) dynamicData(tag uint64) []byte {
	addr, ok := f.dynamic(tag)
	if !ok {
		return nil
	}
	if data := f.At(addr); data != nil {
		return data
	}
	return f.At(addr - f.Bias)
}

// dynsymOfSegment finds the dynamic symbol table without section headers.
// Nothing says how long it is, but the hash table covers it.
func (f *File) dynsymOfSegment() (SymTab, error) {
	t := SymTab{Data: f.dynamicData(dynSymtab), Strings: f.dynamicData(dynStrtab), BigEndian: f.BigEndian}
	if t.Data == nil {
		return SymTab{}, nil
	}
	if size, ok := f.dynamic(dynStrsz); ok {
		t.Strings = within(t.Strings, 0, size)
	}
	var n uint64
	if hash := f.dynamicData(dynGNUHash); hash != nil {
		n = f.gnuHashSyms(hash)
	} else {
		n = f.hashSyms(f.dynamicData(dynHash))
	}
	if n == 0 {
		return SymTab{}, &FormatError{Off: f.Prog(ProgDynamic).Off, Field: "DT_GNU_HASH", Msg: "neither DT_GNU_HASH nor DT_HASH gives the number of symbols"}
	}
	if have := uint64(t.Len()); n > have {
		return t.whole(), &FormatError{Off: f.Prog(ProgDynamic).Off, Field: "DT_SYMTAB", Msg: fmt.Sprintf("the file holds %d of %d symbols", have, n)}
	}
	t.Data = t.Data[:n*SymSize]
	return t, nil
}

// hashSyms returns the number of symbols that a DT_HASH table is for: nchain
// [gABI, 5.2.9].
func (f *File) hashSyms(hash []byte) uint64 {
	switch word := arch.ELFOf(f.Machine).HashWord; {
	case word == 8 && len(hash) >= 16:
		return f.order.Uint64(hash[8:])
	case word == 4 && len(hash) >= 8:
		return uint64(f.order.Uint32(hash[4:]))
	}
	return 0
}

// gnuHashSyms returns one more than the highest symbol that a DT_GNU_HASH
// table reaches. Each bucket holds the first symbol of a chain; chains are
// consecutive, and the last word of each has bit 0 set.
func (f *File) gnuHashSyms(hash []byte) uint64 {
	if len(hash) < 16 {
		return 0
	}
	nbuckets, symoffset := uint64(f.order.Uint32(hash)), uint64(f.order.Uint32(hash[4:]))
	bloomSize := uint64(f.order.Uint32(hash[8:])) * 8
	buckets := within(hash, 16+bloomSize, nbuckets*4)
	var last uint64
	for b := buckets; len(b) >= 4; b = b[4:] {
		last = max(last, uint64(f.order.Uint32(b)))
	}
	if last < symoffset { // all buckets are empty
		return symoffset
	}
	chain := within(hash, 16+bloomSize+nbuckets*4+(last-symoffset)*4, uint64(len(hash)))
	for ; len(chain) >= 4; chain = chain[4:] {
		last++
		if f.order.Uint32(chain)&1 != 0 {
			return last
		}
	}
	return last
}
