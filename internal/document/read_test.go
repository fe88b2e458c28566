package document

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/report"
)

// example is a report with all parts.
func example() *report.Document {
	return &report.Document{
		Schema: report.Schema, Source: report.Source{Kind: "crash"}, Process: report.Process{PID: 7, Arch: "amd64"},
		Threads: []report.Thread{
			{TID: 7, Crashed: true, Frames: []report.Frame{{PC: 1, Function: "inner"}, {Index: 1, PC: 2, Function: "outer"}}},
			{TID: 8, Frames: []report.Frame{}},
		},
		Waiting: report.Waiting{Waits: []report.Wait{{Kind: report.WaitMutex, Threads: []int{8}, Address: 16}}},
		Modules: []report.Module{{Path: "/bin/program", BuildID: "ab"}}, Problems: []string{"a problem"},
	}
}

// lines writes a report as lines.
func lines(r *report.Document) string {
	b := HeadLine(r)
	for i := range r.Threads {
		b = AppendThreadLine(b, &Thread{Thread: &r.Threads[i]})
	}
	return string(append(b, TailLine(r)...))
}

// whole writes a report as one document.
func whole(r *report.Document) string {
	b := Head(r)
	for i := range r.Threads {
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendThread(b, &Thread{Thread: &r.Threads[i]})
	}
	return string(append(b, Tail(r)...))
}

// read reads a file with a text.
func read(t *testing.T, text string) ([]*report.Document, error) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "report")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Read(name, NewBudget())
}

func compress(t *testing.T, text string) string {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(w.EncodeAll([]byte(text), nil))
}

// What is written is read again, in every form.
func TestRead(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		reports    int
	}{
		{"document", whole(example()), 1},
		{"lines", lines(example()), 1},
		{"compressed lines", compress(t, lines(example())), 1},
		{"several", lines(example()) + whole(example()) + lines(example()), 3},
		{"not JSON", "core", 0},
		{"compressed, not JSON", compress(t, elfx.Magic), 0},
		{"damaged zstd", compress(t, lines(example()))[:8], 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			docs, err := read(t, tt.text)
			if err != nil || len(docs) != tt.reports {
				t.Fatalf("got %d reports, %v, want %d", len(docs), err, tt.reports)
			}
			for i, d := range docs {
				if !reflect.DeepEqual(d, example()) {
					t.Errorf("report %d: got %+v, want %+v", i, d, example())
				}
			}
		})
	}
}

// Of a report of lines that ends early, what is there is returned, and that it is not
// all.
func TestReadCut(t *testing.T) {
	text := lines(example())
	all := strings.SplitAfter(text, "\n")
	for n := len(all[0]); n < len(text); n++ {
		docs, err := read(t, text[:n])
		if n == len(text)-1 { // only the newline is missing
			if err != nil || len(docs) != 1 || len(docs[0].Problems) != 1 {
				t.Errorf("without the last newline: got %+v, %v", docs, err)
			}
			continue
		}
		if err != nil || len(docs) != 1 {
			t.Fatalf("%d bytes: got %d reports, %v", n, len(docs), err)
		}
		if p := docs[0].Problems; len(p) != 1 || !strings.Contains(p[0], "cut off") {
			t.Errorf("%d bytes: got the problems %q", n, p)
		}
		want := 0
		for at, line := range all[1:3] {
			if n >= len(strings.Join(all[:at+1], ""))+len(line)-1 {
				want++
			}
		}
		if got := len(docs[0].Threads); got != want {
			t.Errorf("%d bytes: got %d threads, want %d", n, got, want)
		}
	}
	if docs, err := read(t, text+lines(example())[:len(all[0])+3]); err != nil || len(docs) != 2 || len(docs[0].Problems) != 1 || docs[0].Problems[0] != "a problem" {
		t.Errorf("a whole one, then a cut one: got %d reports, %v", len(docs), err)
	}
}

// Beyond what is allowed nothing is read. What comes before is returned, and that it is
// not all.
func TestReadBounds(t *testing.T) {
	size := int64(len(lines(example())))
	thread := `{"frames":[{}` + strings.Repeat(",{}", 99999)
	empty := `{"schema":"` + report.Schema + `","threads":[` + thread
	for _, tt := range []struct {
		name, text string
		left       Budget
		reports    int
		threads    int // of the last report
		err        string
	}{
		{"lines", lines(example()), Budget{bytes: size - 2, values: 1000, inflated: size}, 1, 2, "the reports have more than 1.0 GiB"},
		{"compressed lines", compress(t, lines(example())), Budget{bytes: size - 2, values: 1000, inflated: size}, 1, 2, "the reports have more than 1.0 GiB"},
		{"inflated", compress(t, strings.Repeat(whole(example()), 5000)), Budget{bytes: MaxSize, values: 1e6, inflated: size * 100}, -1, 2, "times what they have when compressed"},
		{"many reports", lines(example()) + strings.Repeat(whole(example()), 1000), Budget{bytes: MaxSize, values: 1000}, -1, 2, "too many threads, frames"},
		{"within a thread", empty + "]}", Budget{bytes: MaxSize, values: 50000}, 1, 0, "too many"},
		{"threads with one stack", `{"schema":"` + report.Schema + `","threads":[` + thread + `],"tids":[1` + strings.Repeat(",2", 100) + "]}]}", Budget{bytes: MaxSize, values: 1e6}, 1, maxShared / 100_000, "too many threads with the same stacks"},
		{"behind a thread", empty + "]}," + thread + "]}]}", Budget{bytes: MaxSize, values: 150000}, 1, 1, "too many"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "report")
			if err := os.WriteFile(name, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			tt.left.values -= int64(len(tt.text) / bytesPerValue)
			docs, err := Read(name, &tt.left)
			if !errors.Is(err, ErrBound) || !strings.Contains(err.Error(), tt.err) {
				t.Fatalf("got %d reports, %v; want %q", len(docs), err, tt.err)
			}
			if len(docs) != tt.reports && (tt.reports >= 0 || len(docs) < 2) {
				t.Fatalf("got %d reports, want %d", len(docs), tt.reports)
			}
			last := docs[len(docs)-1]
			if n := len(last.Problems); n == 0 || !strings.Contains(last.Problems[n-1], "the rest is not read") {
				t.Errorf("got the problems %q", last.Problems)
			}
			if len(last.Threads) > tt.threads {
				t.Errorf("got %d threads, want %d", len(last.Threads), tt.threads)
			}
		})
	}
}
