package value

import (
	"math"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/testkit"
)

// inMemory is a variable of a type at the canonical frame address.
func inMemory(typ string) string { return "  variable name=v location=9100 type=" + typ + "\n" }

// ofBase is a variable of a base type.
func ofBase(attrs string) string { return "  base_type #t " + attrs + "\n" + inMemory("#t") }

func TestNumbers(t *testing.T) {
	const no = "(errNotSupported)"
	d8 := func(v ...uint8) func(b *testkit.Bytes) { return func(b *testkit.Bytes) { b.D8(v...) } }
	d16 := func(v uint16) func(b *testkit.Bytes) { return func(b *testkit.Bytes) { b.D16(v) } }
	d32 := func(v ...uint32) func(b *testkit.Bytes) { return func(b *testkit.Bytes) { b.D32(v...) } }
	d64 := func(v ...uint64) func(b *testkit.Bytes) { return func(b *testkit.Bytes) { b.D64(v...) } }
	wide := func(high, low uint64) func(b *testkit.Bytes) {
		return func(b *testkit.Bytes) {
			if b.Order == orderOf(arch.S390X) {
				b.D64(high, low)
			} else {
				b.D64(low, high)
			}
		}
	}
	checkObjects(t, []objectTest{
		{"int", inMemory("#int"), d32(0xfffffffb), "-5"},
		{"unsigned", inMemory("#uint"), d32(0xfffffffb), "4294967291"},
		{"short", inMemory("#short"), d16(0xfffb), "-5"},
		{"long", inMemory("#long"), d64(1 << 63), "-9223372036854775808"},
		{"unsigned long", inMemory("#ulong"), d64(1 << 63), "9223372036854775808"},
		{"typedef", inMemory("#byte"), d8(200), "200"},
		{"signed char", inMemory("#char"), d8('a'), "97 'a'"},
		{"negative char", inMemory("#char"), d8(200), `-56 '\xc8'`},
		{"unsigned char", inMemory("#uchar"), d8(200), `200 '\xc8'`},
		{"last of ASCII", inMemory("#uchar"), d8(127), `127 '\x7f'`},
		{"first beyond ASCII", inMemory("#uchar"), d8(128), `128 '\x80'`},
		{"signed char of two bytes", ofBase("name=c byte_size=2 encoding=6"), d16(0x41), "65 'A'"},
		{"wchar_t", ofBase("name=wchar_t byte_size=4 encoding=5"), d32(87), "87 L'W'"},
		{"no wchar_t", ofBase("name=wchar_t byte_size=4 encoding=5"), d32(0xffffffff), "-1"},
		{"char32_t", ofBase("name=char32_t byte_size=4 encoding=0x10"), d32(0x20ac), "8364 '€'"},
		{"UCS", ofBase("name=c byte_size=4 encoding=0x11"), d32(0x41), "65 'A'"},
		{"ASCII", ofBase("name=c byte_size=1 encoding=0x12"), d8(0x41), "65 'A'"},
		{"false", ofBase("name=bool byte_size=1 encoding=2"), d8(0), "false"},
		{"true", ofBase("name=bool byte_size=1 encoding=2"), d8(1), "true"},
		{"neither", ofBase("name=bool byte_size=1 encoding=2"), d8(2), "2"},
		{"__int128", ofBase("name=__int128 byte_size=16 encoding=5"), wide(math.MaxUint64, math.MaxUint64-1), "-2"},
		{"largest __int128", ofBase("name=__int128 byte_size=16 encoding=5"), wide(math.MaxInt64, math.MaxUint64), "170141183460469231731687303715884105727"},
		{"bits of an __int128", "  base_type #t name=i byte_size=16 encoding=5\n  structure_type #s name=s\n    member name=a type=#t bit_size=8 data_bit_offset=0\n" + inMemory("#s"), d8(7), "{a 7}"},
		{"large __int128", ofBase("name=__int128 byte_size=16 encoding=5"), wide(1, 2), "18446744073709551618"},
		{"least __int128", ofBase("name=__int128 byte_size=16 encoding=5"), wide(1<<63, 0), "-170141183460469231731687303715884105728"},
		{"unsigned __int128", ofBase("name=u byte_size=16 encoding=7"), wide(math.MaxUint64, math.MaxUint64), "340282366920938463463374607431768211455"},
		{"__int128 that is not there", ofBase("name=u byte_size=16 encoding=7"), d64(1), "(memory at 0x7008: not mapped)"},
		{"_Decimal128", ofBase("name=_Decimal128 byte_size=16 encoding=15"), wide(1, 2), no},
		{"_Decimal64", ofBase("name=_Decimal64 byte_size=8 encoding=15"), d64(1), no},
		{"of no size", ofBase("name=x encoding=5"), d64(1), no},
		{"of 9 bytes", ofBase("name=x byte_size=9 encoding=5"), d64(1, 2), no},
		{"of 3 bytes", ofBase("name=x byte_size=3 encoding=7"), d8(1, 1, 1), "65793"},
		{"not there", inMemory("#int"), nil, "(memory at 0x7000: not mapped)"},
		{"cut off", inMemory("#int"), d16(1), "(memory at 0x7002: not mapped)"},
		{"float", ofBase("name=float byte_size=4 encoding=4"), d32(0x3fc00000), "1.5"},
		{"double", inMemory("#double"), d64(math.Float64bits(-0.1)), "-0.1"},
		{"complex float", ofBase("name=\"complex float\" byte_size=8 encoding=3"), d32(0x3fc00000, 0xc0000000), "1.5 + -2i"},
		{"complex double", ofBase("name=c byte_size=16 encoding=3"), d64(math.Float64bits(1), math.Float64bits(2)), "1 + 2i"},
		{"complex of halves of 3 bytes", ofBase("name=c byte_size=6 encoding=3"), d64(1, 2), no},
		{"float of 3 bytes", ofBase("name=c byte_size=3 encoding=4"), d64(1, 2), no},
		{"float of no size", ofBase("name=c encoding=4"), d64(1, 2), no},
		{"float of 33 bytes", ofBase("name=c byte_size=33 encoding=4"), d64(1, 2, 3, 4, 5), no},
		{"float of 32 bytes", ofBase("name=c byte_size=32 encoding=4"), d64(1, 2, 3, 4), no},
		{"float that is not there", inMemory("#double"), d32(1), "(memory at 0x7004: not mapped)"},
		{"no type", "  variable name=v location=9100\n", d32(1), "(errNoType)"},
		{"void", "  const_type #t\n" + inMemory("#t"), d32(1), no},
		{"function", "  subroutine_type #t\n" + inMemory("#t"), d32(1), no},
		{"nullptr", "  unspecified_type #t name=decltype(nullptr)\n" + inMemory("#t"), d32(1), "nullptr"},
		{"unspecified", "  unspecified_type #t name=something\n" + inMemory("#t"), d32(1), no},
	})
}

