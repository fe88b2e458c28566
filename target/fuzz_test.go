package target_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/target"
)

// FuzzReport opens any bytes as a core and makes the whole report of it, with
// the files of a core of the corpus. A report says the same after it went
// through JSON, its stacks hold together, and the same core gives it again.
func FuzzReport(f *testing.F) {
	const name = "amd64-v3-deep"
	packed, err := os.ReadFile(filepath.Join(coresDir, name, "core.zst"))
	if err != nil {
		f.Fatal(err)
	}
	d, err := zstd.NewReader(nil)
	if err != nil {
		f.Fatal(err)
	}
	defer d.Close()
	seed, err := d.DecodeAll(packed, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed, uint32(0), uint64(0))
	f.Add(seed[:len(seed)/2], uint32(0), uint64(0))
	f.Add(seed, uint32(32), ^uint64(0))
	f.Add(seed, uint32(len(seed)-4000), uint64(0x4141414141414141))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte, at uint32, flip uint64) {
		if len(data) > 2*len(seed) {
			return
		}
		data = bytes.Clone(data)
		for i := range min(8, max(0, len(data)-int(at))) {
			data[int(at)+i] ^= byte(flip >> (8 * i))
		}
		file := filepath.Join(dir, "core")
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		first := fuzzReport(t, file, filepath.Join(coresDir, name, "exe"))
		if first == nil {
			return
		}
		var back target.Report
		if err := json.Unmarshal(first, &back); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(&back)
		if err != nil {
			t.Fatal(err)
		}
		// Bytes that are no UTF-8 are escaped once, and a character from then on.
		plain := func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(`\ufffd`), []byte("\ufffd")) }
		if !bytes.Equal(plain(first), plain(again)) {
			t.Errorf("the report differs after it went through JSON:\n%s\n%s", first, again)
		}
		if second := fuzzReport(t, file, filepath.Join(coresDir, name, "exe")); !bytes.Equal(first, second) {
			t.Errorf("two reports of one core differ:\n%s\n%s", first, second)
		}
	})
}

// fuzzReport returns the report of a core as JSON, nil if it cannot be opened.
func fuzzReport(t *testing.T, file, exe string) []byte {
	t.Helper()
	img, err := core.Open(context.Background(), file, core.Options{MaxDecompressed: 1 << 24})
	if err != nil {
		return nil
	}
	tg := target.New(img, target.Options{Paths: []string{exe}, Sysroot: exe})
	defer tg.Close()
	r, err := tg.Report(context.Background(), tg.Threads())
	if err != nil {
		t.Fatal(err)
	}
	order := map[string]int{"guess": 1, "checked": 2, "full": 3}
	for i := range r.Threads {
		th := &r.Threads[i]
		if th.Stop.Reason == "" || th.Frames == nil {
			t.Errorf("thread %d: %+v", th.TID, th)
		}
		trust := "full"
		for n := range th.Frames {
			fr := &th.Frames[n]
			if fr.Index != n || order[fr.Trust] == 0 || order[fr.Trust] > order[trust] {
				t.Errorf("thread %d frame %d: index %d, trust %q after %q", th.TID, n, fr.Index, fr.Trust, trust)
			}
			trust = fr.Trust
		}
	}
	doc, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}
