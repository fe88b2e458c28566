package info

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
)

// A reader gives nothing past the end, and says so.
func TestReader(t *testing.T) {
	data := []byte{1, 2, 0x83, 0x84}
	for name, tt := range map[string]struct {
		read  func(r *reader) any
		at    uint64
		want  string
		pos   uint64
		short bool
	}{
		"take":                 {func(r *reader) any { return r.take(2) }, 0, "[1 2]", 2, false},
		"take all":             {func(r *reader) any { return r.take(4) }, 0, "[1 2 131 132]", 4, false},
		"take nothing":         {func(r *reader) any { return r.take(0) }, 4, "[]", 4, false},
		"take too much":        {func(r *reader) any { return r.take(5) }, 0, "[]", 4, true},
		"take very much":       {func(r *reader) any { return r.take(^uint64(0)) }, 1, "[]", 4, true},
		"take past the end":    {func(r *reader) any { return r.take(1) }, 9, "[]", 4, true},
		"byte":                 {func(r *reader) any { return r.byte() }, 3, "132", 4, false},
		"byte past the end":    {func(r *reader) any { return r.byte() }, 4, "0", 4, true},
		"uint":                 {func(r *reader) any { return r.uint(2) }, 0, "513", 2, false},
		"uint too large":       {func(r *reader) any { return r.uint(8) }, 0, "0", 4, true},
		"uleb without an end":  {func(r *reader) any { return r.uleb() }, 2, "515", 4, true},
		"sleb without an end":  {func(r *reader) any { return r.sleb() }, 2, "515", 4, true},
		"string without a NUL": {func(r *reader) any { return r.cstring() }, 1, "[]", 4, true},
		"string past the end":  {func(r *reader) any { return r.cstring() }, 9, "[]", 4, true},
	} {
		r := reader{data: data, pos: tt.at}
		if got := fmt.Sprint(tt.read(&r)); got != tt.want || r.pos != tt.pos || r.short != tt.short {
			t.Errorf("%s: got %s at %d, short: %v; want %s at %d, %v", name, got, r.pos, r.short, tt.want, tt.pos, tt.short)
		}
	}
}

// TestAbbreviationTable has tables that end, and what an abbreviation adds up to.
func TestAbbreviationTable(t *testing.T) {
	const end = "\x00\x00"
	for name, tt := range map[string]struct {
		table string
		found map[uint64]string // by code: tag, children, attributes, sizes
	}{
		"one":                          {"\x01\x2e\x01" + end + "\x00", map[uint64]string{1: "46 true 0 0+0+0", 2: "none", 0: "none"}},
		"another table behind":         {"\x01\x2e\x00" + end + "\x00\x02\x34\x00" + end + "\x00", map[uint64]string{1: "46 false 0 0+0+0", 2: "none"}},
		"a whole table behind":         {"\x01\x2e\x00" + end + "\x00\x34\x00" + end + "\x02\x34\x00" + end + "\x00", map[uint64]string{1: "46 false 0 0+0+0", 2: "none", 0: "none"}},
		"fixed sizes":                  {"\x01\x2e\x00\x03\x0b\x03\x06\x3f\x19\x03\x01\x03\x17\x03\x1e\x03\x0e" + end + "\x00", map[uint64]string{1: "46 false 7 21+1+2"}},
		"a size that varies":           {"\x01\x2e\x00\x03\x0b\x03\x0f\x03\x01\x03\x0b" + end + "\x00", map[uint64]string{1: "46 false 4 -1+0+0"}},
		"an attribute 0, and a form 0": {"\x01\x2e\x00\x00\x0b\x03\x00" + end + "\x00", map[uint64]string{1: "46 false 2 -1+0+0"}},
		"cut off":                      {"\x01\x2e\x00\x03\x0b", map[uint64]string{1: "none"}},
		"a code 0 first":               {"\x00\x01\x2e\x00" + end, map[uint64]string{1: "none"}},
		"other codes":                  {"\x05\x2e\x00" + end + "\x01\x34\x00" + end + "\x00", map[uint64]string{5: "46 false 0 0+0+0", 1: "52 false 0 0+0+0", 2: "none"}},
	} {
		table := abbrevs{r: reader{data: []byte(tt.table)}, file: wholeFile()}
		for range 2 {
			for code, want := range tt.found {
				got := "none"
				if a := table.find(code, &work{limit: maxWork}); a != nil {
					got = fmt.Sprintf("%d %v %d %d+%d+%d", a.tag, a.children, len(a.attrs), a.size, a.addrs, a.offsets)
				}
				if got != want {
					t.Errorf("%s, code %d: got %s, want %s", name, code, got, want)
				}
			}
		}
	}
}

