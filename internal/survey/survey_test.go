package survey

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sfcore/sfcore/internal/artifact"
	"github.com/sfcore/sfcore/internal/testkit"
)

const objects = "../../testdata/objects"

func sources(t *testing.T) []artifact.Source {
	t.Helper()
	found, err := artifact.Find(t.Context(), objects, func(err error) { t.Error(err) })
	if err != nil || len(found) < 50 {
		t.Fatalf("got %d files, %v", len(found), err)
	}
	for i := range found {
		found[i].Modified = 1 // does not depend on the checkout
	}
	return found
}

// owner takes the directory for the package.
func owner(s *artifact.Source) string { return filepath.Dir(s.Name) }

func measured(t *testing.T) *Survey {
	t.Helper()
	r := Run{Each: artifact.Each, Owner: owner, Workers: 4}
	s, err := r.Measure(t.Context(), sources(t))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestFormats(t *testing.T) {
	s := measured(t)
	for name, write := range Formats {
		var out bytes.Buffer
		if err := write(s, &out); err != nil {
			t.Fatal(err)
		}
		testkit.Golden(t, "testdata/objects."+name, out.Bytes())
		switch name {
		case "csv":
			if rows, err := csv.NewReader(&out).ReadAll(); err != nil || len(rows) != len(s.Rows)+1 {
				t.Errorf("got %d lines, %v, want %d", len(rows), err, len(s.Rows)+1)
			}
		case "json":
			again, err := Read(out.Bytes())
			if err != nil || !reflect.DeepEqual(again, s) {
				t.Errorf("got another survey from its JSON, %v", err)
			}
		}
	}
	if s.Total.Files != len(s.Rows) || s.Total.Errors == 0 || s.Versions["3"] == 0 || s.Findings["tables-unmerged"] == 0 {
		t.Errorf("got %+v, %v, %v", s.Total, s.Versions, s.Findings)
	}
}

// Names are quoted in each format.
func TestFormatsQuote(t *testing.T) {
	s := New([]Row{{Package: "=1+1", File: "<b>\x1b\",\n", Counts: Counts{Files: 1, WithSFrame: 1, Code: 10, SFrame: 5, CFI: 10, Both: 5, SFrameBytes: 3, CFIBytes: 4}}}, 0, nil)
	for name, write := range Formats {
		var out strings.Builder
		if err := write(s, &out); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), "\x1b") || name == "html" && strings.Contains(out.String(), "<b>") || name == "csv" && !strings.Contains(out.String(), "\n'=1+1,") {
			t.Errorf("%s: got %q", name, out.String())
		}
	}
}

