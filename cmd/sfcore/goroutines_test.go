package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"

	"github.com/sfcore/sfcore/internal/delve/delvetest"
	"github.com/sfcore/sfcore/internal/delve/wire"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/memreader"

	"github.com/sfcore/sfcore/internal/document"
)

const goroutinesDir = "../../testdata/goroutines"

// goroutinesOf returns the arguments that list the goroutines of a case.
func goroutinesOf(arch string, flags ...string) []string {
	dir := filepath.Join(goroutinesDir, arch)
	return append(append([]string{"goroutines"}, flags...), "--path", filepath.Join(dir, "exe"), filepath.Join(dir, "core.zst"))
}

// withoutDebug are cases of programs without debug information, below testdata.
var withoutDebug = []string{
	"goroutines/amd64-go120", "goroutines/s390x-go126", "mixed/amd64-go121", "mixed/amd64-go126", "mixed/aarch64-go126", "mixed/s390x-go126",
}

func goCase(name string) []string {
	dir := filepath.Join("../../testdata", name)
	return []string{"--path", filepath.Join(dir, "exe"), filepath.Join(dir, "core.zst")}
}

// Programs that delve cannot read are listed all the same: every goroutine that Go's
// own traceback has, in the same state, with its whole stack. The reason why delve
// did not take part is in one line, and in the documents.
func TestGoroutinesWithoutDelve(t *testing.T) {
	header := regexp.MustCompile(`(?m)^goroutine ([1-9]\d*) (?:gp=\S+ m=\S+ (?:mp=\S+ )?)?\[([^],]*)`)
	for _, name := range withoutDebug {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("../../testdata", name, "runtime.txt"))
			if err != nil {
				t.Fatal(err)
			}
			want := map[int64]string{}
			for _, m := range header.FindAllStringSubmatch(string(text), -1) {
				id, _ := strconv.ParseInt(m[1], 10, 64)
				want[id] = m[2]
			}
			stdout, stderr, code := sfcore(append([]string{"goroutines", "--all", "--format", "json"}, goCase(name)...)...)
			var got struct {
				Goroutines   []report.Goroutine
				WithoutDelve string
			}
			if err := json.Unmarshal([]byte(stdout), &got); err != nil {
				t.Fatal(err)
			}
			if code != exitComplete || strings.Count(stderr, "\n") != 1 || got.WithoutDelve == "" || !strings.Contains(stderr, got.WithoutDelve) {
				t.Errorf("got exit code %d, %q, withoutDelve %q", code, stderr, got.WithoutDelve)
			}
			if len(got.Goroutines) != len(want) || len(want) < 8 {
				t.Errorf("got %d goroutines, want %d", len(got.Goroutines), len(want))
			}
			for i := range got.Goroutines {
				g := &got.Goroutines[i]
				state := g.Status
				if g.WaitReason != "" {
					state = g.WaitReason
				}
				if state != want[g.ID] && want[g.ID] != "running" {
					t.Errorf("goroutine %d: got [%s], want [%s]", g.ID, state, want[g.ID])
				}
			}
		})
	}
}

