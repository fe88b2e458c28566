package sframe

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/sfcore/sfcore/arch"
)

func TestHeader(t *testing.T) {
	everyABI(t, func(t *testing.T, v Version, abi ABI) {
		raw := plain(v, abi)
		raw.fixedFP, raw.aux = -16, 8
		if v == CTFFrame {
			raw.aux = 0
		}
		b := raw.bytes()
		s := parseRaw(t, b.Done())
		if s.Arch() != abi.Arch() {
			t.Errorf("got arch %v, want %v", s.Arch(), abi.Arch())
		}
		for table, err := range s.Tables() {
			want := Header{
				Version: v, Flags: raw.flags, ABI: abi, FixedFP: -16, FixedRA: raw.fixedRA, AuxLen: uint8(raw.aux),
				NumFDEs: 2, NumFREs: 6, FRELen: uint32(b.Len() - b.Pos("fres")), FREOff: uint32(b.Pos("fres") - b.Pos("fdes")),
			}
			if err != nil || table.Header != want || table.Off != 0 || table.Addr != rawAddr {
				t.Errorf("got %+v, %v, want %+v", table.Header, err, want)
			}
		}
	})
}

func TestFuncsAsWritten(t *testing.T) {
	everyABI(t, func(t *testing.T, v Version, abi ABI) {
		raw := plain(v, abi)
		raw.funcs[1].rep = 7
		b := raw.bytes()
		s := parseRaw(t, b.Done())
		i := 0
		for f, err := range s.Funcs() {
			n := string(rune('0' + i))
			want := raw.funcs[i]
			if v < V2 {
				want.rep = 0
			}
			if err != nil || f.Start != want.start || f.Size != want.size || f.NumFREs != 3 || f.Info != want.info || f.RepSize != want.rep ||
				f.Off != int64(b.Pos("start"+n)) || f.DataOff != uint32(b.Pos("data"+n)-b.Pos("fres")) {
				t.Errorf("function %d: got %+v, %v", i, f, err)
			}
			j := 0
			for e, err := range s.FREs(f) {
				want := want.rows[j]
				if err != nil || e.Start != want.start || e.Info != want.info || e.Count() != len(want.words) ||
					e.WordSize() != 1 || e.Off != int64(b.Pos("frestart"+n+"."+string(rune('0'+j)))) {
					t.Errorf("row %d.%d: got %+v, %v", i, j, e, err)
				}
				for k, w := range want.words {
					if e.Word(k) != int32(w) || e.Control(k) != uint32(uint8(w)) {
						t.Errorf("word %d.%d.%d: got %d, want %d", i, j, k, e.Word(k), w)
					}
				}
				j++
			}
			if j != 3 {
				t.Errorf("function %d: got %d rows, want 3", i, j)
			}
			i++
		}
		if i != 2 {
			t.Errorf("got %d functions, want 2", i)
		}
	})
}

