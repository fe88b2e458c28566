package info

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/testkit"
)

// TestAranges has the addresses of units in .debug_aranges, and in the units.
func TestAranges(t *testing.T) {
	const units = "unit 4\ncompile_unit name=a.c\n  subprogram name=a low_pc=0x1000 high_pc=0x10\n  subprogram name=z low_pc=0x3000 high_pc=0x10\nunit 4\ncompile_unit name=b.c low_pc=0x2000 high_pc=0x100\n  subprogram name=b low_pc=0x2000 high_pc=0x10\n"
	for _, order := range bothOrders {
		set := func(size, segment, version int, is64 bool, pairs ...uint64) func(b *testkit.Bytes) {
			return func(b *testkit.Bytes) {
				n := fmt.Sprint("set at ", b.Len())
				if is64 {
					b.D32(0xffffffff).Diff(8, n+" end", n, 0)
				} else {
					b.Diff(4, n+" end", n, 0)
				}
				b.Mark(n).D16(uint16(version))
				if is64 {
					b.D64(0)
				} else {
					b.D32(0)
				}
				b.D8(uint8(size), uint8(segment))
				at := b.Pos(n) - 4
				if is64 {
					at -= 8
				}
				b.Zero((2*size - (b.Len()-at)%(2*size)) % (2 * size))
				for _, p := range append(pairs, 0, 0) {
					if size == 8 {
						b.D64(p)
					} else {
						b.D32(uint32(p))
					}
				}
				b.Mark(n + " end")
			}
		}
		tests := []struct {
			name string
			fill func(b *testkit.Bytes)
			want string // at 0x1000, 0x2000 and 0x3000
		}{
			{"none", func(*testkit.Bytes) {}, ";b;"},
			{"one", set(8, 0, 2, false, 0x1000, 0x10), "a;b;"},
			{"two", set(8, 0, 2, false, 0x1000, 0x10, 0x3000, 0x10), "a;b;z"},
			{"of 4 bytes", set(4, 0, 2, false, 0x1000, 0x10, 0x3000, 0x10), "a;b;z"},
			{"64-bit", set(8, 0, 2, true, 0x1000, 0x10, 0x3000, 0x10), "a;b;z"},
			{"discarded", set(8, 0, 2, false, 0, 0x10, 0x3000, 0x10), ";b;z"},
			{"empty", set(8, 0, 2, false, 0x1000, 0, 0x3000, 0x10), ";b;z"},
			{"segments", set(8, 4, 2, false, 0x1000, 0x10), ";b;"},
			{"another version", set(8, 0, 3, false, 0x1000, 0x10), ";b;"},
			{"size of 2", set(2, 0, 2, false), ";b;"},
			{"two sets", func(b *testkit.Bytes) {
				set(8, 1, 2, false, 0x1000, 0x10)(b)
				set(8, 0, 2, false, 0x3000, 0x10)(b)
			}, ";b;z"},
			{"cut off", func(b *testkit.Bytes) { b.D32(0x100).D16(2) }, "(.debug_aranges: unit_length at offset 0x0: the set does not end within the section);b;"},
		}
		for _, tt := range tests {
			d := made(t, order, units, debugSection(order, ".debug_aranges", tt.fill))
			var got []string
			for _, addr := range []uint64{0x1000, 0x2000, 0x3000} {
				got = append(got, names(t, d, addr))
			}
			if strings.Join(got, ";") != tt.want {
				t.Errorf("%v, %s: got %s, want %s", order, tt.name, strings.Join(got, ";"), tt.want)
			}
		}
	}
}

