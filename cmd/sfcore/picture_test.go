package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/picture"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
)

// drawn is what a picture shows of a thread: the names from the outermost frame to the
// innermost, as flame graph tools read them.
type drawn struct{ stack, labels string }

// Pictures of every core have the threads, frames and modules that the report has.
func TestPicturesOfCores(t *testing.T) {
	incomplete := 0
	testkit.EachCase(t, coresDir, func(t *testing.T, name string) {
		r, code := reportOf(t, name)
		var want []drawn
		for i := range r.Threads {
			want = append(want, drawnThread(&r.Threads[i]))
			if r.Threads[i].Stop.Reason != unwind.Outermost {
				incomplete++
			}
		}
		if got := drawnByPprof(t, name, code, r.Modules); !slices.Equal(got, want) {
			t.Errorf("pprof: got %+v\nwant %+v", got, want)
		}
		if got := drawnByHTML(t, name, code); !slices.Equal(got, want) {
			t.Errorf("html: got %+v\nwant %+v", got, want)
		}
		got := drawnBySpeedscope(t, name, code)
		for i := range want {
			want[i].labels = ""
		}
		if !slices.Equal(got, want) {
			t.Errorf("speedscope: got %+v\nwant %+v", got, want)
		}
	})
	if incomplete == 0 {
		t.Error("no core has a stack that is incomplete")
	}
}

func reportOf(t *testing.T, name string) (r report.Document, code int) {
	t.Helper()
	stdout, _, code := sfcore(append([]string{"bt", "--format", "json"}, caseArgs(t, name)...)...)
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatal(err)
	}
	return r, code
}

func drawnThread(th *report.Thread) drawn {
	var stack, methods []string
	if th.Stop.Reason != unwind.Outermost {
		stack = append(stack, "["+th.Stop.Reason.String()+"]")
	}
	for i := range slices.Backward(th.Frames) {
		f := &th.Frames[i]
		name := f.Function
		switch {
		case name != "":
		case f.ModuleOffset.Known: // the module's name is not in JSON
			name = fmt.Sprintf("+%#x", uint64(f.ModuleOffset.Addr))
		default:
			name = fmt.Sprintf("%#x", uint64(f.PC))
		}
		if f.Trust == unwind.Guess {
			name = "?" + name
		}
		stack = append(stack, name)
	}
	for i := range th.Frames {
		if m := th.Frames[i].Method.String(); !slices.Contains(methods, m) {
			methods = append(methods, m)
		}
	}
	labels := map[string][]string{"thread": {strconv.Itoa(th.TID)}, "method": methods}
	if th.Name != "" {
		labels["name"] = []string{plain(th.Name)}
	}
	if th.Crashed {
		labels["crashed"] = []string{"true"}
	}
	if len(th.Frames) > 0 {
		labels["trust"] = []string{th.Frames[len(th.Frames)-1].Trust.String()}
	}
	if th.Stop.Reason != unwind.Outermost {
		labels["stop"] = []string{th.Stop.Reason.String()}
	}
	return drawn{strings.Join(stack, ";"), fmt.Sprint(labels)}
}

// withoutModule takes the module out of the name of a frame that has no function.
func withoutModule(name string) string {
	mark := strings.HasPrefix(name, "?")
	module, offset, ok := strings.Cut(name, "+0x")
	if _, err := strconv.ParseUint(offset, 16, 64); err != nil || !ok || module == "" {
		return name
	}
	if mark {
		return "?+0x" + offset
	}
	return "+0x" + offset
}

