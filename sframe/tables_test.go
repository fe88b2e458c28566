package sframe

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/testkit"
)

// three returns a section of three tables of different versions, whose
// functions are 0x1000 apart.
func three() (*testkit.Bytes, []byte) {
	b := testkit.New(binary.LittleEndian)
	for i, v := range []Version{V1, V3, V2} {
		raw := plain(v, AMD64LE)
		raw.flags &^= FDESorted
		raw.section = false
		for j := range raw.funcs {
			raw.funcs[j].start += uint64(i) * 0x1000
		}
		b.Align(8).Mark(string(rune('a' + i)))
		raw.put(b, string(rune('a'+i))+":")
	}
	return b, b.Done()
}

// lookups returns which of the functions of three are found.
func lookups(s *Section) (found []int, err error) {
	for i := range 3 {
		var row arch.Row
		ok, e := s.Find(0x1044+uint64(i)*0x1000, &row)
		if ok {
			found = append(found, i)
		} else {
			err = e
		}
	}
	return found, err
}

func TestTables(t *testing.T) {
	b, data := three()
	data = append(data, make([]byte, 20)...)
	s := parseRaw(t, data)
	var got []Version
	for table, err := range s.Tables() {
		label := string(rune('a' + len(got)))
		if err != nil || table.Off != int64(b.Pos(label)) || table.Addr != rawAddr+uint64(table.Off) {
			t.Errorf("got a table at %#x, %v, want one at %#x", table.Off, err, b.Pos(label))
		}
		got = append(got, table.Version)
	}
	if !slices.Equal(got, []Version{V1, V3, V2}) {
		t.Errorf("got %v", got)
	}
	if found, err := lookups(s); !slices.Equal(found, []int{0, 1, 2}) || err != nil {
		t.Errorf("got functions of %v, %v", found, err)
	}
	list := s.Validate()
	checkFinding(t, list, "tables-unmerged", b.Pos("b"), "sfp_magic")
	checkFinding(t, list, "versions-mixed", b.Pos("b")+2, "sfp_version")
	checkFinding(t, list, "zero-tail", b.Len(), "sfh_fre_len")
	checkFinding(t, list, "starts-from-field", b.Pos("a:flags"), "sfp_flags")
}

// Damage to one table does not hide the others, and lookups that it may have
// made fail say so.
func TestTablesDamaged(t *testing.T) {
	tests := []struct {
		name  string
		label string
		size  int
		value uint64
		id    string
		at    string
		names string
		found []int
	}{
		{"first magic", "a:magic", 2, 0xffff, "magic-unknown", "a:magic", "sfp_magic", []int{1, 2}},
		{"first version", "a:version", 1, 7, "version-unsupported", "a:version", "sfp_version", []int{1, 2}},
		{"first ABI", "a:abi", 1, 9, "abi-unknown", "a:abi", "sfh_abi_arch", []int{1, 2}},
		{"first has too many functions", "a:numfdes", 4, 1 << 20, "fdes-out-of-range", "a:numfdes", "sfh_num_fdes", []int{1, 2}},
		{"first has FREs over all the others", "a:frelen", 4, 1 << 20, "fres-cut", "a:frelen", "sfh_fre_len", []int{0, 1, 2}},
		{"first ends early", "a:frelen", 4, 3, "trailing-data", "a:frestart0.1", "sfp_magic", []int{1, 2}},
		{"second magic", "b:magic", 2, 0xffff, "trailing-data", "b:magic", "sfp_magic", []int{0, 2}},
		{"second version", "b:version", 1, 0, "version-unsupported", "b:version", "sfp_version", []int{0, 2}},
		{"second of another byte order", "b:abi", 1, 4, "abi-byte-order", "b:abi", "sfh_abi_arch", []int{0, 2}},
		{"second of another architecture", "b:abi", 1, 2, "abi-differs", "b:abi", "sfh_abi_arch", []int{0, 2}},
		{"third FDEs", "c:fdeoff", 4, 1 << 31, "fdes-out-of-range", "c:fdeoff", "sfh_fdeoff", []int{0, 1}},
		{"third FREs", "c:freoff", 4, 1 << 31, "fres-out-of-range", "c:freoff", "sfh_freoff", []int{0, 1}},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			b, data := three()
			plant(b, data, c.label, c.size, c.value)
			s := parseRaw(t, data)
			checkFinding(t, s.Validate(), c.id, b.Pos(c.at), c.names)
			found, err := lookups(s)
			if !slices.Equal(found, c.found) {
				t.Errorf("got functions of %v, want %v", found, c.found)
			}
			if fe, ok := errors.AsType[*FormatError](err); len(found) < 3 && c.id != "trailing-data" && (!ok || fe.ID != c.id) {
				t.Errorf("got %v, want %s", err, c.id)
			}
			var listed []error
			for _, err := range s.Tables() {
				if err != nil {
					listed = append(listed, err)
				}
			}
			if want := c.id != "fres-cut"; want != (len(listed) > 0) {
				t.Errorf("got errors of tables %v", listed)
			}
		})
	}
}