// TestRangeLists has functions of two parts, by each kind of list.
func TestRangeLists(t *testing.T) {
	const both = "f at 0x1000, f at 0x1020, "
	tests := []struct {
		name, unit, attr string
		list             func(b *testkit.Bytes)
		want             string // at 0x1004, 0x1014 and 0x1024
	}{
		{"DWARF 4", "4", "ranges=16", func(b *testkit.Bytes) { b.Zero(16).D64(0, 0x10, 0x20, 0x30, 0, 0, 0x10, 0x20) }, both},
		{"DWARF 4, another base", "4", "ranges=0", func(b *testkit.Bytes) { b.D64(^uint64(0), 0x1000, 0, 0x10, ^uint64(0), 0x1010, 0x10, 0x20, 0, 0) }, both},
		{"DWARF 4, empty", "4", "ranges=0", func(b *testkit.Bytes) { b.D64(5, 5, 0, 0x10, 0x20, 0x30, 0, 0) }, both},
		{"DWARF 4 without an end", "4", "ranges=0", func(b *testkit.Bytes) { b.D64(0, 0x10, 0x20, 0x30) }, both},
		{"DWARF 3", "3", "ranges:data4=0", func(b *testkit.Bytes) { b.D64(0, 0x10, 0x20, 0x30, 0, 0) }, both},
		{"4 bytes", "4 addr4", "ranges=0", func(b *testkit.Bytes) { b.D32(0xffffffff, 0x1000, 0, 0x10, 0x20, 0x30, 0, 0) }, both},
		{"offset pairs", "5", "ranges=1", func(b *testkit.Bytes) { b.D8(0, 4).ULEB(0, 0x10).D8(4).ULEB(0x20, 0x30).D8(0) }, both},
		{"base address", "5", "ranges=0", func(b *testkit.Bytes) {
			b.D8(5).D64(0x1010).D8(4).ULEB(0x10, 0x20).D8(1).ULEB(0).D8(4).ULEB(0, 0x10).D8(0)
		}, both},
		{"start and end", "5", "ranges=0", func(b *testkit.Bytes) { b.D8(6).D64(0x1000, 0x1010).D8(7).D64(0x1020).ULEB(0x10).D8(0) }, both},
		{"indexes", "5", "ranges=0", func(b *testkit.Bytes) { b.D8(2).ULEB(0, 1).D8(3).ULEB(2, 0x10).D8(0) }, both},
		{"by index", "5", "ranges:rnglistx=1", func(b *testkit.Bytes) { b.D32(0, 8).D8(6).D64(0x1000, 0x1010).D8(7).D64(0x1020).ULEB(0x10).D8(0) }, both},
		{"by an index that is not there", "5", "ranges:rnglistx=9", func(b *testkit.Bytes) { b.D32(0, 8) }, ""},
		{"unknown kind", "5", "ranges=0", func(b *testkit.Bytes) { b.D8(6).D64(0x1000, 0x1010).D8(9).D8(7).D64(0x1020).ULEB(0x10).D8(0) }, "f at 0x1000, "},
		{"empty range", "5", "ranges=0", func(b *testkit.Bytes) {
			b.D8(4).ULEB(8, 8).D8(6).D64(0x1000, 0x1010).D8(7).D64(0x1020).ULEB(0x10).D8(0)
		}, both},
	}
	for _, order := range bothOrders {
		for _, tt := range tests {
			base := ""
			if tt.name == "by index" {
				base = " rnglists_base=0"
			}
			text := "unit " + tt.unit + "\ncompile_unit low_pc=0x1000 high_pc=0x1000" + base + "\n  subprogram name=f " + tt.attr + "\n"
			d := made(t, order, text, debugSection(order, ".debug_ranges", tt.list), debugSection(order, ".debug_rnglists", tt.list),
				debugSection(order, ".debug_addr", func(b *testkit.Bytes) { b.D64(0x1000, 0x1010, 0x1020) }))
			got := ""
			for _, addr := range []uint64{0x1004, 0x1014, 0x1024} {
				locs, err := d.Lookup(addr, nil)
				if err != nil {
					t.Errorf("%v, %s: %v", order, tt.name, err)
				}
				for _, l := range locs {
					got += fmt.Sprintf("%s at %#x, ", l.Func, l.Start)
				}
			}
			if got != tt.want {
				t.Errorf("%v, %s: got %s, want %s", order, tt.name, got, tt.want)
			}
		}
	}
}

