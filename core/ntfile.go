package core

import (
	"bytes"
	"encoding/binary"
	"strings"

	"github.com/sfcore/sfcore/internal/elfx"
)

// deletedSuffix is what the kernel appends to the path of a file that is no
// longer there [linux fs/d_path.c].
const deletedSuffix = " (deleted)"

// parseNTFile decodes an NT_FILE note: the number of entries and the unit of
// file offsets; per entry start, end, and file offset in that unit; then the
// file names, each with a NUL [linux fs/binfmt_elf.c: fill_files_note]. It
// returns the entries before the first defect.
func parseNTFile(note *elfx.Note, order binary.ByteOrder) ([]Mapping, error) {
	const header, entrySize = 16, 24
	d := note.Desc
	if len(d) < header {
		return nil, note.Errorf(0, "count", "NT_FILE of %d bytes has no header", len(d))
	}
	count, unit := order.Uint64(d), order.Uint64(d[8:])
	if room := uint64(len(d)-header) / entrySize; count > room {
		return nil, note.Errorf(0, "count", "NT_FILE: %d entries do not fit %d bytes", count, len(d))
	}
	entries, names := d[header:header+count*entrySize], d[header+count*entrySize:]

	files := make([]Mapping, 0, count)
	var last Mapping // mappings of one file follow one another: share its path
	var lastName []byte
	for at := uint64(0); at < uint64(len(entries)); at += entrySize {
		e := entries[at : at+entrySize]
		lo, hi, pgoff := order.Uint64(e), order.Uint64(e[8:]), order.Uint64(e[16:])
		end := bytes.IndexByte(names[:min(len(names), maxPath+1)], 0)
		name := names[:max(end, 0)]
		switch {
		case end < 0:
			return files, note.Errorf(header+at, "filename", "NT_FILE: the name of entry %d has no end within %d bytes", at/entrySize, maxPath)
		case hi <= lo:
			return files, note.Errorf(header+at, "start", "NT_FILE: entry %d goes from %#x to %#x", at/entrySize, lo, hi)
		case unit != 0 && pgoff > ^uint64(0)/unit:
			return files, note.Errorf(header+at+16, "file_ofs", "NT_FILE: entry %d: offset %#x in units of %#x bytes", at/entrySize, pgoff, unit)
		}
		names = names[end+1:]
		if !bytes.Equal(name, lastName) {
			lastName = name
			last.Path, last.Deleted = strings.CutSuffix(string(name), deletedSuffix)
		}
		m := last
		m.Lo, m.Hi, m.Off = lo, hi, pgoff*unit
		files = append(files, m)
	}
	return files, nil
}
