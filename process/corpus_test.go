package process_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/report"

	"github.com/klauspost/compress/zstd"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/unwind"
)

const coresDir = "../testdata/cores"

// expected is expected.json of a case: see testdata/cores/README.md.
type expected struct {
	Status        string `json:"status"`
	TrustedFrames *int   `json:"trusted_frames"`
	Tables        *bool  `json:"tables"` // false: the program has none
	Threads       []struct {
		TID       int             `json:"tid"`
		Truncated bool            `json:"truncated"`
		Frames    []expectedFrame `json:"frames"`
	} `json:"threads"`
}

type expectedFrame struct {
	PC        report.Addr `json:"pc"`
	Func      *string     `json:"func"`
	Demangled string      `json:"demangled"`
	EuFunc    *string     `json:"eu_func"`
	Module    *string     `json:"module"`
	Type      string      `json:"type"`
	SFrame    *bool       `json:"sframe"`
}

// tables reports whether the program has unwind tables.
func (e *expected) tables() bool { return e.Tables == nil || *e.Tables }

func openCase(t testing.TB, name string, opts process.Options) *process.Process {
	t.Helper()
	dir := filepath.Join(coresDir, name)
	img, err := core.Open(context.Background(), filepath.Join(dir, "core.zst"), core.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return openImage(t, name, img, opts)
}

// openImage opens an image of a case's process.
func openImage(t testing.TB, name string, img *core.Image, opts process.Options) *process.Process {
	t.Helper()
	dir := filepath.Join(coresDir, name)
	for _, sub := range []string{"exe", "debug"} {
		if _, err := os.Stat(filepath.Join(dir, sub)); err == nil {
			opts.Paths = append(opts.Paths, filepath.Join(dir, sub))
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "sysroot")); err == nil {
		opts.Sysroot = filepath.Join(dir, "sysroot")
	}
	tg := process.New(img, opts)
	t.Cleanup(func() { tg.Close() })
	return tg
}

// copyCase copies a case, with its core decompressed, so that the core is
// mapped and not read.
func copyCase(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(coresDir, name))); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "core.zst"))
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
	if err := os.WriteFile(filepath.Join(dir, "core"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// cases calls test for every core in testdata/cores.
func cases(t *testing.T, test func(t *testing.T, name string, want *expected)) {
	t.Helper()
	testkit.EachCase(t, coresDir, func(t *testing.T, name string) {
		data, err := os.ReadFile(filepath.Join(coresDir, name, "expected.json"))
		if err != nil {
			t.Fatal(err)
		}
		var want expected
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		test(t, name, &want)
	})
}

// Every thread of every core has the frames that other unwinders found, which
// do not read .sframe; those that .sframe covers are found by it.
func TestCorpus(t *testing.T) {
	cases(t, func(t *testing.T, name string, want *expected) {
		tg := openCase(t, name, process.Options{})
		for i := range want.Threads {
			th := &want.Threads[i]
			s, err := tg.Stack(th.TID)
			if err != nil {
				t.Error(err)
				continue
			}
			frames, whole := th.Frames, want.Status == "" && !th.Truncated
			if !whole {
				frames = certain(frames, want.TrustedFrames)
			}
			if len(s.Frames) < len(frames) || whole && (len(s.Frames) != len(frames) || s.Complete() != want.tables() || !s.Stop.Complete()) {
				t.Errorf("thread %d: got %d frames, stop %v (%v), want %d", th.TID, len(s.Frames), s.Stop.Reason, s.Stop.Detail, len(frames))
			}
			for n := range min(len(frames), len(s.Frames)) {
				checkFrame(t, tg, s, n, frames)
			}
			if want.TrustedFrames != nil {
				checkDamage(t, s, len(frames))
			}
		}
	})
}

// certain returns the frames of a damaged stack that are known to be right.
func certain(frames []expectedFrame, trusted *int) []expectedFrame {
	n := 0
	for n < len(frames) && frames[n].Module != nil {
		n++
	}
	if trusted != nil {
		n = min(*trusted, len(frames))
	}
	return frames[:n]
}

func checkFrame(t *testing.T, tg *process.Process, s *process.Stack, n int, want []expectedFrame) {
	t.Helper()
	f := &s.Frames[n]
	if f.PC != uint64(want[n].PC) {
		t.Fatalf("thread %d frame %d: got pc %#x, want %#x", s.Thread.ID, n, f.PC, uint64(want[n].PC))
	}
	if n > 0 {
		below, method := &want[n-1], unwind.SFrame
		if a := tg.Image().Arch; !known(&s.Frames[n-1], a.SP) {
			method = unwind.FramePointer // the row cannot be applied
		}
		if below.SFrame != nil && *below.SFrame && below.Type != "sigtramp" && f.Method != method {
			t.Errorf("thread %d frame %d: got method %v, want %v: .sframe covers the frame below", s.Thread.ID, n, f.Method, method)
		}
	}
	if f.Signal != (want[n].Type == "sigtramp") {
		t.Errorf("thread %d frame %d: got signal frame %v", s.Thread.ID, n, f.Signal)
	}
	if want[n].Func == nil {
		return
	}
	got, _ := tg.SymbolAt(f.LookupPC())
	if !want[n].named(got) {
		t.Errorf("thread %d frame %d: got name %q, want %q %s", s.Thread.ID, n, got, *want[n].Func, want[n].Demangled)
	}
}

func known(f *unwind.Frame, reg arch.Reg) bool {
	_, ok := f.Regs.Get(reg)
	return ok
}

// checkDamage checks that nothing beyond the certain frames is fully trusted,
// and that the stack does not pass for complete.
func checkDamage(t *testing.T, s *process.Stack, certain int) {
	t.Helper()
	for n := certain; n < len(s.Frames); n++ {
		if s.Frames[n].Trust == unwind.Full {
			t.Errorf("thread %d frame %d is beyond the damage and fully trusted", s.Thread.ID, n)
		}
	}
	if s.Complete() {
		t.Errorf("thread %d: a damaged stack passes for complete", s.Thread.ID)
	}
}

// Without .sframe the same frames are found by call frame information, but
// for those that it does not cover.
func TestCorpusByCFI(t *testing.T) {
	cases(t, func(t *testing.T, name string, want *expected) {
		if !want.tables() {
			t.Skip("there is no call frame information")
		}
		tg := openCase(t, name, process.Options{Methods: []string{"cfi"}})
		for i := range want.Threads {
			th := &want.Threads[i]
			s, err := tg.Stack(th.TID)
			if err != nil {
				t.Fatal(err)
			}
			frames := th.Frames
			if want.Status != "" || th.Truncated {
				frames = certain(frames, want.TrustedFrames)
			}
			for n := range min(len(frames), len(s.Frames)) {
				if s.Frames[n].PC != uint64(frames[n].PC) {
					t.Errorf("thread %d frame %d: got pc %#x, want %#x", th.TID, n, s.Frames[n].PC, uint64(frames[n].PC))
				}
			}
			if len(s.Frames) < len(frames) {
				t.Errorf("thread %d: got %d frames, stop %v (%v), want %d", th.TID, len(s.Frames), s.Stop.Reason, s.Stop.Detail, len(frames))
			}
		}
	})
}

// Without its files a core still shows its threads, their first frame and the
// modules, and does not pass for complete.
func TestMissingFiles(t *testing.T) {
	img, err := core.Open(context.Background(), filepath.Join(coresDir, "amd64-v3-libcdyn-1", "core.zst"), core.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tg := process.New(img, process.Options{Sysroot: t.TempDir()})
	defer tg.Close()
	r, err := tg.Report(context.Background(), tg.Threads())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Threads) != 1 || len(r.Threads[0].Frames) == 0 || r.Threads[0].Stop.Reason == unwind.Outermost {
		t.Errorf("got %+v", r.Threads)
	}
	missing := 0
	for _, m := range r.Modules {
		if m.Match == report.MatchMissing && m.BuildID != "" {
			missing++
		}
	}
	if missing != 3 {
		t.Errorf("got %d missing modules with build-id, want 3: %+v", missing, r.Modules)
	}
}

// A file of the right name and the wrong build is not used.
func TestWrongFile(t *testing.T) {
	dir := t.TempDir()
	wrong, err := os.ReadFile(filepath.Join(coresDir, "amd64-v2-deep", "exe", "deep"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "deep"), wrong, 0o644); err != nil {
		t.Fatal(err)
	}
	img, err := core.Open(context.Background(), filepath.Join(coresDir, "amd64-v3-deep", "core.zst"), core.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tg := process.New(img, process.Options{Paths: []string{dir}})
	defer tg.Close()
	for m := range tg.Modules() {
		if strings.HasSuffix(m.Path, "/deep") && (m.Match != report.MatchMismatch || len(m.Problems) != 1) {
			t.Errorf("got match %v, problems %v; want mismatch and one problem", m.Match, m.Problems)
		}
	}
}

// Without its files no stack passes for complete of which the files show more, unless a
// frame is said to be a guess.
func TestCorpusWithoutFiles(t *testing.T) {
	complete := 0
	cases(t, func(t *testing.T, name string, _ *expected) {
		img, err := core.Open(context.Background(), filepath.Join(coresDir, name, "core.zst"), core.Options{})
		if err != nil {
			t.Fatal(err)
		}
		without := process.New(img, process.Options{Sysroot: t.TempDir()})
		defer without.Close()
		with := openCase(t, name, process.Options{})
		for i, th := range without.Threads() {
			s, err := without.Stack(th.ID)
			if err != nil {
				t.Fatal(err)
			}
			guessed := slices.ContainsFunc(s.Frames, func(f unwind.Frame) bool { return f.Trust == unwind.Guess })
			if !s.Stop.Complete() || guessed {
				continue
			}
			complete++
			want, err := with.Stack(with.Threads()[i].ID)
			if err != nil {
				t.Fatal(err)
			}
			if len(s.Frames) < len(want.Frames) {
				t.Errorf("thread %d: %d frames pass for complete, and with its files it has %d", th.ID, len(s.Frames), len(want.Frames))
			}
		}
	})
	if complete == 0 {
		t.Error("no stack is complete, so that this tests nothing")
	}
	t.Logf("%d stacks are complete", complete)
}
