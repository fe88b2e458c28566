package gate

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/sframe"
)

// sample is a report with a finding in each state, and with characters that formats
// have to quote.
func sample() *Report {
	f := &File{Path: "build/<a>&\x1b/lib x.so", Name: "<a>&\x1b/lib x.so", Kind: Library, Arch: "amd64", Versions: []string{"3"}, HasSFrame: true, SFrameBytes: 100, CFIBytes: 80, Functions: 3}
	f.Code, f.SFrame, f.CFI, f.Both = 1000, 900, 1000, 900
	f.Findings = []Finding{
		{ID: "wrong-offset", Severity: sframe.Error, Function: "f(int, \"x\"<T>)", Field: "cfa", Addr: 0x1040, Off: -1, Msg: "wrong offset at 0x1040", Count: 2},
		{ID: "plt-got-offset", Severity: sframe.Error, Field: "cfa", Addr: 0x1000, Off: -1, Msg: "wrong offset at 0x1000", Count: 1},
		{ID: "row-missing", Severity: sframe.Warning, Function: "g", Addr: 0xffffffff81000000, Off: -1, Msg: "row missing", Count: 1},
		{ID: "zero-tail", Severity: sframe.Note, Field: "sfh_fre_len", Off: 90, Msg: "10 bytes of zeros follow", Count: 1},
	}
	allowed, err := ParseAllowList([]byte("plt-got-offset * * # GNU ld & \"others\"\nzero-tail other.so * # not here\n"))
	if err != nil {
		panic(err)
	}
	before := &Baseline{counts: map[baselineKey]int{keyOf(f, &f.Findings[2]): 1}}
	p := &Policy{Least: sframe.Warning, Allowed: allowed, Before: before}
	return &Report{
		Version: "v1", Verdicts: []*Verdict{p.Judge(f)}, Without: 1, Skipped: 2,
		Unread: []string{"gone.o: no such file\x01"}, Unused: allowed.Unused(),
	}
}

func TestFormats(t *testing.T) {
	for name, write := range Formats {
		var out bytes.Buffer
		if err := write(sample(), &out); err != nil {
			t.Fatal(err)
		}
		testkit.Golden(t, "testdata/report."+name, out.Bytes())
		switch name {
		case "json", "sarif":
			if !json.Valid(out.Bytes()) {
				t.Errorf("%s is not JSON", name)
			}
		case "junit":
			if err := xml.Unmarshal(out.Bytes(), new(junitSuites)); err != nil {
				t.Errorf("junit: %v", err)
			}
		}
	}
}

// SARIF follows the schema that OASIS has published. A log that does not is noticed.
func TestSARIFSchema(t *testing.T) {
	schema, err := os.ReadFile("testdata/sarif-schema-2.1.0.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("sarif.json", doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("sarif.json")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, r := range []*Report{sample(), {}} {
		out.Reset()
		if err := r.sarif(&out); err != nil {
			t.Fatal(err)
		}
		if err := validate(compiled, out.String()); err != nil {
			t.Errorf("got %v", err)
		}
	}
	out.Reset()
	_ = sample().sarif(&out)
	for _, replace := range [][2]string{{`"level": "error"`, `"level": "fatal"`}, {`"ruleId"`, `"ruleid"`}, {`"2.1.0"`, `"2.2"`}, {`"external"`, `"outside"`}} {
		broken := strings.ReplaceAll(out.String(), replace[0], replace[1])
		if broken == out.String() || validate(compiled, broken) == nil {
			t.Errorf("%s in place of %s is not noticed", replace[1], replace[0])
		}
	}
}

func validate(s *jsonschema.Schema, text string) error {
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return err
	}
	return s.Validate(v)
}