func TestGoroutinesGolden(t *testing.T) {
	if binary.NativeEndian.Uint16([]byte{0, 1}) == 1 {
		t.Skip("delve takes the context of a signal for one of the host's byte order, and says so below the stack")
	}
	delvetest.Here(t)
	for name, args := range map[string][]string{
		"amd64/group":     goroutinesOf("amd64", "--group"),
		"amd64/all":       goroutinesOf("amd64", "--all"),
		"amd64/locals":    goroutinesOf("amd64", "--group", "--locals"),
		"amd64/one":       goroutinesOf("amd64", "--goroutine", "47", "--locals", "--color", "always"),
		"amd64/folded":    goroutinesOf("amd64", "--group", "--format", "folded"),
		"aarch64/group":   goroutinesOf("aarch64", "--group"),
		"aarch64/locals":  goroutinesOf("aarch64", "--group", "--locals"),
		"aarch64/one-all": goroutinesOf("aarch64", "--goroutine", "42", "--locals", "--all", "--format", "jsonl"),
	} {
		t.Run(name, func(t *testing.T) {
			if testkit.Slow() && !strings.HasSuffix(name, "/locals") {
				t.Skip("delve takes 10 s here for each; what it does for locals is most of what it does for others")
			}
			stdout, _, _ := sfcore(args...)
			testkit.Golden(t, filepath.Join(goroutinesDir, name+".golden"), []byte(stdout))
		})
	}
	for _, name := range withoutDebug {
		t.Run(name, func(t *testing.T) {
			stdout, _, _ := sfcore(append([]string{"goroutines", "--all"}, goCase(name)...)...)
			testkit.Golden(t, filepath.Join("../../testdata", name, "goroutines.golden"), []byte(stdout))
		})
	}
	stdout, _, _ := sfcore("goroutines", "--help")
	testkit.Golden(t, filepath.Join("testdata", "goroutines-help.golden"), []byte(stdout))
}

// Both forms of JSON hold the same goroutines, and groups hold each once.
func TestGoroutinesJSON(t *testing.T) {
	delvetest.Here(t)
	type doc struct {
		Schema     string
		Goroutines []report.Goroutine
		Hidden     int
	}
	var one, grouped doc
	text, _, _ := sfcore(goroutinesOf("amd64", "--format", "json")...)
	if err := json.Unmarshal([]byte(text), &one); err != nil {
		t.Fatal(err)
	}
	if one.Schema != report.GoroutinesSchema || len(one.Goroutines) != 29 || one.Hidden != 4 {
		t.Errorf("got schema %s, %d goroutines, %d hidden, want 29 and 4", one.Schema, len(one.Goroutines), one.Hidden)
	}
	lines, _, _ := sfcore(goroutinesOf("amd64", "--format", "jsonl")...)
	n := 0
	for line := range strings.Lines(lines) {
		var part struct{ Goroutine *report.Goroutine }
		if err := json.Unmarshal([]byte(line), &part); err != nil {
			t.Fatal(err)
		}
		if part.Goroutine == nil {
			continue
		}
		if got, want := string(document.Encode(part.Goroutine)), string(document.Encode(&one.Goroutines[n])); got != want {
			t.Errorf("jsonl: got\n%s, json:\n%s", got, want)
		}
		n++
	}
	if n != len(one.Goroutines) {
		t.Errorf("jsonl: got %d goroutines, want %d", n, len(one.Goroutines))
	}
	text, _, _ = sfcore(goroutinesOf("amd64", "--format", "json", "--group")...)
	if err := json.Unmarshal([]byte(text), &grouped); err != nil {
		t.Fatal(err)
	}
	ids := map[int64]bool{}
	for i := range grouped.Goroutines {
		for _, id := range grouped.Goroutines[i].IDs {
			if ids[id] {
				t.Errorf("goroutine %d is in two groups", id)
			}
			ids[id] = true
		}
	}
	if len(ids) != 29 || len(grouped.Goroutines) != 10 {
		t.Errorf("got %d goroutines in %d groups, want 29 in 10", len(ids), len(grouped.Goroutines))
	}
}

func TestGoroutinesErrors(t *testing.T) {
	delvetest.Here(t)
	for _, test := range []struct {
		name   string
		args   []string
		code   int
		stderr string
	}{
		{"s390x", append([]string{"goroutines"}, caseArgs(t, "s390x-v3-threads")...), exitFailed, "no Go program was found"},
		{"big-endian", append([]string{"goroutines"}, caseArgs(t, "aarch64be-v3-threads")...), exitFailed, "no Go program was found"},
		{"C", append([]string{"goroutines"}, caseArgs(t, "amd64-v3-threads")...), exitFailed, "no Go program was found"},
		{"no file", []string{"goroutines", "--sysroot", "testdata", filepath.Join(goroutinesDir, "amd64", "core.zst")}, exitFailed, "no Go program was found"},
		{"bad goroutine", goroutinesOf("amd64", "--goroutine", "40,1000"), exitIncomplete, "1000: no such goroutine"},
		{"complete", goroutinesOf("amd64", "--goroutine", "40"), exitComplete, ""},
		{"bad format", goroutinesOf("amd64", "--format", "xml"), exitFailed, "xml"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, stderr, code := sfcore(test.args...)
			if code != test.code || !strings.Contains(stderr, test.stderr) {
				t.Errorf("got exit code %d, %q, want %d, %q in it", code, stderr, test.code, test.stderr)
			}
		})
	}
}

