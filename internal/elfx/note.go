package elfx

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
)

// Note is an entry of a note segment or section.
type Note struct {
	// Name is the owner, without its NUL, cut off to the length of the longest
	// known owner.
	Name string
	Type uint32
	Desc []byte // a part of the file
	// Off is the offset of Desc, and Start that of the entry, in bytes from the start of
	// the notes or, from [File.Notes], of the file.
	Off, Start uint64
}

// Errorf makes a FormatError about the descriptor's byte at off.
func (n *Note) Errorf(off uint64, field, format string, args ...any) error {
	return &FormatError{Off: n.Off + off, Field: field, Msg: fmt.Sprintf(format, args...)}
}

const (
	// noteGNUBuildID is NT_GNU_BUILD_ID of owner "GNU".
	noteGNUBuildID = 3

	// maxBuildID bounds the length of a build-id. Build-ids are hashes of up to 64
	// bytes, and are copied into names.
	maxBuildID = 64
	// maxIDNotes bounds the notes of an image that are read for its build-id, in
	// bytes. Images of a core may share their notes, and linkers put the build-id
	// first.
	maxIDNotes = 64 << 10
	// maxNotes bounds the notes of a file. A thread has about four, and a core has at
	// most 4194304 threads.
	maxNotes = 1 << 24
	// maxOwner bounds the length of an owner. The longest known one,
	// "NetBSD-CORE", may carry a thread id.
	maxOwner = 32
)

// notes yields the entries of note data, up to one that is all zeros. Name and descriptor are padded to
// align bytes: 4, or 8 if the segment says so. If the data ends within an entry,
// notes yields the part that is there, with an error, and ends.
func notes(data []byte, order binary.ByteOrder, align uint64) iter.Seq2[Note, error] {
	if align != 8 {
		align = 4
	}
	return func(yield func(Note, error) bool) {
		for off := uint64(0); uint64(len(data))-off >= 12; {
			h := data[off:]
			nameLen, descLen := uint64(order.Uint32(h)), uint64(order.Uint32(h[4:]))
			name := within(data, off+12, nameLen)
			descOff := roundUp(off+12+nameLen, align)
			n := Note{Name: owner(name), Type: order.Uint32(h[8:]), Desc: within(data, descOff, descLen), Off: descOff, Start: off}
			var err error
			if nameLen == 0 && descLen == 0 && n.Type == 0 { // as in a hole of a file
				err = &FormatError{Off: off, Field: "n_namesz", Msg: "a note without owner, type and contents; the notes behind it are not read"}
				yield(n, err)
				return
			}
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

// owner returns the name of a note; the common ones without allocating.
func owner(name []byte) string {
	switch string(name) {
	case "CORE\x00":
		return "CORE"
	case "LINUX\x00":
		return "LINUX"
	case "GNU\x00":
		return "GNU"
	}
	return CString(name[:min(len(name), maxOwner)], 0)
}

func roundUp(n, align uint64) uint64 { return (n + align - 1) &^ (align - 1) }

// Notes yields the entries of all note segments. Off in notes and errors is
// the offset in the file. Segments that together are larger than the file, so
// that they overlap, end with an error; so do more than 16777216 notes.
func (f *File) Notes() iter.Seq2[Note, error] { return f.notes(maxNotes) }

// notes yields so many notes at most.
func (f *File) notes(most int) iter.Seq2[Note, error] {
	return func(yield func(Note, error) bool) {
		budget, left := uint64(len(f.Data)), most
		for i := range f.Progs {
			p := &f.Progs[i]
			if p.Type != ProgNote {
				continue
			}
			data := f.SegmentData(p)
			if uint64(len(data)) > budget {
				yield(Note{Off: p.Off}, &FormatError{Off: p.Off, Field: "p_filesz", Msg: "note segments overlap"})
				return
			}
			budget -= uint64(len(data))
			for n, err := range notes(data, f.order, p.Align) {
				n.Off += p.Off
				n.Start += p.Off
				if left--; left < 0 {
					yield(Note{Off: n.Off}, &FormatError{Off: n.Off, Field: "p_filesz", Msg: fmt.Sprintf("more than %d notes; the rest is not read", most)})
					return
				}
				if fe, ok := errors.AsType[*FormatError](err); ok {
					fe.Off += p.Off
				}
				if !yield(n, err) {
					return
				}
			}
			if uint64(len(data)) < p.Filesz {
				err := &FormatError{Off: p.Off, Field: "p_filesz", Msg: fmt.Sprintf("the file holds %d of %d bytes of notes", len(data), p.Filesz)}
				if !yield(Note{Off: p.Off}, err) {
					return
				}
			}
		}
	}
}

// BuildID returns the build-id in lower-case hexadecimal, or "". It reads the first
// 64 KiB of notes, once.
func (f *File) BuildID() string {
	return f.buildID()
}

// buildIDSection is where linkers put the build-id.
const buildIDSection = ".note.gnu.build-id"

func (f *File) findBuildID() string {
	left := uint64(maxIDNotes)
	in := func(data []byte, align uint64) string {
		data = data[:min(uint64(len(data)), left)]
		left -= uint64(len(data))
		for n, err := range notes(data, f.order, align) {
			if id := n.buildID(); id != "" && err == nil {
				return id
			}
		}
		return ""
	}
	for i := range f.Progs {
		if p := &f.Progs[i]; p.Type == ProgNote {
			if id := in(f.SegmentData(p), p.Align); id != "" {
				return id
			}
		}
	}
	left = maxIDNotes
	sects, _ := f.Sections()
	for _, named := range []bool{true, false} {
		for i := range sects {
			if s := &sects[i]; s.Type == SectNote && (s.Name == buildIDSection) == named {
				if id := in(f.Bytes(s.Off, s.Size), s.Align); id != "" {
					return id
				}
			}
		}
	}
	return ""
}

func (n *Note) buildID() string {
	if n.Type != noteGNUBuildID || n.Name != "GNU" || len(n.Desc) > maxBuildID {
		return ""
	}
	return hex.EncodeToString(n.Desc)
}
