package main

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
	"print":             {"print --format json", []any{[]evaluated{}}},
	"version":           {"version --format json", []any{versionDocument{}}},
	"cache":             {"cache and cache clear, --format json", []any{cacheDocument{}}},
	"shrink":            {"shrink --format json", []any{shrunkDocument{}}},
	"bug-report":        {"report-bug --format json", []any{bugReportDocument{}}},
	"signatures":        {"sig --format json", []any{[]fileSignature{}}},
	"sframe":            {"sframe dump --format json", []any{listedFile{}}},
	"sframe-check":      {"sframe check --format json", []any{jsonCheck{}}},
	"sframe-compare":    {"sframe compare --format json", []any{jsonComparison{}}},
	"sframe-coverage":   {"sframe coverage --format json", []any{coverage{}}},
	"sframe-synth":      {"sframe synth --format json", []any{jsonSynth{}}},
	"sframe-perf":       {"sframe perf --format json", []any{perfReport{}}},
	"sframe-survey":     {"sframe survey --format json", []any{survey.Survey{}}},
	"sframe-difference": {"sframe survey --against --format json", []any{survey.Difference{}}},
}

// documentsOf checks documents by a schema in docs/schemas.
func documentsOf(t *testing.T, name string) *testkit.Documents {
	t.Helper()
	s, ok := published[name]
	if !ok {
		t.Fatalf("no schema is called %s", name)
	}
	return testkit.Published(t, filepath.Join(schemasDir, name+".json"), s.title, s.values...)
}

// What is printed of every core, of all architectures, is as the schemas say, and has no
// member that they do not have.
func TestDocumentsOfCores(t *testing.T) {
	reports, lines, sigs := documentsOf(t, "report"), documentsOf(t, "report-line"), documentsOf(t, "signature-line")
	n := 0
	testkit.EachCase(t, coresDir, func(t *testing.T, name string) {
		args := caseArgs(t, name)
		for _, flags := range [][]string{{"bt", "--full", "-v"}, {"bt", "--group"}, {"info"}} {
			text, _, _ := sfcore(append(append(flags, "--format", "json"), args...)...)
			reports.Check(t, text)
		}
		text, _, _ := sfcore(append([]string{"bt", "--full", "--source", "1", "--format", "jsonl"}, args...)...)
		lines.Lines(t, text)
		text, _, _ = sfcore(append([]string{"sig", "--explain", "--format", "jsonl"}, args...)...)
		sigs.Lines(t, text)
		n++
	})
	if n < 175 {
		t.Errorf("there were %d cores", n)
	}
}

