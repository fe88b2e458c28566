package core

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
)

func elfOrder(a *arch.Arch) binary.ByteOrder {
	if a.BigEndian {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

func TestNTFile(t *testing.T) {
	eachArch(t, func(t *testing.T, a *arch.Arch) {
		b := testkit.NewCore(a).Data
		tests := []struct {
			name string
			desc []byte
			want []Mapping
			err  string
		}{
			{
				"kernel", b().D64(2, 4096, 0x1000, 0x2000, 0, 0x2000, 0x4000, 3).Str("/a").Str("/a").Done(),
				[]Mapping{{Lo: 0x1000, Hi: 0x2000, Path: "/a"}, {Lo: 0x2000, Hi: 0x4000, Off: 0x3000, Path: "/a"}},
				"",
			},
			{
				"gcore counts bytes", b().D64(1, 1, 0x1000, 0x2000, 0x5000).Str("/b c").Done(),
				[]Mapping{{Lo: 0x1000, Hi: 0x2000, Off: 0x5000, Path: "/b c"}},
				"",
			},
			{
				"deleted", b().D64(2, 1, 0x1000, 0x2000, 0, 0x2000, 0x3000, 0).Str("/a (deleted)").Str("/a").Done(),
				[]Mapping{{Lo: 0x1000, Hi: 0x2000, Path: "/a", Deleted: true}, {Lo: 0x2000, Hi: 0x3000, Path: "/a"}},
				"",
			},
			{"none", b().D64(0, 4096).Done(), nil, ""},
			{"empty name", b().D64(1, 1, 0x1000, 0x2000, 0).Str("").Done(), []Mapping{{Lo: 0x1000, Hi: 0x2000}}, ""},
			{"empty", nil, nil, "count"},
			{"header cut off", b().D64(1).D32(2).Done(), nil, "count"},
			{"count too high", b().D64(2, 1, 0x1000, 0x2000, 0).Str("/a").Done(), nil, "2 entries do not fit"},
			{"count overflows", b().D64(1<<61+1, 1, 0x1000, 0x2000, 0).Str("/a").Done(), nil, "do not fit"},
			{"name missing", b().D64(2, 1, 1, 2, 0, 3, 4, 0).Str("/a").Done(), []Mapping{{Lo: 1, Hi: 2, Path: "/a"}}, "entry 1"},
			{"name without end", b().D64(1, 1, 1, 2, 0).Raw([]byte("/a")).Done(), nil, "entry 0 has no end"},
			{"name too long", b().D64(1, 1, 1, 2, 0).Str("/" + strings.Repeat("a", maxPath)).Done(), nil, "no end within"},
			{
				"longest name", b().D64(1, 1, 1, 2, 0).Str(strings.Repeat("a", maxPath)).Done(),
				[]Mapping{{Lo: 1, Hi: 2, Path: strings.Repeat("a", maxPath)}},
				"",
			},
			{"backwards", b().D64(1, 1, 5, 4, 0).Str("/a").Done(), nil, "from 0x5 to 0x4"},
			{"offset overflows", b().D64(1, 1<<32, 1, 2, 1<<32).Str("/a").Done(), nil, "file_ofs"},
			{"largest offset", b().D64(2, 1<<32, 1, 2, 1<<32-1, 3, 4, 1).Str("/a").Str("/b").Done(), []Mapping{{Lo: 1, Hi: 2, Off: 0xffffffff << 32, Path: "/a"}, {Lo: 3, Hi: 4, Off: 1 << 32, Path: "/b"}}, ""},
			{"largest offset in bytes", b().D64(1, 1, 1, 2, ^uint64(0)).Str("/a").Done(), []Mapping{{Lo: 1, Hi: 2, Off: ^uint64(0), Path: "/a"}}, ""},
			{"no bytes", b().D64(1, 1, 5, 5, 0).Str("/a").Done(), nil, "from 0x5 to 0x5"},
			{"a name, and none", b().D64(2, 1, 1, 2, 0, 3, 4, 0).Str("/a").Str("").Done(), []Mapping{{Lo: 1, Hi: 2, Path: "/a"}, {Lo: 3, Hi: 4}}, ""},
			{"unit 0", b().D64(1, 0, 1, 2, 7).Str("/a").Done(), []Mapping{{Lo: 1, Hi: 2, Path: "/a"}}, ""},
		}
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				got, err := parseNTFile(&elfx.Note{Desc: tt.desc}, elfOrder(a))
				if !slices.Equal(got, tt.want) {
					t.Errorf("got %+v, want %+v", got, tt.want)
				}
				if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got error %v, want %q", err, tt.err)
				}
			})
		}
	})
}

// The error names the byte of the file.
func TestNTFileErrorOffset(t *testing.T) {
	desc := testkit.NewCore(arch.AMD64).Data().D64(2, 1, 1, 2, 0, 9, 8, 0).Str("/a").Str("/b").Done()
	_, err := parseNTFile(&elfx.Note{Desc: desc, Off: 0x1000}, binary.LittleEndian)
	if want := "ELF: start at offset 0x1028: NT_FILE: entry 1 goes from 0x9 to 0x8"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Each error has the offset of the entry or of its part.
func TestNTFileErrors(t *testing.T) {
	b := testkit.NewCore(arch.AMD64).Data
	two := func(lo, hi, off uint64) *testkit.Bytes {
		return b().D64(2, 1<<32, 0x1000, 0x2000, 0, lo, hi, off).Str("/a")
	}
	for _, tt := range []struct {
		desc []byte
		want string
	}{
		{make([]byte, 15), "ELF: count at offset 0x100: NT_FILE of 15 bytes has no header"},
		{b().D64(1, 1).Done(), "ELF: count at offset 0x100: NT_FILE: 1 entries do not fit 16 bytes"},
		{two(3, 4, 0).Done(), "ELF: filename at offset 0x128: NT_FILE: the name of entry 1 has no end within 4106 bytes"},
		{two(4, 3, 0).Str("/b").Done(), "ELF: start at offset 0x128: NT_FILE: entry 1 goes from 0x4 to 0x3"},
		{two(3, 4, 1<<32).Str("/b").Done(), "ELF: file_ofs at offset 0x138: NT_FILE: entry 1: offset 0x100000000 in units of 0x100000000 bytes"},
	} {
		if _, err := parseNTFile(&elfx.Note{Desc: tt.desc, Off: 0x100}, elfOrder(arch.AMD64)); err == nil || err.Error() != tt.want {
			t.Errorf("got  %v\nwant %s", err, tt.want)
		}
	}
}

// FuzzNTFile checks that there is either an error or as many mappings as the
// note counts, and that none is empty.
func FuzzNTFile(f *testing.F) {
	f.Add(testkit.NewCore(arch.AMD64).Data().D64(2, 4096, 0x1000, 0x2000, 0, 0x2000, 0x4000, 3).Str("/a").Str("/b (deleted)").Done(), false)
	f.Add(testkit.NewCore(arch.S390X).Data().D64(1, 1, 0x1000, 0x2000, 0x5000).Str("/b").Done(), true)
	f.Fuzz(func(t *testing.T, desc []byte, big bool) {
		order := elfOrder(&arch.Arch{BigEndian: big})
		got, err := parseNTFile(&elfx.Note{Desc: desc}, order)
		if err == nil && uint64(len(got)) != order.Uint64(desc) {
			t.Errorf("got %d mappings, want %d or an error", len(got), order.Uint64(desc))
		}
		for _, m := range got {
			if m.Lo >= m.Hi {
				t.Errorf("got the mapping %+v", m)
			}
		}
	})
}
