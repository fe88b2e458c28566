package process_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/process"
)

// withoutPage is memory that lacks a page.
type withoutPage struct {
	memreader.Reader
	page uint64
}

func (m withoutPage) ReadMem(p []byte, addr uint64) (int, error) {
	if addr-m.page < 4096 {
		return 0, &memreader.FaultError{Addr: addr}
	}
	return m.Reader.ReadMem(p, addr)
}

// Code of a program that is mapped at other addresses too, as V8 does with its
// builtins, has the same names and tables there, also where no ELF header is in
// memory to tell the program's addresses.
func TestMappedAgain(t *testing.T) {
	const name = "amd64-v1-allfp" // linked to 0x400000
	for _, header := range []bool{true, false} {
		img := *openCase(t, name, process.Options{}).Image()
		if !header {
			img.Mem = withoutPage{img.Mem, 0x400000}
		}
		const text = 0x401000
		copies := []uint64{0x7f00_0000_0000, 0x7f00_1000_0000}
		mapped := img.Mapping(text)
		for _, addr := range copies {
			m := *mapped
			m.Lo, m.Hi = addr, addr+(m.Hi-m.Lo)
			img.Mappings = append(img.Mappings, m)
		}
		tg := openImage(t, name, &img, process.Options{})
		names := 0
		for off := uint64(0); off < 0x2ca; off += 16 {
			want := tg.Locate(text + off).Functions
			for _, addr := range copies {
				got := tg.Locate(addr + off).Functions
				if len(got) != len(want) || len(got) > 0 && got[0].Name != want[0].Name {
					t.Errorf("header %v, %#x: got %+v, want %+v", header, addr+off, got, want)
				}
			}
			if len(want) > 0 && want[0].Name != "" {
				names++
			}
		}
		if names == 0 {
			t.Errorf("header %v: no names", header)
		}
		for _, addr := range copies {
			if m := tg.Locate(addr).Tables; m == nil || m.SFrame == nil {
				t.Errorf("header %v: no tables at %#x", header, addr)
			}
		}
	}
}

// Code in a file that is no ELF image is in no module.
func TestForeignFile(t *testing.T) {
	const name, addr = "amd64-v1-allfp", 0x5000_0000
	file := filepath.Join(t.TempDir(), "image.core")
	if err := os.WriteFile(file, make([]byte, 8192), 0o600); err != nil {
		t.Fatal(err)
	}
	img := *openCase(t, name, process.Options{}).Image()
	img.Mappings = append(img.Mappings[:len(img.Mappings):len(img.Mappings)],
		core.Mapping{Lo: addr, Hi: addr + 4096, Off: 4096, Path: file, Exec: true})
	tg := openImage(t, name, &img, process.Options{})
	if m := tg.Locate(addr).Tables; m != nil {
		t.Errorf("got module %+v", m)
	}
	if m := tg.Locate(0x401000).Tables; m == nil {
		t.Error("the program is in no module")
	}
	if p := tg.Problems(); len(p) > 0 {
		t.Errorf("got problems %v", p)
	}
}
