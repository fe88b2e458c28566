package value

import (
	"errors"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/testkit"
)

func TestStructures(t *testing.T) {
	const point = "  structure_type #t name=point byte_size=8\n    member name=x type=#int\n    member name=y type=#int data_member_location=4\n"
	d32 := func(v ...uint32) func(b *testkit.Bytes) { return func(b *testkit.Bytes) { b.D32(v...) } }
	const lost = "(errNoType)"
	checkObjects(t, []objectTest{
		{"members", point + inMemory("#t"), d32(1, 2), "{x 1, y 2}"},
		{"cut off", point + inMemory("#t"), d32(1), "{x 1, y (memory at 0x7004: not mapped)}"},
		{"optimised out", point + "  variable name=v type=#t\n", nil, "(optimised out)(0: optimised out)"},
		{"nested", strings.ReplaceAll(point, "#t", "#p") + "  structure_type #t name=s\n    member name=a type=#u8 data_member_location=1\n    member name=p type=#p data_member_location=4\n" +
			inMemory("#t"), func(b *testkit.Bytes) { b.D8(9, 8, 7, 6).D32(1, 2) }, "{a 8, p {x 1, y 2}}"},
		{"union", "  union_type #t name=u\n    member name=a type=#int\n    member name=b type=#u8\n" + inMemory("#t"), func(b *testkit.Bytes) { b.D8(1, 1, 1, 1) }, "{a 16843009, b 1}"},
		{"base class", strings.ReplaceAll(point, "#t", "#p") + "  class_type #t name=s\n    inheritance type=#p data_member_location=4\n    member name=a type=#int\n    member name=s type=#int external\n" +
			inMemory("#t"), d32(3, 1, 2), "{base  {x 1, y 2}, a 3}"},
		{
			"declared", "  structure_type #t name=s declaration\n" + inMemory("#t"), d32(1),
			"(errIncomplete)(0: errIncomplete)",
		},
		{"no type of a member", "  structure_type #t name=s\n    member name=a\n    member name=b type=#int\n" + inMemory("#t"), d32(1), "{a " + lost + ", b 1}"},
		{"offset by DWARF 2", "  structure_type #t name=s\n    member name=a type=#int data_member_location:block1=2304\n" + inMemory("#t"), d32(1, 2), "{a 2}"},
		// DW_OP_dup, DW_OP_deref, DW_OP_plus: of a virtual base class.
		{"virtual base class", strings.ReplaceAll(point, "#t", "#p") + "  class_type #t name=s\n    inheritance type=#p data_member_location:exprloc=120622\n" +
			inMemory("#t"), func(b *testkit.Bytes) { b.D64(12).D32(0, 7, 8) }, "{base  {x 7, y 8}}"},
		{"array in a virtual base class", "  array_type #a type=#int\n    subrange_type count=2\n  class_type #t name=s\n    inheritance type=#a data_member_location:exprloc=120622\n" +
			inMemory("#t"), func(b *testkit.Bytes) { b.D64(12).D32(0, 7, 8) }, "{base  {[0] 7, [1] 8}}"},
		// DW_OP_push_object_address, DW_OP_deref, DW_OP_plus.
		{"virtual base class by the object", "  class_type #t name=s\n    inheritance type=#int data_member_location:exprloc=970622\n" +
			inMemory("#t"), func(b *testkit.Bytes) { b.D64(12).D32(0, 7, 8) }, "{base  7}"},
		{"virtual base class of a member", "  class_type #b name=b\n    inheritance type=#int data_member_location:exprloc=120622\n  class_type #t name=s\n    member name=m type=#b data_member_location=8\n" +
			inMemory("#t"), func(b *testkit.Bytes) { b.D64(0, 12).D32(0, 7, 8) }, "{m {base  7}}"},
		{"virtual base class that is not there", strings.ReplaceAll(point, "#t", "#p") + "  class_type #t name=s\n    inheritance type=#p data_member_location:exprloc=120622\n" +
			inMemory("#t"), nil, "{base  (memory at 0x7000: not mapped)(0: memory at 0x7000: not mapped)}"},
		{
			"virtual base class of a register", "  class_type #t name=s byte_size=8\n    inheritance type=#int data_member_location:exprloc=120622\n  variable name=v type=#t location=50\n", nil,
			"{base  (errVirtual)}",
		},
		{"member of a virtual base class", "  class_type #b name=b\n    member name=m type=#int data_member_location=4\n  class_type #t name=s\n    inheritance type=#b data_member_location:exprloc=120622\n" +
			"    member name=z type=#long\n" + inMemory("#t"), func(b *testkit.Bytes) { b.D64(12).D32(0, 7, 8) }, "{base  {m 8}, z 12}"},
	})
}