func drawnByPprof(t *testing.T, name string, code int, modules []report.Module) (threads []drawn) {
	t.Helper()
	stdout, stderr, got := sfcore(append([]string{"bt", "--format", "pprof"}, caseArgs(t, name)...)...)
	if got != code {
		t.Errorf("pprof: got exit status %d (%s), want %d", got, stderr, code)
	}
	p, err := profile.Parse(strings.NewReader(stdout))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.CheckValid(); err != nil {
		t.Error(err)
	}
	if len(p.SampleType) != 1 || p.SampleType[0].Type != "threads" || p.SampleType[0].Unit != "count" || p.DefaultSampleType != "threads" {
		t.Errorf("got sample types %v", p.SampleType)
	}
	var ids, want []string
	for _, m := range p.Mapping {
		ids = append(ids, fmt.Sprint(report.Addr(m.Start), report.Addr(m.Limit), m.BuildID))
	}
	for i := range modules {
		want = append(want, fmt.Sprint(modules[i].Base, modules[i].End, modules[i].BuildID))
	}
	if slices.Sort(ids); !slices.Equal(ids, slices.Sorted(slices.Values(want))) {
		t.Errorf("got mappings %v, want %v", ids, want)
	}
	for _, s := range p.Sample {
		var stack []string
		for _, l := range slices.Backward(s.Location) {
			if l.Mapping != nil && (l.Address < l.Mapping.Start || l.Address >= l.Mapping.Limit) {
				t.Errorf("%#x is not in %v", l.Address, l.Mapping)
			}
			for _, line := range slices.Backward(l.Line) {
				stack = append(stack, withoutModule(line.Function.Name))
			}
		}
		if len(s.Value) != 1 || s.Value[0] != 1 {
			t.Errorf("got value %v, want 1", s.Value)
		}
		threads = append(threads, drawn{strings.Join(stack, ";"), fmt.Sprint(s.Label)})
	}
	return threads
}

func drawnBySpeedscope(t *testing.T, name string, code int) (threads []drawn) {
	t.Helper()
	stdout, stderr, got := sfcore(append([]string{"bt", "--format", "speedscope"}, caseArgs(t, name)...)...)
	if got != code {
		t.Errorf("speedscope: got exit status %d (%s), want %d", got, stderr, code)
	}
	var f struct {
		Schema string `json:"$schema"`
		Shared struct{ Frames []struct{ Name string } }
		// Members are those that the schema requires.
		Profiles []struct {
			Type, Unit           string
			Name                 *string
			StartValue, EndValue *int
			Samples              [][]int
			Weights              []int
		}
	}
	d := json.NewDecoder(strings.NewReader(stdout))
	if err := d.Decode(&f); err != nil {
		t.Fatal(err)
	}
	if len(f.Profiles) != 1 || f.Schema != "https://www.speedscope.app/file-format-schema.json" {
		t.Fatalf("got %d profiles, schema %q", len(f.Profiles), f.Schema)
	}
	p := f.Profiles[0]
	if p.Type != "sampled" || p.Unit != "none" || p.Name == nil || *p.StartValue != 0 || *p.EndValue != len(p.Samples) || len(p.Weights) != len(p.Samples) {
		t.Errorf("got %+v", p)
	}
	for i, s := range p.Samples {
		var stack []string
		for _, frame := range s {
			stack = append(stack, withoutModule(f.Shared.Frames[frame].Name))
		}
		if p.Weights[i] != 1 {
			t.Errorf("got weight %d, want 1", p.Weights[i])
		}
		threads = append(threads, drawn{stack: strings.Join(stack, ";")})
	}
	return threads
}

// page is what the script of a page reads.
type page struct {
	Texts, Methods, Trusts, Reasons []string
	Frames                          struct{ Name, How []int }
	Parents, Nodes                  []int
	Stacks                          struct {
		ID                               []int
		Name, State, Node, Reason, Crash []int
	}
	Snapshots []struct{ First, End int }
}

