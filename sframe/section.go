package sframe

import (
	"sync"

	"github.com/sfcore/sfcore/arch"
)

// Options say how to decode a section. The zero Options are right for the output of
// toolchains.
type Options struct {
	// CTFFrame decodes version 1 as CTF Frame, as is right for a section called
	// .ctf_frame. Without it, tables that only make sense that way are decoded so.
	CTFFrame bool
	// Arch is the architecture of the file that holds the section, which has the
	// byte order. Tables for another one are refused. nil accepts all.
	Arch *arch.Arch
}

// Section is an .sframe section. It is immutable and safe for concurrent use.
type Section struct {
	data []byte
	addr uint64
	opts Options
	arch *arch.Arch

	once   sync.Once
	lookup lookup
}

// Parse reads the header of an .sframe section, in time that does not depend
// on the section's size. Nothing is copied: the section refers to data, which
// must not change. addr is the address of data[0], at run time or as linked;
// the pcs for [Section.Find] are of the same kind.
//
// No data is a section without functions. The error is a [*FormatError] if
// there is no table that can be used; damage beyond that is reported by the
// lookups it affects, by [Section.Tables] and by [Section.Validate].
func Parse(data []byte, addr uint64, opts Options) (*Section, error) {
	s := &Section{data: data, addr: addr, opts: opts}
	if len(data) == 0 {
		return s, nil
	}
	t, err := parseTable(data, 0, addr, &s.opts)
	if err == nil {
		s.arch = t.Arch
		return s, nil
	}
	at, ok := s.resync(tableAlign)
	if !ok {
		return nil, err
	}
	t, _ = s.table(at)
	s.arch = t.Arch
	return s, nil
}

// Arch returns the architecture of all tables; nil if there are none.
func (s *Section) Arch() *arch.Arch { return s.arch }

// Addr returns the address of the section's first byte.
func (s *Section) Addr() uint64 { return s.addr }

// Size returns the size of the section's data in bytes, padding included.
func (s *Section) Size() int { return len(s.data) }

const (
	// tableAlign is the alignment of tables in a section, which is that of the
	// sections they come from.
	tableAlign = 8

	// maxTables bounds the tables of a section. A linker that does not merge
	// leaves one per object file, and the largest programs have some 40,000.
	maxTables = 1 << 17
)

// table decodes the header at off.
func (s *Section) table(off int) (Table, *FormatError) {
	t, err := parseTable(s.data, off, s.addr, &s.opts)
	if err == nil && s.arch != nil && t.Arch != s.arch {
		return t, damage("abi-differs", off+4, t.ver.header.abi, "%d is %s, the first table's is %s", t.ABI, t.Arch.Name, s.arch.Name)
	}
	return t, err
}

// walk calls yield for every table, or piece of damage between tables, in the
// order of the section, until yield returns false.
//
// After a table comes zero padding up to an aligned header or to the end. If
// there is anything else, or a header is damaged, the next aligned header that
// makes sense is looked for, so that damage does not hide tables behind it.
func (s *Section) walk(yield func(*Table, *FormatError) bool) {
	n := 0
	for off, ok := 0, len(s.data) > 0; ok; n++ {
		if n == maxTables {
			yield(nil, damage("too-many-tables", off, layouts[V3].header.magic, "the section has more than %d tables", maxTables))
			return
		}
		t, err := s.table(off)
		if err != nil {
			if !yield(&t, err) {
				return
			}
			off, ok = s.resync(off + tableAlign)
			continue
		}
		if !yield(&t, nil) {
			return
		}
		if t.Cut {
			off, ok = s.resync(t.fresAt)
			continue
		}
		end := t.end
		off, ok = s.skipPadding(end)
		if !ok || s.magicAt(off) {
			continue
		}
		err = damage("trailing-data", off, t.ver.header.magic, "the bytes after the table that ends at %#x are neither zero nor a table", end)
		if !yield(nil, err) {
			return
		}
		off, ok = s.resync(off)
	}
}

// skipPadding returns the first offset from at where there is something else
// than padding; false if there is nothing.
func (s *Section) skipPadding(at int) (off int, ok bool) {
	for ; at < len(s.data); at++ {
		if s.data[at] != 0 {
			return at, true
		}
	}
	return 0, false
}

// magicAt reports whether a table may begin at off.
func (s *Section) magicAt(off int) bool {
	d := s.data[off:]
	return off%tableAlign == 0 && len(d) >= 2 &&
		(d[0] == Magic>>8 && d[1] == Magic&0xff || d[1] == Magic>>8 && d[0] == Magic&0xff)
}

// resync returns the first offset from at where there is a table.
func (s *Section) resync(at int) (off int, ok bool) {
	at = (at + tableAlign - 1) &^ (tableAlign - 1)
	for ; at < len(s.data); at += tableAlign {
		if !s.magicAt(at) {
			continue
		}
		if _, err := s.table(at); err == nil {
			return at, true
		}
	}
	return 0, false
}
