//go:build unix

package process_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/process"
)

// A core that is still being written is the part of it that was there when it
// was opened, told as truncated, whatever comes later.
func TestGrowingCore(t *testing.T) {
	const name = "amd64-v3-threads"
	dir := copyCase(t, name)
	whole, err := os.ReadFile(filepath.Join(dir, "core"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "core")
	report := func(size int, grow bool) []byte {
		if err := os.WriteFile(file, whole[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		img, err := core.Open(context.Background(), file, core.Options{})
		if err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		tg := process.New(img, process.Options{Paths: []string{filepath.Join(dir, "exe")}})
		defer tg.Close()
		if grow {
			out, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			if _, err := out.Write(whole[size:]); err != nil {
				t.Fatal(err)
			}
		}
		if (img.Truncated == nil) != (size == len(whole)) {
			t.Errorf("%d bytes: truncated: %+v", size, img.Truncated)
		}
		r, err := tg.Report(context.Background(), tg.Threads())
		if err != nil || len(r.Threads) == 0 {
			t.Fatalf("%d bytes: %d threads, %v", size, len(r.Threads), err)
		}
		doc, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return doc
	}
	reports := map[string]bool{}
	for i := 1; i <= 8; i++ {
		for _, odd := range []int{0, 100} { // within a page, which is mapped whole
			size := min(len(whole)*i/8&^0xfff+odd, len(whole))
			still := report(size, false)
			if growing := report(size, true); !bytes.Equal(still, growing) {
				t.Errorf("%d bytes: got, while the file grew\n%s\nwant\n%s", size, growing, still)
			}
			reports[string(still)] = true
		}
	}
	if len(reports) < 3 {
		t.Errorf("%d different reports: the sizes do not test anything", len(reports))
	}
}