func TestBitFields(t *testing.T) {
	// Bits are given from the start of the structure; in big-endian memory the
	// first one is the highest.
	const fields = "  structure_type #t name=s byte_size=4\n    member name=a type=#uint bit_size=3 data_bit_offset=0\n    member name=b type=#int bit_size=5 data_bit_offset=3\n" +
		"    member name=c type=#uint bit_size=10 data_bit_offset=11\n    member name=d type=#u8 data_member_location=3\n"
	little := []byte{0xfd, 0x18, 0x10, 9} // 5, -1, 515
	big := []byte{0xbf, 0x10, 0x18, 9}
	memory := func(b *testkit.Bytes) {
		if b.Order == orderOf(arch.S390X) {
			b.Raw(big)
		} else {
			b.Raw(little)
		}
	}
	checkObjects(t, []objectTest{
		{"memory", fields + inMemory("#t"), memory, "{a 5, b -1, c 515, d 9}"},
		{"cut off", fields + inMemory("#t"), func(b *testkit.Bytes) { b.D8(0) }, "{a 0, b 0, c (memory at 0x7001: not mapped), d (memory at 0x7003: not mapped)}"},
	})
	for _, tt := range []struct {
		arch *arch.Arch
		text string
		mem  []byte
		want string
	}{
		{arch.AMD64, "bit_size=8 data_bit_offset=20", []byte{0, 0, 0xab, 0xcd}, "{a 218}"},
		{arch.S390X, "bit_size=8 data_bit_offset=20", []byte{0, 0, 0xab, 0xcd}, "{a 188}"},
		{arch.AMD64, "bit_size=60 data_bit_offset=7", []byte{0x80, 1, 0, 0, 0, 0, 0, 0, 4}, "{a 576460752303423491}"},
		{arch.AMD64, "bit_size=64 data_bit_offset=4", []byte{0x10, 0, 0, 0, 0, 0, 0, 0, 8}, "{a 9223372036854775809}"},
		{arch.S390X, "bit_size=64 data_bit_offset=4", []byte{8, 0, 0, 0, 0, 0, 0, 0, 0x10}, "{a 9223372036854775809}"},
		{arch.AMD64, "bit_size=1 data_bit_offset=9", []byte{0, 2}, "{a 1}"},
		{arch.AMD64, "bit_size=9 data_bit_offset=0", []byte{0xff, 1}, "{a 511}"},
		{arch.S390X, "bit_size=9 data_bit_offset=0", []byte{0xff, 0x80}, "{a 511}"},
		{arch.AMD64, "bit_size=65 data_bit_offset=0", make([]byte, 16), "{a (errNotSupported)}"},
		// As DWARF 2 and 3 have it: from the left, in a unit of 4 bytes.
		{arch.AMD64, "bit_size=3 bit_offset=29 byte_size=4", []byte{0xfd, 0, 0, 0}, "{a 5}"},
		{arch.S390X, "bit_size=3 bit_offset=0 byte_size=4", []byte{0xbf, 0, 0, 0}, "{a 5}"},
		{arch.S390X, "bit_size=5 bit_offset=3 byte_size=4 data_member_location=4", []byte{0, 0, 0, 0, 0xa9, 0, 0, 0}, "{a 9}"},
		{arch.AMD64, "bit_size=3 bit_offset=61", []byte{0xfd, 0, 0, 0, 0, 0, 0, 0}, "{a 5}"}, // of the size of the type
	} {
		text := "\n  structure_type #t name=s byte_size=16\n    member name=a type=#ulong " + tt.text + "\n" + inMemory("#t")
		o := variable(t, frame(t, tt.arch, text, func(b *testkit.Bytes) { b.Raw(tt.mem) }))
		if got := dump(&o, 3); got != tt.want {
			t.Errorf("%s, %s: got %s, want %s", tt.arch.Name, tt.text, got, tt.want)
		}
	}
}

