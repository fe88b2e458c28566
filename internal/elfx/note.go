package elfx

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"iter"
)

// Note is an entry of a note segment or section.
type Note struct {
	Name string // without its NUL
	Type uint32
	Desc []byte // a part of the file
	Off  uint64 // of the entry, from the start of the notes
}

// noteGNUBuildID is NT_GNU_BUILD_ID of owner "GNU".
const noteGNUBuildID = 3

// Notes yields the entries of note data. Name and descriptor are padded to
// align bytes: 4, or 8 where the segment says so. Data that ends within an
// entry yields what there is of it with an error, and ends.
func Notes(data []byte, order binary.ByteOrder, align uint64) iter.Seq2[Note, error] {
	if align != 8 {
		align = 4
	}
	return func(yield func(Note, error) bool) {
		for off := uint64(0); uint64(len(data))-off >= 12; {
			h := data[off:]
			nameLen, descLen := uint64(order.Uint32(h)), uint64(order.Uint32(h[4:]))
			n := Note{Type: order.Uint32(h[8:]), Off: off}
			name := within(data, off+12, nameLen)
			descOff := roundUp(off+12+nameLen, align)
			n.Desc = within(data, descOff, descLen)
			n.Name = CString(name, 0)
			var err error
			if uint64(len(name)) < nameLen || uint64(len(n.Desc)) < descLen {
				err = &FormatError{Off: off, Field: "n_descsz", Msg: fmt.Sprintf("note %q type %#x: %d of %d bytes", n.Name, n.Type, len(n.Desc), descLen)}
			}
			if !yield(n, err) || err != nil {
				return
			}
			off = min(roundUp(descOff+descLen, align), uint64(len(data)))
		}
	}
}

func roundUp(n, align uint64) uint64 { return (n + align - 1) &^ (align - 1) }

// BuildID returns the build-id in lower-case hexadecimal, or "".
func (f *File) BuildID() string {
	for i := range f.Progs {
		if p := &f.Progs[i]; p.Type == ProgNote {
			if id := buildID(f.SegmentData(p), f.order, p.Align); id != "" {
				return id
			}
		}
	}
	sects, _ := f.Sections()
	for i := range sects {
		if s := &sects[i]; s.Type == SectNote {
			if id := buildID(f.Bytes(s.Off, s.Size), f.order, s.Align); id != "" {
				return id
			}
		}
	}
	return ""
}

func buildID(data []byte, order binary.ByteOrder, align uint64) string {
	for n, err := range Notes(data, order, align) {
		if err == nil && n.Type == noteGNUBuildID && n.Name == "GNU" {
			return hex.EncodeToString(n.Desc)
		}
	}
	return ""
}
