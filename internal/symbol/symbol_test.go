package symbol

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/testkit"
)

var orders = map[string]binary.ByteOrder{"LE": binary.LittleEndian, "BE": binary.BigEndian}

const (
	notype, object, function, section, ifunc = 0, 1, 2, 3, 10
	local, global, weak, unique              = 0 << 4, 1 << 4, 2 << 4, 10 << 4

	alloc, exec = 2, 4
)

// program describes an image with .init, .text, .fini and .data at 0x1000,
// 0x2000, 0x3000 and 0x4000, of 0x100, 0x1000, 0x100 and 0x100 bytes. .init and
// .text do not touch; .text and .fini do.
func program(order binary.ByteOrder, syms ...testkit.ELFSymbol) *testkit.ELF {
	part := func(name string, flags, addr uint64, size int) testkit.ELFSection {
		return testkit.ELFSection{Name: name, Type: elfx.SectProgbits, Flags: alloc | flags, Addr: addr, Data: make([]byte, size)}
	}
	return &testkit.ELF{
		Order: order, Type: elfx.TypeDyn, Machine: arch.EMX86_64,
		Sections: []testkit.ELFSection{
			part(".init", exec, 0x1000, 0x100), part(".text", exec, 0x2000, 0x1000),
			part(".fini", exec, 0x3000, 0x100), part(".data", 0, 0x4000, 0x100),
		},
		Symbols: syms,
	}
}

