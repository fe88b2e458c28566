package report_test

import (
	"strings"
	"testing"

	"github.com/sfcore/sfcore/report"
)

// array is a variable of elements.
func array(elements ...report.Variable) report.Variable {
	return report.Variable{Elements: true, Members: elements}
}

func number(text string) report.Variable { return report.Variable{Value: text} }

func TestElementsText(t *testing.T) {
	deep := array(number("1"))
	for range 10000 {
		deep = array(number("0"), number("0"), deep)
	}
	long := number(strings.Repeat("x", 1500))
	for _, tt := range []struct {
		name string
		v    report.Variable
		want string // a text that ends in "*" may go on
	}{
		{"none", array(), "{}"},
		{"different", array(number("1"), number("2")), "{1, 2}"},
		{"three", array(number("1"), number("1"), number("1"), number("2")), "{1, 1, 1, 2}"},
		{"four, then two", array(number("1"), number("1"), number("1"), number("1"), number("2"), number("2")), "{1 <4 times>, 2, 2}"},
		{"at the end", array(number("2"), number("1"), number("1"), number("1"), number("1")), "{2, 1 <4 times>}"},
		{"deep", deep, "{0, 0, {0, 0, {*"},
		{"long", array(long, long, long), "{" + long.Value + ", ...}"},
	} {
		got := tt.v.Text()
		if want, begins := strings.CutSuffix(tt.want, "*"); got != want && (!begins || !strings.HasPrefix(got, want)) {
			t.Errorf("%s: got %.80q, want %.80q", tt.name, got, tt.want)
		}
		if len(got) > 4000 {
			t.Errorf("%s: got %d bytes", tt.name, len(got))
		}
	}
}

// References to references, as only a damaged report has many, are cut off, too.
func TestReferencesText(t *testing.T) {
	v := report.Variable{Value: "end"}
	for range 1000 {
		v = report.Variable{Value: strings.Repeat("r", 100), Members: []report.Variable{v}}
	}
	if text := v.Text(); len(text) > 2000 || !strings.HasSuffix(text, "...") {
		t.Errorf("got %d bytes, which end in %q", len(text), text[len(text)-10:])
	}
}