func TestCallSites(t *testing.T) {
	const text = `
  subprogram #g name=g
  subprogram name=f low_pc=0x1000 high_pc=0x100
    subprogram name=local
      call_site call_return_pc=0x1010 call_origin=#g
    variable name=v
    lexical_block
      call_site call_return_pc=0x1010 call_origin=#g
        call_site_parameter location=55 call_value=31
        call_site_parameter location=54
        call_site_parameter call_value=31
        variable name=no location=55 call_value=31
    GNU_call_site low_pc=0x1020 abstract_origin=#g
      GNU_call_site_parameter location=54 GNU_call_site_value=32
    call_site call_return_pc=0x1030 call_target=50
    GNU_call_site low_pc=0x1040 GNU_call_site_target=51
    call_site call_return_pc=0x1100 call_target:block1=52
    variable location=55
`
	const bare = "  subprogram name=bare low_pc=0x1200 high_pc=0x10\n"
	for _, order := range bothOrders {
		d := made(t, order, madeUnit+text+bare)
		for ret, want := range map[uint64]string{
			0x1010: "g  55=31", 0x1020: "g  54=32", 0x1030: " 50", 0x1040: " 51", 0x1100: " 52",
			0x1011: "none", 0x100f: "none", 0x1204: "none", 0x1500: "none", 0x9000: "none",
		} {
			site, err := d.CallSite(ret)
			got := "none"
			if site != nil {
				got = site.Func + " " + fmt.Sprintf("%x", site.Target.Code)
				for _, p := range site.Params {
					got += fmt.Sprintf(" %x=%x", p.Where, p.Value.Code)
				}
			}
			if got != want || err != nil {
				t.Errorf("%v, %#x: got %q, %v, want %q", order, ret, got, err, want)
			}
		}
	}
}

func TestTailCalls(t *testing.T) {
	const text = `
  subprogram #g name=g low_pc=0x1800 high_pc=0x10 call_all_tail_calls=1
  subprogram #elsewhere name=elsewhere
  subprogram name=f low_pc=0x1000 high_pc=0x100 call_all_calls=1
    call_site call_return_pc=0x1010 call_origin=#g
    call_site call_return_pc=0x1020 call_origin=#g call_tail_call=1
    lexical_block
      call_site call_pc=0x1030 call_origin=#elsewhere call_tail_call=1
    GNU_call_site low_pc=0x1040 GNU_tail_call=1 GNU_call_site_target=51
  subprogram name=old low_pc=0x1200 high_pc=0x10 GNU_all_tail_call_sites=1
  subprogram name=silent low_pc=0x1300 high_pc=0x10
    call_site call_return_pc=0x1308 call_origin=#g call_tail_call=1
  subprogram name=old low_pc=0x1210 high_pc=0x10 GNU_all_call_sites=1
  subprogram name=old low_pc=0x1220 high_pc=0x10 GNU_all_source_call_sites=1
  subprogram name=new low_pc=0x1230 high_pc=0x10 call_all_source_calls=1
  subprogram name=denies low_pc=0x1400 high_pc=0x10 call_all_calls:flag=0
`
	for _, order := range bothOrders {
		d := made(t, order, madeUnit+text)
		for addr, want := range map[uint64]string{
			0x1000: "f 1000 true 1020/false/g/1800 1030/true/elsewhere/0 1040/false//0",
			0x10ff: "f 1000 true 1020/false/g/1800 1030/true/elsewhere/0 1040/false//0",
			0x1800: "g 1800 true", 0x1204: "old 1200 true",
			0x1210: "old 1210 true", 0x1220: "old 1220 true", 0x1230: "new 1230 true",
			0x1304: "silent 1300 false 1308/false/g/1800", 0x1404: "denies 1400 false", 0x1500: "none", 0x9000: "none",
		} {
			tails, err := d.TailCalls(addr)
			got := "none"
			if tails != nil {
				got = fmt.Sprintf("%s %x %v", tails.Func, tails.Entry, tails.All)
				for _, c := range tails.Calls {
					got += fmt.Sprintf(" %x/%v/%s/%x", c.PC, c.Exact, c.Func, c.Entry)
				}
			}
			if got != want || err != nil {
				t.Errorf("%v, %#x: got %q, %v, want %q", order, addr, got, err, want)
			}
		}
	}
}

