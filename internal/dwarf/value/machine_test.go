package value

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/dwarf/info"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
)

// testStack is the canonical frame address of frames, which locations count
// from: "9108" is DW_OP_fbreg 8.
const testStack = 0x7000

// baseTypes are types that every test has.
const baseTypes = `
  base_type #int name=int byte_size=4 encoding=5
  base_type #uint name="unsigned int" byte_size=4 encoding=7
  base_type #long name=long byte_size=8 encoding=5
  base_type #ulong name="unsigned long" byte_size=8 encoding=7
  base_type #short name=short byte_size=2 encoding=5
  base_type #char name=char byte_size=1 encoding=6
  base_type #uchar name="unsigned char" byte_size=1 encoding=8
  base_type #u8 name=u8 byte_size=1 encoding=7
  base_type #double name=double byte_size=8 encoding=4
  typedef #byte name=uint8_t type=#u8
`

// data returns the debug information of a function f at 0x1000 with a text in
// it, which is indented by two. It is of C, or of Rust if the text says so.
func data(t testing.TB, a *arch.Arch, text string) *info.Data {
	t.Helper()
	language := "0x0c" // C99
	if code, ok := strings.CutPrefix(text, "\nrust\n"); ok {
		language, text = "0x1c", "\n"+code
	}
	d := testkit.DWARF{Order: orderOf(a), Text: `
unit 5
compile_unit language=` + language + ` low_pc=0x1000 high_pc=0x100` + baseTypes + `
  subprogram #f name=f low_pc=0x1000 high_pc=0x80 frame_base=9c` + strings.ReplaceAll(text, "\n  ", "\n    ")}
	f, err := elfx.Parse(d.File(a.Machine))
	if err != nil {
		t.Fatal(err)
	}
	return info.New(f, info.Options{})
}

func orderOf(a *arch.Arch) binary.ByteOrder {
	if a.BigEndian {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// frame returns a frame in f. Registers 0 to 3 hold 0x0102030405060708 and 0x1000
// times their number; register 90 is a wide one with the bytes 1 to 16.
func frame(t testing.TB, a *arch.Arch, text string, memory func(b *testkit.Bytes)) *Frame {
	t.Helper()
	b := testkit.New(orderOf(a))
	if memory != nil {
		memory(b)
	}
	regs := &arch.Regs{}
	for r := range arch.Reg(4) {
		regs.Set(r, 0x0102030405060708+0x1000*uint64(r))
	}
	return &Frame{
		Arch: a, Mem: &testkit.Memory{Segs: map[uint64][]byte{testStack: b.Done()}},
		Data: data(t, a, text), Bias: 0x400000, PC: 0x401010, Regs: regs, CFA: testStack,
		Wide: func(reg uint64) []byte {
			if reg == 90 {
				return []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
			}
			return nil
		},
		Name: func(addr uint64) string {
			return map[uint64]string{0: "null", 1: "one", 0x401000: "f"}[addr]
		},
	}
}

// variable returns v of the function at a frame.
func variable(t testing.TB, f *Frame) Object {
	t.Helper()
	scopes, err := f.Scopes()
	if err != nil || len(scopes) != 1 {
		t.Fatalf("got %d scopes, %v", len(scopes), err)
	}
	for i := range scopes[0].Variables {
		if v := &scopes[0].Variables[i]; v.Name == "v" {
			return scopes[0].Object(v)
		}
	}
	t.Fatal("there is no v")
	return Object{}
}

// reasons are the errors of the package, the longer ones first.
var reasons = []struct {
	err  error
	name string
}{
	{errNoCaller, "errNoCaller"},
	{errNoType, "errNoType"},
	{errNoFrameBase, "errNoFrameBase"},
	{errTooLarge, "errTooLarge"},
	{errBits, "errBits"},
	{errShort, "errShort"},
	{errNoPointer, "errNoPointer"},
	{errNotInParts, "errNotInParts"},
	{errIncomplete, "errIncomplete"},
	{errVirtual, "errVirtual"},
	{errVariant, "errVariant"},
	{errNotSupported, "errNotSupported"},
	{errNoCount, "errNoCount"},
	{errNoSize, "errNoSize"},
	{errStride, "errStride"},
}

// why returns the text of an error with the names of what the package's own
// errors say, so that tests do not depend on the wording.
func why(err error) string {
	text := err.Error()
	for _, r := range reasons {
		text = strings.ReplaceAll(text, r.err.Error(), r.name)
	}
	return text
}

// dump writes an object with its parts; errors are in brackets.
func dump(o *Object, depth int) string {
	text, err := o.Text()
	if err != nil {
		text = "(" + why(err) + ")"
	}
	n, err := o.Len()
	if err != nil && n == 0 {
		return text + fmt.Sprintf("(%d: %s)", n, why(err))
	}
	if o.Shape() == Scalar || depth == 0 {
		return text
	}
	parts, err := o.Parts(0, 10)
	var list []string
	for i := range parts {
		p := &parts[i]
		name := p.Name
		if p.Base {
			name = "base " + name
		}
		list = append(list, name+" "+dump(p, depth-1))
	}
	if err != nil {
		list = append(list, "("+why(err)+")")
	}
	if o.Shape() == Target {
		return text + " -> " + strings.Join(list, ", ")
	}
	return text + "{" + strings.Join(list, ", ") + "}"
}

// objectTest is a variable called v in both byte orders.
type objectTest struct {
	name, text string
	memory     func(b *testkit.Bytes)
	want       string
}

func checkObjects(t *testing.T, tests []objectTest) {
	t.Helper()
	for _, a := range []*arch.Arch{arch.AMD64, arch.S390X} {
		for _, tt := range tests {
			t.Run(a.Name+"/"+tt.name, func(t *testing.T) {
				o := variable(t, frame(t, a, "\n"+tt.text, tt.memory))
				if got := dump(&o, 3); got != tt.want {
					t.Errorf("got %s\nwant %s", got, tt.want)
				}
			})
		}
	}
}
