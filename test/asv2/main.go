// Command asv2 writes the .sframe of an ELF64 program as version 2, with the rows that it
// has: no assembler writes version 2 for s390x. The section keeps its place and may not
// grow. The recipe of a case of testdata/cores uses it.
//
//	asv2 FILE
package main

import (
	"fmt"
	"os"
	"slices"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/sframe"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "asv2: name a file")
		os.Exit(2)
	}
	if err := rewrite(os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "asv2: %v\n", err)
		os.Exit(1)
	}
}

func rewrite(name string) error {
	file, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	f, err := elfx.Parse(file)
	if err != nil {
		return err
	}
	sections, err := f.Sections()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(sections, func(s elfx.Section) bool { return s.Name == ".sframe" })
	if i < 0 {
		return fmt.Errorf("%s has no .sframe", name)
	}
	old := f.Bytes(sections[i].Off, sections[i].Size)
	table, err := asV2(old, sections[i].Addr)
	if err != nil {
		return err
	}
	if len(table) > len(old) {
		return fmt.Errorf("%s: %d bytes do not fit where %d are", name, len(table), len(old))
	}
	clear(old[copy(old, table):])
	// The section header says how long it is, where sh_size is the fifth field.
	size := f.ByteOrder().Uint64(file[40:]) + uint64(i)*64 + 32
	f.ByteOrder().PutUint64(file[size:], uint64(len(table)))
	return os.WriteFile(name, file, 0o755)
}

// asV2 returns the rows of a section as a table of version 2.
func asV2(data []byte, addr uint64) ([]byte, error) {
	section, err := sframe.Parse(data, addr, sframe.Options{})
	if err != nil {
		return nil, err
	}
	b := sframe.Builder{Version: sframe.V2}
	for t, err := range section.Tables() {
		if err != nil {
			return nil, err
		}
		b.ABI, b.FixedFP, b.FixedRA = t.Header.ABI, t.Header.FixedFP, t.Header.FixedRA
	}
	for f, err := range section.Funcs() {
		if err != nil {
			return nil, err
		}
		rows := sframe.FuncRows{Start: f.Start, Size: f.Size, RepSize: f.RepSize, Signal: f.Signal(), KeyB: f.KeyB()}
		for e, err := range section.FREs(f) {
			if err != nil {
				return nil, err
			}
			row := sframe.RowAt{At: e.Start}
			if err := f.Row(&e, &row.Row); err != nil {
				return nil, err
			}
			rows.Rows = append(rows.Rows, row)
		}
		b.Funcs = append(b.Funcs, rows)
	}
	return b.Append(nil, addr)
}
