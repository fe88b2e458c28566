package info

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/testkit"
)

// lineUnit describes a line number program of files by directory, and its header.
type lineUnit struct {
	version uint16
	is64    bool
	// minInst and maxOps are minimum_instruction_length and
	// maximum_operations_per_instruction; lengths are standard_opcode_lengths.
	minInst, maxOps uint8
	base            int8
	lineRange       uint8
	lengths         []byte
	names           func(b *testkit.Bytes) // nil for the usual ones
	padding         int                    // between the header and the program
	ops             func(b *testkit.Bytes)
	behind          func(b *testkit.Bytes) // what follows in the section; nil for nothing
}

var usualLengths = []byte{0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1}

// usual is a header as GCC writes it.
func usual(ops func(b *testkit.Bytes)) lineUnit {
	return lineUnit{version: 4, minInst: 1, maxOps: 1, base: -3, lineRange: 12, lengths: usualLengths, ops: ops}
}

// special is the operation of a usual header that adds to the line and the address.
func special(line, addr int) uint8 { return uint8(line + 3 + 12*addr + len(usualLengths) + 1) }

func (l *lineUnit) section(order binary.ByteOrder) testkit.ELFSection {
	return debugSection(order, ".debug_line", func(b *testkit.Bytes) {
		size := 4
		if l.is64 {
			size = 8
			b.D32(0xffffffff)
		}
		b.Diff(size, "end", "begin", 0).Mark("begin").D16(l.version)
		if l.version >= 5 {
			b.D8(8, 0)
		}
		b.Diff(size, "program", "rest", 0).Mark("rest").D8(l.minInst)
		if l.version >= 4 {
			b.D8(l.maxOps)
		}
		b.D8(1, uint8(l.base), l.lineRange, uint8(len(l.lengths)+1)).Raw(l.lengths)
		switch {
		case l.names != nil:
			l.names(b)
		case l.version >= 5:
			b.D8(1, 1, 8, 1).Str("/src").D8(2, 1, 8, 2, 0x0b, 3).Str("a.c").D8(0).Str("a.c").D8(0).Str("b.c").D8(0)
		default:
			b.D8(0).Str("a.c").D8(0, 0, 0).Str("b.c").D8(0, 0, 0).D8(0)
		}
		b.Zero(l.padding).Mark("program")
		l.ops(b)
		b.Mark("end")
		if l.behind != nil {
			l.behind(b)
		}
	})
}

// at returns the places of some addresses: "file:line:column" each.
func (l *lineUnit) at(t *testing.T, order binary.ByteOrder, addrs ...uint64) string {
	t.Helper()
	d := made(t, order, "unit 4\ncompile_unit name=a.c comp_dir=/src stmt_list=0 low_pc=0x1000 high_pc=0x8000\n", l.section(order))
	var list []string
	for _, addr := range addrs {
		locs, err := d.Lookup(addr, nil)
		text := "-"
		for _, l := range locs {
			text = fmt.Sprintf("%s:%d:%d", l.File, l.Line, l.Column)
		}
		if err != nil {
			text += " (" + err.Error() + ")"
		}
		list = append(list, text)
	}
	return strings.Join(list, " ")
}

func setAddress(b *testkit.Bytes, addr uint64) *testkit.Bytes {
	return b.D8(0, 9, lneSetAddress).D64(addr)
}

func endSequence(b *testkit.Bytes) { b.D8(0, 1, lneEndSequence) }