// Damage that leaves no table makes Parse fail.
func TestParseErrors(t *testing.T) {
	tests := []struct {
		name  string
		table func() *rawTable
		field string
		size  int
		value uint64
		id    string
		names string
	}{
		{"no magic", v2, "magic", 2, 0xdee3, "magic-unknown", "sfp_magic"},
		{"zeros", v2, "magic", 2, 0, "magic-unknown", "sfp_magic"},
		{"version 0", v2, "version", 1, 0, "version-unsupported", "sfp_version"},
		{"version 4", v3, "version", 1, 4, "version-unsupported", "sfp_version"},
		{"version 255", arm2, "version", 1, 255, "version-unsupported", "sfp_version"},
		{"ABI 0", v2, "abi", 1, 0, "abi-unknown", "sfh_abi_arch"},
		{"ABI 5", v3, "abi", 1, 5, "abi-unknown", "sfh_abi_arch"},
		{"ABI 255", v3, "abi", 1, 255, "abi-unknown", "sfh_abi_arch"},
		{"s390x in V1", v1, "abi", 1, 4, "abi-unknown", "sfh_abi_arch"},
		{"s390x in CTF Frame", ctf, "abi", 1, 4, "abi-unknown", "cth_frame_abi_arch"},
		{"big-endian ABI, little-endian data", v2, "abi", 1, 1, "abi-byte-order", "sfh_abi_arch"},
		{"little-endian ABI, big-endian data", s390, "abi", 1, 2, "abi-byte-order", "sfh_abi_arch"},
		{"too many functions", v2, "numfdes", 4, 0xffff_ffff, "fdes-out-of-range", "sfh_num_fdes"},
		{"one function too many", s3903, "numfdes", 4, 3, "sub-sections-overlap", "sfh_freoff"},
		{"FDEs outside", v3, "fdeoff", 4, 0xffff_ffff, "fdes-out-of-range", "sfh_fdeoff"},
		{"FDEs partly outside", arm2, "fdeoff", 4, 40, "fdes-out-of-range", "sfh_num_fdes"},
		{"FREs outside", v2, "freoff", 4, 0xffff_ffff, "fres-out-of-range", "sfh_freoff"},
		{"FREs within the FDEs", v2, "freoff", 4, 39, "sub-sections-overlap", "sfh_freoff"},
		{"auxiliary header outside", v2, "aux", 1, 0xff, "header-truncated", "sfh_auxhdr_len"},
		{"auxiliary header that shifts all", v2, "aux", 1, 40, "fdes-out-of-range", "sfh_num_fdes"},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			b := c.table().bytes()
			data := b.Done()
			plant(b, data, c.field, c.size, c.value)
			_, err := Parse(data, rawAddr, Options{})
			fe, ok := errors.AsType[*FormatError](err)
			label := map[string]string{"fdes-out-of-range": "numfdes", "sub-sections-overlap": "freoff"}[c.id]
			if label == "" || c.names == "sfh_fdeoff" {
				label = c.field
			}
			if !ok || fe.ID != c.id || fe.Off != int64(b.Pos(label)) || fe.Field != c.names {
				t.Errorf("got %v, want %s at offset %#x in %s", err, c.id, b.Pos(label), c.names)
			}
			if kinds[c.id].severity != Error {
				t.Errorf("%s is no error", c.id)
			}
		})
	}
}

// Every prefix of a section gives an error, a table, or a table that is cut.
func TestParsePrefixes(t *testing.T) {
	everyABI(t, func(t *testing.T, v Version, abi ABI) {
		b := plain(v, abi).bytes()
		data := b.Done()
		for n := range data {
			s, err := Parse(data[:n:n], rawAddr, Options{CTFFrame: v == CTFFrame})
			switch {
			case n == 0:
				if err != nil {
					t.Errorf("no data: got %v", err)
				}
			case n < b.Pos("fres"):
				if _, ok := errors.AsType[*FormatError](err); !ok || s != nil {
					t.Errorf("%d bytes: got %v, want a FormatError", n, err)
				}
			default:
				if err != nil {
					t.Errorf("%d bytes: got %v", n, err)
					continue
				}
				list := s.Validate()
				checkFinding(t, list, "fres-cut", b.Pos("frelen"), layouts[v].header.freLen)
				// What is found is what the whole section has; what is not, is an error.
				for _, pc := range []uint64{0x1000, 0x1004, 0x1008, 0x1044} {
					var row, want arch.Row
					found, err := s.Find(pc, &row)
					if whole, err := parseRaw(t, data).Find(pc, &want); !whole {
						t.Fatal(err)
					}
					if found != (err == nil) || found && !reflect.DeepEqual(row, want) {
						t.Errorf("%d bytes: Find(%#x): got %v, %v, want %v", n, pc, row, err, want)
					}
				}
			}
		}
	})
}

