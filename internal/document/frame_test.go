package document

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
)

// TestAppendFrame fills in each field by itself, and all of them.
func TestAppendFrame(t *testing.T) {
	texts := []string{
		"", "main", `a"b\c`, "std::vector<int>&", "tab\tnewline\n\x00", "\x7f\u0085\u202e\u2028", "ä€😀", "\xff\xc3", strings.Repeat("x", 1000) + "\x1b",
	}
	check := func(f *report.Frame) {
		t.Helper()
		if got, want := appendFrame([]byte("x"), f), append([]byte("x"), Encode(f)...); !bytes.Equal(got, want) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	var all report.Frame
	for i := range reflect.TypeFor[report.Frame]().NumField() {
		var f report.Frame
		for _, v := range valuesOf(t, reflect.ValueOf(&f).Elem().Field(i), texts) {
			reflect.ValueOf(&f).Elem().Field(i).Set(v)
			check(&f)
			reflect.ValueOf(&all).Elem().Field(i).Set(v)
			check(&all)
		}
	}
	all.Evidence, all.Rule, all.Doubt, all.Skipped = 0, "", "", ""
	check(&all)
}

// valuesOf returns values for a field of a frame.
func valuesOf(t *testing.T, field reflect.Value, texts []string) (values []reflect.Value) {
	add := func(v any) { values = append(values, reflect.ValueOf(v).Convert(field.Type())) }
	switch field.Interface().(type) {
	case string:
		for _, text := range texts {
			add(text)
		}
	case int, report.Addr:
		for _, n := range []int{0, 1, -1, 1 << 40} {
			add(n)
		}
	case bool:
		add(true)
	case report.OptAddr:
		for _, a := range []report.OptAddr{{Addr: 5}, report.Known(0), report.Known(1<<64 - 1)} {
			add(a)
		}
	case unwind.Method:
		for m := unwind.Registers; m <= unwind.TailCall; m++ {
			add(m)
		}
	case unwind.Trust:
		for _, trust := range []unwind.Trust{unwind.Guess, unwind.Checked, unwind.Full} {
			add(trust)
		}
	case unwind.Evidence:
		add(unwind.Executable | unwind.AfterCall)
	case []report.SourceLine:
		add([]report.SourceLine{})
		add([]report.SourceLine{{Number: 3, Text: "a < b\u202e"}})
	case []report.Variable:
		add([]report.Variable{})
		add([]report.Variable{{Name: "a<b>\u202e", Type: "int"}})
	default:
		t.Fatalf("appendFrame may not know of a field of type %s", field.Type())
	}
	return values
}

func BenchmarkAppendFrame(b *testing.B) {
	f := report.Frame{
		Index: 12, PC: 0x7ffff7dd1234, SP: report.Known(0x7ffff0001000), CFA: report.Known(0x7ffff0001040), Method: unwind.SFrame, Trust: unwind.Full,
		Module: "8d7c1b0a8d7c1b0a8d7c1b0a8d7c1b0a8d7c1b0a", ModuleOffset: report.Known(0x1234), Function: "hop1", FunctionOffset: report.Known(12),
		File: "/usr/src/sfcore/bench/src/hop.c", Line: 12, Column: 3,
	}
	for name, appendTo := range map[string]func([]byte, *report.Frame) []byte{
		"own": appendFrame, "library": func(b []byte, f *report.Frame) []byte { return append(b, Encode(f)...) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var text []byte
			for b.Loop() {
				text = appendTo(text[:0], &f)
			}
		})
	}
}
