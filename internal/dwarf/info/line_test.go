package info

import (
	"fmt"
	"path"
	"testing"

	"github.com/sfcore/sfcore/internal/testkit"
)

// lineHeader writes the header of a line number program of files a.c and b.c.
func lineHeader(b *testkit.Bytes, version uint16, stmt uint8) {
	b.Diff(4, "end", "begin", 0).Mark("begin").D16(version)
	if version >= 5 {
		b.D8(8, 0) // address_size, segment_selector_size
	}
	b.Diff(4, "program", "rest", 0).Mark("rest").D8(1)
	if version >= 4 {
		b.D8(1) // maximum_operations_per_instruction
	}
	b.D8(stmt, 0, 1, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1)
	if version >= 5 {
		b.D8(1, 1, 8, 1).Str("/src") // directories: DW_LNCT_path, DW_FORM_string
		b.D8(2, 1, 8, 2, 0x0b, 3).Str("a.c").D8(0).Str("a.c").D8(0).Str("b.c").D8(0)
	} else {
		b.D8(0).Str("a.c").D8(0, 0, 0).Str("b.c").D8(0, 0, 0).D8(0)
	}
	b.Mark("program")
}

// Of the rows at one address the last counts, as addr2line, eu-addr2line and
// gdb 18 have it. Earlier ones differ in is_stmt, in view, or in file.
func TestRowsOfOneAddress(t *testing.T) {
	type r struct {
		file, line int
		stmt       bool
	}
	tests := []struct {
		name string
		rows []r
		want string
	}{
		{"one", []r{{1, 10, true}}, "a.c:10"},
		{"one that begins no statement", []r{{1, 10, false}}, "a.c:10"},
		{"views, the last of which begins no statement", []r{{1, 470, true}, {1, 195, true}, {1, 196, true}, {1, 475, false}}, "a.c:475"},
		{"views of statements", []r{{1, 10, true}, {1, 11, true}}, "a.c:11"},
		{"only the last begins a statement", []r{{1, 10, false}, {1, 11, true}}, "a.c:11"},
		{"none begins a statement", []r{{1, 10, false}, {1, 11, false}}, "a.c:11"},
		{"the last is in another file", []r{{1, 10, true}, {2, 31, false}}, "b.c:31"},
		{"the statement is in another file", []r{{2, 31, true}, {1, 10, false}}, "a.c:10"},
		{"a line that is none", []r{{1, -2, true}}, ".:0"}, // the Go compiler writes -2
		{"the last is of no line", []r{{1, 10, true}, {1, 0, false}}, ".:0"},
	}
	for _, order := range bothOrders {
		for version := uint16(2); version <= 5; version++ {
			for _, tt := range tests {
				for _, stmt := range []bool{false, true} {
					section := debugSection(order, ".debug_line", func(b *testkit.Bytes) {
						at, line := stmt, 1
						lineHeader(b, version, map[bool]uint8{true: 1}[stmt])
						b.D8(0, 9, lneSetAddress).D64(0x1000)
						for _, r := range tt.rows {
							if r.stmt != at {
								b.D8(6) // DW_LNS_negate_stmt
								at = r.stmt
							}
							b.D8(lnsSetFile).ULEB(uint64(r.file)).D8(lnsAdvanceLine).SLEB(int64(r.line - line)).D8(lnsCopy)
							line = r.line
						}
						b.D8(lnsAdvancePC, 8, lnsSetFile, 2, lnsAdvanceLine, 1, lnsCopy, lnsAdvancePC, 8, 0, 1, lneEndSequence).Mark("end")
					})
					text := fmt.Sprintf("unit %d\ncompile_unit stmt_list=0 low_pc=0x1000 high_pc:addr=0x1010\n  subprogram name=f low_pc=0x1000 high_pc:addr=0x1010\n", version)
					for _, addr := range []uint64{0x1000, 0x1004, 0x1007} {
						locs, err := made(t, order, text, section).Lookup(addr, nil)
						if err != nil || len(locs) != 1 {
							t.Fatalf("%v, version %d, %s: got %v, %v", order, version, tt.name, locs, err)
						}
						if got := fmt.Sprintf("%s:%d", path.Base(locs[0].File), locs[0].Line); got != tt.want {
							t.Errorf("%v, version %d, %s, default_is_stmt %v, %#x: got %s, want %s", order, version, tt.name, stmt, addr, got, tt.want)
						}
					}
				}
			}
		}
	}
}
