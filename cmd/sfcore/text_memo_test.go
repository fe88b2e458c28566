package main

import (
	"reflect"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
)

// TestLineMemo changes each field of a frame. The line that is remembered must not be
// used for one that is written in another way.
func TestLineMemo(t *testing.T) {
	frame := report.Frame{
		PC: 0x1234, Method: unwind.CFI, Trust: unwind.Full, ModuleName: "a", ModuleOffset: report.Known(4), Function: "f(int)", LinkageName: "_Z1fi",
		FunctionOffset: report.Known(8), File: "f.c", Line: 3,
	}
	frames := []report.Frame{{PC: frame.PC, Line: frame.Line, ModuleName: "a", ModuleOffset: report.Known(4)}, {PC: frame.PC, Line: frame.Line, ModuleName: "a", ModuleOffset: report.Known(5)}, frame}
	for i := range reflect.TypeFor[report.Frame]().NumField() {
		changed := frame
		switch field := reflect.ValueOf(&changed).Elem().Field(i); field.Interface().(type) {
		case string:
			field.SetString("")
		case int:
			field.SetInt(1234567)
		case bool:
			field.SetBool(true)
		case report.Addr:
			field.SetUint(99)
		case report.OptAddr:
			field.Set(reflect.ValueOf(report.Known(99)))
		case unwind.Method, unwind.Trust:
			field.SetUint(uint64(unwind.Checked))
		}
		frames = append(frames, frame, changed)
	}
	frames = append(frames, report.Frame{Function: strings.Repeat("x", maxMemoLine)})
	for i := range maxMemo {
		frames = append(frames, report.Frame{PC: report.Addr(i)})
	}
	with, without := textFormat{memo: lineMemo{}}, textFormat{}
	for range 2 {
		for i := range frames {
			got, want := with.frame(nil, &frames[i]), without.frame(nil, &frames[i])
			if string(got) != string(want) {
				t.Fatalf("got %q, want %q", got, want)
			}
		}
	}
	if n := len(with.memo); n == 0 || n > maxMemo {
		t.Errorf("%d lines are remembered, want at most %d", n, maxMemo)
	}
}
