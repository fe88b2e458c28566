package pclntab

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/sfcore/sfcore/internal/testkit"
)

// The values of a long table are those of its steps, one after the other, also where
// marks begin, and at the steps before and after these.
func TestMarks(t *testing.T) {
	for _, n := range []int{1, between - 1, between, between + 1, 2*between - 1, 2 * between, 1000, maxSteps} {
		steps := []byte{0}
		for i := range n {
			steps = append(steps, byte(2+i%3), byte(1+i%2)) // 1, -2, 2 higher
		}
		f := oneFunction(magic120, append(steps, 0), [8]uint32{1, 0, 0, 1}, nil)
		value, pc := int32(-1), f.Entry
		for i := range n {
			value += []int32{1, -2, 2}[i%3]
			for range 1 + i%2 {
				if got := f.value(1, pc); got != value {
					t.Fatalf("%d steps, at %d: got %d, want %d", n, pc-f.Entry, got, value)
				}
				pc++
			}
		}
		if got := f.value(1, pc); got != -1 {
			t.Errorf("%d steps: got %d past the end", n, got)
		}
		if err := f.table.Problem(); err != nil {
			t.Errorf("%d steps: %v", n, err)
		}
	}
}

// Marks are made once for a table, and for no more steps than are left. Short tables
// need none.
func TestMarksBounded(t *testing.T) {
	const long = 1000
	f := oneFunction(magic120, append([]byte{0, 2, 1, 2, 1}, bytes.Repeat([]byte{2, 1}, long)...), [8]uint32{1, 0, 0, 1}, nil)
	m := f.table.marks
	if f.value(1, f.Entry+between-1); len(m.of) != 0 || m.left != maxMarked {
		t.Errorf("got marks of %d tables for a few steps", len(m.of))
	}
	for range 3 {
		if got := f.value(1, f.Entry+900); got != 900 {
			t.Errorf("got %d, want 900", got)
		}
	}
	if want := maxMarked - (long + 2 - between); len(m.of) != 1 || m.left != want {
		t.Errorf("got %d tables, %d steps left, want 1 and %d", len(m.of), m.left, want)
	}
	m.left = maxSteps - 1
	if got := f.value(1, f.Entry+901); got != 901 || f.table.Problem() != nil {
		t.Errorf("got %d, %v from marks that are there", got, f.table.Problem())
	}
	if got := f.value(3, f.Entry+901); got != -1 || f.table.Problem() == nil {
		t.Errorf("got %d, %v, want no value and a problem", got, f.table.Problem())
	}
	if got := f.value(3, f.Entry+1); got != 1 {
		t.Errorf("got %d, want 1: few steps need no marks", got)
	}
}

// So many inlined calls are given, and no more.
func TestCallsBounded(t *testing.T) {
	order := binary.LittleEndian
	data, funcdata := inlineTable(order, func(b *testkit.Bytes) { call(7, 12)(b); call(14, 8)(b) })
	parsed, err := Parse(data, order)
	if err != nil {
		t.Fatal(err)
	}
	f, _ := parsed.WithFuncData(funcdata).At(0x1000).Find(0x1004)
	if n := len(f.Inlined(0x1004, nil)); n != 3 || parsed.calls.Load() != 3 {
		t.Fatalf("got %d calls, %d counted, want 3", n, parsed.calls.Load())
	}
	parsed.calls.Store(maxCalls - 1)
	if n := len(f.Inlined(0x1004, nil)); n != 3 || parsed.Problem() == nil {
		t.Errorf("got %d calls and %v of the last ones, want 3 and a problem", n, parsed.Problem())
	}
	if n := len(f.Inlined(0x1004, nil)); n != 0 {
		t.Errorf("got %d calls beyond the last", n)
	}
}