// TestLineOperations has what each operation of a line number program does
// [DWARF 5, 6.2.5].
func TestLineOperations(t *testing.T) {
	vliw := func(l lineUnit) lineUnit { l.maxOps, l.minInst = 3, 4; return l }
	tests := []struct {
		name  string
		unit  lineUnit
		addrs []uint64
		want  string
	}{
		{"special operations", usual(func(b *testkit.Bytes) {
			setAddress(b, 0x1000).D8(special(8, 0), special(-3, 4), special(2, 16)).D8(lnsAdvancePC, 4)
			endSequence(b)
		}), []uint64{0xfff, 0x1000, 0x1003, 0x1004, 0x1013, 0x1014, 0x1017, 0x1018}, "- /src/a.c:9:0 /src/a.c:9:0 /src/a.c:6:0 /src/a.c:6:0 /src/a.c:8:0 /src/a.c:8:0 -"},
		{"const_add_pc", usual(func(b *testkit.Bytes) {
			setAddress(b, 0x1000).D8(lnsCopy, lnsConstAddPC, special(1, 0), lnsAdvancePC, 4)
			endSequence(b)
		}), []uint64{0x1000, 0x1013, 0x1014}, "/src/a.c:1:0 /src/a.c:1:0 /src/a.c:2:0"},
		{"fixed_advance_pc", func() lineUnit {
			l := usual(func(b *testkit.Bytes) {
				setAddress(b, 0x1000).D8(lnsCopy, lnsFixedAdvancePC).D16(0x102).D8(special(1, 0), lnsAdvancePC, 1)
				endSequence(b)
			})
			l.minInst = 4
			return l
		}(), []uint64{0x1101, 0x1102, 0x1105, 0x1106}, "/src/a.c:1:0 /src/a.c:2:0 /src/a.c:2:0 -"},
		{"line, column, file", usual(func(b *testkit.Bytes) {
			setAddress(b, 0x1000).D8(lnsAdvanceLine).SLEB(300).D8(lnsSetColumn).ULEB(200).D8(lnsSetFile, 2, lnsCopy, lnsAdvancePC, 4, lnsAdvanceLine).SLEB(-290).D8(lnsCopy, lnsAdvancePC, 4)
			endSequence(b)
		}), []uint64{0x1000, 0x1004}, "/src/b.c:301:200 /src/b.c:11:200"},
		{"operations in one instruction", vliw(usual(func(b *testkit.Bytes) {
			setAddress(b, 0x1000).D8(lnsCopy, lnsAdvancePC, 2, special(1, 0), special(1, 1), special(1, 2), special(1, 2), lnsAdvancePC, 3)
			endSequence(b)
		})), []uint64{0x1000, 0x1003, 0x1004, 0x1007, 0x1008, 0x100b, 0x100c}, "/src/a.c:2:0 /src/a.c:2:0 /src/a.c:4:0 /src/a.c:4:0 /src/a.c:5:0 /src/a.c:5:0 -"},
		{"a new address begins a new instruction", vliw(usual(func(b *testkit.Bytes) {
			setAddress(b, 0x1000).D8(lnsAdvancePC, 2)
			setAddress(b, 0x1000).D8(lnsCopy, lnsAdvancePC, 2, special(1, 0), lnsFixedAdvancePC).D16(4).D8(special(1, 0), lnsAdvancePC, 2, special(1, 0), lnsAdvancePC, 1)
			endSequence(b)
		})), []uint64{0x1000, 0x1003, 0x1004, 0x1007, 0x1008}, "/src/a.c:2:0 /src/a.c:2:0 /src/a.c:4:0 /src/a.c:4:0 -"},
		{"operations without meaning here", usual(func(b *testkit.Bytes) {
			setAddress(b, 0x1000).D8(6, 7, 10, 11, 12).ULEB(300).D8(lnsCopy).D8(0, 2, 4, 9).D8(0, 0).D8(0, 3, 0x80, 1, 2).D8(lnsAdvancePC, 4)
			endSequence(b)
		}), []uint64{0x1000, 0x1003, 0x1004}, "/src/a.c:1:0 /src/a.c:1:0 -"},
		{"an unknown standard operation", func() lineUnit {
			l := usual(func(b *testkit.Bytes) {
				setAddress(b, 0x1000).D8(13).ULEB(300, 400).D8(lnsCopy, lnsAdvancePC, 4)
				endSequence(b)
			})
			l.lengths = append(usualLengths[:12:12], 2)
			return l
		}(), []uint64{0x1000, 0x1003, 0x1004}, "/src/a.c:1:0 /src/a.c:1:0 -"},
		{"fewer standard operations", func() lineUnit {
			l := usual(func(b *testkit.Bytes) {
				setAddress(b, 0x1000).D8(10+3+5, 10+3+1+12*2, lnsAdvancePC, 4)
				endSequence(b)
			})
			l.lengths = usualLengths[:9]
			return l
		}(), []uint64{0x1000, 0x1002, 0x1005, 0x1006}, "/src/a.c:6:0 /src/a.c:7:0 /src/a.c:7:0 -"},
		{"an address of 4 bytes", usual(func(b *testkit.Bytes) {
			b.D8(0, 5, lneSetAddress).D32(0x1000).D8(lnsCopy, lnsAdvancePC, 4)
			endSequence(b)
		}), []uint64{0x1000, 0x1003, 0x1004}, "/src/a.c:1:0 /src/a.c:1:0 -"},
		{"an address of 9 bytes", usual(func(b *testkit.Bytes) {
			setAddress(b, 0x1000).D8(0, 10, lneSetAddress).D64(0x1100).D8(0)
			endSequence(b)
		}), []uint64{0x1000}, "-"},
		{"sequences in another order", usual(func(b *testkit.Bytes) {
			setAddress(b, 0x1100).D8(special(1, 0), lnsAdvancePC, 4)
			endSequence(b)
			setAddress(b, 0x1000).D8(special(2, 0), lnsAdvancePC, 4)
			endSequence(b)
		}), []uint64{0x1000, 0x1004, 0x1100, 0x1103, 0x1104}, "/src/a.c:3:0 - /src/a.c:2:0 /src/a.c:2:0 -"},
		{"a sequence within another", usual(func(b *testkit.Bytes) {
			setAddress(b, 0x1000).D8(special(1, 0), lnsAdvancePC, 0x20)
			endSequence(b)
			setAddress(b, 0x1008).D8(special(2, 0), lnsAdvancePC, 4)
			endSequence(b)
		}), []uint64{0x1007, 0x1008, 0x100c}, "/src/a.c:2:0 /src/a.c:3:0 /src/a.c:2:0"},
		{"what was discarded", usual(func(b *testkit.Bytes) {
			b.D8(special(5, 0), lnsAdvancePC).ULEB(0x2000)
			endSequence(b)
			setAddress(b, 0x1000).D8(special(1, 0), lnsAdvancePC, 4)
			endSequence(b)
		}), []uint64{0x1000, 0x1800}, "/src/a.c:2:0 -"},
		{"what was discarded, of several rows", usual(func(b *testkit.Bytes) {
			b.D8(special(5, 0), special(1, 16), lnsAdvancePC).ULEB(0x2000)
			endSequence(b)
			setAddress(b, 0x1000).D8(special(1, 0), lnsAdvancePC, 4)
			endSequence(b)
		}), []uint64{0x1000, 0x1800}, "/src/a.c:2:0 -"},
		{"rows that go back", usual(func(b *testkit.Bytes) {
			setAddress(b, 0x1010).D8(special(1, 0))
			setAddress(b, 0x1000).D8(special(1, 0))
			setAddress(b, 0x1020)
			endSequence(b)
		}), []uint64{0x0fff, 0x1000, 0x100f, 0x1010, 0x101f}, "- /src/a.c:3:0 /src/a.c:3:0 /src/a.c:2:0 /src/a.c:2:0"},
		{"no end", usual(func(b *testkit.Bytes) { setAddress(b, 0x1000).D8(special(1, 0), special(1, 4), lnsAdvancePC, 4) }), []uint64{0x1000, 0x1004}, "- -"},
		{"another program behind one without an end", func() lineUnit {
			l := usual(func(b *testkit.Bytes) { setAddress(b, 0x1000).D8(special(1, 0), special(1, 4)) })
			l.behind = endSequence
			return l
		}(), []uint64{0x1000, 0x1004}, "- -"},
		{"no line within another sequence", usual(func(b *testkit.Bytes) {
			setAddress(b, 0x1000).D8(special(1, 0), lnsAdvancePC, 0x20)
			endSequence(b)
			setAddress(b, 0x1008).D8(special(-1, 0), lnsAdvancePC, 4)
			endSequence(b)
		}), []uint64{0x1007, 0x1008, 0x100c}, "/src/a.c:2:0 - /src/a.c:2:0"},
		{"operations in one instruction, from the start", vliw(usual(func(b *testkit.Bytes) {
			b.D8(lnsAdvancePC).ULEB(0xc00).D8(lnsCopy, lnsAdvancePC, 2, special(1, 0), lnsAdvancePC, 1)
			endSequence(b)
		})), []uint64{0x1000, 0x1003, 0x1004}, "/src/a.c:2:0 /src/a.c:2:0 -"},
		{"two operations in one instruction", func() lineUnit {
			l := usual(func(b *testkit.Bytes) {
				setAddress(b, 0x1000).D8(lnsCopy, lnsAdvancePC, 1, special(1, 0), special(1, 1), lnsAdvancePC, 2)
				endSequence(b)
			})
			l.minInst, l.maxOps = 4, 2
			return l
		}(), []uint64{0x1000, 0x1003, 0x1004, 0x1007, 0x1008}, "/src/a.c:2:0 /src/a.c:2:0 /src/a.c:3:0 /src/a.c:3:0 -"},
		{"a line that is too large", usual(func(b *testkit.Bytes) {
			setAddress(b, 0x1000).D8(lnsAdvanceLine).SLEB(1<<31-2).D8(lnsSetColumn).ULEB(1<<31-1).D8(lnsCopy, lnsAdvancePC, 4, special(1, 0), lnsAdvancePC, 4)
			endSequence(b)
		}), []uint64{0x1000, 0x1004}, "/src/a.c:2147483647:2147483647 -"},
		{"a column that is too large", usual(func(b *testkit.Bytes) {
			setAddress(b, 0x1000).D8(lnsSetColumn).ULEB(1<<31).D8(lnsCopy, lnsAdvancePC, 4)
			endSequence(b)
		}), []uint64{0x1000}, "/src/a.c:1:0"},
	}
	for _, order := range bothOrders {
		for _, tt := range tests {
			for _, form := range []struct {
				version uint16
				is64    bool
				padding int
			}{{4, false, 0}, {4, true, 3}, {5, false, 3}, {5, true, 0}} {
				l := tt.unit
				l.version, l.is64, l.padding = form.version, form.is64, form.padding
				if got := l.at(t, order, tt.addrs...); got != tt.want {
					t.Errorf("%v, %+v, %s:\n got %s\nwant %s", order, form, tt.name, got, tt.want)
				}
			}
		}
	}
}