func TestArrays(t *testing.T) {
	const no = "errNoCount"
	of := func(typ, ranges string) string { return "  array_type #t type=" + typ + "\n" + ranges + inMemory("#t") }
	d32 := func(v ...uint32) func(b *testkit.Bytes) { return func(b *testkit.Bytes) { b.D32(v...) } }
	str := func(s string) func(b *testkit.Bytes) { return func(b *testkit.Bytes) { b.Raw([]byte(s)) } }
	long := strings.Repeat("x", 300)
	const xs = "[0] 120 'x', [1] 120 'x', [2] 120 'x', [3] 120 'x', [4] 120 'x', [5] 120 'x', [6] 120 'x', [7] 120 'x', [8] 120 'x', [9] 120 'x'"
	checkObjects(t, []objectTest{
		{"count", of("#int", "    subrange_type count=3\n"), d32(1, 2, 3, 4), "{[0] 1, [1] 2, [2] 3}"},
		{"upper bound", of("#int", "    subrange_type upper_bound=2\n"), d32(1, 2, 3, 4), "{[0] 1, [1] 2, [2] 3}"},
		{"none", of("#int", "    subrange_type count=0\n"), d32(1), "{}{}"},
		{"many", of("#int", "    subrange_type count=12\n"), d32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11), "{[0] 0, [1] 1, [2] 2, [3] 3, [4] 4, [5] 5, [6] 6, [7] 7, [8] 8, [9] 9}"},
		{"two dimensions", of("#int", "    subrange_type count=2\n    subrange_type count=2\n"), d32(1, 2, 3, 4), "{[0] {[0] 1, [1] 2}, [1] {[0] 3, [1] 4}}"},
		{"of a typedef", of("#byte", "    subrange_type count=2\n"), str("\x01\x02"), "{[0] 1, [1] 2}"},
		{
			"of typedefs of arrays", "  array_type #row type=#byte\n    subrange_type count=3\n  typedef #rows name=rows type=#row\n" + of("#rows", "    subrange_type count=2\n"),
			str("\x01\x02\x03\x04\x05\x06"), "{[0] {[0] 1, [1] 2, [2] 3}, [1] {[0] 4, [1] 5, [2] 6}}",
		},
		{"of structures", "  structure_type #s name=s byte_size=8\n    member name=m type=#int data_member_location=4\n" + of("#s", "    subrange_type count=2\n"), d32(1, 2, 3, 4), "{[0] {m 2}, [1] {m 4}}"},
		{"text", of("#char", "    subrange_type count=4\n"), str("ab\x00c"), "\"ab\"{[0] 97 'a', [1] 98 'b', [2] 0 '\\x00', [3] 99 'c'}"},
		{"text without an end", of("#char", "    subrange_type count=2\n"), str("abc"), "\"ab\"{[0] 97 'a', [1] 98 'b'}"},
		{"long text", of("#char", "    subrange_type count:data2=300\n"), str(long), "\"" + long[:200] + "\"...{" + xs + "}"},
		{"text that is not there", of("#char", "    subrange_type count=3\n"), str("ab"), "(memory at 0x7002: not mapped){[0] 97 'a', [1] 98 'b', [2] (memory at 0x7002: not mapped)}"},
		{"of char8_t", "  base_type #c name=char8_t byte_size=1 encoding=0x10\n" + of("#c", "    subrange_type count=1\n"), str("a"), "\"a\"{[0] 97 'a'}"},
		{"of ASCII", "  base_type #c name=c byte_size=1 encoding=0x12\n" + of("#c", "    subrange_type count=1\n"), str("a"), "\"a\"{[0] 97 'a'}"},
		{"text of 200 bytes", of("#char", "    subrange_type count=200\n"), str(long), "\"" + long[:200] + "\"{" + xs + "}"},
		{"text of 201 bytes", of("#char", "    subrange_type count=201\n"), str(long), "\"" + long[:200] + "\"...{" + xs + "}"},
		{"of char32_t", "  base_type #c name=char32_t byte_size=4 encoding=0x10\n" + of("#c", "    subrange_type count=1\n"), d32('a'), "{[0] 97 'a'}"},
		{"of small enumerations", "  enumeration_type #c name=e byte_size=1 encoding=8 type=#u8\n    enumerator name=A const_value=97\n" + of("#c", "    subrange_type count=1\n"), str("a"), "{[0] A}"},
		{"no bound", of("#int", "    subrange_type\n"), d32(1), "(" + no + ")(0: " + no + ")"},
		{"no size", "  base_type #c name=c encoding=5\n" + of("#c", "    subrange_type count=1\n"), d32(1), "{(errNoSize)}"},
		{"too large", of("#int", "    subrange_type count:data8=0x7fffffffffffffff\n"), d32(1), "{(errTooLarge)}"},
		{
			"stride", strings.Replace(of("#int", "    subrange_type count=1\n"), "type=", "byte_stride=8 type=", 1), d32(1),
			"(errStride)(0: errStride)",
		},
		{
			"stride of a range", of("#int", "    subrange_type count=1 bit_stride=64\n"), d32(1),
			"(errStride)(0: errStride)",
		},
		// DW_OP_lit3, and the value of DW_OP_lit3, DW_OP_stack_value.
		{"computed count", of("#int", "    subrange_type count:exprloc=33\n"), d32(1, 2, 3), "{[0] 1, [1] 2, [2] 3}"},
		{"computed upper bound", of("#int", "    subrange_type upper_bound:exprloc=319f\n"), d32(1, 2, 3), "{[0] 1, [1] 2}"},
		{"bound of an unknown register", of("#int", "    subrange_type upper_bound:exprloc=7800\n"), d32(1), "(not recovered: the value of register 8 is unknown)(0: not recovered: the value of register 8 is unknown)"},
		{"bound in a register", of("#int", "    subrange_type upper_bound:exprloc=50\n"), d32(1), "(" + no + ")(0: " + no + ")"},
		{"bound in two pieces", of("#int", "    subrange_type upper_bound:exprloc=319304329304\n"), d32(1), "(" + no + ")(0: " + no + ")"},
		{"damaged bound", of("#int", "    subrange_type upper_bound:exprloc=22\n"), d32(1), "(" + no + "\nDW_OP 0x22 at byte 0: the stack is empty)(0: " + no + "\nDW_OP 0x22 at byte 0: the stack is empty)"},
		{"too large a bound", of("#int", "    subrange_type count:exprloc=0e0100000000000001\n"), d32(1), "(" + no + ")(0: " + no + ")"},
		{"bound in a variable", "  variable #n name=n type=#long location=9108\n" + of("#int", "    subrange_type upper_bound:ref4=#n\n"), func(b *testkit.Bytes) { b.D32(5, 6).D64(1) }, "{[0] 5, [1] 6}"},
		{"bound in a variable that is nowhere", "  variable #n name=n type=#long\n" + of("#int", "    subrange_type upper_bound:ref4=#n\n"), d32(5), "(optimised out)(0: optimised out)"},
		{"bound in a variable without a type", "  variable #n name=n location=9108\n" + of("#int", "    subrange_type upper_bound:ref4=#n\n"), d32(5), "(" + no + ")(0: " + no + ")"},
		{"optimised out", "  array_type #t type=#int\n    subrange_type count=1\n  variable name=v type=#t\n", nil, "(optimised out){(optimised out)}"},
		{"optimised out text", "  array_type #t type=#char\n    subrange_type count=1\n  variable name=v type=#t\n", nil, "(optimised out){(optimised out)}"},
	})
}

