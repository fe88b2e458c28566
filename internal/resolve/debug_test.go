package resolve

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
)

// The CRC is at the next multiple of four after the name and its NUL [gdb, Separate
// Debug Files]. A section that is too short for it names no file.
func TestDebugLink(t *testing.T) {
	const crc = 0xfedcba98
	for n := 1; n <= 9; n++ {
		name := strings.Repeat("x", n)
		data := withDebugLink(t, program(1), name, crc)
		f, err := elfx.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		if got, gotCRC := debugLink(f); got != name || gotCRC != crc {
			t.Errorf("%s: got %s, %#x", name, got, gotCRC)
		}
		// sh_size of the first of the two sections, less than the bytes that it needs.
		size := data[binary.LittleEndian.Uint64(data[40:])+64+32:]
		for whole := binary.LittleEndian.Uint64(size); binary.LittleEndian.Uint64(size) > 0; {
			binary.LittleEndian.PutUint64(size, binary.LittleEndian.Uint64(size)-1)
			short, err := elfx.Parse(data)
			if err != nil {
				t.Fatal(err)
			}
			if got, gotCRC := debugLink(short); got != "" || gotCRC != 0 {
				t.Errorf("%s: got %s, %#x of %d bytes, of %d", name, got, gotCRC, binary.LittleEndian.Uint64(size), whole)
			}
		}
	}
	outside := withDebugLink(t, program(1), "x", crc)
	binary.LittleEndian.PutUint64(outside[binary.LittleEndian.Uint64(outside[40:])+64+24:], 1<<40) // sh_offset
	for what, data := range map[string][]byte{
		"no section":              program(1),
		"outside of the file":     outside,
		"in another directory":    withDebugLink(t, program(1), "../x", crc),
		"in the directory itself": withDebugLink(t, program(1), "", crc),
	} {
		f, err := elfx.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		if got, gotCRC := debugLink(f); got != "" || gotCRC != 0 {
			t.Errorf("%s: got %s, %#x", what, got, gotCRC)
		}
	}
}

// The CRC of a file of more than 4 GiB is not believed, even if it is right, or that of
// the first 4 GiB. Nor is one of a file that cannot be opened.
func TestNoCRC(t *testing.T) {
	dir := t.TempDir()
	r := New(Options{})
	for what, name := range map[string]string{"none": filepath.Join(dir, "none"), "a directory": dir} {
		if r.HasCRC(name, 0) { // that of no bytes
			t.Errorf("%s has a CRC", what)
		}
	}
	if name := write(t, nil, dir, "empty"); !r.HasCRC(name, 0) || r.HasCRC(name, 1) {
		t.Error("an empty file has another CRC than 0")
	}
	hole := write(t, nil, dir, "hole")
	if err := os.Truncate(hole, 4<<30+1); err != nil {
		t.Skip(err)
	}
	for _, crc := range []uint32{0x41d912ff, 0xd202ef8d} { // of the whole, and of 4 GiB
		if r.HasCRC(hole, crc) {
			t.Errorf("a file of more than 4 GiB has the CRC %#x", crc)
		}
	}
}

// Whatever is asked of a Resolver, it keeps no file open.
func TestLeaks(t *testing.T) {
	sys, cache := t.TempDir(), t.TempDir()
	elf := write(t, program(1), sys, "usr", "lib", "x")
	other := write(t, []byte("no ELF file"), sys, "usr", "lib", "y")
	opts := Options{Sysroot: sys, CacheDir: cache}
	write(t, []byte(keptHeader+"\n"), openKept(opts).file)
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which closes what is left open
	testkit.Leaks(t, 50, func(int) {
		r := New(opts)
		for _, name := range []string{elf, other, filepath.Dir(elf), filepath.Join(sys, "none"), "/dev/null", "/proc/self/status"} {
			r.HasCRC(name, 1)
			readID(name)
			if f, err := r.Open(name); err == nil {
				f.Close()
			}
		}
		openKept(opts)
	})
}