// TestFormKinds has which forms are references and addresses, and how those are read
// that no unit of a compiler has.
func TestFormKinds(t *testing.T) {
	refs := []uint32{formRefAddr, formRef1, formRef2, formRef4, formRef8, formRefUdata, formRefSup4, formRefSup8, formGNURefAlt, formRefSig8}
	addrs := []uint32{formAddr, formAddrx, 0x29, 0x2a, 0x2b, 0x2c, formGNUAddrIndex}
	for _, form := range append([]uint32{formGNUAddrIndex, formGNUStrIndex, formGNURefAlt, formGNUStrpAlt}, func() (all []uint32) {
		for f := range uint32(0x30) {
			all = append(all, f)
		}
		return all
	}()...) {
		v := value{form: form}
		if v.isRef() != slices.Contains(refs, form) || v.isAddr() != slices.Contains(addrs, form) || v.known() != (form != 0) {
			t.Errorf("form %#x: got reference %v, address %v, known %v", form, v.isRef(), v.isAddr(), v.known())
		}
	}
	f := open(t, readProgram(t, "lines-dwarf5")).main
	for name, tt := range map[string]struct {
		version uint16
		form    uint32
		data    string
		num     uint64
		left    int // bytes; -1 if there was no value
	}{
		"ref_addr of version 2":         {2, formRefAddr, "12345678+", 0x3837363534333231, 1},
		"ref_addr of version 3":         {3, formRefAddr, "1234+", 0x34333231, 1},
		"indirect":                      {5, formIndirect, "\x0b\x07+", 7, 1},
		"indirect twice":                {5, formIndirect, "\x16\x0b\x07+", 7, 1},
		"indirect and implicit":         {5, formIndirect, "\x21\x07+", 0, -1},
		"indirect that is cut off":      {5, formIndirect, "\x96", 0, -1},
		"an unknown form":               {5, 0x7f, "1234", 0, -1},
		"a form that is not DWARF's, 0": {5, 0, "1234", 0, -1},
	} {
		u := &unit{file: f, version: tt.version, addrSize: 8, offsetSize: 4}
		r := reader{data: []byte(tt.data)}
		v := u.value(&r, attrSpec{form: tt.form})
		left := len(tt.data) - int(r.pos)
		if r.short {
			left = -1
		}
		if v.num != tt.num || left != tt.left || tt.left < 0 && v.known() {
			t.Errorf("%s: got %+v, %d bytes left, want %d and %d", name, v, left, tt.num, tt.left)
		}
	}
}

// Elements of a table of integers are those that are whole.
func TestIndexed(t *testing.T) {
	f := open(t, readProgram(t, "lines-dwarf5")).main
	f.contents[secAddr], f.whole[secAddr] = []byte{1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0}, true
	u := &unit{file: f}
	for _, tt := range []struct {
		base, index, want uint64
		ok                bool
	}{{0, 0, 1, true}, {0, 1, 2, true}, {0, 2, 0, false}, {4, 0, 2, true}, {4, 1, 0, false}, {7, 0, 0x300, true}, {8, 0, 0, false}, {11, 0, 0, false}, {12, 0, 0, false}, {^uint64(0), 1, 0, false}, {0, 1 << 62, 0, false}} {
		if got, ok := u.indexed(secAddr, tt.base, tt.index, 4); ok != tt.ok || got != tt.want&0xffffffff {
			t.Errorf("element %d from %d on: got %#x, %v, want %#x, %v", tt.index, tt.base, got, ok, tt.want, tt.ok)
		}
	}
}