func TestArch(t *testing.T) {
	data := plain(V2, AArch64LE).bytes().Done()
	if _, err := Parse(data, 0, Options{Arch: arch.AArch64}); err != nil {
		t.Errorf("right architecture: got %v", err)
	}
	for _, other := range []*arch.Arch{arch.AMD64, arch.AArch64BE} {
		_, err := Parse(data, 0, Options{Arch: other})
		if fe, ok := errors.AsType[*FormatError](err); !ok || fe.ID != "abi-machine" || fe.Off != 4 || fe.Field != "sfh_abi_arch" {
			t.Errorf("%s: got %v", other.Name, err)
		}
	}
}

// A section without data, and one with a header only, have nothing for any pc.
func TestNoData(t *testing.T) {
	for name, data := range map[string][]byte{
		"no bytes":    nil,
		"header only": (&rawTable{v: V3, abi: AMD64LE}).bytes().Done(),
		"CTF header":  (&rawTable{v: CTFFrame, abi: AMD64LE}).bytes().Done(),
	} {
		s := parseRaw(t, data)
		var row arch.Row
		if found, err := s.Find(0x1000, &row); found || err != nil {
			t.Errorf("%s: Find: got %v, %v", name, found, err)
		}
		for range s.Funcs() {
			t.Errorf("%s: got a function", name)
		}
		if s.FramePointers() {
			t.Errorf("%s: got frame pointers", name)
		}
	}
}

// CTF Frame is told from V1 by its shape, whatever the numbers of functions and rows,
// and also where there are gaps between the sub-sections.
func TestCTFFrameShape(t *testing.T) {
	for _, abi := range []ABI{AArch64BE, AArch64LE, AMD64LE} {
		for _, functions := range []int{0, 1, 2, 15, 255, 256, 257, 512} {
			for _, rows := range []int{1, 3, 255, 256} {
				if functions*rows > 4096 {
					continue
				}
				for _, gap := range []int{0, 1, 3, 15, 200, 256} {
					for v := CTFFrame; v <= V1; v++ {
						testShape(t, v, abi, functions, rows, gap)
					}
				}
			}
		}
	}
}

func testShape(t *testing.T, v Version, abi ABI, functions, rows, gap int) {
	raw := plain(v, abi)
	raw.gap = gap
	f := raw.funcs[0]
	f.rows = slices.Repeat(f.rows[1:2], rows)
	raw.funcs = nil
	for i := range functions {
		f.start = 0x1000 + 0x40*uint64(i)
		raw.funcs = append(raw.funcs, f)
	}
	data := raw.bytes().Done()
	if gap > 0 && functions == 0 {
		return // nothing tells such tables apart, and there is nothing in them
	}
	for table, err := range parseRaw(t, data).Tables() {
		if err != nil || table.Version != v || table.NumFDEs != uint32(functions) {
			t.Errorf("%s, %d functions of %d rows, gaps of %d: got version %s, %v", v, functions, rows, gap, table.Version, err)
		}
	}
	if v == V1 {
		return
	}
	asked, err := Parse(data, rawAddr, Options{CTFFrame: true})
	if err != nil || asked.Validate()[0].ID != "ctf-frame" {
		t.Errorf("%d functions, asked for: got %v", functions, err)
	}
}

// The errors say where, in what field, and why.
func TestErrorText(t *testing.T) {
	_, err := Parse([]byte{0xe2, 0xde, 9, 0}, 0, Options{})
	if got, want := err.Error(), "sframe: sfp_version at offset 0x2: version 9 is not 1, 2 or 3"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	arm := map[bool][]byte{false: arm2().bytes().Done(), true: plain(V2, AArch64LE).bytes().Done()}
	for little, want := range map[bool]string{
		false: "sframe: sfh_abi_arch at offset 0x4: 1 is big-endian aarch64, but the file is for little-endian amd64",
		true:  "sframe: sfh_abi_arch at offset 0x4: 2 is little-endian aarch64, but the file is for big-endian s390x",
	} {
		file := arch.AMD64
		if little {
			file = arch.S390X
		}
		if _, err := Parse(arm[little], 0, Options{Arch: file}); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
