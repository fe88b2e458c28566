package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"

	"github.com/klauspost/compress/zstd"
)

// cutCore returns a file with a core of the corpus but for its last bytes.
func cutCore(t *testing.T, name string, missing int) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(coresDir, name, "core.zst"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if data, err = d.DecodeAll(data, nil); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "core")
	if err := os.WriteFile(file, data[:len(data)-missing], 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// A core that is cut off says how much is missing, of what and of whom; the
// threads whose stacks are there are shown in full.
func TestTruncatedCore(t *testing.T) {
	const name = "amd64-v3-threads"
	args := caseArgs(t, name)
	args = args[:len(args)-1]
	stacks := func(file string) (r report.Document, code int) {
		stdout, stderr, code := sfcore(append(append([]string{"bt", "--format", "json"}, args...), file)...)
		if err := json.Unmarshal([]byte(stdout), &r); err != nil {
			t.Fatalf("%v: %s", err, stderr)
		}
		return r, code
	}
	undamaged, code := stacks(filepath.Join(coresDir, name, "core.zst"))
	if code != exitComplete || undamaged.Source.Truncated != nil {
		t.Fatalf("got exit code %d, %+v of the undamaged core", code, undamaged.Source.Truncated)
	}

	const missing = 200_000
	file := cutCore(t, name, missing)
	r, code := stacks(file)
	lost := r.Source.Truncated
	if code != exitIncomplete || r.Source.Missing != missing || lost == nil {
		t.Fatalf("got exit code %d, %d bytes missing, %+v", code, r.Source.Missing, lost)
	}
	if len(lost.Mappings) == 0 || len(lost.Mappings) != lost.MappingCount || len(lost.Threads) == 0 || len(lost.Threads) == len(r.Threads) {
		t.Errorf("got %d mappings (%d), threads %v of %d", len(lost.Mappings), lost.MappingCount, lost.Threads, len(r.Threads))
	}
	if len(r.Threads) != len(undamaged.Threads) {
		t.Errorf("got %d threads, want %d", len(r.Threads), len(undamaged.Threads))
	}
	for i := range r.Threads {
		got, want := &r.Threads[i], &undamaged.Threads[i]
		same := slices.EqualFunc(got.Frames, want.Frames, func(a, b report.Frame) bool {
			return a.PC == b.PC && a.Trust == b.Trust && a.Function == b.Function
		})
		if affected := slices.Contains(lost.Threads, got.TID); affected == (same && got.Stop.Reason == unwind.Outermost) {
			t.Errorf("thread %d: affected %v, but the stack is the same: %v, stop %+v", got.TID, affected, same, got.Stop)
		}
	}

	summary := fmt.Sprintf("the core file is truncated: it lacks %d bytes, with memory of %d mappings and of the stacks of %d threads\n",
		missing, lost.MappingCount, len(lost.Threads))
	for _, command := range []string{"bt", "info"} {
		stdout, stderr, code := sfcore(append(append([]string{command}, args...), file)...)
		if code != exitIncomplete || !strings.Contains(stdout, summary) || !strings.Contains(stderr, "truncated") {
			t.Errorf("%s: got exit code %d, %s%s", command, code, stdout[:min(len(stdout), 400)], stderr)
		}
		if command == "info" && (strings.Count(stdout, "\ntruncated: 0x") != lost.MappingCount ||
			!strings.Contains(stdout, fmt.Sprintf("threads with truncated stacks: %d", lost.Threads[0]))) {
			t.Errorf("info does not list what is lost: %s", stdout)
		}
	}
}
