package sframe

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/sfcore/sfcore/arch"
)

// Builder writes a table from the meaning of its functions' rows. Fill in the fields
// and call Append.
type Builder struct {
	// Version is any version. V2 is written as of errata 1.
	Version Version
	ABI     ABI
	// FixedFP and FixedRA go to the header: see [Header]. FixedRA is -8 on
	// AMD64 and 0 elsewhere in the output of all known tools.
	FixedFP, FixedRA int8
	// Funcs are the functions, in any order. They should not overlap.
	Funcs []FuncRows
}

// FuncRows is a function for a [Builder].
type FuncRows struct {
	// Start is the address, Size the size in bytes.
	Start uint64
	Size  uint32
	// RepSize, if not 0, makes the function PCMASK: Rows are those of a block of
	// RepSize bytes. Before V2 it can only be 16.
	RepSize uint8
	// Signal makes it a signal trampoline; V3 only.
	Signal bool
	// KeyB says that return addresses are signed with key B; V1 and later.
	KeyB bool
	// Rows are in ascending order of At.
	Rows []RowAt
}

// RowAt is the row that holds from the instruction at At bytes from the start
// of the function, or of the block. Of Row, CFA, RA, FP and SignedRA are used.
type RowAt struct {
	At  uint32
	Row arch.Row
}

// Append appends the table to dst, for a section in which it will be at
// address addr; tables of one section are aligned to 8 bytes. The functions
// are sorted and the flags set accordingly. FDE type FLEX is used for
// functions that need it, which is an error before V3. So is everything else that the
// version cannot express.
func (b *Builder) Append(dst []byte, addr uint64) ([]byte, error) {
	w, err := b.writer(addr)
	if err != nil {
		return dst, err
	}
	funcs := slices.Clone(b.Funcs)
	slices.SortStableFunc(funcs, func(x, y FuncRows) int { return cmp.Compare(x.Start, y.Start) })
	for i := range funcs {
		if err := w.add(&funcs[i]); err != nil {
			return dst, fmt.Errorf("sframe: function at %#x: %w", funcs[i].Start, err)
		}
	}
	if uint64(len(w.fdes)) > math.MaxUint32 || uint64(len(w.fres)) > math.MaxUint32 {
		return dst, fmt.Errorf("sframe: sub-sections of %d and %d bytes are too large", len(w.fdes), len(w.fres))
	}
	dst = w.header(dst, len(funcs))
	return append(append(dst, w.fdes...), w.fres...), nil
}

// writer is a table being written.
type writer struct {
	*Builder
	order interface {
		binary.ByteOrder
		binary.AppendByteOrder
	}
	ver     *layout
	arch    *arch.Arch
	flags   Flags
	addr    uint64 // of the table
	fdes    []byte
	fres    []byte
	numFREs uint32
}

func (b *Builder) writer(addr uint64) (*writer, error) {
	w := &writer{Builder: b, order: binary.LittleEndian, addr: addr, arch: b.ABI.Arch()}
	if b.Version > V3 {
		return nil, fmt.Errorf("sframe: unknown version %d", b.Version)
	}
	w.ver = &layouts[b.Version]
	if w.arch == nil || b.Version < Version(w.arch.SFrame.Since) {
		return nil, fmt.Errorf("sframe: %d is not an ABI of version %s", b.ABI, b.Version)
	}
	if w.arch.BigEndian {
		w.order = binary.BigEndian
	}
	w.flags = (FDESorted | FuncStartPCRel) & w.ver.flags
	return w, nil
}

func (w *writer) header(dst []byte, funcs int) []byte {
	dst = w.order.AppendUint16(dst, Magic)
	dst = append(dst, max(byte(w.Version), 1), byte(w.flags), byte(w.ABI), byte(w.FixedFP), byte(w.FixedRA))
	if w.ver.hasAux {
		dst = append(dst, 0)
	}
	for _, v := range []int{funcs, int(w.numFREs), len(w.fres), 0, len(w.fdes)} {
		dst = w.order.AppendUint32(dst, uint32(v))
	}
	return dst
}

// add writes one function.
func (w *writer) add(f *FuncRows) error {
	info, width, err := w.funcInfo(f)
	if err != nil {
		return err
	}
	start := int64(f.Start - w.addr)
	if w.flags&FuncStartPCRel != 0 {
		start -= int64(w.ver.headerSize + len(w.fdes))
	}
	if w.ver.startSize == 8 {
		w.fdes = w.order.AppendUint64(w.fdes, uint64(start))
	} else {
		if start != int64(int32(start)) {
			return fmt.Errorf("%d bytes away, which is more than 32 bits", start)
		}
		w.fdes = w.order.AppendUint32(w.fdes, uint32(start))
	}
	w.fdes = w.order.AppendUint32(w.fdes, f.Size)
	w.fdes = w.order.AppendUint32(w.fdes, uint32(len(w.fres)))

	flex := w.Version == V3 && !w.isRegular(f)
	switch w.Version {
	case CTFFrame, V1:
		w.fdes = append(w.order.AppendUint32(w.fdes, uint32(len(f.Rows))), info)
	case V2:
		w.fdes = append(w.order.AppendUint32(w.fdes, uint32(len(f.Rows))), info, f.RepSize, 0, 0)
	case V3:
		if len(f.Rows) > math.MaxUint16 {
			return fmt.Errorf("%d rows are more than %d", len(f.Rows), math.MaxUint16)
		}
		info2 := byte(fdeDefault)
		if flex {
			info2 = fdeFlex
		}
		w.fres = append(w.order.AppendUint16(w.fres, uint16(len(f.Rows))), info, info2, f.RepSize)
	}
	for i := range f.Rows {
		if err := w.row(f, i, width, flex); err != nil {
			return fmt.Errorf("row for %#x: %w", f.Rows[i].At, err)
		}
	}
	w.numFREs += uint32(len(f.Rows))
	return nil
}

// funcInfo returns the info byte, and the width of row starts, which depends
// on the size of the function as in gas.
func (w *writer) funcInfo(f *FuncRows) (info byte, width int, err error) {
	width, info = 1, w.ver.firstFREType
	switch {
	case f.Size > math.MaxUint16:
		width, info = 4, info+2
	case f.Size > math.MaxUint8:
		width, info = 2, info+1
	}
	if f.RepSize != 0 {
		info |= infoPCMask
	}
	if f.KeyB {
		info |= infoPAuthKey
	}
	if f.Signal {
		info |= infoSignal
	}
	switch {
	case info&w.ver.infoUnused != 0:
		return 0, 0, fmt.Errorf("version %s has no signal frames or keys like that", w.Version)
	case f.KeyB && !w.arch.PAC:
		return 0, 0, fmt.Errorf("%s has no keys", w.arch.Name)
	case f.RepSize != 0 && w.ver.repSize == 0 && f.RepSize != ctfMaskBlock:
		return 0, 0, fmt.Errorf("blocks of %d bytes in version %s", f.RepSize, w.Version)
	}
	return info, width, nil
}
