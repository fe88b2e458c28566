package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sfcore/sfcore/internal/crash/store"
	"github.com/sfcore/sfcore/internal/diff"
	"github.com/sfcore/sfcore/internal/document"
	"github.com/sfcore/sfcore/internal/survey"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/report"
)

const schemasDir = "../../docs/schemas"

// The documents that are written piece by piece, as types.
type (
	reportDocument struct {
		Schema  string            `json:"schema"`
		Source  report.Source     `json:"source"`
		Process report.Process    `json:"process"`
		Threads []document.Thread `json:"threads"`
		report.Waiting
		Modules  []report.Module `json:"modules"`
		Problems []string        `json:"problems"`
	}
	headLine struct {
		Schema  string         `json:"schema"`
		Source  report.Source  `json:"source"`
		Process report.Process `json:"process"`
	}
	threadLine struct {
		Thread document.Thread `json:"thread"`
	}
	tailLine struct {
		report.Waiting
		Modules  []report.Module `json:"modules"`
		Problems []string        `json:"problems"`
	}
	goroutinesTail struct {
		Hidden       int                    `json:"hidden"`
		Waits        []report.GoroutineWait `json:"waits,omitempty"`
		WithoutDelve string                 `json:"withoutDelve,omitempty"`
		Modules      []report.Module        `json:"modules"`
		Problems     []string               `json:"problems"`
	}
	goroutinesDocument struct {
		headLine
		Goroutines []report.Goroutine `json:"goroutines"`
		goroutinesTail
	}
	goroutineLine struct {
		Goroutine report.Goroutine `json:"goroutine"`
	}
	listedTable struct {
		jsonTable
		Functions []jsonFunction `json:"functions"`
	}
	listedSection struct {
		Name    string        `json:"name"`
		Address report.Addr   `json:"address"`
		File    string        `json:"file"`
		Tables  []listedTable `json:"tables"`
	}
	listedFile struct {
		Schema   string          `json:"schema"`
		File     string          `json:"file"`
		Sections []listedSection `json:"sections"`
		Problems []string        `json:"problems"`
	}
)

// published are the schemas in docs/schemas, with what they are of.
var published = map[string]struct {
	title  string
	values []any
}{
	"report":            {"bt and info, --format json", []any{reportDocument{}}},
	"report-line":       {"each line of bt --format jsonl", []any{headLine{}, threadLine{}, tailLine{}}},
	"goroutines":        {"goroutines --format json", []any{goroutinesDocument{}}},
	"goroutines-line":   {"each line of goroutines --format jsonl", []any{headLine{}, goroutineLine{}, goroutinesTail{}}},
	"signature-line":    {"each line of sig --format jsonl", []any{fileSignature{}}},
	"diff":              {"diff --format json of two moments", []any{diff.Difference{}}},
	"series":            {"diff --format json of more than two moments", []any{diff.Series{}}},
	"print":             {"print --format json: a list of these", []any{evaluated{}}},
	"version":           {"version --format json", []any{versionDocument{}}},
	"cache":             {"cache --format json", []any{cacheDocument{}}},
	"signatures":        {"sig --format json", []any{[]fileSignature{}}},
	"crash-record":      {"a crash in the store of sfcore-crash", []any{store.Record{}}},
	"sframe":            {"sframe dump --format json", []any{listedFile{}}},
	"sframe-check":      {"sframe check --format json", []any{jsonCheck{}}},
	"sframe-compare":    {"sframe compare --format json", []any{jsonComparison{}}},
	"sframe-coverage":   {"sframe coverage --format json", []any{coverage{}}},
	"sframe-synth":      {"sframe synth --format json", []any{jsonSynth{}}},
	"sframe-perf":       {"sframe perf --format json", []any{perfReport{}}},
	"sframe-survey":     {"sframe survey --format json", []any{survey.Survey{}}},
	"sframe-difference": {"sframe survey --against --format json", []any{survey.Difference{}}},
}

// The schemas in docs/schemas are those of the types that are written.
func TestSchemas(t *testing.T) {
	for name, s := range published {
		testkit.Golden(t, filepath.Join(schemasDir, name+".json"), testkit.Schema(t, name, s.title, false, s.values...))
		compiled(t, name, true)
	}
}

// compiled compiles a schema: the one in docs/schemas, or the strict one.
func compiled(t *testing.T, name string, strict bool) *jsonschema.Schema {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(schemasDir, name+".json"))
	if strict {
		s := published[name]
		text, err = testkit.Schema(t, name, s.title, true, s.values...), nil
	}
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(name, doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile(name)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// checker validates documents.
type checker struct{ strict, loose *jsonschema.Schema }

func newChecker(t *testing.T, name string) *checker {
	return &checker{compiled(t, name, true), compiled(t, name, false)}
}

func (c *checker) check(t *testing.T, text string) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v:\n%.200s", err, text)
	}
	for _, schema := range []*jsonschema.Schema{c.strict, c.loose} {
		if err := schema.Validate(doc); err != nil {
			t.Errorf("%v:\n%.500s", err, text)
		}
	}
}

