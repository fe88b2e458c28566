package unwind

import (
	"encoding"
	"errors"
	"math/bits"
	"testing"
)

// textual is a pointer to a value of which the text is the whole.
type textual[T comparable] interface {
	*T
	encoding.TextUnmarshaler
}

// roundTrip checks that the text of v is that of String, and leads back to v.
func roundTrip[T interface {
	comparable
	encoding.TextMarshaler
	String() string
}, P textual[T]](t *testing.T, v T,
) {
	t.Helper()
	text, err := v.MarshalText()
	if err != nil || string(text) != v.String() {
		t.Errorf("%v: got text %q, %v", v, text, err)
	}
	var back T
	if err := P(&back).UnmarshalText(text); err != nil || back != v {
		t.Errorf("%v: %q leads to %v, %v", v, text, back, err)
	}
}

// noText checks that v has no text of its own, and that other text is refused
// without a change.
func noText[T interface {
	comparable
	encoding.TextMarshaler
	String() string
}, P textual[T]](t *testing.T, v T, name, other string,
) {
	t.Helper()
	if text, err := v.MarshalText(); err == nil {
		t.Errorf("%v: got text %q, want an error", v, text)
	}
	if v.String() != name {
		t.Errorf("got %q, want %q", v.String(), name)
	}
	back := v
	if err := P(&back).UnmarshalText([]byte(other)); err == nil || back != v {
		t.Errorf("%q: got %v, %v; want an error", other, back, err)
	}
}

func TestTexts(t *testing.T) {
	for m := Registers; m <= TailCall; m++ {
		roundTrip[Method](t, m)
	}
	noText[Method](t, TailCall+1, "method 10", "dwarf")
	for tr := Guess; tr <= Full; tr++ {
		roundTrip[Trust](t, tr)
	}
	noText[Trust](t, Full+1, "trust 3", "")
	for r := NoUnwindInfo; r <= NotExecutable; r++ {
		roundTrip[Reason](t, r)
	}
	noText[Reason](t, NotExecutable+1, "reason 8", "Outermost")
	for e := range 2 * Returns {
		roundTrip[Evidence](t, e)
	}
	noText[Evidence](t, 2*Returns|AfterCall, "follows a call, evidence 0x4000", "follows a call, or not")
}

// Every bit has words of its own.
func TestEvidenceString(t *testing.T) {
	if n := bits.Len16(uint16(Returns)); n != len(evidenceNames) {
		t.Errorf("%d bits have %d names", n, len(evidenceNames))
	}
	for e, want := range map[Evidence]string{
		0:                                  "none",
		AfterCall | Executable:             "follows a call, in executable memory",
		AtBase | CodeUnread:                "at the base of a stack, the code before it is not readable",
		DirectCall | CallMismatch:          "the call before it leads elsewhere, the call before it tells where it goes",
		AtTrampoline | Promised | Injected: "at a signal trampoline, the module promises frame pointers, interrupted and made to call by a signal handler",
		Uncertain:                          "found by what could not be checked in full",
	} {
		if got := e.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestStopString(t *testing.T) {
	for want, s := range map[string]Stop{
		"outermost":     {Reason: Outermost},
		"bad-cfa: it x": {BadCFA, errors.New("it x")},
	} {
		if got := s.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