func TestEnums(t *testing.T) {
	const plain = "  enumeration_type #t name=e byte_size=4 type=#uint\n    enumerator name=RED const_value=1\n    enumerator name=BLUE const_value=6\n    enumerator name=HIGH const_value=0xffffffff80000000\n"
	const flags = "  enumeration_type #t name=e byte_size=1 type=#u8\n    enumerator name=NONE const_value=0\n    enumerator name=A const_value=1\n" +
		"    enumerator name=B const_value=4\n    enumerator name=BOTH const_value=5\n    enumerator name=C const_value=8\n"
	const signed = "  enumeration_type #t name=e byte_size=1 type=#char\n    enumerator name=MINUS const_value=-3\n"
	d32 := func(v uint32) func(b *testkit.Bytes) { return func(b *testkit.Bytes) { b.D32(v) } }
	d8 := func(v uint8) func(b *testkit.Bytes) { return func(b *testkit.Bytes) { b.D8(v) } }
	checkObjects(t, []objectTest{
		{"name", plain + inMemory("#t"), d32(6), "BLUE"},
		{"no name", plain + inMemory("#t"), d32(7), "7"},
		{"name of the highest bit", plain + inMemory("#t"), d32(1 << 31), "HIGH"},
		{"not there", plain + inMemory("#t"), nil, "(memory at 0x7000: not mapped)"},
		{"none", flags + inMemory("#t"), d8(0), "NONE"},
		{"two", flags + inMemory("#t"), d8(9), "A | C"},
		{"name of two", flags + inMemory("#t"), d8(5), "BOTH"},
		{"three", flags + inMemory("#t"), d8(13), "A | B | C"},
		{"one without a name", flags + inMemory("#t"), d8(17), "17"},
		{"negative", signed + inMemory("#t"), d8(0xfd), "MINUS"},
		{"negative without a name", signed + inMemory("#t"), d8(0xec), "-20"},
		{"signed base", strings.Replace(plain, "#uint", "#int", 1) + inMemory("#t"), d32(0xfffffffe), "-2"},
		{"no base", strings.Replace(plain, "type=#uint", "", 1) + inMemory("#t"), d32(0xfffffffe), "4294967294"},
		{"zero, without a name", plain + inMemory("#t"), d32(0), "0"},
	})
}