// An expression refers to addresses and base types of its unit.
func TestExpr(t *testing.T) {
	for _, order := range bothOrders {
		d := made(t, order, madeUnit+"  base_type #int name=int byte_size=4 encoding=5\n  structure_type #s name=s\n  subprogram name=f low_pc=0x1000 high_pc=0x10\n    variable name=v location=9100\n",
			debugSection(order, ".debug_addr", func(b *testkit.Bytes) { b.D64(0x11, 0x22) }))
		scopes, err := d.Scopes(0x1000)
		if err != nil || len(scopes) != 1 || len(scopes[0].Variables) != 1 {
			t.Fatalf("%v: got %+v, %v", order, scopes, err)
		}
		e := scopes[0].Variables[0].Where
		if e.OffsetSize() != 4 {
			t.Errorf("%v: got offsets of %d bytes", order, e.OffsetSize())
		}
		for range 2 { // the second time with nothing locked
			for index, want := range []uint64{0x11, 0x22, 0} {
				if got, ok := e.Address(uint64(index)); got != want || ok != (want != 0) {
					t.Errorf("%v: address %d: got %#x, %v", order, index, got, ok)
				}
			}
			at := uint64(0)
			for typ := (*Type)(nil); typ == nil && at < 0x60; at++ {
				if typ, _ = e.Type(at); typ != nil && typ.String() != "int" {
					t.Errorf("%v: got base type %s, want int", order, typ)
				}
			}
			const size = 1 + 4 + 1 + 1 // of the entry
			if typ, ok := e.Type(at - 1 + size); at == 0x60 || ok {
				t.Errorf("%v: got base type %v behind %#x", order, typ, at)
			}
		}
	}
}

// Locations are lists by each form that versions have, and begin at a base.
func TestLocationForms(t *testing.T) {
	for _, order := range bothOrders {
		old := debugSection(order, ".debug_loc", func(b *testkit.Bytes) {
			b.Zero(3).D64(0x14, 0x20).D16(1).D8(0x52).D64(0, 0x10).D16(1).D8(0x51).D64(0, 0)
		})
		lists := debugSection(order, ".debug_loclists", func(b *testkit.Bytes) {
			b.D8(7).D64(0x1000, 0x1020).ULEB(1).D8(0x59, 0) // where no index leads
			b.Mark("base").D32(0, 8).D8(7).D64(0x1000, 0x1010).ULEB(1).D8(0x51, 0)
		})
		for form, want := range map[string]string{
			"unit 4|location:sec_offset=3":            "v 51, v, v 52",
			"unit 3|location:data4=3":                 "v 51, v, v 52",
			"unit 3|location:data8=3":                 "v 51, v, v 52",
			"unit 5|location:loclistx=1":              "v 51, v, v",
			"unit 5|location:loclistx=9":              "v, v, v",
			"unit 5|location:sec_offset=0":            "v 59, v 59, v 59",
			"unit 4|location:data1=3":                 "v, v, v",
			"unit 4|location:block1=9100 type=0x3000": "v 9100, v 9100, v 9100",
		} {
			unit, attr, _ := strings.Cut(form, "|")
			text := strings.Replace(madeUnit, "unit 5", unit, 1)
			text = strings.Replace(text, "low_pc", "loclists_base=20 low_pc", 1)
			d := made(t, order, text+"  subprogram name=f low_pc=0x1000 high_pc=0x40\n    variable name=v "+attr+"\n", old, lists)
			got := variables(t, d, 0x1004) + ", " + variables(t, d, 0x1010) + ", " + variables(t, d, 0x1018)
			if got != want {
				t.Errorf("%v, %s: got %s, want %s", order, form, got, want)
			}
		}
		for _, index := range []string{"1", "99"} {
			rngs := debugSection(order, ".debug_rnglists", func(b *testkit.Bytes) {
				b.D8(6).D64(0x1100, 0x1200).D8(0).D32(0, 8).D8(6).D64(0x1000, 0x1010).D8(0)
			})
			d := made(t, order, strings.Replace(madeUnit, "low_pc", "rnglists_base=18 low_pc", 1)+"  subprogram name=f ranges:rnglistx="+index+"\n", rngs)
			want := map[string]string{"1": "f;", "99": ";"}[index]
			if got := names(t, d, 0x1004) + ";" + names(t, d, 0x1104); got != want {
				t.Errorf("%v, rnglistx %s: got %s, want %s", order, index, got, want)
			}
		}
	}
}

