package info

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
)

// chained is n entries of a kind of which each refers to the next by an attribute; the
// last is followed by more.
func chained(n int, tag, attr, more string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "  %s #c%d %s=#c%d\n", tag, i, attr, i+1)
	}
	fmt.Fprintf(&b, "  %s #c%d %s\n", tag, n, more)
	return b.String()
}

// TestLimits has as many parts as are read, and one more.
func TestLimits(t *testing.T) {
	le := binary.ByteOrder(binary.LittleEndian)
	inUnit := func(text string) *Data { return made(t, le, madeUnit+text) }
	typed := func(text string) *Type { return typeOfV(t, inUnit(text+ofV)) }
	tests := []struct {
		name  string
		limit int
		count func(n int) int // how many of n are read
		over  int             // of one more than the limit
	}{
		{"tail calls", maxTails, func(n int) int {
			d := inUnit("  subprogram name=f low_pc=0x1000 high_pc=0x10 call_all_calls\n" + strings.Repeat("    call_site call_pc=0x1001 call_tail_call\n", n))
			tails, err := d.TailCalls(0x1000)
			if err != nil || tails.All != (n <= maxTails) {
				t.Errorf("%d tail calls: got All %v, %v", n, tails.All, err)
			}
			return len(tails.Calls)
		}, maxTails},
		{"parameters of a call", maxParams, func(n int) int {
			d := inUnit("  subprogram name=f low_pc=0x1000 high_pc=0x10\n    call_site call_return_pc=0x1001\n" + strings.Repeat("      call_site_parameter location=55 call_value=31\n", n))
			site, err := d.CallSite(0x1001)
			if err != nil {
				t.Error(err)
			}
			return len(site.Params)
		}, maxParams},
		{"parameters of a function type", maxParams, func(n int) int {
			return strings.Count(typed("  subroutine_type #t type=#char\n"+strings.Repeat("    formal_parameter type=#int\n", n)).String(), "int")
		}, maxParams},
		{"members", maxMembers, func(n int) int {
			members, _ := typed("  structure_type #t\n" + strings.Repeat("    member name=m\n", n)).Members()
			return len(members)
		}, maxMembers},
		{"enumerators", maxMembers, func(n int) int {
			return len(typed("  enumeration_type #t\n" + strings.Repeat("    enumerator name=m const_value=1\n", n)).Enumerators())
		}, maxMembers},
		{"variants", maxMembers, func(n int) int {
			_, variants := typed("  structure_type #t\n    variant_part\n" + strings.Repeat("      variant discr_value=1\n", n)).Members()
			return len(variants.List)
		}, maxMembers},
		{"dimensions", maxDims, func(n int) int {
			return strings.Count(typed("  array_type #t type=#int\n"+strings.Repeat("    subrange_type count=1\n", n)).String(), "[1]")
		}, maxDims},
		{"qualifiers and typedefs", maxStrip - 1, func(n int) int {
			if v := typed(strings.Replace(chained(n-1, "typedef", "type", "name=T type=#int"), "#c0 ", "#t ", 1)); v.Strip().Kind == Base && v.stripped().Kind == Base {
				return n
			}
			return 0
		}, 0},
		{"origins of a name", maxOrigins - 1, func(n int) int {
			text := strings.Replace(chained(n, "subprogram", "abstract_origin", "name=f"), "#c0 ", "low_pc=0x1000 high_pc=0x10 ", 1)
			if names(t, inUnit(text), 0x1000) == "f" {
				return n
			}
			return 0
		}, 0},
		{"origins of a variable's name", maxOrigins - 1, func(n int) int {
			text := "  subprogram name=f low_pc=0x1000 high_pc=0x10\n    variable abstract_origin=#c0\n" + chained(n-1, "variable", "abstract_origin", "name=v")
			if variables(t, inUnit(text), 0x1000) == "v" {
				return n
			}
			return 0
		}, 0},
		{"bytes of a name", maxString, func(n int) int {
			return len(names(t, inUnit("  subprogram low_pc=0x1000 high_pc=0x10 name="+strings.Repeat("x", n)+"\n"), 0x1000))
		}, maxString},
		{"bytes of a type's name", maxTypeName, func(n int) int {
			return len(typed("  base_type #t name=" + strings.Repeat("x", n) + "\n").String())
		}, maxTypeName},
		{"functions that begin between", maxOverlaps - 1, func(n int) int {
			var b strings.Builder
			b.WriteString("  subprogram name=f low_pc=0x1000 high_pc=0x800\n")
			for i := range n {
				fmt.Fprintf(&b, "  subprogram name=g low_pc=%d high_pc=1\n", 0x1001+i)
			}
			if names(t, inUnit(b.String()), 0x1700) == "f" {
				return n
			}
			return 0
		}, 0},
		{"units that begin between", maxOverlaps - 1, func(n int) int {
			var b strings.Builder
			b.WriteString(madeUnit + "  subprogram name=f low_pc=0x1000 high_pc=0x800\n")
			for i := range n {
				fmt.Fprintf(&b, "unit 5\ncompile_unit low_pc=%d high_pc=1\n", 0x1001+i)
			}
			if names(t, made(t, le, b.String()), 0x1700) == "f" {
				return n
			}
			return 0
		}, 0},
	}
	for _, tt := range tests {
		if got := tt.count(tt.limit); got != tt.limit {
			t.Errorf("%s: got %d of %d", tt.name, got, tt.limit)
		}
		if got := tt.count(tt.limit + 1); got != tt.over {
			t.Errorf("%s: got %d of %d, want %d", tt.name, got, tt.limit+1, tt.over)
		}
	}
}

