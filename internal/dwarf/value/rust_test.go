package value

import (
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/testkit"
)

// TestStr has strings of Rust.
func TestStr(t *testing.T) {
	const str = "rust\n  pointer_type #p type=#u8\n  structure_type #t name=&str byte_size=16\n    member name=data_ptr type=#p\n    member name=length type=#ulong data_member_location=8\n"
	at := func(addr, size uint64, text string) func(b *testkit.Bytes) {
		return func(b *testkit.Bytes) { b.D64(addr, size).Raw([]byte(text)) }
	}
	long := strings.Repeat("x", 300)
	tail := func(n string) string { return "{data_ptr 0x7010 -> *data_ptr 120, length " + n + "}" }
	checkObjects(t, []objectTest{
		{"text", str + inMemory("#t"), at(0x7010, 2, "xyz"), `"xy"` + tail("2")},
		{"empty", str + inMemory("#t"), at(0x7010, 0, "xyz"), `""` + tail("0")},
		{"as long as is shown", str + inMemory("#t"), at(0x7010, 200, long), `"` + long[:200] + `"` + tail("200")},
		{"longer", str + inMemory("#t"), at(0x7010, 201, long), `"` + long[:200] + `"...` + tail("201")},
		{"not there", str + inMemory("#t"), at(0x7010, 9, "xyz"), "(memory at 0x7013: not mapped)" + tail("9")},
		{"no pointer", str + inMemory("#t"), nil, "(memory at 0x7000: not mapped){data_ptr (memory at 0x7000: not mapped) -> (memory at 0x7000: not mapped), length (memory at 0x7008: not mapped)}"},
		{"no length", str + inMemory("#t"), func(b *testkit.Bytes) { b.D64(1) }, "(memory at 0x7008: not mapped){data_ptr 0x1 -> *data_ptr (memory at 0x1: not mapped), length (memory at 0x7008: not mapped)}"},
		// Types that are only called so.
		{"no members", "rust\n  structure_type #t name=&str\n" + inMemory("#t"), nil, "{}"},
		{"one member", "rust\n  structure_type #t name=&str\n    member name=data_ptr type=#ulong\n" + inMemory("#t"), at(5, 6, ""), "{data_ptr 5}"},
		{"two others", "rust\n  structure_type #t name=&str\n    member name=a type=#ulong\n    member name=length type=#ulong\n" + inMemory("#t"), at(5, 6, ""), "{a 5, length 5}"},
		{"another second", "rust\n  structure_type #t name=&str\n    member name=data_ptr type=#ulong\n    member name=b type=#ulong\n" + inMemory("#t"), at(5, 6, ""), "{data_ptr 5, b 5}"},
		{"optimised out", str + "  variable name=v type=#t\n", nil, "(optimised out)(0: optimised out)"},
	})
}

// TestVariants has enums of Rust: members of which one is there.
func TestVariants(t *testing.T) {
	const one = "      variant discr_value=1\n        member name=One type=#int data_member_location=4\n"
	const two = "      variant discr_value=2\n        member name=Two type=#int data_member_location=8\n"
	const other = "      variant\n        member name=Other type=#int data_member_location=8\n"
	enum := func(variants string) string {
		return "rust\n  structure_type #t name=E byte_size=12\n    member name=m type=#int\n    variant_part discr=#d\n      member #d name=d type=#int\n" + variants + inMemory("#t")
	}
	words := func(v uint32) func(b *testkit.Bytes) { return func(b *testkit.Bytes) { b.D32(v, 10, 20) } }
	const none = "(errVariant)"
	checkObjects(t, []objectTest{
		{"first", enum(one + two), words(1), "{m 1, One 10}"},
		{"second", enum(one + two), words(2), "{m 2, Two 20}"},
		{"none", enum(one + two), words(7), "{m 7, " + none + "}"},
		{"default", enum(one + other), words(7), "{m 7, Other 20}"},
		{"before the default", enum(one + other), words(1), "{m 1, One 10}"},
		{"behind the default", enum(other + one), words(1), "{m 1, One 10}"},
		{"narrow", strings.Replace(enum(strings.Replace(one, "discr_value=1", "discr_value:sdata=-1", 1)+two), "name=d type=#int", "name=d type=#u8", 1), words(0xffffffff), "{m -1, One 10}"},
		{"not there", enum(one + two), nil, "{m (memory at 0x7000: not mapped), (memory at 0x7000: not mapped)}"},
		{"one without a discriminant", strings.Replace(strings.Replace(enum(one), "      member #d name=d type=#int\n", "", 1), " discr=#d", "", 1), words(7), "{m 7, One 10}"},
		{"two without a discriminant", strings.Replace(strings.Replace(enum(one+two), "      member #d name=d type=#int\n", "", 1), " discr=#d", "", 1), words(7), "{m 7, " + none + "}"},
	})
}