func TestPointers(t *testing.T) {
	const no = "(errNotSupported)"
	to := func(typ string) string { return "  pointer_type #t byte_size=8 type=" + typ + "\n" + inMemory("#t") }
	at := func(v uint64, more ...uint8) func(b *testkit.Bytes) {
		return func(b *testkit.Bytes) { b.D64(v).D8(more...).D32(7, 8) }
	}
	long := append(make([]byte, 0, 400), []byte(strings.Repeat("x", 300))...)
	checkObjects(t, []objectTest{
		{"to int", to("#int"), at(0x7008), "0x7008 -> *v 7"},
		{"null", to("#int"), at(0), "0x0 -> *v (memory at 0x0: not mapped)"},
		{"to void", "  pointer_type #t byte_size=8\n" + inMemory("#t"), at(0x7008), "0x7008"},
		{"const", "  pointer_type #p type=#int\n  const_type #t type=#p\n" + inMemory("#t"), at(0x7008), "0x7008 -> *v 7"},
		{"to a string", to("#char"), at(0x7008, 'a', '"', 0, 'b'), "0x7008 \"a\\\"\" -> *v 97 'a'"},
		{"to a string that goes on to the end of memory", to("#char"), func(b *testkit.Bytes) { b.D64(0x7008).D8('a', 'b') }, "0x7008 \"ab\" -> *v 97 'a'"},
		{"to a long string", to("#char"), at(0x7008, long...), "0x7008 \"" + strings.Repeat("x", 200) + "\"... -> *v 120 'x'"},
		{"to no string", to("#char"), at(0x9000), "0x9000 -> *v (memory at 0x9000: not mapped)"},
		{"to a null string", to("#char"), at(0), "0x0 -> *v (memory at 0x0: not mapped)"},
		{"to unsigned char", to("#uchar"), at(0x7008, 'a', 0), "0x7008 \"a\" -> *v 97 'a'"},
		{"to uint8_t", to("#byte"), at(0x7008, 'a', 0), "0x7008 -> *v 97"},
		{"to a function", "  subroutine_type #fn\n" + to("#fn"), at(0x401000), "0x401000 <f>"},
		{"to a function without a name", "  subroutine_type #fn\n" + to("#fn"), at(0x401001), "0x401001"},
		{"to a function at 0", "  subroutine_type #fn\n" + to("#fn"), at(0), "0x0"},
		{"to a function at 1", "  subroutine_type #fn\n" + to("#fn"), at(1), "0x1 <one>"},
		{"to a string of 200 bytes", to("#char"), at(0x7008, append(long[:200:200], 0, 'y')...), "0x7008 \"" + strings.Repeat("x", 200) + "\" -> *v 120 'x'"},
		{"reference", "  reference_type #t type=#int\n" + inMemory("#t"), at(0x7008), "@0x7008 -> v 7"},
		{"rvalue reference", "  rvalue_reference_type #t type=#int\n" + inMemory("#t"), at(0x7008), "@0x7008 -> v 7"},
		{"to a structure", "  structure_type #s name=s byte_size=4\n    member name=m type=#int\n" + to("#s"), at(0x7008), "0x7008 -> *v {m 7}"},
		{"to a declared structure", "  structure_type #s name=s declaration\n" + to("#s"), at(0x7008), "0x7008"},
		{"to a declared union", "  union_type #s name=s declaration\n" + to("#s"), at(0x7008), "0x7008"},
		{"to something unspecified", "  unspecified_type #s name=n\n" + to("#s"), at(0x7008), "0x7008"},
		{"to something unknown", "  set_type #s name=n\n" + to("#s"), at(0x7008), "0x7008"},
		{"to a member", "  ptr_to_member_type #t type=#int containing_type=#int\n" + inMemory("#t"), at(0xffffffffffffffec), "-20"},
		{"to a member function", "  subroutine_type #fn\n  ptr_to_member_type #t type=#fn\n" + inMemory("#t"), at(1), no},
		{"not there", to("#int"), nil, "(memory at 0x7000: not mapped) -> (memory at 0x7000: not mapped)"},
	})
}
