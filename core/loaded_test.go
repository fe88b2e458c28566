package core

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/memreader"
)

// A thread in a program that nothing names: its beginning is searched for below.
func TestFindLoadedAroundPC(t *testing.T) {
	const base = 0x7f00_0000_0000
	file := (&testkit.ELF{
		Order: binary.LittleEndian, Type: 3, Machine: arch.EMX86_64,
		Sections: []testkit.ELFSection{
			{Name: ".text", Type: 1, Flags: 6, Addr: 0x3000, Data: make([]byte, 0x100), Align: 1},
			{Name: ".dynamic", Type: 6, Flags: 3, Addr: 0x5000, Data: binary.LittleEndian.AppendUint64(
				binary.LittleEndian.AppendUint64(nil, 21 /* DT_DEBUG */), 8), Align: 8},
		},
		Progs: []testkit.ELFProg{{Type: 2, Flags: 6, Section: ".dynamic"}},
		Bare:  true,
	}).File()
	mem := make([]byte, 0x6000)
	copy(mem, file[:min(len(file), 0x1000)])
	copy(mem[0x5000:], "\x15\x00\x00\x00\x00\x00\x00\x00\x08")
	img := &Image{Arch: arch.AMD64, PID: 1, Executable: "/bin/program", Mem: memreader.NewSpace([]memreader.Segment{{Addr: base, Size: 0x6000, Data: mem}})}
	img.Threads = []Thread{{ID: 1}}
	img.Threads[0].Regs.Set(img.Arch.PC, base+0x3010)
	img.FindLoaded(nil)
	m := img.Mapping(base + 0x3010)
	if m == nil || m.Path != "/bin/program" || !m.Exec || m.Lo != base+0x3000 || m.Hi != base+0x4000 {
		t.Errorf("got %+v among %+v, want the page of .text", m, img.Mappings)
	}
	if phdr, ok := img.Auxv.Get(ATPhdr); !ok || phdr != base+64 {
		t.Errorf("got AT_PHDR %#x, %v, want %#x", phdr, ok, base+64)
	}
}

// ones is memory without end in which every byte is 1.
type ones struct{ reads int }

func (e *ones) ReadMem(p []byte, _ uint64) (int, error) {
	e.reads++
	for i := range p {
		p[i] = 1
	}
	return len(p), nil
}

// Threads in code without a beginning are given up.
func TestFindLoadedEndless(t *testing.T) {
	mem := &ones{}
	img := &Image{Arch: arch.AMD64, PID: 1, Mem: mem, Threads: make([]Thread, 100)}
	for i := range img.Threads {
		img.Threads[i].Regs.Set(img.Arch.PC, uint64(i+1)<<40)
	}
	const most = 3 * maxScanned // two reads of a page, and some for each thread
	if img.FindLoaded(nil); len(img.Mappings) > 0 || mem.reads > most {
		t.Errorf("got %d mappings after %d reads, want none after %d at most", len(img.Mappings), mem.reads, most)
	}
}

// FuzzFindLoaded gives any memory. Mappings ascend and do not overlap, and the
// search ends.
func FuzzFindLoaded(f *testing.F) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		f.Add((&testkit.ELF{Order: order, Type: 2, Machine: arch.EMAArch64, Base: 0x10000}).File(), uint64(0x10000), uint64(0x10000))
	}
	f.Fuzz(func(t *testing.T, data []byte, addr, pc uint64) {
		for _, a := range []*arch.Arch{arch.AMD64, arch.AArch64BE} {
			img := &Image{Arch: a, PID: 1, Mem: memreader.NewSpace([]memreader.Segment{{Addr: addr, Size: uint64(len(data)), Data: data}})}
			img.Threads = []Thread{{ID: 1}}
			img.Threads[0].Regs.Set(a.PC, pc)
			img.Threads[0].Regs.Set(a.SP, pc)
			img.FindLoaded([]Loaded{{"/lib/ld.so", addr}})
			end := uint64(0)
			for _, m := range img.Mappings {
				if m.Lo < end || m.Hi <= m.Lo {
					t.Fatalf("got %#x-%#x after %#x", m.Lo, m.Hi, end)
				}
				end = m.Hi
			}
		}
	})
}

// A core with neither NT_FILE nor NT_AUXV has files all the same, by what is in
// memory: the valgrind case, and others with those notes taken out.
func TestFilesInMemory(t *testing.T) {
	for _, name := range []string{"amd64-v1-plt-1", "amd64-v3-plt-1"} {
		packed, err := os.Open(filepath.Join("../testdata/cores", name, "core.zst"))
		if err != nil {
			t.Fatal(err)
		}
		defer packed.Close()
		r, err := zstd.NewReader(packed)
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		data = bytes.ReplaceAll(data, []byte("\x45\x4c\x49\x46CORE\x00"), []byte("\x99\x00\x00\x00CORE\x00"))
		data = bytes.ReplaceAll(data, []byte("\x06\x00\x00\x00CORE\x00"), []byte("\x99\x00\x00\x00CORE\x00"))
		img, err := openBytes(data)
		if err != nil {
			t.Fatal(err)
		}
		code := map[string]int{}
		for i := range img.Mappings {
			if m := &img.Mappings[i]; m.Exec {
				code[filepath.Base(m.Path)]++
			}
		}
		if img.Executable != "pltmain" || code["pltmain"] != 1 || code["libplt.so"] != 1 {
			t.Errorf("%s: got executable %q, executable mappings of %v", name, img.Executable, code)
		}
	}
}

// A program that no dynamic linker lists is the one at fixed addresses. A mapping
// of a file that is only read is none.
func TestStaticInMemory(t *testing.T) {
	eachArch(t, func(t *testing.T, a *arch.Arch) {
		const base, read = 0x40_0000, 0x1_0000_0000
		order := binary.ByteOrder(binary.LittleEndian)
		if a.BigEndian {
			order = binary.BigEndian
		}
		e := &testkit.ELF{
			Order: order, Type: elfx.TypeExec, Machine: a.Machine, Base: base,
			Sections: []testkit.ELFSection{
				{Name: ".text", Type: elfx.SectProgbits, Flags: elfx.SectAlloc | elfx.SectExec, Addr: base + 0x1000, Data: make([]byte, 0x100)},
			},
		}
		mem := e.Memory()
		img := openBuilt(t, testkit.NewCore(a).Process(1, "prog", "").Thread(1, 11, regs(a, 0)).
			Segment(base, 0x1000, false, mem[:0x1000]).Segment(base+0x1000, 0x1000, true, mem[0x1000:]).Segment(read, 0x1000, false, e.File()))
		m, other := img.Mapping(base+0x1010), img.Mapping(read)
		if m == nil || m.Path != "prog" || !m.Exec || other == nil || other.Path != "" {
			t.Errorf("got %+v and %+v, want prog and a mapping without name", m, other)
		}
		if entry, ok := img.Auxv.Get(ATEntry); !ok || entry != 0 {
			t.Errorf("got AT_ENTRY %#x, %v", entry, ok)
		}
	})
}
