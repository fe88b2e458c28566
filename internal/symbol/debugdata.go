package symbol

import (
	"bytes"
	"fmt"
	"io"

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
	data, err := unpackXZ(packed, maxDebugdata)
	if err != nil {
		return bad(err)
	}
	inner, err := elfx.Parse(data)
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

// unpackXZ decompresses packed, up to limit bytes.
func unpackXZ(packed []byte, limit int64) ([]byte, error) {
	z, err := xz.NewReader(bytes.NewReader(packed), maxDictionary)
	if err != nil {
		return nil, err
	}
	var data bytes.Buffer
	n, err := io.Copy(&data, io.LimitReader(z, limit+1))
	if err != nil {
		return nil, err
	}
	if n > limit {
		return nil, fmt.Errorf("more than the limit of %d bytes", limit)
	}
	return data.Bytes(), nil
}
