package unwind

import (
	"strings"
	"testing"
)

// Every method has a row, with what reports call it and what the step needs.
func TestMethods(t *testing.T) {
	if len(methods) != int(TailCall)+1 {
		t.Fatalf("%d methods have %d rows", TailCall+1, len(methods))
	}
	names := map[string]bool{}
	for m := Registers; m <= TailCall; m++ {
		r := m.traits()
		if r.name == "" || names[r.name] {
			t.Errorf("method %d: got name %q", m, r.name)
		}
		names[r.name] = true
		if (r.source == "") != (m == Registers) {
			t.Errorf("%v: got source %q", m, r.source)
		}
		if r.worst > r.best {
			t.Errorf("%v: the worst is %v, the best %v", m, r.worst, r.best)
		}
		if strings.Contains(m.Describe("libc.so.6"), "%") || strings.Contains(r.source, "%") != strings.Contains(m.Describe("libc.so.6"), "libc.so.6") {
			t.Errorf("%v: got %q", m, m.Describe("libc.so.6"))
		}
	}
	if got := Method(200).traits(); got != &unknownMethod {
		t.Errorf("got %+v for a method of another package", got)
	}
}

func TestTrust(t *testing.T) {
	const called = Executable | AfterCall
	for _, tt := range []struct {
		m    Method
		e    Evidence
		want Trust
	}{
		{Registers, 0, Full},
		{SFrame, called, Full},
		{SFrame, Executable | AtTrampoline, Full},
		{SFrame, called | DirectCall, Full},
		{SFrame, called | DirectCall | CallMismatch, Checked},
		{SFrame, called | Uncertain, Checked},
		{SFrame, Executable | Injected, Checked},
		{SFrame, Executable | AtBase, Checked},
		{SFrame, Executable | CodeUnread, Checked},
		{SFrame, Executable, Guess},
		{FramePointer, called, Guess},
		{FramePointer, called | Promised, Checked},
		{FramePointer, Executable | Promised, Guess},
		{FramePointer, Executable | AtBase | Promised, Guess},
		{CFI, called, Full},
		{CFI, called | Uncertain, Checked},
		{CFI, Executable | Uncertain, Guess},
		{Signal, Executable, Full},
		{Signal, Executable | Uncertain, Checked},
		{Signal, called | DirectCall | CallMismatch, Full},
		{Signal, 0, Checked},
		{Entry, called, Checked},
		{Entry, Executable | AtBase, Guess},
		{Code, called | DirectCall, Guess},
		{Code, called | Agreed, Checked},
		{Code, called | DirectCall | CalledHere, Checked},
		{Code, called | Agreed | Uncertain, Guess},
		{Pclntab, called, Full},
		{Pclntab, Executable | AtBase, Checked},
		{Goroutine, called | DirectCall, Full},
		{Goroutine, called, Checked},
		{Goroutine, called | DirectCall | CallMismatch, Checked},
		{Goroutine, Executable | AtBase, Guess},
		{200, called, Checked},
		{200, Executable, Guess},
	} {
		if got := tt.m.traits().trust(tt.e); got != tt.want {
			t.Errorf("%v, %v: got %v, want %v", tt.m, tt.e, got, tt.want)
		}
	}
}

func TestCalled(t *testing.T) {
	for _, tt := range []struct {
		m    Method
		e    Evidence
		want bool
	}{
		{SFrame, AfterCall, true},
		{CFI, 0, true},
		{FramePointer, AfterCall, true},
		{SFrame, DirectCall | CallMismatch, false},
		{Code, AfterCall, false},
		{Pclntab, AfterCall, false},
		{Signal, AfterCall, false},
		{Registers, 0, false},
	} {
		if got := (&Frame{Method: tt.m, Evidence: tt.e}).Called(); got != tt.want {
			t.Errorf("%v, %v: got %v, want %v", tt.m, tt.e, got, tt.want)
		}
	}
}

// A frame without full trust has a reason.
func TestDoubt(t *testing.T) {
	const called = Executable | AfterCall
	for _, tt := range []struct {
		m     Method
		e     Evidence
		trust Trust
		want  string
	}{
		{SFrame, called, Full, ""},
		{SFrame, called, Checked, "a frame below it is not certain"},
		{SFrame, Executable, Guess, noCall},
		{CFI, called | DirectCall | CallMismatch, Checked, "the call before it leads elsewhere"},
		{CFI, Executable | CodeUnread, Checked, "the code before it is not readable"},
		{FramePointer, called, Guess, "it was found by the frame pointer, not by a table"},
		{FramePointer, called | Promised, Checked, "it was found by the frame pointer, not by a table"},
		{Code, called | Agreed, Checked, "it was found by instructions, not by a table"},
		{Signal, 0, Checked, "the interrupted pc is not in executable memory"},
		{Goroutine, called, Checked, "the call before it does not tell where it goes"},
	} {
		if got := tt.m.Doubt(tt.e, tt.trust); got != tt.want {
			t.Errorf("%v, %v, %v: got %q, want %q", tt.m, tt.e, tt.trust, got, tt.want)
		}
	}
	for m := range methods {
		for e := range 2 * CalledHere {
			if trust := Method(m).traits().trust(e); trust != Full && Method(m).Doubt(e, trust) == "" {
				t.Fatalf("%v, %v: no reason for %v", Method(m), e, trust)
			}
		}
	}
}
