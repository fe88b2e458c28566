package crash

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/document"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/report/signature"
)

var nothingBeside = &steps{leave: func() []string { return nil }}

const coresDir = "../../testdata/cores"

// What a reader writes of every core is what the process's report says, with the
// signature of its crash.
func TestWriteReport(t *testing.T) {
	testkit.EachCase(t, coresDir, func(t *testing.T, name string) {
		img, err := core.Open(t.Context(), filepath.Join(coresDir, name, "core.zst"), core.Options{})
		if err != nil {
			t.Fatal(err)
		}
		p := process.New(img, process.Options{Methods: process.Methods(), Paths: []string{filepath.Join(coresDir, name)}, Context: t.Context()})
		defer p.Close()
		var out bytes.Buffer
		if err := writeReportWith(t.Context(), &out, p, maxKeptFrames, nothingBeside); err != nil {
			t.Fatal(err)
		}
		var named known
		lines, o := bufio.NewReader(&out), new(outline)
		if err := errors.Join(readLine(lines, o), readLine(lines, &named)); err != nil {
			t.Fatal(err)
		}
		sig := named.Signature
		if sig == nil {
			sig = new(signature.Signature)
		}
		want, err := p.Report(t.Context(), p.Threads())
		if err != nil {
			t.Fatal(err)
		}
		if o.Threads != len(want.Threads) || o.Program != img.Executable || o.Signal != signalName(want) {
			t.Errorf("got %+v", o)
		}
		if s, err := signature.Of(want, signature.Default()); err == nil && (s.Address != o.Kind || s.Address != sig.Address || s.Fine != sig.Fine || s.Title != sig.Title) {
			t.Errorf("got the kind %s and the signature %+v, want %+v", o.Kind, sig, s)
		} else if err != nil && (o.Kind != "" || sig.Schema != "") {
			t.Errorf("got the kind %q and the signature %+v without a crash", o.Kind, sig)
		}
		build := ""
		for i := range want.Modules {
			if want.Modules[i].Path == img.Executable {
				build = want.Modules[i].BuildID
			}
		}
		if named.Build != build {
			t.Errorf("got the build-id %q of %s, want %q", named.Build, img.Executable, build)
		}
		file := filepath.Join(t.TempDir(), "report")
		text, err := readAll(lines)
		if err := errors.Join(err, os.WriteFile(file, text, 0o600)); err != nil {
			t.Fatal(err)
		}
		got, err := document.ReadOne(file)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got.Threads {
			for j := range got.Threads[i].Frames {
				want.Threads[i].Frames[j].ModuleName = got.Threads[i].Frames[j].ModuleName // which is not in JSON
			}
		}
		if a, b := asJSON(t, got), asJSON(t, want); a != b {
			t.Errorf("got another report:\n%.2000s\nwant\n%.2000s", a, b)
		}
	})
}

func signalName(r *report.Document) string {
	if r.Process.Signal == nil {
		return ""
	}
	return r.Process.Signal.Name
}

func readAll(in *bufio.Reader) ([]byte, error) {
	var b bytes.Buffer
	_, err := b.ReadFrom(in)
	return b.Bytes(), err
}

func asJSON(t *testing.T, r *report.Document) string {
	t.Helper()
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Stacks that are too long to be kept are named at once, and are in their place.
func TestWriteReportLong(t *testing.T) {
	long := map[bool]string{}
	for _, all := range []bool{false, true} {
		p := openThreads(t)
		var out bytes.Buffer
		most := maxKeptFrames
		if all {
			most = 3
		}
		if err := writeReportWith(t.Context(), &out, p, most, nothingBeside); err != nil {
			t.Fatal(err)
		}
		_, long[all], _ = strings.Cut(out.String(), `{"schema":"sfcore.report/1"`)
		p.Close()
	}
	if long[true] != long[false] || len(long[true]) < 1000 {
		t.Errorf("got other reports:\n%.2000s\nwant\n%.2000s", long[true], long[false])
	}
}

func openThreads(t *testing.T) *process.Process {
	t.Helper()
	const name = "amd64-v2-threads"
	img, err := core.Open(t.Context(), filepath.Join(coresDir, name, "core.zst"), core.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return process.New(img, process.Options{Methods: process.Methods(), Paths: []string{filepath.Join(coresDir, name)}, Context: t.Context()})
}

// A process that is not being dumped is not read.
func TestReaderAnother(t *testing.T) {
	r := &Reader{PID: os.Getpid()}
	var out bytes.Buffer
	if err := r.Read(t.Context(), &out); !errors.Is(err, core.ErrAnother) || out.Len() > 0 {
		t.Errorf("got %q, %v, want %v", out.String(), err, core.ErrAnother)
	}
}