// Versions 2 and 3 have one operation in an instruction.
func TestOldLineHeaders(t *testing.T) {
	for _, order := range bothOrders {
		for _, version := range []uint16{2, 3} {
			l := usual(func(b *testkit.Bytes) {
				setAddress(b, 0x1000).D8(special(1, 0), special(1, 1), lnsAdvancePC, 1)
				endSequence(b)
			})
			l.version, l.minInst = version, 4
			if got, want := l.at(t, order, 0x1000, 0x1003, 0x1004, 0x1007, 0x1008), "/src/a.c:2:0 /src/a.c:2:0 /src/a.c:3:0 /src/a.c:3:0 -"; got != want {
				t.Errorf("%v, version %d: got %s, want %s", order, version, got, want)
			}
		}
	}
}

// TestFileNames has files in directories, as each version writes them.
func TestFileNames(t *testing.T) {
	old := func(b *testkit.Bytes) {
		b.Str("inc").Str("/abs").D8(0)
		b.Str("a.c").D8(0).ULEB(300, 400).Str("b.h").D8(1, 0, 0).Str("c.h").D8(2, 0, 0).Str("/d.h").D8(1, 0, 0).Str("e.h").D8(3, 0, 0).D8(0)
	}
	inline := func(b *testkit.Bytes) {
		b.D8(1, 1, 8, 3).Str("/src").Str("inc").Str("/abs")
		// path, MD5, directory, and a content of an unknown kind
		b.D8(4, 1, 8, 5, 0x1e, 2, 0x0b)
		b.ULEB(0x2001).D8(0x0f).D8(6)
		for _, f := range []struct {
			name string
			dir  uint8
		}{{"zero.c", 0}, {"a.c", 0}, {"b.h", 1}, {"c.h", 2}, {"/d.h", 1}, {"e.h", 3}} {
			b.Str(f.name).Zero(16).D8(f.dir).ULEB(300)
		}
	}
	byTable := func(b *testkit.Bytes) { // in .debug_line_str and .debug_str, indexes of other sizes
		b.D8(1, 1, 0x1f, 3).D32(0, 5, 9)
		b.D8(2, 1, 0x0e, 2, 0x0f, 6)
		b.D32(0).ULEB(0).D32(7).ULEB(0).D32(11).ULEB(1).D32(15).ULEB(2).D32(19).ULEB(1).D32(24).ULEB(3)
	}
	const want = "/src/a.c /src/inc/b.h /abs/c.h /d.h /src/e.h -"
	for _, order := range bothOrders {
		for _, tt := range []struct {
			name    string
			version uint16
			names   func(b *testkit.Bytes)
			want    string
		}{
			{"version 2", 2, old, want},
			{"version 4", 4, old, want},
			{"version 5", 5, inline, want},
			{"version 5, tables", 5, byTable, want},
			{"a relative first directory", 5, func(b *testkit.Bytes) {
				b.D8(1, 1, 8, 2).Str("src").Str("inc").D8(2, 1, 8, 2, 0x0b, 3).Str("z").D8(0).Str("a.c").D8(0).Str("b.h").D8(1)
			}, "src/a.c src/inc/b.h - - - -"},
			{"no formats", 5, func(b *testkit.Bytes) { b.D8(0, 1, 0, 1) }, "- - - - - -"},
			{"entries of no bytes", 5, func(b *testkit.Bytes) { b.D8(1, 1, 8, 1).Str("/src").D8(1, 1, 0x19).ULEB(1 << 40) }, "- - - - - -"},
			{"a name that is too long", 5, func(b *testkit.Bytes) {
				b.D8(1, 1, 8, 1).Str("/src").D8(2, 1, 8, 2, 0x0b, 3).Str("z").D8(0).Str(strings.Repeat("x", maxPath+1)).D8(0).Str(strings.Repeat("y", maxPath)).D8(0)
			}, "- /src/" + strings.Repeat("y", maxPath) + " - - - -"},
		} {
			l := usual(func(b *testkit.Bytes) {
				setAddress(b, 0x1000)
				for file := range uint64(6) {
					b.D8(lnsSetFile).ULEB(file+1).D8(lnsCopy, lnsAdvancePC, 4)
				}
				endSequence(b)
			})
			l.version, l.names = tt.version, tt.names
			d := made(t, order, "unit 4\ncompile_unit name=a.c comp_dir=/src stmt_list=0 low_pc=0x1000 high_pc=0x8000\n", l.section(order))
			d.main.contents[secLineStr], d.main.whole[secLineStr] = []byte("/src\x00inc\x00/abs\x00"), true
			d.main.contents[secStr], d.main.whole[secStr] = []byte("zero.c\x00a.c\x00b.h\x00c.h\x00/d.h\x00e.h\x00"), true
			var got []string
			for file := range uint64(6) {
				locs, err := d.Lookup(0x1000+4*file, nil)
				switch {
				case err != nil || len(locs) != 1 || locs[0].Line != 1:
					t.Errorf("%v, %s: got %+v, %v", order, tt.name, locs, err)
				case locs[0].File == "":
					got = append(got, "-")
				default:
					got = append(got, locs[0].File)
				}
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("%v, %s:\n got %s\nwant %s", order, tt.name, strings.Join(got, " "), tt.want)
			}
		}
	}
}

