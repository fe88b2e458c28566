package gate

import (
	"strings"
	"testing"

	"github.com/sfcore/sfcore/sframe"
	"github.com/sfcore/sfcore/sframe/compare"
)

func TestJudge(t *testing.T) {
	file := func() *File {
		return &File{
			Path: "out/lib/libx.so", Name: "lib/libx.so", HasSFrame: true, SFrameBytes: 150, CFIBytes: 100,
			Coverage: compare.Coverage{Code: 1000, SFrame: 900, CFI: 1000, Both: 900},
			Findings: []Finding{{ID: "wrong-offset", Severity: sframe.Error, Function: "f", Field: "cfa", Off: -1, Count: 2}, {ID: "zero-tail", Severity: sframe.Note, Count: 1}},
		}
	}
	one := Baseline{counts: map[baselineKey]int{{"lib/libx.so", "wrong-offset", "f", "cfa"}: 1}}
	two := Baseline{counts: map[baselineKey]int{{"lib/libx.so", "wrong-offset", "f", "cfa"}: 2}}
	for name, tt := range map[string]struct {
		policy Policy
		allow  string
		want   string
	}{
		"errors":            {Policy{Least: sframe.Error}, "", "wrong-offset:new zero-tail:minor"},
		"notes, too":        {Policy{Least: sframe.Note}, "", "wrong-offset:new zero-tail:new"},
		"in the baseline":   {Policy{Least: sframe.Error, Before: &two}, "", "wrong-offset:baseline zero-tail:minor"},
		"more than before":  {Policy{Least: sframe.Error, Before: &one}, "", "wrong-offset:new zero-tail:minor"},
		"allowed":           {Policy{Least: sframe.Error}, "wrong-* libx.so f # why", "wrong-offset:allowed zero-tail:minor"},
		"by its path":       {Policy{Least: sframe.Error}, "wrong-offset lib/*.so * # why", "wrong-offset:allowed zero-tail:minor"},
		"another function":  {Policy{Least: sframe.Error}, "wrong-offset * g # why", "wrong-offset:new zero-tail:minor"},
		"another directory": {Policy{Least: sframe.Error}, "wrong-offset bin/* * # why", "wrong-offset:new zero-tail:minor"},
		"coverage reached":  {Policy{Least: sframe.Error, MinCoverage: 0.9}, "", "wrong-offset:new zero-tail:minor"},
		"coverage":          {Policy{Least: sframe.Error, MinCoverage: 0.901}, "", "coverage-low:new wrong-offset:new zero-tail:minor"},
		"size reached":      {Policy{Least: sframe.Error, MaxSize: 1.5}, "", "wrong-offset:new zero-tail:minor"},
		"size":              {Policy{Least: sframe.Error, MaxSize: 1.49}, "", "size-large:new wrong-offset:new zero-tail:minor"},
		"required":          {Policy{Least: sframe.Error, Required: true}, "", "wrong-offset:new zero-tail:minor"},
	} {
		var err error
		if tt.policy.Allowed, err = ParseAllowList([]byte(tt.allow)); err != nil {
			t.Fatal(err)
		}
		v := tt.policy.Judge(file())
		var got []string
		failed := 0
		for _, j := range v.Judged {
			got = append(got, j.ID+":"+string(j.State))
			if j.State == New {
				failed++
			}
		}
		if s := strings.Join(got, " "); s != tt.want || v.Failed != failed {
			t.Errorf("%s: got %s and %d failures, want %s", name, s, v.Failed, tt.want)
		}
	}
	without := &File{Coverage: compare.Coverage{Code: 10}}
	p := Policy{Required: true}
	if v := p.Judge(without); v.Failed != 1 || v.Judged[0].ID != "section-missing" {
		t.Errorf("got %+v, want section-missing", v.Judged)
	}
}

// A baseline that was written has what failed, and not what was allowed.
func TestBaseline(t *testing.T) {
	r := sample()
	text := NewBaseline(r.Verdicts)
	b, err := ParseBaseline(text)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{"wrong-offset": true, "row-missing": true}
	for i := range r.Verdicts[0].Judged {
		f := &r.Verdicts[0].Judged[i].Finding
		if got := b.has(r.Verdicts[0].File, f); got != want[f.ID] {
			t.Errorf("%s: got %v, want %v", f.ID, got, want[f.ID])
		}
	}
	for _, bad := range []string{"", "{}", "[]", `{"schema":"sfcore.sframe-gate/1"}`} {
		if _, err := ParseBaseline([]byte(bad)); err == nil {
			t.Errorf("%q: got no error", bad)
		}
	}
}

func TestParseAllowList(t *testing.T) {
	list, err := ParseAllowList([]byte("# comment\n\nplt-got-offset  *  *  # GNU ld # and more\nwrong-? a/b f(*) # x\n"))
	if err != nil || len(list) != 2 || *list[0] != (Rule{"plt-got-offset", "*", "*", "GNU ld # and more", 3, false}) {
		t.Errorf("got %+v, %v", list, err)
	}
	for text, want := range map[string]string{
		"\nplt-got-offset *":                      "line 2: there are 2 words",
		"plt-got-offset * *":                      "line 1: the reason is missing",
		"plt-got-offset * * #  ":                  "line 1: the reason is missing",
		"plt-got * * # x":                         "no finding called plt-got",
		"wrong-[ * * # x":                         "is not a pattern",
		strings.Repeat("a", 100_000):              "token too long",
		strings.Repeat("*\n", 1):                  "line 1: there are 1 words",
		strings.Repeat("* * * # x\n", maxRules+1): "more than",
	} {
		if _, err := ParseAllowList([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: got %v, want %s", text, err, want)
		}
	}
}
