package info

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/testkit"
)

// TestLineMarks looks up addresses of long programs, in any order: ones whose addresses
// ascend, where many rows have one address, and ones whose addresses descend once.
func TestLineMarks(t *testing.T) {
	const rows = 10 * lineMarkEvery
	for _, tt := range []struct {
		name    string
		advance func(i int) int
	}{
		{"each row has an address", func(int) int { return 1 }},
		{"many rows have one address", func(i int) int { return max(0, i%700-690) }},
		{"addresses descend", func(i int) int {
			if i == rows*3/4 {
				return 50 - rows*3/4
			}
			return 1
		}},
	} {
		want := map[int]int{} // lines by address
		highest := 0
		section := debugSection(binary.LittleEndian, ".debug_line", func(b *testkit.Bytes) {
			lineHeader(b, 5, 1)
			b.D8(0, 9, lneSetAddress).D64(0x1000)
			addr, line := 0, 1
			for i := range rows {
				advance := tt.advance(i)
				addr, line = addr+advance, line+1
				b.D8(lnsAdvancePC).ULEB(uint64(advance)).D8(lnsAdvanceLine, 1, lnsCopy)
				want[addr], highest = line, max(highest, addr)
			}
			b.D8(lnsAdvancePC).ULEB(uint64(highest+1-addr)).D8(0, 1, lneEndSequence).Mark("end")
		})
		text := fmt.Sprintf("unit 5\ncompile_unit stmt_list=0 low_pc=0x1000 high_pc:addr=%#x\n", 0x1000+highest+1)
		d := made(t, binary.LittleEndian, text, section)
		for _, addr := range rand.Perm(highest + 1) {
			before := addr
			for want[before] == 0 && before > 0 {
				before--
			}
			locs, err := d.Lookup(0x1000+uint64(addr), nil)
			if line := want[before]; err != nil || line > 0 && (len(locs) != 1 || locs[0].Line != line) {
				t.Fatalf("%s, address %d: got %v, %v, want line %d", tt.name, addr, locs, err, line)
			}
		}
	}
}

// TestOutline names functions in any order, which many entries precede, on several
// levels.
func TestOutline(t *testing.T) {
	const n = 3 * markEvery
	var b strings.Builder
	want := map[uint64]string{}
	addr := uint64(0x1000)
	function := func(depth int, path string) {
		addr += 16
		name := fmt.Sprint("f", addr)
		fmt.Fprintf(&b, "%*ssubprogram name=%s low_pc=%#x high_pc:addr=%#x\n", 2*depth, "", name, addr, addr+16)
		want[addr] = path + name
	}
	fmt.Fprintf(&b, "unit 5\ncompile_unit language=0x21 low_pc=0x1000 high_pc:addr=%#x\n", 0x1000+16*(10*n))
	for outer := range 3 {
		fmt.Fprintf(&b, "  namespace name=n%d\n", outer)
		for i := range n {
			function(2, fmt.Sprintf("n%d::", outer))
			if i%100 == 0 {
				fmt.Fprintf(&b, "    class_type name=c%d\n", i)
				for range 50 {
					function(3, fmt.Sprintf("n%d::c%d::", outer, i))
				}
			}
		}
		function(1, "")
	}
	addrs := make([]uint64, 0, len(want))
	for a := range want {
		addrs = append(addrs, a)
	}
	for _, order := range bothOrders {
		d := made(t, order, b.String())
		for range 2 {
			rand.Shuffle(len(addrs), func(i, j int) { addrs[i], addrs[j] = addrs[j], addrs[i] })
			for _, a := range addrs {
				if got := names(t, d, a+1); got != want[a] {
					t.Fatalf("%v, %#x: got %s, want %s", order, a, got, want[a])
				}
			}
		}
		u := d.main.unit(0)
		if marks := len(u.outline.marks); marks == 0 || marks > maxMarks {
			t.Errorf("got %d marks", marks)
		}
		for i := 1; i < len(u.outline.marks); i++ {
			if u.outline.marks[i-1].off >= u.outline.marks[i].off {
				t.Fatalf("mark %d is not behind the one before", i)
			}
		}
	}
}