// The documents of all commands are as their schemas say. Those whose names end in -line are
// one on each line.
func TestDocumentsOfCommands(t *testing.T) {
	core := filepath.Join(coresDir, "amd64-v3-threads", "core.zst")
	exe := filepath.Join(coresDir, "amd64-v3-threads", "exe", "threads")
	goCore := []string{filepath.Join(goroutinesDir, "amd64", "core.zst"), filepath.Join(goroutinesDir, "amd64", "exe", "goroutines")}
	locals := []string{"../../testdata/locals/s390x-O0/core.zst", "../../testdata/locals/s390x-O0/prog"}
	before := filepath.Join(t.TempDir(), "before.json")
	if stdout, _, code := sfcore("sframe", "survey", "--report", "json="+before, objectsDir+"/amd64-v3"); code != exitComplete {
		t.Fatal(stdout)
	}
	whole, err := filepath.Abs(exe)
	if err != nil {
		t.Fatal(err)
	}
	recording := filepath.Join(t.TempDir(), "perf.data")
	if err := os.WriteFile(recording, perfData(whole, 0x400000, 0x3000, 0x401100), 0o600); err != nil {
		t.Fatal(err)
	}
	documents := map[string][]string{
		"report":            append([]string{"bt", "--locals", "--format", "json"}, locals...),
		"report-line":       append([]string{"bt", "--locals", "--format", "jsonl"}, locals...),
		"goroutines":        append([]string{"goroutines", "--format", "json"}, goCore...),
		"goroutines-line":   append([]string{"goroutines", "--format", "jsonl"}, goCore...),
		"print":             append(append([]string{"print", "--format", "json"}, locals...), "all", "nothing"),
		"diff":              {"diff", "--format", "json", core, filepath.Join(coresDir, "amd64-v2-threads", "core.zst")},
		"series":            {"diff", "--format", "json", core, filepath.Join(coresDir, "amd64-v2-threads", "core.zst"), core},
		"version":           {"version", "--format", "json"},
		"cache":             {"cache", "--format", "json"},
		"shrink":            {"shrink", "--format", "json", "-o", filepath.Join(t.TempDir(), "small"), core, exe},
		"bug-report":        {"report-bug", "--format", "json", "--yes", "-o", filepath.Join(t.TempDir(), "report"), core, exe},
		"signatures":        {"sig", "--explain", "--format", "json", core},
		"signature-line":    {"sig", "--against", t.TempDir(), "--format", "jsonl", core},
		"sframe":            {"sframe", "dump", "--format", "json", exe},
		"sframe-check":      {"sframe", "check", "--format", "json", exe},
		"sframe-compare":    {"sframe", "compare", "--format", "json", exe},
		"sframe-coverage":   {"sframe", "coverage", "--format", "json", exe},
		"sframe-synth":      {"sframe", "synth", "--format", "json", exe, "-o", t.TempDir()},
		"sframe-survey":     {"sframe", "survey", "--format", "json", filepath.Join(coresDir, "amd64-v3-threads")},
		"sframe-perf":       {"sframe", "perf", "--format", "json", recording},
		"sframe-difference": {"sframe", "survey", "--format", "json", "--against", before, objectsDir + "/amd64-v3", objectsDir + "/amd64-v1"},
	}
	for name := range published {
		if documents[name] == nil {
			t.Errorf("no document is checked by the schema %s", name)
		}
	}
	for name, args := range documents {
		t.Run(name, func(t *testing.T) {
			text, stderr, _ := sfcore(args...)
			if text == "" {
				t.Fatalf("nothing is printed: %s", stderr)
			}
			if checks := documentsOf(t, name); strings.HasSuffix(name, "-line") {
				checks.Lines(t, text)
			} else {
				checks.Check(t, text)
			}
		})
	}
}

// perfData is what perf writes to a pipe on amd64: the start of a program's file is mapped,
// and a sample has ip, sp and an empty stack [linux
// tools/perf/Documentation/perf.data-file-format.txt].
func perfData(exe string, lo, size, ip uint64) []byte {
	const thread, regs, stack = 1 << 1, 1 << 12, 1 << 13
	b := testkit.New(binary.LittleEndian).Raw([]byte("PERFILE2")).D64(16)
	b.D32(64).D16(0, 8+112).D32(0, 112).D64(0, 0, thread|regs|stack, 0, 0, 0, 0, 0, 0).D64(1<<7 | 1<<8).Zero(112 - 88)
	b.D32(80).D16(0, 8+8+4+8).D64(6).D32(8).Str("x86_64").Zero(1)
	name := append([]byte(exe), make([]byte, 8-len(exe)%8)...)
	b.D32(1).D16(0, uint16(8+32+len(name))).D32(1, 1).D64(lo, size, 0).Raw(name)
	return b.D32(9).D16(0, 8+8+24+8).D32(1, 1).D64(2, 0x7000, ip).D64(0).Done()
}

// A document that has lost a member, or has another type of one, is not taken.
func TestSchemasRefuse(t *testing.T) {
	text, _, _ := sfcore(append([]string{"bt", "--full", "--format", "json"}, caseArgs(t, "amd64-v3-null-1")...)...)
	c := documentsOf(t, "report")
	for _, change := range []struct{ old, new string }{
		{`"method":"registers",`, ``}, {`"method":"registers"`, `"method":"guess"`}, {`"tid":`, `"tid":"x","x":`}, {`"modules":[`, `"modules":0,"x":[`}, {`"pc":"0x0"`, `"pc":"0"`}, {`"arch":"amd64"`, `"arch":1`},
	} {
		changed := strings.Replace(text, change.old, change.new, 1)
		if changed == text {
			t.Fatalf("%s is not there", change.old)
		}
		if c.Takes(t, changed) {
			t.Errorf("%s in the place of %s is taken", change.new, change.old)
		}
	}
}