// TestVariables has the variables in scope, the parameters first, then the
// innermost block.
func TestVariables(t *testing.T) {
	const text = `
  subprogram #i name=i
    formal_parameter #p name=p type=#int
    variable #l name=l
    variable name=unsaid const_value=7
    lexical_block
      variable name=deeper
  base_type #int name=int byte_size=4 encoding=5
  variable #static name=static type=#int location=0300
  subprogram name=f low_pc=0x1000 high_pc=0x100 frame_base=9c
    variable name=first location=9101
    formal_parameter name=arg type=#int location=9102
    lexical_block low_pc=0x1000 high_pc=0x40
      variable name=inner location=9103
      lexical_block low_pc=0x1000 high_pc=0x10
        variable name=innermost
      lexical_block
        variable name=free
      inlined_subroutine abstract_origin=#i low_pc=0x1010 high_pc=0x10
        variable abstract_origin=#l location=9104
        formal_parameter abstract_origin=#p const_value=3
    lexical_block low_pc=0x1080 high_pc=0x10
      variable name=elsewhere
    variable name=declared declaration
    variable name=__func__
    variable name=__FUNCTION__
    variable name=__PRETTY_FUNCTION__
    variable type=#int
    variable specification=#static
    inlined_subroutine abstract_origin=#i
      variable name=nowhere
`
	for _, order := range bothOrders {
		d := made(t, order, madeUnit+text)
		for addr, want := range map[uint64]string{
			0x1000: "arg() int 9102, innermost, inner 9103, free, first 9101, static int 0300",
			0x1010: "p() int =3, l 9104, unsaid =7, |, arg() int 9102, free, inner 9103, first 9101, static int 0300",
			0x1030: "arg() int 9102, free, inner 9103, first 9101, static int 0300",
			0x1080: "arg() int 9102, elsewhere, first 9101, static int 0300",
			0x1100: "",
		} {
			got := variables(t, d, addr)
			if addr == 0x1000 {
				want = "arg() int 9102, innermost, free, inner 9103, first 9101, static int 0300"
			}
			if got != want {
				t.Errorf("%v, %#x: got %s, want %s", order, addr, got, want)
			}
		}
		scopes, err := d.Scopes(0x1010)
		if err != nil || len(scopes) != 2 || scopes[0].Func != "i" || scopes[1].Func != "f" || scopes[0].Entry != 0x1000 || scopes[1].Language != 12 ||
			fmt.Sprintf("%x %x", scopes[0].FrameBase.Code, scopes[1].FrameBase.Code) != "9c 9c" {
			t.Errorf("%v: got %+v, %v", order, scopes, err)
		}
	}
}

// TestHeaders has headers of units that are damaged.
func TestHeaders(t *testing.T) {
	header := func(fill func(b *testkit.Bytes)) []byte { return debugSection(binary.LittleEndian, "", fill).Data }
	tests := []struct {
		name string
		data []byte
		want string
	}{
		{"version 1", header(func(b *testkit.Bytes) { b.D32(8).D16(1).Zero(6) }), "version at offset 0x0: 1 is not a version from 2 to 5"},
		{"version 6", header(func(b *testkit.Bytes) { b.D32(8).D16(6).Zero(6) }), "version at offset 0x0: 6 is not a version from 2 to 5"},
		{"too long", header(func(b *testkit.Bytes) { b.D32(9).D16(4).Zero(6) }), "unit_length at offset 0x0: the unit does not end within the section"},
		{"cut off", header(func(b *testkit.Bytes) { b.D32(4).D16(4).Zero(2) }), "unit header at offset 0x0: the header is cut off"},
		{"address of 2 bytes", header(func(b *testkit.Bytes) { b.D32(8).D16(4).Zero(4).D8(2, 0) }), "address_size at offset 0x0: 2 is neither 4 nor 8"},
		{"cut off version 5", header(func(b *testkit.Bytes) { b.D32(8).D16(5).D8(4, 8).Zero(4) }), "unit header at offset 0x0: the header is cut off"},
		{"cut off length", []byte{1, 0}, "unit_length at offset 0x0: the unit does not end within the section"},
	}
	for _, tt := range tests {
		image := testkit.ELF{Order: binary.LittleEndian, Type: 2, Machine: 62, Sections: []testkit.ELFSection{{Name: ".debug_info", Type: 1, Data: tt.data, Align: 1}}}
		d := open(t, image.File())
		if _, err := d.Lookup(0x1000, nil); err == nil || !strings.HasSuffix(err.Error(), ".debug_info: "+tt.want) {
			t.Errorf("%s: got %v, want %s", tt.name, err, tt.want)
		}
	}
}
