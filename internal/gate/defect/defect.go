// Package defect plants the defects that assemblers and linkers leave in .sframe
// sections into the output of a linker, to test what finds them.
package defect

import (
	"encoding/binary"
	"errors"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/sframe"
)

// A Defect is a kind of defect.
type Defect struct {
	// ID is that of the finding which has to show it.
	ID string
	// What says what is wrong.
	What string
	// plant reports whether the file could get the defect.
	plant func(*file) bool
}

// Plant returns a copy of the linked file in data with the defect. ok is false if there
// is nothing in the file that can have it.
func (d *Defect) Plant(data []byte) (with []byte, ok bool, err error) {
	f, err := open(append([]byte(nil), data...))
	if err != nil {
		return nil, false, err
	}
	ok = d.plant(f)
	return f.Data, ok, nil
}

// file is a linked file with its section, to be changed in place.
type file struct {
	*elfx.File
	order   binary.ByteOrder
	shdr    int // offset of the header of the section
	phdr    int // offset of the program header of PT_GNU_SFRAME; 0 if there is none
	section []byte
	table   sframe.Table
	funcs   []sframe.Func
	rows    [][]sframe.FRE
	code    []elfx.Code
}

func open(data []byte) (*file, error) {
	e, err := elfx.Parse(data)
	if err != nil {
		return nil, err
	}
	f := &file{File: e, order: e.ByteOrder(), code: e.Code()}
	s := e.SFrameSection()
	if s == nil || s.Size == 0 {
		return nil, errors.New("there is no .sframe section")
	}
	sects, _ := e.Sections()
	for i := range sects {
		if &sects[i] == s {
			f.shdr = int(f.order.Uint64(data[40:])) + i*64
		}
	}
	for i := range e.Progs {
		if e.Progs[i].Type == elfx.ProgGNUSFrame {
			f.phdr = int(f.order.Uint64(data[32:])) + i*56
		}
	}
	if f.section, err = e.SectionData(s); err != nil {
		return nil, err
	}
	a, _ := arch.ForMachine(e.Machine, e.BigEndian)
	parsed, err := sframe.Parse(f.section, s.Addr, sframe.Options{Arch: a})
	if err != nil {
		return nil, err
	}
	for t, err := range parsed.Tables() {
		if err != nil {
			return nil, err
		}
		f.table = t
		break
	}
	for fn, err := range parsed.Funcs() {
		if err != nil {
			return nil, err
		}
		var rows []sframe.FRE
		for r, err := range parsed.FREs(fn) {
			if err != nil {
				return nil, err
			}
			rows = append(rows, r)
		}
		f.funcs, f.rows = append(f.funcs, fn), append(f.rows, rows)
	}
	return f, nil
}

// startSize is the size of the start of a function.
func (f *file) startSize() int {
	if f.table.Version >= sframe.V3 {
		return 8
	}
	return 4
}

// fde is the size of a function descriptor.
func (f *file) fde() int {
	switch f.table.Version {
	case sframe.CTFFrame, sframe.V1:
		return 17
	case sframe.V2:
		return 20
	case sframe.V3:
	}
	return 16
}

// move adds to the start of a function.
func (f *file) move(fn *sframe.Func, by uint64) {
	at := f.section[fn.Off:]
	if f.startSize() == 8 {
		f.order.PutUint64(at, f.order.Uint64(at)+by)
		return
	}
	f.order.PutUint32(at, f.order.Uint32(at)+uint32(by))
}

// header is a 32-bit field of the table's header. The fields begin at offset 8.
func (f *file) header(field int) []byte { return f.section[int(f.table.Off)+8+4*field:] }

// The fields.
const (
	numFDEs = iota
	numFREs
	freLen
)

// plain returns the index of a function outside the PLT that has rows, the first one.
func (f *file) plain() (int, bool) {
	for rows := 2; rows > 0; rows-- { // one row alone may be of the outermost function, whose rules do not count
		for i := range f.funcs {
			name := elfx.CodeName(f.code, f.funcs[i].Start)
			if len(f.rows[i]) >= rows && f.funcs[i].Size > 8 && (name == ".text" || name == "") && !f.funcs[i].PCMask() && !f.funcs[i].Flexible() {
				return i, true
			}
		}
	}
	return 0, false
}
