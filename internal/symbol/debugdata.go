package symbol

import (
	"bytes"
	"fmt"

	"github.com/therootcompany/xz"

	"github.com/sfcore/sfcore/internal/elfx"
)

// debugdataSection holds an ELF file, compressed by xz, with symbols that a
// stripped image would lack ("MiniDebugInfo").
const debugdataSection = ".gnu_debugdata"

const (
	// maxDebugdata bounds the ELF file within .gnu_debugdata, in bytes. The
	// symbols of the largest programs known take some tens of megabytes.
	maxDebugdata = 128 << 20
	// maxDictionary bounds the additional memory that xz asks for: that of xz -9.
	maxDictionary = 64 << 20
)

// openDebugdata opens the symbol table within .gnu_debugdata. The file of the table
// becomes the ELF file inside.
func openDebugdata(t *table) (elfx.SymTab, error) {
	s := t.file.Section(debugdataSection)
	if s == nil {
		return elfx.SymTab{}, nil
	}
	bad := func(err error) (elfx.SymTab, error) {
		return elfx.SymTab{}, fmt.Errorf("%s at offset %#x: %w", debugdataSection, s.Off, err)
	}
	packed, err := t.file.SectionData(s)
	if err != nil {
		return bad(err)
	}
	data, err := unpackXZ(packed, maxDebugdata, t.file)
	if err != nil {
		return bad(err)
	}
	inner, err := t.file.ParseWithin(data)
	if err != nil {
		return bad(err)
	}
	t.file = inner
	tab, err := inner.Symtab()
	if err != nil {
		err = fmt.Errorf("%s: %w", debugdataSection, err)
	}
	return tab, err
}

// unpackXZ decompresses packed, which is in a file, up to limit bytes.
func unpackXZ(packed []byte, limit uint64, file *elfx.File) ([]byte, error) {
	in := bytes.NewReader(packed)
	z, err := xz.NewReader(in, maxDictionary)
	if err != nil {
		return nil, err
	}
	data, err := file.Inflate(z, in, limit+1)
	if err != nil {
		return nil, err
	}
	if uint64(len(data)) > limit {
		return nil, fmt.Errorf("more than the limit of %d bytes", limit)
	}
	return data, nil
}