func parse(t testing.TB, data []byte) *elfx.File {
	t.Helper()
	f, err := elfx.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// text returns a symbol of .text.
func text(name string, info uint8, value, size uint64) testkit.ELFSymbol {
	return testkit.ELFSymbol{Name: name, Info: info, Section: ".text", Value: value, Size: size}
}

func TestLookup(t *testing.T) {
	type sym = testkit.ELFSymbol
	type want map[uint64]string
	for _, tt := range []struct {
		name string
		syms []sym
		want want
	}{
		{
			"a sized symbol ends",
			[]sym{text("f", global|function, 0x2100, 0x10)},
			want{0x20ff: "", 0x2100: "f", 0x210f: "f", 0x2110: "", 0x2111: ""},
		},
		{
			"an unsized symbol reaches the next one",
			[]sym{text("f", global|function, 0x2100, 0), text("g", global|function, 0x2200, 0x10)},
			want{0x20ff: "", 0x2100: "f", 0x21ff: "f", 0x2200: "g", 0x2210: ""},
		},
		{
			"and the end of its section",
			[]sym{{Name: "_init", Info: global | function, Section: ".init", Value: 0x1000}, text("f", local|notype, 0x2000, 0)},
			want{0x1000: "_init", 0x10ff: "_init", 0x1100: "", 0x1fff: "", 0x2000: "f", 0x2fff: "f", 0x3000: ""},
		},
		{
			"not past data",
			[]sym{{Name: "d", Info: global | object, Section: ".data", Value: 0x4000, Size: 0x100}, {Name: "e", Info: global | notype, Section: ".data", Value: 0x4000}},
			want{0x2000: "", 0x4000: "", 0x4080: ""},
		},
		{
			"the innermost one",
			[]sym{text("outer", global|function, 0x2100, 0x100), text("inner", local|function, 0x2140, 0x10)},
			want{0x2100: "outer", 0x213f: "outer", 0x2140: "inner", 0x214f: "inner", 0x2150: "outer", 0x2200: ""},
		},
		{
			"overlapping ones",
			[]sym{text("a", global|function, 0x2100, 0x40), text("b", global|function, 0x2120, 0x40)},
			want{0x211f: "a", 0x2120: "b", 0x213f: "b", 0x215f: "b", 0x2160: ""},
		},
		{
			"a label within a function",
			[]sym{text("f", global|function, 0x2100, 0x40), text("label", local|notype, 0x2120, 0)},
			want{0x2120: "f", 0x213f: "f", 0x2140: "label"},
		},
		{
			"a label at its start",
			[]sym{text("zlabel", global|notype, 0x2100, 0), text("f", local|function, 0x2100, 0x40)},
			want{0x2100: "f", 0x213f: "f", 0x2140: ""},
		},
		{
			"shared start, other end",
			[]sym{text("long", local|function, 0x2100, 0x40), text("short", global|function, 0x2100, 0x10)},
			want{0x2100: "short", 0x2110: "long", 0x2140: ""},
		},
		{
			"alias: visible, then gdb's",
			[]sym{text("gsignal", weak|function, 0x2100, 0x10), text("raise", global|function, 0x2100, 0x10), text("zraise", local|function, 0x2100, 0x10)},
			want{0x2100: "raise"},
		},
		{
			"alias: weak is as good",
			[]sym{text("__libc_calloc", global|function, 0x2100, 0x10), text("calloc", weak|function, 0x2100, 0x10)},
			want{0x2100: "calloc"},
		},
		{
			"alias: the prefix loses",
			[]sym{text("glob64@@V1", global|function, 0x2100, 0x10), text("glob@@V2", global|function, 0x2100, 0x10)},
			want{0x2100: "glob64"},
		},
		{
			"alias: functions first",
			[]sym{text("z", global|notype, 0x2100, 0x10), text("f", local|function, 0x2100, 0x10)},
			want{0x2100: "f"},
		},
		{
			"alias: what chooses a function is not the function",
			[]sym{text("memchr", global|ifunc, 0x2100, 0x10), text("memchr_ifunc", local|function, 0x2100, 0x10)},
			want{0x2100: "memchr_ifunc"},
		},
		{
			"versions",
			[]sym{text("f@@GLIBC_2.34", global|function, 0x2100, 0x10), text("g@V1", global|function, 0x2110, 0x10), text("@h", global|function, 0x2120, 0x10)},
			want{0x2100: "f", 0x2110: "g", 0x2120: "@h"},
		},
		{"kinds", []sym{
			text("i", global|ifunc, 0x2100, 0x10), text("u", unique|function, 0x2110, 0x10), text("n", global|notype, 0x2120, 0x10),
			text("o", global|object, 0x2130, 0x10), text("s", local|section, 0x2140, 0x10), text("tls", global|6, 0x2150, 0x10),
		}, want{0x2100: "i", 0x2110: "u", 0x2120: "n", 0x2130: "", 0x2140: "", 0x2150: ""}},
		{"marks of tools", []sym{
			text("f", global|function, 0x2100, 0x40), text("$x", local|notype, 0x2140, 0), text("$d.1", local|notype, 0x2150, 0), text("$d", local|notype, 0x2154, 0x10),
			text(".L1", local|notype, 0x2160, 0), text(".annobin_f.c", local|notype, 0x2170, 0), text("$L2", local|notype, 0x2180, 0), text("", local|notype, 0x2190, 0),
			text("$xylo", local|notype, 0x21a0, 0), text(".hidden", local|notype, 0x21b0, 0), text("$x", local|function, 0x21c0, 0x10),
		}, want{0x2140: "", 0x2154: "", 0x2199: "", 0x21a0: "$xylo", 0x21b0: ".hidden", 0x21c0: "$x"}},
		{"elsewhere", []sym{
			{Name: "undefined", Info: global | function, Value: 0x2100, Size: 0x10},
			{Name: "absolute", Info: global | function, Shndx: 0xfff1, Value: 0x2100, Size: 0x10},
			{Name: "common", Info: global | function, Shndx: 0xfff2, Value: 0x2100, Size: 0x10},
			{Name: "other section", Info: global | function, Section: ".fini", Value: 0x2100, Size: 0x10},
		}, want{0x2100: ""}},
		{
			"section index elsewhere",
			[]sym{{Name: "f", Info: global | function, Shndx: elfx.ShnXindex, Value: 0x2100, Size: 0x10}},
			want{0x2100: "f"},
		},
		{
			"the end of .text is not the start of .fini",
			[]sym{text("_etext", global|notype, 0x3000, 0), {Name: "_fini", Info: local | function, Section: ".fini", Value: 0x3010}},
			want{0x2fff: "", 0x3000: "", 0x3010: "_fini", 0x30ff: "_fini", 0x3100: ""},
		},
		{
			"sizes out of the section",
			[]sym{text("f", global|function, 0x2f00, 1<<63), text("g", global|function, 0x2f80, ^uint64(0))},
			want{0x2f00: "f", 0x2fff: "g", 0x3000: "", 0x4000: ""},
		},
		{
			"sizes over the next section",
			[]sym{text("f", global|function, 0x2f00, 1<<40), {Name: "_fini", Info: local | function, Section: ".fini", Value: 0x3000}},
			want{0x2f00: "f", 0x2fff: "f", 0x3000: "_fini", 0x3010: "_fini"},
		},
		{
			"a symbol without a size where another ends",
			[]sym{text("f", global|function, 0x2100, 0x10), text("g", global|function, 0x2110, 0)},
			want{0x210f: "f", 0x2110: "g", 0x2200: "g"},
		},
		{
			"a symbol in no code",
			[]sym{{Name: "far", Info: global | function, Section: ".data", Value: 0x500, Size: 0x10000}, text("g", global|function, 0x2100, 0)},
			want{0x1000: "", 0x20ff: "", 0x2100: "g", 0x2200: "g"},
		},
	} {
		for order, byteOrder := range orders {
			t.Run(tt.name+"/"+order, func(t *testing.T) {
				backwards := slices.Clone(tt.syms)
				slices.Reverse(backwards)
				f := parse(t, program(byteOrder, tt.syms...).File())
				one, batch, indexed := New(f), New(f), New(f)
				other := New(parse(t, program(byteOrder, backwards...).File()))
				var addrs []uint64
				for addr := range tt.want {
					addrs = append(addrs, addr)
				}
				batch.Prepare(addrs)
				indexed.tables[0].reads = maxReads
				for addr, want := range tt.want {
					for how, o := range map[string]*Object{"alone": one, "batch": batch, "index": indexed, "in another order": other} {
						if got := funcAt(o, addr); got != want {
							t.Errorf("%#x %s: got %q, want %q", addr, how, got, want)
						}
					}
				}
				if one.tables[0].index != nil || indexed.tables[0].index == nil {
					t.Error("the wrong way was tested")
				}
			})
		}
	}
}

// A large table is not read often before it has an index, and then has the same
// answers.
func TestLargeTable(t *testing.T) {
	const symbols = 1 << 19
	syms := make([]testkit.ELFSymbol, symbols) // which are none of functions, but for the last
	syms[symbols-1] = text("f", global|function, 0x2100, 0x10)
	o := New(parse(t, program(binary.LittleEndian, syms...).File()))
	for read := 0; o.tables[0].index == nil; read += symbols {
		if read > 16<<20 {
			t.Fatalf("%d symbols were read, and there is no index", read)
		}
		if got := funcAt(o, 0x2104); got != "f" {
			t.Fatalf("got %q", got)
		}
		clear(o.known)
	}
	if got := funcAt(o, 0x2108); got != "f" {
		t.Errorf("with the index: got %q", got)
	}
}

func TestLocation(t *testing.T) {
	o := New(parse(t, program(binary.LittleEndian, text("_Z1fv", global|function, 0x2100, 0x10)).File()))
	before := []Location{{Func: "kept"}}
	got := o.Lookup(0x2104, before)
	want := []Location{{Func: "kept"}, {Func: "_Z1fv", Offset: 4, From: FromSymtab}}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := o.Lookup(0x2200, before); !slices.Equal(got, before) {
		t.Errorf("unknown address: got %+v, want %+v", got, before)
	}
}

// TestTables asks several tables: the better one must win, and one that is not
// needed must not be opened.
func TestTables(t *testing.T) {
	order := binary.LittleEndian
	p := program(order, text("own", global|function, 0x2100, 0x10), text("unsized", global|function, 0x2200, 0), text("other", global|function, 0x2280, 0))
	dyn, strs := testkit.ELFSymbols(order, []testkit.ELFSymbol{
		{Name: "dynamic", Info: global | function, Shndx: 2, Value: 0x2300, Size: 0x10},
		{Name: "sized", Info: global | function, Shndx: 2, Value: 0x2200, Size: 0x10},
	}, nil)
	p.Sections = append(p.Sections,
		testkit.ELFSection{Name: ".dynsym", Type: elfx.SectDynsym, Flags: alloc, Addr: 0x5000, Data: dyn, Link: ".dynstr", Entry: 24},
		testkit.ELFSection{Name: ".dynstr", Type: 3, Flags: alloc, Addr: 0x6000, Data: strs})
	debug := parse(t, program(order, text("debug", global|function, 0x2100, 0x10), text("place", global|function, 0x2280, 0)).File())

	o := New(parse(t, p.File()), debug)
	for _, tt := range []struct {
		addr       uint64
		name, from string
	}{
		{0x2100, "debug", FromSymtab},
		{0x2200, "sized", FromDynsym},
		{0x2240, "unsized", FromSymtab},
		{0x2290, "place", FromSymtab},
		{0x2300, "dynamic", FromDynsym},
	} {
		got := o.Lookup(tt.addr, nil)
		if len(got) != 1 || got[0].Func != tt.name || got[0].From != tt.from {
			t.Errorf("%#x: got %+v, want %s of %s", tt.addr, got, tt.name, tt.from)
		}
	}

	lazy := New(parse(t, p.File()), debug)
	lazy.Lookup(0x2100, nil)
	for _, table := range lazy.tables[1:] {
		if table.opened {
			t.Errorf("%s was opened for nothing", table.from)
		}
	}
}

func TestSource(t *testing.T) {
	order := binary.BigEndian
	undefined := testkit.ELFSymbol{Name: "imported", Info: global | function}
	dynamic := func(e *testkit.ELF, syms ...testkit.ELFSymbol) *testkit.ELF {
		dyn, strs := testkit.ELFSymbols(order, syms, nil)
		e.Sections = append(e.Sections,
			testkit.ELFSection{Name: ".dynsym", Type: elfx.SectDynsym, Flags: alloc, Addr: 0x5000, Data: dyn, Link: ".dynstr", Entry: 24},
			testkit.ELFSection{Name: ".dynstr", Type: 3, Flags: alloc, Addr: 0x6000, Data: strs})
		return e
	}
	exported := testkit.ELFSymbol{Name: "f", Info: global | function, Shndx: 2, Value: 0x2000, Size: 4}
	for _, tt := range []struct {
		name string
		elf  *testkit.ELF
		want string
	}{
		{"none", program(order), FromNone},
		{"nothing defined", program(order, undefined), FromNone},
		{"symtab", program(order, undefined, text("f", local|function, 0x2000, 4)), FromSymtab},
		{"dynsym", dynamic(program(order, undefined), exported), FromDynsym},
		{"imports", dynamic(program(order), undefined), FromNone},
		{"symtab and dynsym", dynamic(program(order, text("f", local|function, 0x2000, 4)), exported), FromSymtab},
	} {
		if got := New(parse(t, tt.elf.File())).Source(); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestLongNames has names without an end, and too long ones.
func TestLongNames(t *testing.T) {
	long := strings.Repeat("x", maxName+10)
	f := parse(t, program(binary.LittleEndian, text(long, global|function, 0x2100, 0x10)).File())
	if got := funcAt(New(f), 0x2100); len(got) != maxName {
		t.Errorf("got %d bytes, want %d", len(got), maxName)
	}
	tab, err := f.Symtab()
	if err != nil {
		t.Fatal(err)
	}
	binary.LittleEndian.PutUint32(tab.Data[elfx.SymSize:], 1<<31)
	if got := funcAt(New(f), 0x2100); got != "" {
		t.Errorf("st_name past the table: got %q, want none", got)
	}
}

// TestOverlaps has symbols that all claim all of the code: reading the table
// for many addresses must give up, and the answer must be that of the index.
func TestOverlaps(t *testing.T) {
	var syms []testkit.ELFSymbol
	var addrs []uint64
	for i := range uint64(200) {
		syms = append(syms, text(fmt.Sprint("f", i), global|function, 0x2000+i, 0xf00-2*i))
		addrs = append(addrs, 0x2100+10*i)
	}
	f := parse(t, program(binary.LittleEndian, syms...).File())
	o := New(f)
	o.Prepare(addrs)
	if o.tables[0].index == nil {
		t.Error("the table was read to its end")
	}
	for _, a := range addrs {
		if got, want := funcAt(o, a), funcAt(New(f), a); got != want {
			t.Errorf("%#x: got %q, want %q", a, got, want)
		}
	}
}

// TestForget has more names than an Object keeps.
func TestForget(t *testing.T) {
	o := New(parse(t, program(binary.LittleEndian, text("f", global|function, 0x2000, 0x1000)).File()))
	o.Lookup(0x2000, nil)
	o.held = maxHeld
	if got := funcAt(o, 0x2001); got != "f" || len(o.known) != 1 || o.held > 1000 {
		t.Errorf("got %q, %d addresses and %d bytes, want f, 1 and few", got, len(o.known), o.held)
	}
}

func TestConcurrent(t *testing.T) {
	o := New(parse(t, program(binary.LittleEndian, text("f", global|function, 0x2000, 0x800), text("g", global|function, 0x2800, 0x800)).File()))
	var wg sync.WaitGroup
	for w := range uint64(4) {
		wg.Go(func() {
			for i := range uint64(100) {
				if got := funcAt(o, 0x2700+w+i); got != "f" {
					t.Errorf("got %q, want f", got)
				}
				o.Source()
				o.Problems()
			}
		})
	}
	wg.Wait()
}

func TestNoAllocationWhenWarm(t *testing.T) {
	o := New(parse(t, program(binary.LittleEndian, text("f", global|function, 0x2100, 0x10)).File()))
	dst := make([]Location, 0, 4)
	if n := testing.AllocsPerRun(100, func() { dst = o.Lookup(0x2101, dst[:0]) }); n != 0 || len(dst) != 1 {
		t.Errorf("got %v allocations and %d locations, want 0 and 1", n, len(dst))
	}
}