// TestLineHeaderDamage has headers that cannot be used, and says why.
func TestLineHeaderDamage(t *testing.T) {
	good := usual(func(b *testkit.Bytes) {
		setAddress(b, 0x1000).D8(special(1, 0), lnsAdvancePC, 4)
		endSequence(b)
	})
	tests := []struct {
		name   string
		change func(l *lineUnit)
		cut    int // bytes that are left; 0 for all
		want   string
	}{
		{"whole", func(*lineUnit) {}, 0, "/src/a.c:2:0"},
		{"version 1", func(l *lineUnit) { l.version = 1 }, 0, "- (.debug_line: version at offset 0x0: 1 is not a version from 2 to 5)"},
		{"version 6", func(l *lineUnit) { l.version = 6 }, 0, "- (.debug_line: version at offset 0x0: 6 is not a version from 2 to 5)"},
		{"line_range 0", func(l *lineUnit) { l.lineRange = 0 }, 0, "- (.debug_line: line_range at offset 0x0: the header is damaged)"},
		{"maximum_operations 0", func(l *lineUnit) { l.maxOps = 0 }, 0, "/src/a.c:2:0"},
		{"length past the end", func(*lineUnit) {}, 40, "- (.debug_line: unit_length at offset 0x0: 0x39 is past the end of the section)"},
		{"length past the end by a byte", func(*lineUnit) {}, 60, "- (.debug_line: unit_length at offset 0x0: 0x39 is past the end of the section)"},
		{"cut off in its length", func(*lineUnit) {}, 3, "- (.debug_line: unit_length at offset 0x0: 0x0 is past the end of the section)"},
	}
	for _, order := range bothOrders {
		for _, tt := range tests {
			l := good
			tt.change(&l)
			s := l.section(order)
			if tt.cut > 0 {
				s.Data = s.Data[:tt.cut]
			}
			d := made(t, order, "unit 4\ncompile_unit name=a.c comp_dir=/src stmt_list=0 low_pc=0x1000 high_pc=0x8000\n", s)
			locs, err := d.Lookup(0x1000, nil)
			got := "-"
			if len(locs) > 0 {
				got = fmt.Sprintf("%s:%d:%d", locs[0].File, locs[0].Line, locs[0].Column)
			}
			if err != nil {
				got += " (" + err.Error() + ")"
			}
			if got != tt.want {
				t.Errorf("%v, %s: got %s, want %s", order, tt.name, got, tt.want)
			}
		}
		// opcode_base 0, and lengths that are past the end of the table.
		for _, tt := range []struct {
			base uint8
			want string
		}{{0, "line_range at offset 0x0: the header is damaged"}, {200, "standard_opcode_lengths at offset 0x0: the header is cut off"}} {
			s := debugSection(order, ".debug_line", func(b *testkit.Bytes) {
				b.Diff(4, "end", "begin", 0).Mark("begin").D16(4).D32(0).D8(1, 1, 1, 0, 1, tt.base, 0, 0, 0).Mark("end")
			})
			d := made(t, order, "unit 4\ncompile_unit name=a.c stmt_list=0 low_pc=0x1000 high_pc=0x8000\n", s)
			if _, err := d.Lookup(0x1000, nil); err == nil || !strings.HasSuffix(err.Error(), tt.want) {
				t.Errorf("%v, opcode_base %d: got %v, want %s", order, tt.base, err, tt.want)
			}
		}
	}
}