func readPage(t *testing.T, text string) (p page) {
	t.Helper()
	_, doc, _ := strings.Cut(text, `<script type="application/json" id="data">`)
	doc, _, _ = strings.Cut(doc, "</script>")
	if err := json.Unmarshal([]byte(doc), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

func drawnByHTML(t *testing.T, name string, code int) (threads []drawn) {
	t.Helper()
	stdout, stderr, got := sfcore(append([]string{"bt", "--format", "html"}, caseArgs(t, name)...)...)
	if got != code {
		t.Errorf("html: got exit status %d (%s), want %d", got, stderr, code)
	}
	p := readPage(t, stdout)
	for i, id := range p.Stacks.ID {
		th := report.Thread{TID: id, Name: p.Texts[p.Stacks.Name[i]], Crashed: slices.Contains(p.Stacks.Crash, i), Stop: report.Stop{Reason: unwind.Outermost}}
		if r := p.Stacks.Reason[i]; r >= 0 {
			if err := th.Stop.Reason.UnmarshalText([]byte(p.Reasons[r])); err != nil {
				t.Error(err)
			}
		}
		for n := p.Stacks.Node[i]; n > 0; n -= p.Parents[n] {
			var f report.Frame
			how := p.Frames.How[p.Nodes[n]]
			if err := errors.Join(f.Method.UnmarshalText([]byte(p.Methods[how>>4])), f.Trust.UnmarshalText([]byte(p.Trusts[how>>2&3]))); err != nil {
				t.Error(err)
			}
			f.Function = withoutModule(p.Texts[p.Frames.Name[p.Nodes[n]]])
			th.Frames = append(th.Frames, f)
		}
		threads = append(threads, drawnThread(&th))
	}
	return threads
}

// The page of a core is what it was when somebody looked at it, but for its script and
// style.
func TestHTMLGolden(t *testing.T) {
	for name, args := range map[string][]string{
		"crash":      append([]string{"bt", "-v", "--map", "/srv/corpus/src=" + filepath.Join(coresDir, "amd64-v3-null-1", "src")}, caseArgs(t, "amd64-v3-null-1")...),
		"incomplete": append([]string{"bt", "--unwind", "fp", "--max-frames", "3", "--redact"}, caseArgs(t, "amd64-v2-threads")...),
		"goroutines": append([]string{"goroutines"}, goCase("mixed/amd64-go126")...),
		"locals":     {"bt", "--locals", "../../testdata/locals/amd64-O0/core.zst", "../../testdata/locals/amd64-O0/prog"},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, _, _ := sfcore(append(args, "--format", "html")...)
			for _, part := range []string{`(?s)<style>.*</style>`, `(?s)<script>.*</script>`, `sha256-.*?=`, `Made by sfcore .*?</`} {
				stdout = regexp.MustCompile(part).ReplaceAllString(stdout, "...")
			}
			testkit.Golden(t, filepath.Join("testdata", "html-"+name+".golden"), []byte(stdout))
		})
	}
}

