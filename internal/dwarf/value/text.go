package value

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sfcore/sfcore/internal/dwarf/info"
	"github.com/sfcore/sfcore/memreader"
)

// maxText bounds the bytes of a string that are shown.
const maxText = 200

var errNotSupported = errors.New("values of this type are not supported")

// Text returns the value as text: a number, the name of an enumerator, an address
// with the string or the function there, or the string in an array of characters.
// It is "" for other objects that have parts. Strings are quoted, and cut after
// 200 bytes. The error says why there is no value: something is unknown or not
// supported.
func (o *Object) Text() (string, error) {
	if o.err != nil {
		return "", o.err
	}
	if o.Type == nil {
		return "", errNoType
	}
	t := o.Type.Strip()
	switch t.Kind {
	case info.Base:
		return o.base(t)
	case info.Enum:
		return o.enum(t)
	case info.Pointer, info.Reference, info.RvalueReference:
		return o.pointer(t)
	case info.MemberPointer:
		if t.Elem().Strip().Kind == info.Function {
			return "", errNotSupported
		}
		b, err := o.bytes(8)
		return strconv.FormatInt(int64(o.number(b)), 10), err
	case info.Unspecified:
		if strings.Contains(t.String(), "nullptr") {
			return "nullptr", nil
		}
	case info.Array:
		return o.characters(t)
	case info.Struct, info.Union:
		if t.Declared {
			return "", errIncomplete
		}
		if t.String() == "&str" {
			return o.slice()
		}
		return "", o.nowhere()
	default:
	}
	return "", errNotSupported
}

// bytes returns the bytes of the object.
func (o *Object) bytes(size uint64) ([]byte, error) {
	if o.err != nil {
		return nil, o.err
	}
	return o.at.read(o.scope.frame, o.off, size)
}

// nowhere says why the whole object is unknown; nil if a part is known.
func (o *Object) nowhere() error {
	if len(o.at.pieces) != 1 || o.at.pieces[0].Bits > 0 {
		return nil
	}
	return (*piece)(&o.at.pieces[0]).nowhere()
}

// integer returns the object as an integer without its sign, and its size in bits.
func (o *Object) integer() (v, bits uint64, err error) {
	if o.bits > 0 {
		v, err = o.bitField()
		return v, o.bits, err
	}
	t := o.Type.Strip()
	if t.Size == 0 || t.Size > 8 {
		return 0, 0, errNotSupported
	}
	b, err := o.bytes(t.Size)
	if err != nil {
		return 0, 0, err
	}
	return o.number(b), 8 * t.Size, nil
}

// number returns an integer of up to 8 bytes.
func (o *Object) number(b []byte) (v uint64) {
	for i := range b {
		if o.scope.frame.Arch.BigEndian {
			v = v<<8 | uint64(b[i])
		} else {
			v |= uint64(b[i]) << (8 * i)
		}
	}
	return v
}

func (o *Object) bitField() (uint64, error) {
	if o.bits > 64 {
		return 0, errNotSupported
	}
	if o.err == nil {
		if v, ok, err := o.at.field(o.scope.frame, 8*o.off+o.bit, o.bits); ok {
			return v, err
		}
	}
	size := (o.bit + o.bits + 7) / 8 // up to 9 bytes
	b, err := o.bytes(size)
	if err != nil {
		return 0, err
	}
	var v uint64
	for i := range o.bits { // the least significant first
		at := o.bit + i
		if o.scope.frame.Arch.BigEndian {
			at = o.bit + o.bits - 1 - i
			v |= uint64(b[at/8]>>(7-at%8)&1) << i
		} else {
			v |= uint64(b[at/8]>>(at%8)&1) << i
		}
	}
	return v, nil
}

func truncate(v, bits uint64) uint64 {
	if bits >= 64 {
		return v
	}
	return v & (1<<bits - 1)
}

func extend(v, bits uint64) int64 {
	if bits == 0 || bits >= 64 {
		return int64(v)
	}
	return int64(v<<(64-bits)) >> (64 - bits)
}

// base writes a value of a base type.
func (o *Object) base(t *info.Type) (string, error) {
	if t.Size == 0 && t.String() == "()" { // of Rust
		return "()", nil
	}
	switch t.Encoding {
	case info.Float, info.ComplexFloat:
		return o.float(t)
	}
	if t.Size == 16 && o.bits == 0 && (t.Encoding == info.Signed || t.Encoding == info.Unsigned) {
		return o.wide(t)
	}
	v, bits, err := o.integer()
	if err != nil {
		return "", err
	}
	signed := strconv.FormatInt(extend(v, bits), 10)
	unsigned := strconv.FormatUint(v, 10)
	switch t.Encoding {
	case info.Boolean:
		switch v {
		case 0:
			return "false", nil
		case 1:
			return "true", nil
		}
		return unsigned, nil
	case info.Signed:
		if t.String() == "wchar_t" && v <= unicode.MaxRune {
			return signed + " L" + strconv.QuoteRune(rune(v)), nil
		}
		return signed, nil
	case info.SignedChar:
		return signed + " " + quoteChar(rune(byte(v)), t.Size), nil
	case info.Unsigned:
		return unsigned, nil
	case info.UnsignedChar, info.UTF, info.UCS, info.ASCII:
		return unsigned + " " + quoteChar(rune(v), t.Size), nil
	}
	return "", errNotSupported
}

