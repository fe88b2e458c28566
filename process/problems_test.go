package process_test

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/process"
)

// damaged overwrites bytes of a little-endian ELF file.
func damaged(t *testing.T, name string, off func(*elfx.File) uint64, size int, v uint64) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	f, err := elfx.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	word := binary.LittleEndian.AppendUint64(nil, v)
	copy(data[off(f):], word[:size])
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A problem tells in which file the damage is, at which offset, in which field.
func TestProblemsNameTheByte(t *testing.T) {
	at := func(off uint64) func(*elfx.File) uint64 { return func(*elfx.File) uint64 { return off } }
	// header returns the offset of a field in the header of a section.
	header := func(name string, field uint64) func(*elfx.File) uint64 {
		return func(f *elfx.File) uint64 {
			sects, _ := f.Sections()
			i := slices.IndexFunc(sects, func(s elfx.Section) bool { return s.Name == name })
			return binary.LittleEndian.Uint64(f.Data[40:]) + uint64(i)*64 + field
		}
	}
	contents := func(name string) func(*elfx.File) uint64 {
		return func(f *elfx.File) uint64 { return f.Section(name).Off }
	}
	const shSize, shOffset = 32, 24
	tests := []struct {
		name, file string
		off        func(*elfx.File) uint64
		size       int
		value      uint64
		want       []string
	}{
		{"amd64-v2-stripped-debuglink", "core", at(54), 2, 57, []string{"core: ELF: e_phentsize at offset 0x36: 57, not 56"}},
		{"amd64-v2-stripped-debuglink", "exe/deep", at(58), 2, 63, []string{"deep: ELF: e_shentsize at offset 0x3a: 63, not 64"}},
		{"amd64-v2-stripped-debuglink", "exe/deep", at(40), 8, 1 << 40, []string{"deep: ELF: e_shoff at offset 0x28: 0x10000000000 is past the end of the file"}},
		{"amd64-v2-stripped-debuglink", "exe/deep", at(5), 1, 9, []string{"deep: not used: ", "exe/deep: ELF: EI_DATA at offset 0x5: 9 is not a known byte order"}},
		{"amd64-v2-stripped-debuglink", "debug/deep.debug", at(4), 1, 7, []string{"deep: not used: ", "deep.debug: ELF: EI_CLASS at offset 0x4: 7 is not a known class"}},
		{"amd64-v2-stripped-debuglink", "debug/deep.debug", header(".symtab", shSize), 8, 1 << 40, []string{"deep.debug: ELF: sh_size at offset 0x", ": section .symtab: the file holds "}},
		{"amd64-v2-stripped-debuglink", "debug/deep.debug", header(".symtab", shOffset), 8, 1 << 40, []string{"deep.debug: ELF: sh_size at offset 0x10000000000: section .symtab: the file holds 0 of "}},
		{"amd64-v2-stripped-minidebug", "exe/deep", contents(".gnu_debugdata"), 4, 0, []string{"deep: .gnu_debugdata at offset 0x"}},
		{"amd64-v1-libcdyn-1", "sysroot/usr/lib/x86_64-linux-gnu/libc.so.6", contents(".eh_frame_hdr"), 1, 9, []string{"libc.so.6: .eh_frame_hdr: version at offset 0x0: 9, not 1"}},
		{"amd64-v3-deep", "exe/deep", contents(".sframe"), 2, 1, []string{"deep: sframe: sfp_magic at offset 0x0: "}},
	}
	for _, tt := range tests {
		t.Run(tt.want[0], func(t *testing.T) {
			dir := copyCase(t, tt.name)
			damaged(t, filepath.Join(dir, tt.file), tt.off, tt.size, tt.value)
			img, err := core.Open(context.Background(), filepath.Join(dir, "core"), core.Options{})
			if err != nil {
				t.Fatal(err)
			}
			tg := process.New(img, process.Options{Paths: []string{filepath.Join(dir, "exe"), filepath.Join(dir, "debug")}, Sysroot: filepath.Join(dir, "sysroot")})
			defer tg.Close()
			tg.OpenModules()
			r, err := tg.Report(context.Background(), tg.Threads())
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range tt.want {
				if !slices.ContainsFunc(r.Problems, func(p string) bool { return strings.Contains(p, want) }) {
					t.Errorf("got %q, want one with %q", r.Problems, want)
				}
			}
		})
	}
}