func (c *checker) lines(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		c.check(t, line)
	}
}

// What is printed of every core, of all architectures, is as the schemas say, and has no
// member that they do not have.
func TestDocumentsOfCores(t *testing.T) {
	reports, lines, sigs := newChecker(t, "report"), newChecker(t, "report-line"), newChecker(t, "signature-line")
	n := 0
	testkit.EachCase(t, coresDir, func(t *testing.T, name string) {
		args := caseArgs(t, name)
		for _, flags := range [][]string{{"bt", "--full", "-v"}, {"bt", "--group"}, {"info"}} {
			text, _, _ := sfcore(append(append(flags, "--format", "json"), args...)...)
			reports.check(t, text)
		}
		text, _, _ := sfcore(append([]string{"bt", "--full", "--source", "1", "--format", "jsonl"}, args...)...)
		lines.lines(t, text)
		text, _, _ = sfcore(append([]string{"sig", "--explain", "--format", "jsonl"}, args...)...)
		sigs.lines(t, text)
		n++
	})
	if n < 175 {
		t.Errorf("there were %d cores", n)
	}
}

// The documents of the other commands are as their schemas say.
func TestDocumentsOfCommands(t *testing.T) {
	core := filepath.Join(coresDir, "amd64-v3-threads", "core.zst")
	exe := filepath.Join(coresDir, "amd64-v3-threads", "exe", "threads")
	goCore := []string{filepath.Join(goroutinesDir, "amd64", "core.zst"), filepath.Join(goroutinesDir, "amd64", "exe", "goroutines")}
	locals := []string{"../../testdata/locals/s390x-O0/core.zst", "../../testdata/locals/s390x-O0/prog"}
	for name, args := range map[string][]string{
		"report":          append([]string{"bt", "--locals", "--format", "json"}, locals...),
		"goroutines":      append([]string{"goroutines", "--format", "json"}, goCore...),
		"diff":            {"diff", "--format", "json", core, filepath.Join(coresDir, "amd64-v2-threads", "core.zst")},
		"series":          {"diff", "--format", "json", core, filepath.Join(coresDir, "amd64-v2-threads", "core.zst"), core},
		"version":         {"version", "--format", "json"},
		"cache":           {"cache", "--format", "json"},
		"signatures":      append([]string{"sig", "--explain", "--format", "json"}, core),
		"sframe":          {"sframe", "dump", "--format", "json", exe},
		"sframe-check":    {"sframe", "check", "--format", "json", exe},
		"sframe-compare":  {"sframe", "compare", "--format", "json", exe},
		"sframe-coverage": {"sframe", "coverage", "--format", "json", exe},
		"sframe-synth":    {"sframe", "synth", "--format", "json", exe, "-o", t.TempDir()},
		"sframe-survey":   {"sframe", "survey", "--format", "json", filepath.Join(coresDir, "amd64-v3-threads")},
	} {
		t.Run(name, func(t *testing.T) {
			text, stderr, _ := sfcore(args...)
			if text == "" {
				t.Fatalf("nothing is printed: %s", stderr)
			}
			newChecker(t, name).check(t, text)
		})
	}
	text, _, _ := sfcore(append([]string{"goroutines", "--format", "jsonl"}, goCore...)...)
	newChecker(t, "goroutines-line").lines(t, text)
}

// A document that has lost a member, or has another type of one, is not taken.
func TestSchemasRefuse(t *testing.T) {
	text, _, _ := sfcore(append([]string{"bt", "--full", "--format", "json"}, caseArgs(t, "amd64-v3-null-1")...)...)
	c := newChecker(t, "report")
	for _, change := range []struct{ old, new string }{
		{`"method":"registers",`, ``}, {`"method":"registers"`, `"method":"guess"`}, {`"tid":`, `"tid":"x","x":`}, {`"modules":[`, `"modules":0,"x":[`}, {`"pc":"0x0"`, `"pc":"0"`}, {`"arch":"amd64"`, `"arch":1`},
	} {
		changed := strings.Replace(text, change.old, change.new, 1)
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(changed))
		if err != nil || changed == text {
			t.Fatalf("%s: %v", change.old, err)
		}
		if c.loose.Validate(doc) == nil {
			t.Errorf("%s in the place of %s is taken", change.new, change.old)
		}
	}
}