// quoteChar quotes a character of size bytes. For one byte beyond ASCII, whose
// encoding is unknown, it writes the number.
func quoteChar(r rune, size uint64) string {
	if size == 1 && r >= utf8.RuneSelf {
		return fmt.Sprintf(`'\x%02x'`, r)
	}
	return strconv.QuoteRune(r)
}

// wide writes an integer of 16 bytes.
func (o *Object) wide(t *info.Type) (string, error) {
	b, err := o.bytes(16)
	if err != nil {
		return "", err
	}
	if !o.scope.frame.Arch.BigEndian {
		reverse(b)
	}
	v := new(big.Int).SetBytes(b)
	if t.Encoding == info.Signed && b[0] >= 0x80 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), 128))
	}
	return v.String(), nil
}

func reverse(b []byte) {
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
}

// enum writes the name of an enumerator, or of the flags that are set.
func (o *Object) enum(t *info.Type) (string, error) {
	v, bits, err := o.integer()
	if err != nil {
		return "", err
	}
	names := t.Enumerators()
	for _, n := range names {
		if truncate(n.Value, bits) == v {
			return cut(n.Name), nil
		}
	}
	var flags []string
	rest := v
	for _, n := range names {
		if f := truncate(n.Value, bits); f != 0 && f&(f-1) == 0 && rest&f != 0 {
			flags, rest = append(flags, cut(n.Name)), rest&^f
		}
	}
	if rest == 0 && len(flags) > 0 {
		return strings.Join(flags, " | "), nil
	}
	if base := t.Elem().Strip(); base.Encoding == info.Signed || base.Encoding == info.SignedChar {
		return strconv.FormatInt(extend(v, bits), 10), nil
	}
	return strconv.FormatUint(v, 10), nil
}

// maxEnumerator bounds the name of an enumerator in a value, in bytes: a value may
// have 64 of them.
const maxEnumerator = 256

// cut cuts off the end of a long name.
func cut(name string) string {
	if len(name) <= maxEnumerator {
		return name
	}
	return strings.ToValidUTF8(name[:maxEnumerator], "") + "..."
}

// pointer writes an address and the string or function there.
func (o *Object) pointer(t *info.Type) (string, error) {
	v, _, err := o.integer()
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("%#x", v)
	if t.Kind != info.Pointer {
		return "@" + text, nil
	}
	to := t.Elem().Strip()
	switch {
	case v == 0:
	case to.Kind == info.Function && o.scope.frame.Name != nil:
		if name := o.scope.frame.Name(v); name != "" {
			text += " <" + name + ">"
		}
	case isChar(to):
		if s, ok := readString(o.scope.frame.Mem, v); ok {
			text += " " + s
		}
	}
	return text, nil
}

// isChar reports whether t is a character of one byte.
func isChar(t *info.Type) bool {
	if t.Kind != info.Base || t.Size != 1 {
		return false
	}
	switch t.Encoding {
	case info.SignedChar, info.UnsignedChar, info.UTF, info.ASCII:
		return true
	}
	return false
}

// readString quotes the string at an address, if its first byte can be read.
func readString(mem memreader.Reader, addr uint64) (string, bool) {
	b, err := memreader.ReadFull(mem, addr, maxText+1)
	if len(b) == 0 {
		return "", false
	}
	return quote(b, err == nil), true
}

// quote quotes a string, which ends at its first NUL. more is set if there is no
// NUL and the string continues.
func quote(b []byte, more bool) string {
	for i, c := range b {
		if c == 0 {
			return strconv.Quote(string(b[:i]))
		}
	}
	if len(b) > maxText {
		b, more = b[:maxText], true
	}
	if more {
		return strconv.Quote(string(b)) + "..."
	}
	return strconv.Quote(string(b))
}

// characters writes an array of characters as a string; other arrays have no text.
func (o *Object) characters(t *info.Type) (string, error) {
	n, err := o.count(t)
	if err != nil {
		return "", err
	}
	if n == 0 {
		return "{}", nil
	}
	elem := t.Elem().Strip()
	if !isChar(elem) {
		return "", nil
	}
	b, err := o.bytes(min(n, maxText+1))
	if err != nil {
		return "", err
	}
	return quote(b, n > maxText), nil
}

// slice writes a &str of Rust.
func (o *Object) slice() (string, error) {
	parts, _, err := o.members(0, 3)
	if err != nil || len(parts) != 2 || parts[0].Name != "data_ptr" || parts[1].Name != "length" {
		return "", err
	}
	addr, _, err := parts[0].integer()
	if err != nil {
		return "", err
	}
	n, _, err := parts[1].integer()
	if err != nil {
		return "", err
	}
	b, err := readMemory(o.scope.frame.Mem, addr, int(min(n, maxText)))
	if err != nil {
		return "", err
	}
	text := strconv.Quote(string(b))
	if n > maxText {
		text += "..."
	}
	return text, nil
}

// Integer returns the value of an integer, a character, an enumerator or a
// pointer, as so many bits without a sign.
func (o *Object) Integer() (v uint64, pointer, ok bool) {
	if o.err != nil || o.Type == nil {
		return 0, false, false
	}
	t := o.Type.Strip()
	switch t.Kind {
	case info.Pointer, info.Reference, info.RvalueReference:
		pointer = true
	case info.Enum:
	case info.Base:
		switch t.Encoding {
		case info.Float, info.ComplexFloat, info.Boolean:
			return 0, false, false
		}
	default:
		return 0, false, false
	}
	v, _, err := o.integer()
	return v, pointer, err == nil
}