// What is damaged is told by every question that meets it, once.
func TestDamageIsTold(t *testing.T) {
	function := "  subprogram name=f low_pc=0x1000 high_pc=0x10\n    call_site call_return_pc=0x1008\n"
	for name, text := range map[string]string{
		"of a unit's functions": madeUnit + "  lexical_block\n",
		"of another unit":       madeUnit + function,
	} {
		for what, ask := range map[string]func(d *Data) error{
			"Lookup":    func(d *Data) error { _, err := d.Lookup(0x1008, nil); return err },
			"Scopes":    func(d *Data) error { _, err := d.Scopes(0x1008); return err },
			"CallSite":  func(d *Data) error { _, err := d.CallSite(0x1008); return err },
			"TailCalls": func(d *Data) error { _, err := d.TailCalls(0x1008); return err },
		} {
			for at, addr := range map[string]uint64{"there": 0, "nowhere": 1} {
				d := made(t, binary.LittleEndian, text)
				damage := errors.New("damage")
				d.main.fail(damage)
				if addr == 1 { // no unit has the address
					d.ranges.opened, d.ranges.entries = true, true
				}
				if err := ask(d); !errors.Is(err, damage) {
					t.Errorf("%s, %s, %s: got %v", name, what, at, err)
				}
				if err := ask(d); err != nil {
					t.Errorf("%s, %s, %s again: got %v", name, what, at, err)
				}
			}
		}
	}
	// A section that is not whole.
	for _, section := range []string{".debug_info", ".debug_abbrev", ".debug_str"} {
		f := elfFile(t, testkit.DWARF{Order: binary.LittleEndian, Text: madeUnit + "  subprogram name:strp=f low_pc=0x1000 high_pc=0x10\n"})
		sects, err := f.Sections()
		if err != nil {
			t.Fatal(err)
		}
		for i := range sects {
			if sects[i].Name == section {
				sects[i].Size = 1 << 40
			}
		}
		if _, err := New(f, Options{}).Lookup(0x1000, nil); err == nil || !strings.Contains(err.Error(), "section "+section+": the file holds") {
			t.Errorf("%s: got %v", section, err)
		}
	}
}

