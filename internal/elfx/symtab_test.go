package elfx

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/testkit"
)

var testSymbols = []testkit.ELFSymbol{
	{Name: "imported", Info: 0x12},
	{Name: "f", Info: 0x12, Shndx: 1, Value: 0x1010, Size: 0x20},
	{Name: "g", Info: 0x22, Shndx: 1, Value: 0x1040, Size: 0x10},
}

func TestSymtab(t *testing.T) {
	for name, order := range orders {
		t.Run(name, func(t *testing.T) {
			e := testkit.ELF{Order: order, Machine: 62, Symbols: testSymbols}
			f, err := Parse(e.File())
			if err != nil {
				t.Fatal(err)
			}
			tab, err := f.Symtab()
			if err != nil || tab.Len() != 4 {
				t.Fatalf("got %d entries, %v, want 4", tab.Len(), err)
			}
			s := tab.Sym(3)
			if s.Value != 0x1040 || s.Size != 0x10 || s.Shndx != 1 || s.Info>>4 != 2 || s.Type() != SymFunc || CString(tab.Strings, uint64(s.Name)) != "g" {
				t.Errorf("got %+v", s)
			}
			if tab, err := f.Dynsym(); err != nil || tab.Len() != 0 {
				t.Errorf("Dynsym: got %d entries, %v, want none", tab.Len(), err)
			}
		})
	}
}

func TestSymtabDamage(t *testing.T) {
	e := testkit.ELF{Order: binary.LittleEndian, Machine: 62, Symbols: testSymbols}
	good := e.File()
	f, err := Parse(good)
	if err != nil {
		t.Fatal(err)
	}
	symtab := binary.LittleEndian.Uint64(good[40:]) + 1*shdrSize // the first section is .symtab
	size := f.Section(".symtab").Size
	for _, tt := range []struct {
		name  string
		at    uint64 // in the section header
		value uint64 // 8 bytes, or 4 at sh_link
		len   int
		error string
	}{
		{"sh_entsize 0", 56, 0, 4, "sh_entsize"},
		{"sh_entsize 16", 56, 16, 4, "sh_entsize"},
		{"cut off", 32, size - 5, 3, ""},
		{"past the end", 32, 1 << 62, -1, "sh_size"},
		{"no strings", 40, 77, 4, "sh_link"},
		{"empty", 32, 0, 0, ""},
		{"offset past the end", 24, 1 << 63, 0, "sh_size"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data := append([]byte(nil), good...)
			if tt.at == 40 {
				binary.LittleEndian.PutUint32(data[symtab+tt.at:], uint32(tt.value))
			} else {
				binary.LittleEndian.PutUint64(data[symtab+tt.at:], tt.value)
			}
			f, err := Parse(data)
			if err != nil {
				t.Fatal(err)
			}
			tab, err := f.Symtab()
			if tt.len >= 0 && tab.Len() != tt.len || len(tab.Data)%SymSize != 0 {
				t.Errorf("got %d entries in %d bytes, want %d", tab.Len(), len(tab.Data), tt.len)
			}
			if (err != nil) != (tt.error != "") || err != nil && !strings.Contains(err.Error(), tt.error) {
				t.Errorf("got %v, want %q", err, tt.error)
			}
		})
	}
}

// A string table that is not whole is told of, and the names that are there remain.
func TestStringsCutOff(t *testing.T) {
	for name, order := range orders {
		e := testkit.ELF{Order: order, Machine: 62, Symbols: testSymbols}
		data := e.File()
		strtab := order.Uint64(data[40:]) + 2*shdrSize
		order.PutUint64(data[strtab+32:], 1<<40)
		f, err := Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		tab, err := f.Symtab()
		if tab.Len() != 4 || fieldOf(err) != "sh_size" {
			t.Fatalf("%s: got %d symbols, %v", name, tab.Len(), err)
		}
		if s := tab.Sym(3); CString(tab.Strings, uint64(s.Name)) != "g" {
			t.Errorf("%s: got %+v, want g", name, s)
		}
	}
}

// Numbers of the gABI and of elf.h, which the tests share with what reads them.
func TestNumbersOfELF(t *testing.T) {
	for name, n := range map[string][2]uint64{
		"SHF_ALLOC": {SectAlloc, 2}, "SHF_EXECINSTR": {SectExec, 4}, "SHF_COMPRESSED": {SectCompressed, 0x800},
		"SHT_NULL": {SectNull, 0}, "STT_NOTYPE": {SymNotype, 0}, "STB_LOCAL": {BindLocal, 0}, "SHN_UNDEF": {ShnUndef, 0}, "EM_NONE": {MachineNone, 0},
		"SHT_PROGBITS": {SectProgbits, 1}, "SHT_SYMTAB": {SectSymtab, 2}, "SHT_RELA": {SectRela, 4}, "SHT_NOTE": {SectNote, 7}, "SHT_NOBITS": {SectNobits, 8},
		"SHT_REL": {sectRel, 9}, "SHT_DYNSYM": {SectDynsym, 11}, "SHT_GNU_SFRAME": {SectGNUSFrame, 0x6ffffff4},
		"PT_LOAD": {ProgLoad, 1}, "PT_DYNAMIC": {ProgDynamic, 2}, "PT_INTERP": {ProgInterp, 3}, "PT_NOTE": {ProgNote, 4}, "PT_PHDR": {ProgPhdr, 6},
		"PT_GNU_EH_FRAME": {ProgGNUEHFrame, 0x6474e550}, "PT_GNU_SFRAME": {ProgGNUSFrame, 0x6474e554}, "PF_X": {ProgExec, 1}, "PF_W": {ProgWrite, 2},
		"ET_REL": {TypeRel, 1}, "ET_EXEC": {TypeExec, 2}, "ET_DYN": {TypeDyn, 3}, "ET_CORE": {TypeCore, 4},
		"STT_OBJECT": {SymObject, 1}, "STT_FUNC": {SymFunc, 2}, "STT_GNU_IFUNC": {SymGNUIFunc, 10}, "SHN_LORESERVE": {ShnLoreserve, 0xff00}, "SHN_XINDEX": {ShnXindex, 0xffff},
		"DT_NULL": {dynNull, 0}, "DT_HASH": {dynHash, 4}, "DT_STRTAB": {dynStrtab, 5}, "DT_SYMTAB": {dynSymtab, 6}, "DT_STRSZ": {dynStrsz, 10}, "DT_GNU_HASH": {dynGNUHash, 0x6ffffef5},
		"NT_GNU_BUILD_ID": {noteGNUBuildID, 3}, "ELFCOMPRESS_ZLIB": {compressZlib, 1}, "ELFCOMPRESS_ZSTD": {compressZstd, 2},
	} {
		if n[0] != n[1] {
			t.Errorf("%s: got %#x, want %#x", name, n[0], n[1])
		}
	}
}

// TestSym decodes an entry whose bytes all differ.
func TestSym(t *testing.T) {
	for name, order := range orders {
		data := testkit.New(order).Zero(24).D32(0x01020304).D8(0x52, 6).D16(0x0708).D64(0x1112131415161718, 0x2122232425262728).Done()
		tab := SymTab{Data: data, BigEndian: name == "BE"}
		want := Sym{Name: 0x01020304, Info: 0x52, Other: 6, Shndx: 0x0708, Value: 0x1112131415161718, Size: 0x2122232425262728}
		if got := tab.Sym(1); tab.Len() != 2 || got != want || got.Type() != 2 {
			t.Errorf("%s: got %+v of %d, want %+v", name, got, tab.Len(), want)
		}
	}
}