// A survey that was interrupted, and whose journal was cut off, goes on where it was and
// has the same outcome. A file that has changed is read again.
func TestJournal(t *testing.T) {
	want, list, file := measured(t), sources(t), filepath.Join(t.TempDir(), "journal")
	var read atomic.Int32
	each := func(s *artifact.Source, do func(artifact.File) error) error {
		read.Add(1)
		return artifact.Each(s, do)
	}
	run := func(ctx context.Context, r Run) (*Survey, error) {
		j, err := OpenJournal(file)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = j.Close() }()
		r.Owner, r.Journal, r.Workers = owner, j, 2
		return r.Measure(ctx, list)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	_, err := run(ctx, Run{Each: each, Progress: func(done int, _ string) {
		if done == 20 {
			cancel(stop)
		}
	}})
	if !errors.Is(err, stop) {
		t.Fatalf("got %v, want %v", err, stop)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text[:len(text)-9], 0o600); err != nil {
		t.Fatal(err)
	}
	first := read.Swap(0)
	got, err := run(t.Context(), Run{Each: each})
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got another survey, %v", err)
	}
	if n := int(read.Swap(0)); n < len(list)-int(first) || n > len(list)-15 {
		t.Errorf("%d of %d files were read again after %d", n, len(list), first)
	}
	list[3].Size++
	if _, err = run(t.Context(), Run{Each: each}); err != nil || read.Load() != 1 {
		t.Errorf("got %v, and %d files were read again, want 1", err, read.Load())
	}
	impossible, err := json.Marshal(Entry{Rows: []Row{{File: "x", Counts: Counts{Files: 1, WithSFrame: 1, SFrame: 9, CFI: 1, Both: 5}}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{"text\n", "another file, which is longer than the first line of a journal", journalSchema + "\n{\n", journalSchema + "\n" + string(impossible) + "\n"} {
		if err := os.WriteFile(file, []byte(other), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenJournal(file); err == nil {
			t.Errorf("%q is taken for a journal", other)
		}
		if left, err := os.ReadFile(file); err != nil || string(left) != other {
			t.Errorf("%q was changed to %q, %v", other, left, err)
		}
	}
}

// Files of the same name in two root file systems stay in the order of these, whichever
// is done first.
func TestSameNames(t *testing.T) {
	list := []artifact.Source{{Path: objects + "/amd64-v3/linked-exec.elf", Name: "x"}, {Path: objects + "/amd64-v3/linked-plt.elf", Name: "x"}}
	second := make(chan struct{})
	r := Run{Workers: 2, Owner: func(*artifact.Source) string { return "" }}
	r.Each = func(s *artifact.Source, do func(artifact.File) error) error {
		if s.Path == list[0].Path {
			<-second
		}
		return artifact.Each(s, do)
	}
	r.Progress = func(_ int, last string) {
		if last == list[1].Path {
			close(second)
		}
	}
	s, err := r.Measure(t.Context(), list)
	if err != nil || len(s.Rows) != 2 || s.Rows[0].Code != 65 || s.Rows[1].Code != 130 {
		t.Errorf("got %+v, %v, want 65 bytes of code, then 130", s, err)
	}
}

func TestCompare(t *testing.T) {
	row := func(pkg, file string, sf uint64, findings map[string]int) Row {
		r := Row{Package: pkg, File: file, Findings: findings, Counts: Counts{Files: 1, Code: 100, CFI: 100, SFrame: sf, Both: sf}}
		for _, n := range findings {
			r.Errors += n
		}
		return r
	}
	before := New([]Row{row("a", "x", 50, map[string]int{"wrong-rule": 2}), row("b", "y", 50, nil), row("same", "w", 1, nil)}, 0, nil)
	after := New([]Row{row("a", "x", 90, map[string]int{"wrong-rule": 1, "unsorted": 1}), row("c", "z", 50, nil), row("same", "w", 1, nil)}, 0, nil)
	d := Compare(before, after)
	var out strings.Builder
	if err := d.Write(&out); err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "testdata/difference.txt", []byte(out.String()))
	if len(d.Changed) != 3 || len(d.New) != 1 || len(d.Gone) != 1 {
		t.Errorf("got %+v", d)
	}
	if text, err := json.Marshal(d); err != nil || !json.Valid(text) {
		t.Error(err)
	}
}

func TestOwners(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "var/lib/dpkg/info")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "libc6:amd64.list"), []byte("/.\n/lib\n/lib/libc.so.6\n/usr/share/x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := FindOwners(root)
	for path, want := range map[string]string{"lib/libc.so.6": "libc6", "usr/lib/libc.so.6": "libc6", "usr/share/x": "libc6", "usr/x": ""} {
		if o[path] != want {
			t.Errorf("%s: got %q, want %q", path, o[path], want)
		}
	}
}

// A survey whose counts cannot be true is refused, as is one with more in memory than in
// the file. The counts are what plots are drawn by.
func TestReadRefuses(t *testing.T) {
	row := `{"file":"f","files":1,"codeBytes":9,"codeInSFrame":8,"codeInCFI":8,"codeInBoth":8,"filesWithSFrame":1}`
	doc := func(rows string) string { return `{"schema":"` + Schema + `","files":[` + rows + `]}` }
	if s, err := Read([]byte(doc(row))); err != nil || s.Total.Code != 9 {
		t.Fatalf("got %v, %v", s, err)
	}
	for name, rows := range map[string]string{
		"both":     strings.Replace(row, `"codeInBoth":8`, `"codeInBoth":9`, 1),
		"large":    strings.Replace(row, `"codeBytes":9`, `"codeBytes":18446744073709551615`, 1),
		"negative": strings.Replace(row, `"files":1`, `"files":-1`, 1),
		"rows":     "{}" + strings.Repeat(",{}", maxObjects),
		"values":   `{"versions":[""` + strings.Repeat(`,""`, maxElements) + `]}`,
	} {
		if s, err := Read([]byte(doc(rows))); err == nil {
			t.Errorf("%s: got %+v, want an error", name, s.Total)
		}
	}
}

// A list that is a pipe is not waited for.
func TestOwnersOfPipes(t *testing.T) {
	root := t.TempDir()
	info := filepath.Join(root, "var/lib/dpkg/info")
	if err := os.MkdirAll(filepath.Join(info, "a.list"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(info, "b:amd64.list"), []byte("/lib/x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfifo", filepath.Join(info, "c.list")).CombinedOutput(); err != nil {
		t.Skipf("%v: %s", err, out)
	}
	if o := FindOwners(root); o["usr/lib/x"] != "b" || len(o) != 2 {
		t.Errorf("got %v", o)
	}
}
