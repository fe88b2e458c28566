package expr

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/testkit"
)

// operations are the codes and operands of operations by their name without
// DW_OP [DWARF 5, 7.7.1]: 1, 2, 4 and 8 are integers of so many bytes, u and s
// LEB128 numbers, t is a type, v a value of that type with its size, b a block
// in hex behind its size, e one of code, o a reference to .debug_info. They are
// written as in the specification, so that a wrong constant of the package is
// noticed.
var operations = map[string]struct {
	code     uint8
	operands string
}{
	"addr": {0x03, "8"}, "deref": {0x06, ""}, "const1u": {0x08, "1"}, "const1s": {0x09, "1"}, "const2u": {0x0a, "2"},
	"const2s": {0x0b, "2"}, "const4u": {0x0c, "4"}, "const4s": {0x0d, "4"}, "const8u": {0x0e, "8"}, "const8s": {0x0f, "8"},
	"constu": {0x10, "u"}, "consts": {0x11, "s"}, "dup": {0x12, ""}, "drop": {0x13, ""}, "over": {0x14, ""},
	"pick": {0x15, "1"}, "swap": {0x16, ""}, "rot": {0x17, ""}, "abs": {0x19, ""}, "and": {0x1a, ""}, "div": {0x1b, ""},
	"minus": {0x1c, ""}, "mod": {0x1d, ""}, "mul": {0x1e, ""}, "neg": {0x1f, ""}, "not": {0x20, ""}, "or": {0x21, ""},
	"plus": {0x22, ""}, "plus_uconst": {0x23, "u"}, "shl": {0x24, ""}, "shr": {0x25, ""}, "shra": {0x26, ""},
	"xor": {0x27, ""}, "bra": {0x28, "2"}, "eq": {0x29, ""}, "ge": {0x2a, ""}, "gt": {0x2b, ""}, "le": {0x2c, ""},
	"lt": {0x2d, ""}, "ne": {0x2e, ""}, "skip": {0x2f, "2"}, "lit": {0x30, ""}, "reg": {0x50, ""}, "breg": {0x70, "s"},
	"regx": {0x90, "u"}, "fbreg": {0x91, "s"}, "bregx": {0x92, "us"}, "piece": {0x93, "u"}, "deref_size": {0x94, "1"},
	"nop": {0x96, ""}, "push_object_address": {0x97, ""}, "form_tls_address": {0x9b, ""}, "call_frame_cfa": {0x9c, ""},
	"bit_piece": {0x9d, "uu"}, "implicit_value": {0x9e, "b"}, "stack_value": {0x9f, ""}, "implicit_pointer": {0xa0, "os"},
	"addrx": {0xa1, "u"}, "constx": {0xa2, "u"}, "entry_value": {0xa3, "e"}, "const_type": {0xa4, "tv"},
	"regval_type": {0xa5, "ut"}, "deref_type": {0xa6, "1t"}, "convert": {0xa8, "t"}, "reinterpret": {0xa9, "t"},
	"GNU_push_tls_address": {0xe0, ""}, "GNU_uninit": {0xf0, ""}, "GNU_implicit_pointer": {0xf2, "os"},
	"GNU_entry_value": {0xf3, "e"}, "GNU_const_type": {0xf4, "tv"}, "GNU_regval_type": {0xf5, "ut"},
	"GNU_deref_type": {0xf6, "1t"}, "GNU_convert": {0xf7, "t"}, "GNU_reinterpret": {0xf9, "t"},
	"GNU_parameter_ref": {0xfa, "4"}, "GNU_addr_index": {0xfb, "u"}, "GNU_const_index": {0xfc, "u"},
}

// typeOffsets are where testContext has types, by their names.
var typeOffsets = map[string]uint64{
	"generic": 0, "u8": 1, "u16": 2, "u32": 4, "u64": 8, "i8": 51, "i16": 52, "i32": 54, "i64": 58, "f32": 104, "f64": 108,
	"u128": 16, "u3": 3, "f16": 102, "f8": 101, "none": 40, "empty": 50,
}

