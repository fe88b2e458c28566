package pclntab

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/testkit"
)

// inlineTable is a table of one function, outer, of 16 instructions of 1 byte. In
// the middle, middle is inlined into it, and inner into that. It returns what is at
// moduledata.gofunc too.
func inlineTable(order binary.ByteOrder, tree func(b *testkit.Bytes)) (table, funcdata []byte) {
	b := testkit.New(order)
	b.D32(magic120).D8(0, 0, 1, 8).D64(1, 1, 0)
	for _, part := range []string{"names", "cutab", "files", "pctab", "funcs"} {
		b.Diff(8, part, "", 0)
	}
	b.Mark("names").Str("").Str("outer").Str("middle").Str("inner") // 1, 7, 14
	b.Align(4).Mark("cutab").D32(0)
	b.Mark("files").Str("o.go")
	b.Mark("pctab").D8(0)
	b.Mark("index").ULEB(0, 4, 2*2, 4, 2*1-1, 4, 2*1-1, 4, 0)   // -1, 1, 0, -1
	b.Mark("lines").ULEB(2*11, 4, 2*10, 4, 2*10, 4, 2*10, 4, 0) // 10, 20, 30, 40
	b.Mark("line files").ULEB(2*1, 16, 0)
	b.Align(8).Mark("funcs").D32(0).Diff(4, "f", "funcs", 0).D32(16)
	b.Mark("f").D32(0, 1, 0, 0, 0).Diff(4, "line files", "pctab", 0).Diff(4, "lines", "pctab", 0)
	b.D32(3, 0, 77).D8(0, 0, 0, 4)                      // npcdata, cuOffset, startLine, ..., nfuncdata
	b.D32(0, 0).Diff(4, "index", "pctab", 0)            // pcdata
	b.D32(^uint32(0), ^uint32(0), ^uint32(0)).D32(0x10) // funcdata
	f := testkit.New(order)
	f.Zero(0x10)
	tree(f)
	return b.Done(), f.Done()
}

// call is an inlined call in a tree.
func call(name, parent uint32) func(b *testkit.Bytes) {
	return func(b *testkit.Bytes) { b.D8(0, 0, 0, 0).D32(name, parent, 1) }
}

// Where a function has no table of calls, or one that is damaged, nothing is inlined.
func TestNotInlined(t *testing.T) {
	order := binary.LittleEndian
	data, funcdata := inlineTable(order, func(b *testkit.Bytes) { call(7, 12)(b); call(14, 8)(b) })
	at := strings.LastIndex(string(data), "\x03\x00\x00\x00\x00\x00\x00\x00\x4d\x00\x00\x00") - npcdataOff
	fn := func(off int, v uint32) func([]byte) { return func(b []byte) { order.PutUint32(b[at+off:], v) } }
	for _, tt := range []struct {
		name   string
		change func([]byte)
		want   int
	}{
		{"as it is", func([]byte) {}, 3},
		{"Go 1.18", func(b []byte) { order.PutUint32(b, magic118) }, 0},
		{"a function with less pcdata", func(b []byte) { fn(npcdataOff, 2)(b); fn(60, 0x10)(b) }, 0},
		{"a function with less funcdata", func(b []byte) { b[at+nfuncdataOff] = inlTree }, 0},
		{"with more pcdata than there is", fn(npcdataOff, 1<<30), 0},
		{"no tree", fn(64, ^uint32(0)), 0},
		{"a tree behind the data", fn(64, uint32(len(funcdata))), 0},
		{"no index", fn(48, 0), 0},
	} {
		b := bytes.Clone(data)
		tt.change(b)
		table, err := Parse(b, order)
		if err != nil {
			t.Fatal(err)
		}
		f, ok := table.WithFuncData(funcdata).Find(4)
		if got := f.Inlined(4, nil); !ok || len(got) != tt.want {
			t.Errorf("%s: got %d calls, want %d", tt.name, len(got), tt.want)
		}
	}
	// What the caller has already does not count.
	table, err := Parse(data, order)
	if err != nil {
		t.Fatal(err)
	}
	f, _ := table.WithFuncData(funcdata).Find(4)
	if got := f.Inlined(4, make([]Call, 300)); len(got) != 303 || string(got[302].Func) != "outer" {
		t.Errorf("got %d calls with the 300 before, want 303", len(got))
	}
}

func TestInlined(t *testing.T) {
	tree := func(calls ...func(b *testkit.Bytes)) func(b *testkit.Bytes) {
		return func(b *testkit.Bytes) {
			for _, c := range calls {
				c(b)
			}
		}
	}
	// By the index: none in [0, 4), call 1 in [4, 8), call 0 in [8, 12), none in [12, 16).
	middle, inner := call(7, 12), call(14, 8)
	tests := []struct {
		name string
		tree func(b *testkit.Bytes)
		want string // at 0, 4, 8 and 12
	}{
		{"two calls", tree(middle, inner), "; inner 20, middle 30, outer 40; middle 30, outer 40; "},
		{"a call of itself", tree(call(7, 8), inner), "; inner 20" + strings.Repeat(", middle 30", 255) + ", outer 30; " + strings.Repeat("middle 30, ", 256) + "outer 30; "},
		{"one call is cut off", tree(middle), "; ; middle 30, outer 40; "},
		{"half a call", func(b *testkit.Bytes) { b.D32(0, 7) }, "; ; ; "},
		{"no tree", tree(), "; ; ; "},
	}
	for orderName, order := range orders {
		for _, tt := range tests {
			data, funcdata := inlineTable(order, tt.tree)
			parsed, err := Parse(data, order)
			if err != nil {
				t.Fatal(err)
			}
			with := parsed.WithFuncData(funcdata)
			var got []string
			for _, addr := range []uint64{0, 4, 8, 12} {
				f, ok := with.Find(addr)
				if !ok {
					t.Fatalf("%s, %s: no function at %d", orderName, tt.name, addr)
				}
				var calls []string
				for _, c := range f.Inlined(addr, nil) {
					calls = append(calls, fmt.Sprintf("%s %d", c.Func, c.Line))
				}
				got = append(got, strings.Join(calls, ", "))
			}
			if strings.Join(got, "; ") != tt.want {
				t.Errorf("%s, %s: got %q, want %q", orderName, tt.name, strings.Join(got, "; "), tt.want)
			}
			if f, _ := parsed.Find(4); f.Inlined(4, nil) != nil {
				t.Errorf("%s, %s: got calls without their data", orderName, tt.name)
			}
			for cut := range len(data) { // whatever is missing, there is a result or an error
				short, err := Parse(data[:cut], order)
				if err != nil {
					continue
				}
				if f, ok := short.WithFuncData(funcdata).Find(4); ok {
					f.Inlined(4, nil)
				}
			}
		}
	}
}