// TestCallsOfOthers has calls of functions that end where others begin.
func TestCallsOfOthers(t *testing.T) {
	const text = "unit 5\ncompile_unit language=12 low_pc=0x1000 high_pc=0x100\n" +
		"  subprogram #g name=g ranges=0\n  subprogram name=bare low_pc=0x10e0 high_pc=0x10\n  subprogram name=f low_pc=0x1000 high_pc=0xe0\n" +
		"    call_site call_return_pc=0x10e8 call_origin=#g\n    lexical_block low_pc=0x1050 high_pc=1\n" +
		"    call_site call_return_pc=0x1060 call_origin=#g\n      variable name=no location=55 call_value=31\n      call_site_parameter location=55 call_value=31\n" +
		"    call_site call_return_pc=0x1070 call_tail_call call_origin=#g\n" +
		"  subprogram name=last low_pc=0x10f0 high_pc=0x10\n    call_site call_return_pc=0x1100 call_origin=#g\n" +
		"unit 5\ncompile_unit language=12 low_pc=0x1100 high_pc=0x100\n  subprogram name=next low_pc=0x1100 high_pc=0x10\n"
	for _, order := range bothOrders {
		d := made(t, order, text, debugSection(order, ".debug_rnglists", func(b *testkit.Bytes) { b.D8(6).D64(0x1300, 0x1310).D8(6).D64(0x1200, 0x1210).D8(0) }))
		for ret, want := range map[uint64]int{0x1050: -1, 0x1060: 1, 0x10e8: -1, 0x1100: 0, 0x1101: -1} {
			site, err := d.CallSite(ret)
			got := -1
			if site != nil {
				got = len(site.Params)
			}
			if got != want || err != nil {
				t.Errorf("%v, %#x: got %d parameters, %v, want %d", order, ret, got, err, want)
			}
		}
		tails, err := d.TailCalls(0x1000)
		if err != nil || len(tails.Calls) != 1 || tails.Calls[0].Entry != 0x1300 {
			t.Errorf("%v: got %+v, %v, want one of g at 0x1300", order, tails, err)
		}
	}
}

// Functions that the linker discarded are at address 0, whatever their size.
func TestDiscardedFunctions(t *testing.T) {
	for _, order := range bothOrders {
		d := made(t, order, madeUnit+"  subprogram name=dead low_pc=0 high_pc=0x4000\n  subprogram name=f low_pc=0x1000 high_pc=0x10\n")
		if got := names(t, d, 0x1004) + ";" + names(t, d, 0x1014); got != "f;" {
			t.Errorf("%v: got %s", order, got)
		}
		set := func(b *testkit.Bytes) {
			b.D32(12+6*8).D16(2).D32(0).D8(8, 0).Zero(4).D64(0, 0x5000, 0x1000, 0x10, 0, 0)
		}
		d = made(t, order, "unit 4\ncompile_unit low_pc=0x3000 high_pc=0x10\n  subprogram name=a low_pc=0x1000 high_pc=0x10\n  subprogram name=no low_pc=0x3000 high_pc=0x10\n"+
			"unit 4\ncompile_unit low_pc=0x2000 high_pc=0x10\n  subprogram name=b low_pc=0x2000 high_pc=0x10\n", debugSection(order, ".debug_aranges", set))
		// What .debug_aranges lists of a unit is all that it has.
		if got := names(t, d, 0x1000) + ";" + names(t, d, 0x2000) + ";" + names(t, d, 0x3000); got != "a;b;" {
			t.Errorf("%v: got %s", order, got)
		}
	}
}

// TestSplitFiles has files of split units: which are asked for, and what is in them
// beside the unit.
func TestSplitFiles(t *testing.T) {
	for _, order := range bothOrders {
		skeleton := func(at int) string {
			return fmt.Sprintf("unit 5 kind=4 id=0x1234\nskeleton_unit dwo_name=x.dwo comp_dir=/src low_pc=0x%x000 high_pc=0x1000\n", at)
		}
		text := "unit 5 kind=6 id=0x1234 type=#s\ntype_unit language=12\n  structure_type #s name=s byte_size=4\n" +
			"unit 5 kind=5 id=0x1234\ncompile_unit language=12\n  subprogram name=f low_pc=0x1000 high_pc=0x10\n    variable name=v type:ref_sig8=0x1234 location=9100\n"
		dwo := elfFile(t, testkit.DWARF{Order: order, Text: text, Suffix: ".dwo"})
		asked := 0
		d := New(elfFile(t, testkit.DWARF{Order: order, Text: skeleton(1) + skeleton(2)}), Options{
			Split: func(name, dir string) iter.Seq[*elfx.File] {
				if asked++; name != "x.dwo" || dir != "/src" {
					t.Errorf("got %s in %s", name, dir)
				}
				other := elfFile(t, testkit.DWARF{Order: order, Text: strings.ReplaceAll(text, "0x1234", "0x4321"), Suffix: ".dwo"})
				return split(other, dwo)(name, dir)
			},
			Package: func() *elfx.File { return dwo }, // without an index
		})
		if got := names(t, d, 0x1000) + ";" + names(t, d, 0x2000); got != "f;" || asked != 1 {
			t.Errorf("%v: got %s, asked %d times", order, got, asked)
		}
		if got, want := variables(t, d, 0x1000), "v struct s 9100"; got != want {
			t.Errorf("%v: got %s, want %s", order, got, want)
		}
	}
	// Indexes that are not those of a version, or too large.
	f := open(t, readProgram(t, "lines-dwarf5")).main
	le := binary.ByteOrder(binary.LittleEndian)
	if contribution(f, index(le, 3), 0xbbbb) != nil {
		t.Error("got a unit by an index of version 3")
	}
	for at, v := range map[int]uint32{4: maxColumns + 1, 12: maxSlots + 1} {
		data := index(le, 5)
		le.PutUint32(data[at:], v)
		var x packageIndex
		if x.read(f, reader{data: append(data, make([]byte, 1<<20)...)}); x.rows != nil || x.head != nil {
			t.Errorf("the number %d at %d was used", v, at)
		}
	}
}