// asm returns the code of operations that are separated by spaces, such as
// "lit5 const1u:200 plus". A word of digits is a byte in hex.
func asm(t testing.TB, a *arch.Arch, text string) []byte {
	t.Helper()
	order := binary.ByteOrder(binary.LittleEndian)
	if a.BigEndian {
		order = binary.BigEndian
	}
	b := testkit.New(order)
	for word := range strings.FieldsSeq(text) {
		name, args, _ := strings.Cut(word, ":")
		if v, err := strconv.ParseUint(name, 16, 8); err == nil && len(name) == 2 {
			b.D8(uint8(v))
			continue
		}
		n := 0
		if letters := strings.TrimRight(name, "0123456789"); letters == "lit" || letters == "reg" || letters == "breg" {
			n, _ = strconv.Atoi(name[len(letters):])
			name = letters
		}
		op, ok := operations[name]
		if !ok {
			t.Fatalf("no operation %s", word)
		}
		b.D8(op.code + uint8(n))
		asmOperands(t, a, b, op.operands, strings.Split(args, ","))
	}
	return b.Done()
}

func asmOperands(t testing.TB, a *arch.Arch, b *testkit.Bytes, kinds string, args []string) {
	t.Helper()
	size := uint64(0)
	for i, kind := range kinds {
		v, _ := strconv.ParseInt(args[i], 0, 64)
		u, err := strconv.ParseUint(args[i], 0, 64)
		if err != nil {
			u = uint64(v)
		}
		switch kind {
		case '1':
			b.D8(uint8(u))
		case '2':
			b.D16(uint16(u))
		case '4', 'o':
			b.D32(uint32(u))
		case '8':
			b.D64(u)
		case 'u':
			b.ULEB(u)
		case 's':
			b.SLEB(v)
		case 't':
			off, ok := typeOffsets[args[i]]
			if !ok {
				t.Fatalf("no type %s", args[i])
			}
			size = off % 50
			b.ULEB(off)
		case 'v':
			b.D8(uint8(size)).Raw(bytesOf(bitsOf(t, args[i], size), size, a.BigEndian))
		case 'b':
			data, err := hex.DecodeString(args[i])
			if err != nil {
				t.Fatal(err)
			}
			b.ULEB(uint64(len(data))).Raw(data)
		case 'e':
			code := asm(t, a, strings.NewReplacer("(", " ", ")", "", ";", ":", "/", ",").Replace(args[i]))
			b.ULEB(uint64(len(code))).Raw(code)
		}
	}
}

// bitsOf returns a number, which is a float if it has a point.
func bitsOf(t testing.TB, text string, size uint64) uint64 {
	t.Helper()
	if f, err := strconv.ParseFloat(text, 64); err == nil && strings.ContainsAny(text, ".N") {
		if size == 4 {
			return uint64(math.Float32bits(float32(f)))
		}
		return math.Float64bits(f)
	}
	v, err := strconv.ParseInt(text, 0, 64)
	if err != nil {
		t.Fatal(err)
	}
	return uint64(v)
}

// result evaluates a value and shows it: the number and, if it has a type, its
// size. The error is shown in brackets.
func result(t testing.TB, c *Context, text string) string {
	t.Helper()
	var m Machine
	pieces, err := m.Locate(c, asm(t, c.Arch, text+" stack_value"), nil)
	if err != nil {
		return "(" + err.Error() + ")"
	}
	if len(pieces) != 1 {
		return fmt.Sprintf("%d pieces", len(pieces))
	}
	switch p := &pieces[0]; p.Kind {
	case Value:
		return strconv.FormatInt(int64(p.Value), 10)
	case Bytes:
		return fmt.Sprintf("%#x/%d", integer(p.Data, c.Arch.BigEndian), len(p.Data))
	case Unknown:
		return "(" + p.Err.Error() + ")"
	default:
		return show(pieces)
	}
}
