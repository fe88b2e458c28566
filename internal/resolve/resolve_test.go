package resolve

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
)

// program returns an ELF file with a build-id of 8 bytes.
func program(id uint64) []byte {
	b := testkit.New(binary.LittleEndian)
	b.Raw([]byte("\x7fELF\x02\x01\x01")).Zero(9)
	b.D16(elfx.TypeDyn, 62).D32(1).D64(0, 64, 0).D32(0).D16(64, 56, 1, 0, 0, 0)
	b.D32(elfx.ProgNote, 4).D64(120, 120, 0, 24, 24, 4)
	b.D32(4, 8, 3).Str("GNU")
	for shift := 56; shift >= 0; shift -= 8 {
		b.D8(uint8(id >> shift))
	}
	return b.Done()
}

// write makes a file below a directory, and returns its name.
func write(t testing.TB, data []byte, elem ...string) string {
	t.Helper()
	name := filepath.Join(elem...)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestImages(t *testing.T) {
	tree, root, elsewhere, core := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
	renamed := write(t, program(0xabcd), tree, "a", "renamed")
	same := write(t, program(1), tree, "b", "libx.so")
	write(t, program(2), tree, "c", "other")
	outside := write(t, program(3), elsewhere, "secret.so")
	inside := write(t, program(4), root, "usr", "lib", "libx.so")
	for link, to := range map[string]string{"lib": "/usr/lib", "escape.so": outside, "up.so": "../../../../../.." + outside} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	id := "000000000000abcd"
	debug := t.TempDir()
	byID := write(t, program(0xabcd), debug, ".build-id", "00", "0000000000abcd")

	tests := []struct {
		name   string
		opts   Options
		module Module
		want   []string
	}{
		{"recorded path", Options{DebugDirs: []string{}}, Module{Path: "/lib/libx.so"}, []string{"/lib/libx.so"}},
		{"deleted", Options{DebugDirs: []string{}}, Module{Path: "/lib/libx.so (deleted)"}, []string{"/lib/libx.so"}},
		{"by name, then by build-id", Options{Paths: []string{tree}, DebugDirs: []string{}}, Module{Path: "/lib/libx.so", BuildID: id}, []string{same, renamed, "/lib/libx.so"}},
		{
			"program of no build-id",
			Options{Paths: []string{tree}, DebugDirs: []string{}},
			Module{Path: "/p", Main: true},
			[]string{"/p", renamed, same, filepath.Join(tree, "c", "other")},
		},
		{"program given", Options{Exe: "/given", DebugDirs: []string{}}, Module{Path: "/p", Main: true}, []string{"/given", "/p"}},
		{"library with program given", Options{Exe: "/given", DebugDirs: []string{}}, Module{Path: "/l"}, []string{"/l"}},
		{"sysroot through its links", Options{Sysroot: root, DebugDirs: []string{}}, Module{Path: "/lib/libx.so"}, []string{inside}},
		{"link out of the sysroot", Options{Sysroot: root, DebugDirs: []string{}}, Module{Path: "/escape.so"}, []string{filepath.Join(root, outside)}},
		{"path out of the sysroot", Options{Sysroot: root, DebugDirs: []string{}}, Module{Path: "/up.so"}, []string{filepath.Join(root, outside)}},
		{"dots", Options{Sysroot: root, DebugDirs: []string{}}, Module{Path: "/../../x.so"}, []string{filepath.Join(root, "x.so")}},
		{"beside the core", Options{Sysroot: root, CoreDir: core, DebugDirs: []string{}}, Module{Path: "/p"}, []string{filepath.Join(root, "p"), filepath.Join(core, "p")}},
		{"live", Options{ProcessRoot: root, DebugDirs: []string{}}, Module{Path: "/p", Held: "/proc/1/map_files/1-2"}, []string{"/proc/1/map_files/1-2"}},
		{"directory by build-id", Options{DebugDirs: []string{debug}}, Module{Path: "/p", BuildID: id}, []string{"/p", byID}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := slices.Collect(New(tt.opts).Images(tt.module))
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestKept(t *testing.T) {
	tree, cache := t.TempDir(), t.TempDir()
	opts := Options{Paths: []string{tree}, CacheDir: cache, DebugDirs: []string{}}
	for i := range minKept {
		write(t, program(uint64(i)+1), tree, fmt.Sprintf("%d.so", i))
	}
	name := filepath.Join(tree, "9.so")
	find := func(id uint64) []string { return New(opts).withID(fmt.Sprintf("%016x", id)) }
	if got := find(10); !slices.Equal(got, []string{name}) {
		t.Fatalf("got %q, want %q", got, name)
	}
	k := openKept(opts)
	if len(k.ids) != minKept {
		t.Fatalf("kept %d build-ids, want %d", len(k.ids), minKept)
	}

	// What is kept is used: a build-id that only the kept file has is found.
	data, err := os.ReadFile(k.file)
	if err != nil {
		t.Fatal(err)
	}
	write(t, []byte(strings.Replace(string(data), " 000000000000000a ", " 00000000000fffff ", 1)), k.file)
	if got := find(0xfffff); !slices.Equal(got, []string{name}) {
		t.Errorf("kept build-id: got %q, want %q", got, name)
	}

	// A file that changed is read again.
	write(t, program(0xeeeee), name)
	if err := os.Chtimes(name, time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if got := find(0xeeeee); !slices.Equal(got, []string{name}) || len(find(0xfffff)) > 0 {
		t.Errorf("changed file: got %q, want %q", got, name)
	}

	// A damaged file of build-ids is made anew.
	write(t, []byte("\x00\xff nonsense\n1 2 3\n"), k.file)
	if got := find(11); len(got) != 1 {
		t.Errorf("damaged: got %q", got)
	}
}

// A cache in which no file can be made is done without. Here the names of its
// files would be longer than systems allow; users may have it read-only.
func TestKeptInNoFile(t *testing.T) {
	const maxPath = 4096 // of Linux, with a NUL; others allow less
	dir := t.TempDir()
	for len(dir) < maxPath-210 {
		dir = filepath.Join(dir, strings.Repeat("x", 199))
	}
	dir = filepath.Join(dir, strings.Repeat("x", maxPath-10-len(dir)))
	k := openKept(Options{CacheDir: dir})
	k.save(make([]entry, minKept), make([]string, minKept))
	if again := openKept(Options{CacheDir: dir}); len(again.ids) > 0 {
		t.Errorf("got %d build-ids", len(again.ids))
	}
}

// Files that did not change are not opened again: here they hold something else
// in the same place, with the same size and time.
func TestKeptOpensNothing(t *testing.T) {
	tree := t.TempDir()
	opts := Options{Paths: []string{tree}, CacheDir: t.TempDir(), DebugDirs: []string{}}
	const decoys = 2000
	for i := range decoys {
		write(t, program(uint64(i)+1), tree, fmt.Sprint(i%50), fmt.Sprintf("%d.so", i))
	}
	cold := New(opts).byID()
	for _, names := range cold {
		for _, name := range names {
			st, err := os.Stat(name)
			if err != nil {
				t.Fatal(err)
			}
			write(t, make([]byte, st.Size()), name)
			if err := os.Chtimes(name, time.Time{}, st.ModTime()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if warm := New(opts).byID(); len(warm) != decoys || !maps.EqualFunc(warm, cold, slices.Equal) {
		t.Errorf("got %d build-ids, want the %d of before", len(warm), len(cold))
	}
	opts.CacheDir = ""
	if got := New(opts).byID(); len(got) != 0 {
		t.Errorf("got %d build-ids of files that have none", len(got))
	}
}

func TestDebugFiles(t *testing.T) {
	dir, debug := t.TempDir(), t.TempDir()
	image, err := elfx.Parse(withDebugLink(t, program(0xabcd), "x.debug", 0x1234))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "x")
	r := New(Options{DebugDirs: []string{debug}, CoreDir: "/cores"})
	var got []string
	for d := range r.DebugFiles(Module{Path: "/usr/bin/x"}, image, file) {
		got = append(got, fmt.Sprintf("%s %v %#x", d.Name, d.Linked, d.CRC))
	}
	want := []string{
		debug + "/.build-id/00/0000000000abcd.debug false 0x0",
		dir + "/x.debug true 0x1234",
		dir + "/.debug/x.debug true 0x1234",
		debug + "/usr/bin/x.debug true 0x1234",
		"/cores/x.debug true 0x1234",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// withDebugLink appends section headers with a .gnu_debuglink.
func withDebugLink(t *testing.T, data []byte, name string, crc uint32) []byte {
	t.Helper()
	b := testkit.New(binary.LittleEndian).Raw(data).Align(8)
	link := b.Len()
	b.Str(name).Align(4).D32(crc)
	size := b.Len() - link
	names := b.Len()
	b.Str("").Str(".gnu_debuglink").Align(8)
	table := b.Len()
	b.Zero(64)
	section := func(name, typ uint32, off, size int) {
		b.D32(name, typ).D64(0, 0, uint64(off), uint64(size)).D32(0, 0).D64(1, 0)
	}
	section(1, elfx.SectProgbits, link, size)
	section(0, 3, names, 16)
	out := b.Done()
	binary.LittleEndian.PutUint64(out[40:], uint64(table))
	binary.LittleEndian.PutUint16(out[58:], 64)
	binary.LittleEndian.PutUint16(out[60:], 3)
	binary.LittleEndian.PutUint16(out[62:], 2)
	return out
}

func TestDebugLinkLeavesNoDirectory(t *testing.T) {
	for _, name := range []string{"../x.debug", "/etc/passwd", ""} {
		f, err := elfx.Parse(withDebugLink(t, program(1), name, 0))
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := debugLink(f); got != "" {
			t.Errorf("%q: got %q", name, got)
		}
	}
}

func TestHasCRC(t *testing.T) {
	data := []byte("some contents")
	name := write(t, data, t.TempDir(), "f")
	if crc := crc32.ChecksumIEEE(data); !New(Options{}).HasCRC(name, crc) || New(Options{}).HasCRC(name, crc+1) || New(Options{}).HasCRC(name+"x", crc) {
		t.Error("CRC is not compared")
	}
}

func TestSupplement(t *testing.T) {
	root := t.TempDir()
	got := slices.Collect(New(Options{DebugDirs: []string{"/d"}}).Supplement("../.dwz/x", "aabbcc", "/debug/.build-id/11/22.debug"))
	if want := []string{"/debug/.build-id/.dwz/x", "/d/.build-id/aa/bbcc.debug"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	got = slices.Collect(New(Options{Sysroot: root, DebugDirs: []string{}}).Supplement("/usr/lib/debug/.dwz/x", "aabbcc", "/debug/y"))
	if want := []string{root + "/usr/lib/debug/.dwz/x"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// BenchmarkDecoys finds one file by build-id among 2,000.
func BenchmarkDecoys(b *testing.B) {
	tree := b.TempDir()
	for i := range 2000 {
		write(b, program(uint64(i)+1), tree, fmt.Sprint(i%50), fmt.Sprintf("%d.so", i))
	}
	for _, cache := range []string{"", b.TempDir()} {
		name := "cold"
		if cache != "" {
			name = "warm"
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				r := New(Options{Paths: []string{tree}, CacheDir: cache, DebugDirs: []string{}})
				if got := r.withID(fmt.Sprintf("%016x", 1500)); len(got) != 1 {
					b.Fatalf("got %q", got)
				}
			}
		})
	}
}

// The CRC of a file that is larger than any without a build-id is not computed: the
// file may be a hole.
func TestLargeCRC(t *testing.T) {
	name := filepath.Join(t.TempDir(), "debug")
	if err := os.WriteFile(name, []byte("123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	const crc = 0xcbf43926
	if !New(Options{}).HasCRC(name, crc) || New(Options{}).HasCRC(name, crc+1) {
		t.Error("got another CRC of a small file")
	}
	if err := os.Truncate(name, maxCRC+1); err != nil {
		t.Skip(err)
	}
	start := time.Now()
	if New(Options{}).HasCRC(name, 0) || time.Since(start) > time.Second {
		t.Errorf("read %d bytes in %v", int64(maxCRC)+1, time.Since(start))
	}
}