// TestMaxWork stops at the number of steps that the caller gives, and says so once.
func TestMaxWork(t *testing.T) {
	text := madeUnit + strings.Repeat("  variable name=v\n", 1000) + "  subprogram name=f low_pc=0x1000 high_pc=0x10\n"
	whole := made(t, binary.LittleEndian, text)
	if got := names(t, whole, 0x1000); got != "f" {
		t.Fatalf("got %s", got)
	}
	steps := whole.work.done
	for limit, want := range map[int]string{
		steps:     "f",
		steps - 1: fmt.Sprintf("(debug information: more than %d steps were taken; the rest of the file is ignored)", steps-1),
		100:       "(debug information: more than 100 steps were taken; the rest of the file is ignored)",
	} {
		d := New(elfFile(t, testkit.DWARF{Order: binary.LittleEndian, Text: text}), Options{MaxWork: limit})
		if got := names(t, d, 0x1000); got != want && got != "f in "+want && !(limit == steps-1 && strings.HasSuffix(got, want)) {
			t.Errorf("%d of %d steps: got %s, want %s", limit, steps, got, want)
		}
	}
}

// TestPartialUnits has what dwz moved to a unit of its own: a function's name, with
// those of the scopes around it, whatever the language, which is not there.
func TestPartialUnits(t *testing.T) {
	for _, order := range bothOrders {
		sup := elfFile(t, testkit.DWARF{Order: order, Text: "unit 5 kind=3\npartial_unit\n  namespace name=n\n    subprogram #f name=f\nunit 5 kind=3\npartial_unit\n  subprogram name=g\n"})
		text := strings.Replace(madeUnit, "language=12", "language=4", 1) +
			"  subprogram abstract_origin:ref_addr=#f low_pc=0x1000 high_pc=0x10\n" +
			"  subprogram abstract_origin:GNU_ref_alt=16 low_pc=0x1010 high_pc=0x10\n" +
			"unit 5 kind=3\npartial_unit low_pc=0x1800 high_pc=0x10\n  namespace name=m\n    subprogram #f name=f low_pc=0x1800 high_pc=0x10\n"
		asked := 0
		for _, tt := range []struct {
			link   string
			alt    *elfx.File
			second string
		}{
			{"sup\x00\x01\x02", sup, "n::f"},
			{"sup\x00\x01\x02", nil, "(" + errNoSupplement.Error() + ")"},
			{"sup\x00\x01\x02", elfFile(t, testkit.DWARF{Order: otherOrder(order), Text: "unit 5\npartial_unit\n"}), "(" + errNoSupplement.Error() + ")"},
			{"", sup, ""},
		} {
			var more []testkit.ELFSection
			if tt.link != "" {
				more = append(more, testkit.ELFSection{Name: ".gnu_debugaltlink", Type: 1, Data: []byte(tt.link), Align: 1})
			}
			d := New(elfFile(t, testkit.DWARF{Order: order, Text: text}, more...), Options{Supplement: func(name, id string) *elfx.File {
				if asked++; name != "sup" || id != "0102" {
					t.Errorf("got supplement %q of %q", name, id)
				}
				return tt.alt
			}})
			first := names(t, d, 0x1000)
			if first != "m::f" {
				t.Errorf("%v: got %s, want m::f", order, first)
			}
			asked = 0
			got := strings.TrimPrefix(names(t, d, 0x1010), " in ")
			names(t, d, 0x1010)
			if got != tt.second || asked > 1 {
				t.Errorf("%v: got %s, asked %d times, want %s", order, got, asked, tt.second)
			}
		}
	}
}