// Types that are the same entry are the same Type, and what is read of them is kept.
func TestTypesOnce(t *testing.T) {
	d := made(t, binary.LittleEndian, madeUnit+"  subprogram name=f low_pc=0x1000 high_pc=0x10\n    variable name=a type=#p\n    variable name=b type=#p\n  pointer_type #p type=#e\n"+
		"  enumeration_type #e name=e\n    enumerator name=A const_value:block1=05\n")
	scopes, err := d.Scopes(0x1000)
	if err != nil || len(scopes) != 1 || len(scopes[0].Variables) != 2 {
		t.Fatalf("got %+v, %v", scopes, err)
	}
	a, b := scopes[0].Variables[0].Type, scopes[0].Variables[1].Type
	if a != b || a.Elem() != b.Elem() || a.String() != "enum e *" {
		t.Errorf("got %p and %p, %s", a, b, a)
	}
	first := a.Elem().Enumerators()
	done := d.work.done
	again := a.Elem().Enumerators()
	if len(first) != 1 || first[0] != (Enumerator{"A", 5}) || &first[0] != &again[0] || d.work.done != done {
		t.Errorf("got %+v, and %d more steps", first, d.work.done-done)
	}
	if name := a.String(); name != a.String() || d.work.done != done {
		t.Errorf("got %s and %d more steps", name, d.work.done-done)
	}
	// Numbers of the specification [DWARF 5, table 7.11].
	for got, want := range map[uint8]uint8{Boolean: 2, ComplexFloat: 3, Float: 4, Signed: 5, SignedChar: 6, Unsigned: 7, UnsignedChar: 8, UTF: 0x10, UCS: 0x11, ASCII: 0x12} {
		if got != want {
			t.Errorf("got encoding %#x, want %#x", got, want)
		}
	}
	if scopes, err := d.Scopes(0x9000); scopes != nil || err != nil {
		t.Errorf("got %+v, %v where there is no code", scopes, err)
	}
}

// References to what is no entry lead nowhere.
func TestNoEntry(t *testing.T) {
	d := made(t, binary.LittleEndian, madeUnit+"  namespace name=n\n    variable name=v\n")
	u := d.main.unit(0)
	info := d.main.data(secInfo)
	null := uint64(bytes.LastIndexByte(info[:len(info)-1], 0))
	for name, off := range map[string]uint64{"the end of a list": null, "the header": u.first - 1, "the end of the unit": u.end, "far away": 1 << 40} {
		if e, ok := u.entryAt(off); ok {
			t.Errorf("%s: got %+v", name, e)
		}
	}
	if _, ok := u.entryAt(u.first); !ok {
		t.Error("the unit's own entry was not found")
	}
}