func TestTrailingData(t *testing.T) {
	for name, tail := range map[string]string{
		"unaligned":         "\x00\x01",
		"aligned":           "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00x",
		"unaligned magic":   "\x00\xe2\xde\x03\x05",
		"start of a header": "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xe2",
	} {
		raw := v3()
		raw.funcs = raw.funcs[:1]
		b := raw.bytes()
		data := append(b.Done(), tail...)
		s := parseRaw(t, data)
		at := b.Len()
		for data[at] == 0 {
			at++
		}
		checkFinding(t, s.Validate(), "trailing-data", at, "sfp_magic")
		var row arch.Row
		if found, err := s.Find(0x1008, &row); !found || err != nil {
			t.Errorf("%s: got %v, %v", name, found, err)
		}
		if found, err := s.Find(0x2000, &row); found || err == nil {
			t.Errorf("%s: elsewhere: got %v, %v, want an error", name, found, err)
		}
	}
}

// Padding of any length is no table and no damage.
func TestPadding(t *testing.T) {
	data := v3().bytes().Done()
	for n := range 40 {
		s := parseRaw(t, append(slices.Clone(data), make([]byte, n)...))
		for _, f := range s.Validate() {
			if f.ID != "zero-tail" || n < 8 {
				t.Errorf("%d bytes: got %v", n, f)
			}
		}
		if _, found, err := s.Lookup(0x2000); found || err != nil {
			t.Errorf("%d bytes: Lookup: got %v, %v", n, found, err)
		}
	}
}

func TestFramePointers(t *testing.T) {
	tests := []struct {
		name  string
		flags []Flags
		v     Version
		want  bool
	}{
		{"V1", []Flags{FramePointer}, V1, true},
		{"V2", []Flags{FramePointer | FDESorted}, V2, true},
		{"CTF Frame", []Flags{FramePointer}, CTFFrame, true},
		{"not set", []Flags{FDESorted}, V2, false},
		{"V3, where it is illegal", []Flags{FramePointer | FuncStartPCRel}, V3, false},
		{"both tables", []Flags{FramePointer, FramePointer}, V2, true},
		{"one of two tables", []Flags{FramePointer, 0}, V2, false},
		{"the other of two tables", []Flags{0, FramePointer}, V2, false},
	}
	for _, c := range tests {
		b := testkit.New(binary.LittleEndian)
		for i, flags := range c.flags {
			raw := plain(c.v, AMD64LE)
			raw.flags = flags
			b.Align(8)
			raw.put(b, string(rune('a'+i)))
		}
		if got := parseRaw(t, b.Done()).FramePointers(); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
	damaged := plain(V2, AMD64LE)
	damaged.flags |= FramePointer
	b := damaged.bytes()
	data := append(b.Align(8).Done(), "xxxxxxxx"...)
	if s := parseRaw(t, data); s.FramePointers() {
		t.Error("damage: got that all functions keep a frame pointer")
	}
}