func TestParts(t *testing.T) {
	o := variable(t, frame(t, arch.AMD64, "\n  array_type #t type=#u8\n    subrange_type count=5\n"+inMemory("#t"), func(b *testkit.Bytes) { b.D8(1, 2, 3, 4, 5) }))
	for _, tt := range []struct {
		from, count uint64
		want        string
	}{{0, 2, "[0] 1 [1] 2"}, {3, 9, "[3] 4 [4] 5"}, {5, 1, ""}, {9, 1, ""}, {1, 0, ""}} {
		parts, err := o.Parts(tt.from, tt.count)
		var got []string
		for i := range parts {
			got = append(got, parts[i].Name, dump(&parts[i], 1))
		}
		if strings.Join(got, " ") != tt.want || err != nil {
			t.Errorf("%d from %d: got %v, %v, want %s", tt.count, tt.from, got, err, tt.want)
		}
	}
	s := variable(t, frame(t, arch.AMD64, "\n  structure_type #t name=s\n    member name=a type=#u8\n    member name=b type=#u8 data_member_location=1\n"+inMemory("#t"), func(b *testkit.Bytes) { b.D8(1, 2) }))
	for _, tt := range []struct {
		from, count uint64
		want        int
	}{{0, 9, 2}, {1, 9, 1}, {0, 1, 1}, {2, 1, 0}, {7, 1, 0}} {
		if parts, err := s.Parts(tt.from, tt.count); len(parts) != tt.want || err != nil {
			t.Errorf("%d members from %d: got %d, %v, want %d", tt.count, tt.from, len(parts), err, tt.want)
		}
	}
	p := variable(t, frame(t, arch.AMD64, "\n  pointer_type #t type=#u8\n"+inMemory("#t"), func(b *testkit.Bytes) { b.D64(testStack) }))
	for _, tt := range []struct {
		from, count uint64
		want        int
	}{{0, 9, 1}, {1, 9, 0}, {0, 0, 0}} {
		if parts, err := p.Parts(tt.from, tt.count); len(parts) != tt.want || err != nil {
			t.Errorf("%d targets from %d: got %d, %v, want %d", tt.count, tt.from, len(parts), err, tt.want)
		}
	}
	lost := variable(t, frame(t, arch.AMD64, "\n  array_type #t type=#u8\n    subrange_type\n"+inMemory("#t"), nil))
	if parts, err := lost.Parts(0, 1); len(parts) != 0 || !errors.Is(err, errNoCount) {
		t.Errorf("an array without a bound: got %d parts, %v", len(parts), err)
	}
	for code, want := range map[string]uint64{"0e0000000001000000": 1 << 32, "0e0100000001000000": 0} {
		o := variable(t, frame(t, arch.AMD64, "\n  array_type #t type=#u8\n    subrange_type count:exprloc="+code+"\n"+inMemory("#t"), nil))
		if n, err := o.Len(); n != want || (err != nil) != (want == 0) {
			t.Errorf("%s: got %d elements, %v, want %d", code, n, err, want)
		}
	}
	if n, err := p.Len(); n != 1 || err != nil {
		t.Errorf("got %d parts of a pointer, %v", n, err)
	}
}