// TestInlinedCallPlaces has where inlined functions were called.
func TestInlinedCallPlaces(t *testing.T) {
	l := usual(func(b *testkit.Bytes) {
		setAddress(b, 0x1000).D8(lnsSetColumn, 5, special(6, 0), lnsAdvancePC, 0x10)
		endSequence(b)
	})
	const text = "unit 4\ncompile_unit name=a.c comp_dir=/src stmt_list=0 low_pc=0x1000 high_pc=0x100\n" +
		"  subprogram #i name=i\n  subprogram #j name=j\n  subprogram name=f low_pc=0x1000 high_pc=0x10\n" +
		"    inlined_subroutine abstract_origin=#i low_pc=0x1000 high_pc=0x10 call_file=2 call_line=20 call_column=3\n" +
		"      inlined_subroutine abstract_origin=#j low_pc=0x1000 high_pc=0x10 call_file=1 call_line=30 call_column=4\n" +
		"        inlined_subroutine abstract_origin=#i low_pc=0x1008 high_pc=8 call_file=0 call_line=0x80000000\n"
	for _, order := range bothOrders {
		d := made(t, order, text, l.section(order))
		for addr, want := range map[uint64]string{
			0x1000: "j /src/a.c:7:5 inlined in i /src/a.c:30:4 inlined in f /src/b.c:20:3",
			0x1008: "i /src/a.c:7:5 inlined in j :0:0 inlined in i /src/a.c:30:4 inlined in f /src/b.c:20:3",
			0x1010: "",
		} {
			if locs, err := d.Lookup(addr, nil); show(locs) != want || err != nil {
				t.Errorf("%v, %#x: got %s, %v, want %s", order, addr, show(locs), err, want)
			}
		}
	}
}
