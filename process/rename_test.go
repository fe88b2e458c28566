package process_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/report"
)

// TestRename takes the names out of the reports of all recorded cores, and has them made
// again of the report and the files: they are the same as before.
func TestRename(t *testing.T) {
	total := 0
	testkit.EachCase(t, coresDir, func(t *testing.T, name string) {
		p := openCase(t, name, process.Options{})
		before, err := p.Report(t.Context(), p.Threads())
		if err != nil {
			t.Fatal(err)
		}
		opts := renameOptions(name)
		same := clone(t, before)
		if n, err := process.Rename(same, opts); n != 0 || err != nil {
			t.Errorf("%d frames of a report that has all names got others (%v)", n, err)
		}
		stripped := clone(t, before)
		removed := removeNames(stripped)
		total += removed
		if n, err := process.Rename(stripped, opts); n != removed || err != nil {
			t.Errorf("%d of %d frames got names (%v)", n, removed, err)
		}
		got, want := encode(t, stripped.Threads), encode(t, before.Threads)
		if got != want {
			t.Errorf("the stacks differ:\n%s\n%s", got, want)
		}
		if got, want := encode(t, stripped.Modules), encode(t, same.Modules); got != want {
			t.Errorf("the modules differ:\n%s\n%s", got, want)
		}
	})
	if total < 1000 && !t.Failed() && !testing.Short() {
		t.Errorf("only %d frames had names to take out", total)
	}
}

// renameOptions has the files of a case as a user would give them: the program by its
// build-id, not by its place.
func renameOptions(name string) process.Options {
	dir := filepath.Join(coresDir, name)
	return process.Options{Paths: []string{filepath.Join(dir, "exe"), filepath.Join(dir, "sysroot"), filepath.Join(dir, "debug")}, DebugDirs: []string{filepath.Join(dir, "debug")}}
}

// removeNames makes a report what it would be if no symbols had been found: without names
// and inlined functions in files that are recognised by their build-id. It returns how
// many frames of the stacks had names.
func removeNames(r *report.Document) (removed int) {
	byID := map[string]bool{}
	for i := range r.Modules {
		m := &r.Modules[i]
		byID[m.BuildID] = m.BuildID != "" && m.Match == report.MatchBuildID
		if byID[m.BuildID] {
			m.Debug, m.Symbols, m.Lines, m.File = "", "none", false, ""
		}
	}
	for i := range r.Threads {
		th := &r.Threads[i]
		frames := th.Frames[:0:0]
		for _, f := range th.Frames {
			if byID[f.Module] {
				if f.Inlined {
					continue
				}
				if f.Function != "" {
					removed++
				}
				f.Function, f.LinkageName, f.FunctionOffset, f.File, f.Line, f.Column = "", "", report.OptAddr{}, "", 0, 0
			}
			f.Index = len(frames)
			frames = append(frames, f)
		}
		th.Frames = frames
	}
	return removed
}

// TestRenameKeeps has reports whose names must stay: nothing is found, less is found, or
// what the report says cannot be.
func TestRenameKeeps(t *testing.T) {
	const name = "amd64-v3-cxx"
	p := openCase(t, name, process.Options{})
	whole, err := p.Report(t.Context(), p.Threads())
	if err != nil {
		t.Fatal(err)
	}
	program := slices.IndexFunc(whole.Modules, func(m report.Module) bool { return m.Match == report.MatchBuildID && m.Lines })
	if program < 0 {
		t.Fatal("the program is not recognised by its build-id, or has no lines")
	}
	for _, tt := range []struct {
		name   string
		names  bool // the report has names
		change func(*report.Document, *process.Options)
	}{
		{"less is found", true, func(_ *report.Document, o *process.Options) { *o = process.Options{Sysroot: t.TempDir()} }},
		{"no files", false, func(_ *report.Document, o *process.Options) { *o = process.Options{Sysroot: t.TempDir()} }},
		{"another build", false, func(r *report.Document, _ *process.Options) {
			r.Modules[program].BuildID = "00112233445566778899aabbccddeeff00112233"
			for i := range r.Threads {
				for j := range r.Threads[i].Frames {
					r.Threads[i].Frames[j].Module = r.Modules[program].BuildID
				}
			}
		}},
		{"a build-id that is none", false, func(r *report.Document, _ *process.Options) { r.Modules[program].BuildID = "xyz" }},
		{"another bias", false, func(r *report.Document, _ *process.Options) { r.Modules[program].Bias += 0x1000 }},
		{"modules that overlap", false, func(r *report.Document, _ *process.Options) {
			m := r.Modules[program]
			m.Base--
			r.Modules = append([]report.Module{m}, r.Modules...)
			r.Modules[0].Path = "/another"
		}},
		{"a module without an end", false, func(r *report.Document, _ *process.Options) { r.Modules[program].End = 0 }},
		{"frames that cannot be", true, func(r *report.Document, _ *process.Options) {
			for i := range r.Threads {
				for j := range r.Threads[i].Frames {
					f := &r.Threads[i].Frames[j]
					f.Function, f.File, f.Line = f.Function+"'", "elsewhere.c", 7
					f.PC, f.Inlined = f.PC+report.Addr(j), j%2 == 0
				}
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, opts := clone(t, whole), renameOptions(name)
			if !tt.names {
				removeNames(r)
			}
			tt.change(r, &opts)
			want := encode(t, r.Threads)
			if n, err := process.Rename(r, opts); n != 0 || err != nil {
				t.Errorf("%d frames got other names (%v)", n, err)
			}
			if got := encode(t, r.Threads); got != want {
				t.Errorf("got %s\nwant %s", got, want)
			}
		})
	}
	other := clone(t, whole)
	other.Process.Arch = "vax"
	if _, err := process.Rename(other, process.Options{}); err == nil {
		t.Error("no error for a report of an unknown architecture")
	}
}

func clone(t *testing.T, r *report.Document) *report.Document {
	t.Helper()
	c := new(report.Document)
	if err := json.Unmarshal([]byte(encode(t, r)), c); err != nil {
		t.Fatal(err)
	}
	return c
}

func encode(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