// A picture of several snapshots has each of them.
func TestPictureOfSnapshots(t *testing.T) {
	img, err := core.Open(t.Context(), filepath.Join(coresDir, "amd64-v2-threads", "core.zst"), core.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := process.New(img, process.Options{})
	defer p.Close()
	cmd, out := newBtCommand(), bytes.Buffer{}
	cmd.SetContext(t.Context())
	cmd.SetOut(&out)
	cmd.SetErr(io.Discard)
	c := &btCommand{format: "html", source: -1, picture: newPicture("html", picture.Threads, false)}
	for range 3 {
		if err := c.print(cmd, p, false); err != nil && !errors.As(err, new(incompleteError)) {
			t.Fatal(err)
		}
	}
	if err := drawPicture(cmd, c.picture, "html", nil); err != nil {
		t.Fatal(err)
	}
	page, n := readPage(t, out.String()), len(img.Threads)
	if len(page.Snapshots) != 3 || len(page.Stacks.ID) != 3*n || page.Snapshots[2].First != 2*n || page.Snapshots[2].End != 3*n {
		t.Errorf("got snapshots %v of %d threads, want 3 of %d", page.Snapshots, len(page.Stacks.ID), n)
	}
	out.Reset()
	if err := drawPicture(cmd, c.picture, "pprof", nil); err != nil {
		t.Fatal(err)
	}
	if prof, err := profile.Parse(&out); err != nil || len(prof.Sample) != 3*n || prof.Sample[3*n-1].Label["snapshot"][0] != "3" {
		t.Errorf("got %v, %v", prof, err)
	}
	if err := drawPicture(cmd, c.picture, "speedscope", nil); err != nil || strings.Count(out.String(), `"type":"sampled"`) != 3 {
		t.Errorf("got %s, %v; want 3 profiles", out.String(), err)
	}
}

// The page of goroutines shows the one on the thread that crashed, and what several wait for.
func TestPictureOfGoroutines(t *testing.T) {
	for _, name := range []string{"amd64", "aarch64"} {
		dir := filepath.Join(goroutinesDir, name)
		page, _, _ := sfcore("goroutines", "--format", "html", filepath.Join(dir, "core.zst"), filepath.Join(dir, "exe", "goroutines"))
		for _, want := range []string{"Stack of goroutine 1 “runtime.main”, which crashed", ">Crashed goroutine<", "What goroutines wait for", "goroutines (", "wait for the channel at"} {
			if !strings.Contains(page, want) {
				t.Errorf("%s: %d bytes without %q", name, len(page), want)
			}
		}
	}
}

// What no longer fits into a picture is left out, with a message, and exit status 1.
func TestPictureIsFull(t *testing.T) {
	c, cmd := picture.New(picture.Threads, false), newBtCommand()
	_ = c.Add(&picture.Thread{ID: 1})
	c.EndSnapshot(&report.Document{}, nil, nil)
	var out, errs bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&errs)
	err := drawPicture(cmd, c, "pprof", picture.ErrTooMuch)
	if !errors.As(err, new(incompleteError)) || !strings.Contains(errs.String(), "the picture is full") || out.Len() == 0 {
		t.Errorf("got %v, %q, %d bytes", err, errs.String(), out.Len())
	}
	out.Reset()
	if failed := errors.New("failed"); !errors.Is(drawPicture(cmd, c, "pprof", failed), failed) || out.Len() > 0 {
		t.Errorf("got %d bytes after an error", out.Len())
	}
}

// The profile of a few cores is what it was when somebody looked at it.
func TestPprofGolden(t *testing.T) {
	for name, args := range map[string][]string{
		"threads":    append([]string{"bt"}, caseArgs(t, "amd64-v2-threads")...),
		"incomplete": append([]string{"bt", "--unwind", "fp", "--max-frames", "3", "--redact"}, caseArgs(t, "amd64-v2-threads")...),
		"go":         append([]string{"bt"}, goCase("mixed/amd64-go126")...),
		"goroutines": append([]string{"goroutines"}, goCase("mixed/amd64-go126")...),
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, _ := sfcore(append(args, "--format", "pprof")...)
			p, err := profile.Parse(strings.NewReader(stdout))
			if err != nil {
				t.Fatal(err, stderr)
			}
			testkit.Golden(t, filepath.Join("testdata", "pprof-"+name+".golden"), []byte(p.String()))
			again := bytes.Buffer{}
			if err := p.Write(&again); err != nil {
				t.Error(err)
			}
		})
	}
}

// What a picture cannot have is refused.
func TestPictureFlags(t *testing.T) {
	core := filepath.Join(coresDir, "amd64-v3-deep", "core.zst")
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"group", []string{"bt", "--group", "--format", "pprof"}, "--group cannot be combined with --format pprof"},
		{"locals", []string{"bt", "--locals", "--format", "speedscope"}, "--locals cannot be combined with --format speedscope"},
		{"redact", []string{"bt", "--redact"}, "--redact needs --format html, pprof, speedscope"},
		{"goroutines", []string{"goroutines", "--redact", "--format", "json"}, "--redact needs --format"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stdout, stderr, code := sfcore(append(tt.args, core)...)
			if code != exitFailed || stdout != "" || !strings.Contains(stderr, tt.want) {
				t.Errorf("got exit status %d, %q, %q; want %q", code, stdout, stderr, tt.want)
			}
		})
	}
}
