package core

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/memreader"
)

func TestLoads(t *testing.T) {
	const top = ^uint64(0)
	progs := []elfx.Prog{
		{Type: elfx.ProgNote, Memsz: 5},
		{Type: elfx.ProgLoad, Flags: 5, Vaddr: 0x1000, Memsz: 0x1000},
		{Type: elfx.ProgLoad, Flags: 6, Vaddr: top - 15, Memsz: 0x1000},
		{Type: elfx.ProgLoad, Vaddr: 0, Memsz: 0x1800},
		{Type: elfx.ProgLoad, Vaddr: 0x1100, Memsz: 0x100},
		{Type: elfx.ProgLoad, Vaddr: top, Memsz: 1},
	}
	want := []Mapping{
		{Lo: 0, Hi: 0x1800},
		{Lo: 0x1800, Hi: 0x2000, Exec: true},
		{Lo: top - 15, Hi: top},
	}
	if got := mappingsOf(loadsOf(progs)); !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestJoin(t *testing.T) {
	const top = ^uint64(0)
	load := func(lo, hi uint64, exec bool) Mapping { return Mapping{Lo: lo, Hi: hi, Exec: exec} }
	file := func(lo, hi, off uint64, exec bool) Mapping {
		return Mapping{Lo: lo, Hi: hi, Off: off, Path: "/a", Exec: exec}
	}
	tests := []struct {
		name               string
		loads, files, want []Mapping
	}{
		{"nothing", nil, nil, nil},
		{"only segments", []Mapping{load(1, 2, true)}, nil, []Mapping{load(1, 2, true)}},
		{"only files", nil, []Mapping{file(1, 2, 9, false)}, []Mapping{file(1, 2, 9, true)}},
		{"equal", []Mapping{load(1, 5, false)}, []Mapping{file(1, 5, 9, false)}, []Mapping{file(1, 5, 9, false)}},
		{"apart", []Mapping{load(5, 6, false)}, []Mapping{file(1, 2, 9, false)}, []Mapping{file(1, 2, 9, true), load(5, 6, false)}},
		{
			"file inside",
			[]Mapping{load(1, 9, false)},
			[]Mapping{file(3, 5, 0, false)},
			[]Mapping{load(1, 3, false), file(3, 5, 0, false), load(5, 9, false)},
		},
		{
			"segments inside",
			[]Mapping{load(2, 3, false), load(4, 5, true)},
			[]Mapping{file(1, 9, 10, false)},
			[]Mapping{file(1, 2, 10, true), file(2, 3, 11, false), file(3, 4, 12, true), file(4, 5, 13, true), file(5, 9, 14, true)},
		},
		{
			"not in order",
			[]Mapping{load(5, 7, false), load(1, 3, true)},
			[]Mapping{file(6, 7, 0, false), file(1, 2, 0, false)},
			[]Mapping{file(1, 2, 0, true), load(2, 3, true), load(5, 6, false), file(6, 7, 0, false)},
		},
		{"from address 0", []Mapping{load(0, 2, true)}, []Mapping{file(0, 3, 7, false)}, []Mapping{file(0, 2, 7, true), file(2, 3, 9, true)}},
		{
			"the end of the address space",
			[]Mapping{load(top-1, top, true)},
			[]Mapping{file(1, 2, 0, false)},
			[]Mapping{file(1, 2, 0, true), load(top-1, top, true)},
		},
		{"overlapping: the lower one wins", []Mapping{load(1, 5, true), load(3, 7, false)}, nil, []Mapping{load(1, 5, true), load(5, 7, false)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := join(disjoint(tt.loads), disjoint(tt.files))
			if !slices.Equal(got, tt.want) {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

// FuzzJoin compares mappings with a list by address. Each three bytes of input
// are a segment or the mapping of a file: its address, its size, its flags.
func FuzzJoin(f *testing.F) {
	f.Add([]byte{0x10, 0x20, 0, 0x18, 0x10, 1, 0x40, 0x10, 3})
	f.Fuzz(func(t *testing.T, layout []byte) {
		var segs, files []Mapping
		for ; len(layout) >= 3; layout = layout[3:] {
			m := Mapping{Lo: uint64(layout[0]), Hi: uint64(layout[0]) + uint64(layout[1]), Exec: layout[2]&2 != 0}
			if layout[2]&1 != 0 {
				m.Path, m.Off = "/file", m.Lo+1000
				files = append(files, m)
			} else {
				segs = append(segs, m)
			}
		}
		covers := func(ms []Mapping, addr uint64) *Mapping { // the one that begins first, as disjoint promises
			var first *Mapping
			for i := range ms {
				if ms[i].Contains(addr) && (first == nil || ms[i].Lo < first.Lo) {
					first = &ms[i]
				}
			}
			return first
		}
		img := Image{Mappings: join(disjoint(slices.Clone(segs)), disjoint(slices.Clone(files)))}
		end := uint64(0)
		for _, m := range img.Mappings {
			if m.Lo < end || m.Lo >= m.Hi {
				t.Fatalf("mapping %+v after %#x", m, end)
			}
			end = m.Hi
		}
		for addr := range uint64(0x200) {
			seg, file, got := covers(segs, addr), covers(files, addr), img.Mapping(addr)
			if (got != nil) != (seg != nil || file != nil) {
				t.Fatalf("at %#x: got %+v, want of %+v and %+v", addr, got, seg, file)
			}
			if file != nil && (got.Path != "/file" || got.Off+addr-got.Lo != addr+1000) {
				t.Errorf("at %#x: got %+v, want of file %+v", addr, got, file)
			}
			if got != nil && seg == nil && !got.Exec {
				t.Errorf("at %#x: got %+v, whose permissions are unknown", addr, got)
			}
		}
	})
}

func TestSegments(t *testing.T) {
	data := []byte("0123456789")
	load := func(off, vaddr, filesz, memsz uint64) elfx.Prog {
		return elfx.Prog{Type: elfx.ProgLoad, Off: off, Vaddr: vaddr, Filesz: filesz, Memsz: memsz}
	}
	const top = ^uint64(0)
	tests := []struct {
		name string
		prog elfx.Prog
		addr uint64
		want string
		why  memreader.Why
		next memreader.Why // at addr 6 further on
	}{
		{"dumped", load(2, 0x1000, 3, 3), 0x1000, "234", memreader.Unmapped, memreader.Unmapped},
		{"in part", load(2, 0x1000, 3, 9), 0x1000, "234", memreader.NotDumped, memreader.NotDumped},
		{"not", load(2, 0x1000, 0, 9), 0x1000, "", memreader.NotDumped, memreader.NotDumped},
		{"cut off", load(8, 0x1000, 4, 9), 0x1000, "89", memreader.Truncated, memreader.NotDumped},
		{"past the end", load(100, 0x1000, 4, 9), 0x1000, "", memreader.Truncated, memreader.NotDumped},
		{"offset overflows", load(top, 0x1000, 4, 9), 0x1000, "", memreader.Truncated, memreader.NotDumped},
		{"cut off, wraps around", load(8, top-3, 5, 90), top - 3, "89", memreader.Truncated, memreader.Unmapped},
		{"more in the file than in memory", load(2, 0x1000, 8, 3), 0x1000, "234", memreader.Unmapped, memreader.Unmapped},
		{"file size overflows", load(2, 0x1000, top, 10), 0x1000, "23456789", memreader.Truncated, memreader.Unmapped},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := memreader.NewSpace(segments(&elfx.File{Data: data, Progs: []elfx.Prog{tt.prog}}))
			p := make([]byte, 16)
			n, err := s.ReadMem(p, tt.addr)
			fault, _ := errors.AsType[*memreader.FaultError](err)
			if string(p[:n]) != tt.want || fault == nil || fault.Why != tt.why {
				t.Errorf("got %q, %v, want %q, %v", p[:n], err, tt.want, tt.why)
			}
			if len(tt.want) < 6 {
				_, err = s.ReadMem(p[:1], tt.addr+6)
				if fault, ok := errors.AsType[*memreader.FaultError](err); !ok || fault.Why != tt.next {
					t.Errorf("further on: got %v, want %v", err, tt.next)
				}
			}
		})
	}
}

// Mappings of files keep their names.
func TestNameSpecial(t *testing.T) {
	for _, tt := range []struct {
		auxv Auxv
		want string
	}{
		{nil, " /a  [vsyscall]"},
		{Auxv{{ATSysinfoEhdr, 0x1000}, {ATRandom, 0x3fff}}, "[vdso] /a [stack] [vsyscall]"},
		{Auxv{{ATSysinfoEhdr, 0x2000}, {ATRandom, 0x2800}}, " /a  [vsyscall]"},
		{Auxv{{ATSysinfoEhdr, 0x4000}, {ATRandom, 0}}, " /a  [vsyscall]"},
	} {
		img := Image{Arch: arch.AMD64, Auxv: tt.auxv, Mappings: []Mapping{
			{Lo: 0x1000, Hi: 0x2000}, {Lo: 0x2000, Hi: 0x3000, Path: "/a"}, {Lo: 0x3000, Hi: 0x4000}, {Lo: arch.AMD64.VSyscall, Hi: arch.AMD64.VSyscall + 0x1000},
		}}
		img.nameSpecial()
		var got []string
		for _, m := range img.Mappings {
			got = append(got, m.Path)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%v: got %q, want %q", tt.auxv, got, tt.want)
		}
	}
	// Only some architectures have a vsyscall page.
	img := &Image{Arch: arch.S390X, Mappings: []Mapping{{Hi: 0x1000}}}
	if img.nameSpecial(); img.Mappings[0].Path != "" {
		t.Errorf("got %q at address 0 of s390x", img.Mappings[0].Path)
	}
}

// Each part of a segment is there once, and what is no PT_LOAD is not there.
func TestSegmentParts(t *testing.T) {
	data := []byte("0123456789")
	for _, tt := range []struct {
		name string
		prog elfx.Prog
		want string
	}{
		{"notes", elfx.Prog{Type: elfx.ProgNote, Vaddr: 0x1000, Filesz: 4, Memsz: 4}, ""},
		{"whole", elfx.Prog{Type: elfx.ProgLoad, Vaddr: 0x1000, Filesz: 4, Memsz: 9}, "0x1000+9 4"},
		{"cut off", elfx.Prog{Type: elfx.ProgLoad, Off: 8, Vaddr: 0x1000, Filesz: 4, Memsz: 9}, "0x1000+4 2, 0x1004+5 0"},
		{"cut off, nothing more", elfx.Prog{Type: elfx.ProgLoad, Off: 8, Vaddr: 0x1000, Filesz: 4, Memsz: 4}, "0x1000+4 2"},
	} {
		var got []string
		for _, s := range segments(&elfx.File{Data: data, Progs: []elfx.Prog{tt.prog}}) {
			got = append(got, fmt.Sprintf("%#x+%d %d", s.Addr, s.Size, len(s.Data)))
		}
		if strings.Join(got, ", ") != tt.want {
			t.Errorf("%s: got %q, want %s", tt.name, got, tt.want)
		}
	}
}

func TestTruncation(t *testing.T) {
	img := Image{Mappings: []Mapping{{Lo: 0x1000, Hi: 0x2000}, {Lo: 0x2000, Hi: 0x3000}, {Lo: 0x3000, Hi: 0x4000}, {Lo: 0x5000, Hi: 0x6000}, {Lo: 0x6000, Hi: 0x7000}}}
	segs := []memreader.Segment{
		{Addr: 0x1000, Size: 0x1000, Why: memreader.NotDumped},
		{Addr: 0x2000, Size: 0x1000, Data: make([]byte, 0x1000), Why: memreader.Truncated},
		{Addr: 0x3000, Size: 0x0800, Why: memreader.Truncated},
		{Addr: 0x3800, Size: 0x2000, Why: memreader.Truncated},
	}
	got := img.truncation(100, 50, segs)
	if got == nil || got.Size != 100 || got.Missing != 50 || !slices.Equal(got.Mappings, []int{2, 3}) {
		t.Errorf("got %+v", got)
	}
	if got := img.truncation(100, 0, segs); got != nil {
		t.Errorf("got %+v of a whole file", got)
	}
}

func TestExtent(t *testing.T) {
	const top = ^uint64(0)
	tests := []struct {
		name string
		prog elfx.Prog
		want uint64
	}{
		{"load", elfx.Prog{Type: elfx.ProgLoad, Off: 5, Filesz: 7}, 12},
		{"note", elfx.Prog{Type: elfx.ProgNote, Off: 5, Filesz: 7}, 12},
		{"a byte", elfx.Prog{Type: elfx.ProgLoad, Off: 5, Filesz: 1}, 6},
		{"nothing in the file", elfx.Prog{Type: elfx.ProgLoad, Off: 1 << 40, Memsz: 7}, 0},
		{"other", elfx.Prog{Type: elfx.ProgInterp, Off: 5, Filesz: 7}, 0},
		{"overflow", elfx.Prog{Type: elfx.ProgLoad, Off: top - 2, Filesz: 7}, top},
	}
	for _, tt := range tests {
		f, err := elfx.Parse(testkit.NewCore(arch.AMD64).Done())
		if err != nil {
			t.Fatal(err)
		}
		f.Progs = []elfx.Prog{tt.prog}
		if got := extent(f); got != tt.want {
			t.Errorf("%s: got %#x, want %#x", tt.name, got, tt.want)
		}
	}
}

// Section headers follow the segments, and count them where these are many.
func TestTruncatedSectionHeaders(t *testing.T) {
	data := testkit.NewCore(arch.AMD64).Thread(1, 0, regs(arch.AMD64, 0)).Done()
	binary.LittleEndian.PutUint64(data[40:], uint64(len(data)))
	binary.LittleEndian.PutUint16(data[58:], 64)
	binary.LittleEndian.PutUint16(data[60:], 2)
	whole := append(data, make([]byte, 128)...)
	for _, lost := range []uint64{0, 1, 128} {
		img, err := openBytes(whole[:uint64(len(whole))-lost])
		if err != nil {
			t.Fatal(err)
		}
		var missing uint64
		if img.Truncated != nil {
			missing = img.Truncated.Missing
		}
		if missing != lost {
			t.Errorf("got %d bytes missing, want %d", missing, lost)
		}
		img.Close()
	}
}

// A process may have more mappings than e_phnum can count.
func TestManySegments(t *testing.T) {
	const n = 70_000
	c := testkit.NewCore(arch.S390X).Thread(1, 11, regs(arch.S390X, 1))
	for i := range uint64(n) {
		c.Segment(i*0x2000, 0x1000, i%2 == 0, []byte{byte(i)})
	}
	data := c.Done()
	img, err := openBytes(data)
	if err != nil {
		t.Fatal(err)
	}
	wantProblems(t, img)
	if len(img.Mappings) != n {
		t.Errorf("got %d mappings, want %d", len(img.Mappings), n)
	}
	p := make([]byte, 1)
	if _, err := img.Mem.ReadMem(p, (n-1)*0x2000); err != nil || p[0] != byte((n-1)&0xff) {
		t.Errorf("got %d, %v of the last segment", p[0], err)
	}

	// The kernel writes the section header with their number last.
	end := len(data) - n - 500
	img, err = openBytes(append(append([]byte(nil), data[:40]...), append(make([]byte, 8), data[48:end]...)...))
	if err != nil {
		t.Fatal(err)
	}
	if len(img.Mappings) < 65_534 || img.Truncated == nil {
		t.Errorf("without the section header: got %d mappings, truncation %v", len(img.Mappings), img.Truncated)
	}
}