// What was found before delve ends is printed, and that there may be more.
func TestGoroutinesCutShort(t *testing.T) {
	old := wire.Lister
	defer func() { wire.Lister = old }()
	wire.Lister = func(_ context.Context, _ func() (string, error), _ *wire.Setup, _ memreader.Reader, sink wire.Sink) error {
		sink(&wire.Goroutine{ID: 7, Status: "waiting", Saved: wire.Saved{PC: 0x99}})
		return errors.New("delve ended: \x1b panic")
	}
	stdout, stderr, code := sfcore(goroutinesOf("amd64")...)
	if code != exitIncomplete || !strings.Contains(stdout, "Goroutine 7 [waiting]") || !strings.Contains(stdout, "0x99, is not in Go code") ||
		!strings.Contains(stderr, `incomplete: delve ended: \u001b panic`) {
		t.Errorf("got exit code %d, %s\n%s", code, stdout, stderr)
	}
}

// What the scheduler saved is in memory that may be damaged: where it lies, no
// frame is fully trusted.
func TestGoroutineLies(t *testing.T) {
	delvetest.Here(t)
	var honest []wire.Goroutine
	list := wire.Lister
	wire.Lister = func(ctx context.Context, find func() (string, error), setup *wire.Setup, mem memreader.Reader, _ wire.Sink) error {
		return list(ctx, find, setup, mem, func(g *wire.Goroutine) bool { honest = append(honest, *g); return true })
	}
	sfcore(goroutinesOf("amd64")...)
	for name, lie := range map[string]func(g, before *wire.Goroutine){
		"pc of another function": func(g, _ *wire.Goroutine) { g.Saved.PC = g.Frames[3].PC },
		"pc within the function": func(g, _ *wire.Goroutine) { g.Saved.PC -= 5 },
		"sp of a caller":         func(g, _ *wire.Goroutine) { g.Saved.SP += 16 },
		"another's sp":           func(g, before *wire.Goroutine) { g.Saved.SP = before.Saved.SP },
		"another's registers":    func(g, before *wire.Goroutine) { g.Saved = before.Saved },
		"no stack":               func(g, _ *wire.Goroutine) { g.Saved.SP = 16 },
	} {
		t.Run(name, func(t *testing.T) {
			wire.Lister = func(_ context.Context, _ func() (string, error), _ *wire.Setup, _ memreader.Reader, sink wire.Sink) error {
				for i, g := range honest {
					if i > 0 && g.WaitReason == "chan receive" {
						lie(&g, &honest[i-1])
					}
					sink(&g)
				}
				return nil
			}
			stdout, _, _ := sfcore(goroutinesOf("amd64", "--format", "json")...)
			var got struct{ Goroutines []report.Goroutine }
			if err := json.Unmarshal([]byte(stdout), &got); err != nil {
				t.Fatal(err)
			}
			n := 0
			for i := range got.Goroutines {
				r := &got.Goroutines[i]
				if r.WaitReason != "chan receive" {
					continue
				}
				n++
				for j := range r.Frames {
					if r.Frames[j].Trust == unwind.Full {
						t.Errorf("goroutine %d #%d: got full trust", r.ID, j)
					}
				}
			}
			if n < 20 {
				t.Errorf("got %d goroutines that receive", n)
			}
		})
	}
}
