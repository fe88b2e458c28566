package cfi

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/memreader"
)

const (
	testFrame = 0x8000 // address of the sections that tests build
	testText  = 0x1000 // of their functions
	testSize  = 0x100
)

// bothOrders are architectures that differ in nothing but the byte order.
var bothOrders = []*arch.Arch{arch.AArch64, arch.AArch64BE}

func orderOf(a *arch.Arch) binary.ByteOrder {
	if a.BigEndian {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// builder builds a section, .eh_frame unless debug is set.
type builder struct {
	*testkit.Bytes
	debug bool
	long  bool // 64-bit DWARF
	n     int  // entries so far
}

func newBuilder(a *arch.Arch) *builder { return &builder{Bytes: testkit.New(orderOf(a))} }

// entry appends an entry with a header; cie is the label of an FDE's CIE, or
// "" for a CIE.
func (b *builder) entry(label, cie string, body func()) {
	b.n++
	start, end := fmt.Sprintf("start %d", b.n), fmt.Sprintf("end %d", b.n)
	if label != "" {
		b.Mark(label)
	}
	size := 4
	if b.long {
		b.D32(0xffffffff)
		size = 8
	}
	b.Diff(size, end, start, 0)
	b.Mark(start)
	switch {
	case b.debug && cie == "" && b.long:
		b.D64(1<<64 - 1)
	case b.debug && cie == "":
		b.D32(1<<32 - 1)
	case b.debug:
		b.Diff(size, cie, "", 0)
	case cie == "":
		b.D32(0)
	default:
		b.Diff(4, start, cie, 0)
	}
	body()
	b.Mark(end)
}

// cieText is what a CIE says.
type cieText struct {
	version      uint8 // 1 if 0
	augmentation string
	data         []byte // of the augmentation, without its length
	codeAlign    uint64 // 4 if 0
	dataAlign    int64  // -8 if 0
	ra           uint64 // 30 if 0
	initial      []byte
}

func (b *builder) cie(label string, k cieText) {
	b.entry(label, "", func() {
		b.D8(max(k.version, 1)).Str(k.augmentation)
		if k.version == 4 {
			b.D8(8, 0)
		}
		if k.codeAlign == 0 {
			k.codeAlign = 4
		}
		if k.dataAlign == 0 {
			k.dataAlign = -8
		}
		if k.ra == 0 {
			k.ra = 30
		}
		b.ULEB(k.codeAlign).SLEB(k.dataAlign)
		if k.version <= 1 {
			b.D8(uint8(k.ra))
		} else {
			b.ULEB(k.ra)
		}
		if k.augmentation != "" && k.augmentation[0] == 'z' {
			b.ULEB(uint64(len(k.data))).Raw(k.data)
		}
		b.Raw(k.initial)
	})
}

// fde appends an FDE with absolute addresses and no augmentation data.
func (b *builder) fde(label, cie string, start, size uint64, program []byte) {
	b.entry(label, cie, func() { b.D64(start, size).Raw(program) })
}

// section parses what was built.
func (b *builder) section(t testing.TB, a *arch.Arch) *Section {
	t.Helper()
	var s *Section
	var err error
	if b.debug {
		s, err = ParseDebugFrame(a, b.Done(), 0)
	} else {
		s, err = ParseEHFrame(a, b.Done(), testFrame, nil, 0, Bases{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// allFDEs returns the FDEs of a section that is sound.
func allFDEs(t testing.TB, s *Section) []FDE {
	t.Helper()
	var fdes []FDE
	for f, err := range s.FDEs() {
		if err != nil {
			t.Fatal(err)
		}
		fdes = append(fdes, f)
	}
	return fdes
}

// code builds bytes of a byte order.
func code(a *arch.Arch, build func(b *testkit.Bytes)) []byte {
	b := testkit.New(orderOf(a))
	build(b)
	return b.Done()
}

// oneFDE builds a section of one CIE and one FDE.
func oneFDE(t testing.TB, a *arch.Arch, k cieText, program []byte) *Section {
	t.Helper()
	b := newBuilder(a)
	b.cie("cie", k)
	b.fde("fde", "cie", testText, testSize, program)
	return b.section(t, a)
}

// findRow looks a pc up with a fresh Machine.
func findRow(s *Section, pc uint64, regs *arch.Regs, mem memreader.Reader) (row arch.Row, found bool, err error) {
	var w *memreader.Words
	if mem != nil {
		w = &memreader.Words{R: mem, BigEndian: s.arch.BigEndian}
	}
	found, err = new(Machine).Find(s, pc, regs, w, &row)
	return row, found, err
}

// checkFormatError reports if err is not about field, or is not at off, if
// that is not negative.
func checkFormatError(t *testing.T, err error, field string, off int) {
	t.Helper()
	e, ok := errors.AsType[*FormatError](err)
	switch {
	case !ok:
		t.Errorf("got error %v, want a FormatError about %s", err, field)
	case e.Field != field || e.Msg == "":
		t.Errorf("got %q, want one about %s", e, field)
	case off >= 0 && e.Off != uint64(off):
		t.Errorf("got %q, want offset %#x", e, off)
	}
}
