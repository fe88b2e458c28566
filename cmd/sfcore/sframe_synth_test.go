package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/report"

	"github.com/sfcore/sfcore/internal/document"
	"github.com/sfcore/sfcore/internal/testkit"
)

// frames are what a walk found.
func frames(t *testing.T, args ...string) (list []string, methods map[string]int) {
	t.Helper()
	stdout, stderr, code := sfcore(append([]string{"bt", "--format", "json"}, args...)...)
	if code == exitFailed {
		t.Fatalf("%q: %s", args, stderr)
	}
	var r report.Document
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatal(err)
	}
	methods = map[string]int{}
	for _, th := range r.Threads {
		for _, f := range th.Frames {
			methods[f.Method.String()]++
			f.Method, f.Trust = 0, 0
			list = append(list, string(document.Encode(f)))
		}
		list = append(list, string(document.Encode(th.Stop)))
	}
	return list, methods
}

// With sidecars for all modules, the stacks of the corpus' cores with a libc are
// those that call frame information gives, frame by frame.
func TestSynthWalk(t *testing.T) {
	for _, name := range []string{"amd64-v1-libcdyn-1", "amd64-v2-libcdyn-1", "amd64-v3-libcdyn-1", "amd64-v2e1-debian-cpio"} {
		for _, version := range []string{"2", "3"} {
			t.Run(name+" in "+version, func(t *testing.T) {
				dir, core := t.TempDir(), caseArgs(t, name)
				files, err := filepath.Glob(filepath.Join(coresDir, name, "sysroot/usr/lib/*/*.so*"))
				if err != nil || len(files) < 2 {
					t.Fatalf("got %v, %v", files, err)
				}
				for _, f := range files {
					if stdout, stderr, code := sfcore("sframe", "synth", f, "-o", dir, "--sframe-version", version); code != exitComplete {
						t.Fatalf("%s: got exit status %d, %s, %s", f, code, stdout, stderr)
					}
				}
				want, _ := frames(t, append([]string{"--unwind", "cfi"}, core...)...)
				_, before := frames(t, core...)
				got, methods := frames(t, append([]string{"--sframe-dir", dir}, core...)...)
				if !slices.Equal(got, want) {
					t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
				if methods["sframe"] <= before["sframe"] {
					t.Errorf("got %v, without sidecars %v", methods, before)
				}
			})
		}
	}
}

func TestSynthGolden(t *testing.T) {
	dir := t.TempDir()
	libc := filepath.Join(coresDir, "amd64-v3-libcdyn-1/sysroot/usr/lib/x86_64-linux-gnu/libc.so.6")
	out := filepath.Join(dir, "libc")
	stdout, stderr, code := sfcore("sframe", "synth", libc, "-o", out)
	if code != exitComplete || stderr != "" {
		t.Fatalf("got exit status %d, %s", code, stderr)
	}
	testkit.Golden(t, "testdata/sframe/synth.golden", []byte(strings.ReplaceAll(stdout, dir, "DIR")))
	help, _, _ := sfcore("sframe", "synth", "--help")
	testkit.Golden(t, "testdata/sframe/synth-help.golden", []byte(help))
	if found, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(found) > 0 {
		t.Errorf("got leftovers %v, %v", found, err)
	}

	stdout, _, code = sfcore("sframe", "synth", libc, "-o", dir, "--format", "json")
	var j jsonSynth
	if err := json.Unmarshal([]byte(stdout), &j); err != nil || code != exitComplete || j.Written < 3900 || filepath.Dir(j.File) != dir {
		t.Errorf("got %+v, %v", j, err)
	}
	if stdout, _, code := sfcore("sframe", "check", j.File); code != exitComplete {
		t.Errorf("got exit status %d, %s", code, stdout)
	}
	stdout, _, _ = sfcore("sframe", "compare", "--sframe-dir", dir, libc)
	if !strings.Contains(stdout, "5 differences (5 function missing)") {
		t.Errorf("got %s", stdout)
	}
}

func TestInfoSidecar(t *testing.T) {
	dir, name := t.TempDir(), "amd64-v3-libcdyn-1"
	_, _, _ = sfcore("sframe", "synth", filepath.Join(coresDir, name, "sysroot/usr/lib/x86_64-linux-gnu/libc.so.6"), "-o", dir)
	stdout, _, _ := sfcore(append([]string{"info", "--sframe-dir", dir}, caseArgs(t, name)...)...)
	if strings.Count(stdout, "sframe v3 (sidecar),cfi") != 1 {
		t.Errorf("got %s", stdout)
	}
}

// A sidecar that is not the module's is not used, and that is said.
func TestSidecarOfAnother(t *testing.T) {
	dir, name := t.TempDir(), "amd64-v3-libcdyn-1"
	lib := filepath.Join(coresDir, name, "sysroot/usr/lib/x86_64-linux-gnu")
	_, _, _ = sfcore("sframe", "synth", filepath.Join(lib, "ld-linux-x86-64.so.2"), "-o", filepath.Join(dir, "ld"))
	_, _, _ = sfcore("sframe", "synth", filepath.Join(lib, "libc.so.6"), "-o", dir)
	found, err := filepath.Glob(filepath.Join(dir, "*.sframe"))
	if err != nil || len(found) != 1 {
		t.Fatalf("got %v, %v", found, err)
	}
	for what, prepare := range map[string]func() error{
		"it is for build-id": func() error { return os.Rename(filepath.Join(dir, "ld"), found[0]) },
		"not an ELF file":    func() error { return os.WriteFile(found[0], []byte("hello"), 0o600) },
	} {
		if err := prepare(); err != nil {
			t.Fatal(err)
		}
		_, stderr, code := sfcore(append([]string{"bt", "--sframe-dir", dir}, caseArgs(t, name)...)...)
		if code != exitComplete || !strings.Contains(stderr, what) {
			t.Errorf("got exit status %d, %q, want %q", code, stderr, what)
		}
	}
}

func TestSynthUnwritable(t *testing.T) {
	cpio := coresDir + "/amd64-v2e1-debian-cpio/exe/cpio"
	for _, args := range [][]string{
		{"none", "-o", "x"},
		{cpio, "-o", t.TempDir() + "/none/x"},
		{cpio},
		{cpio, "-o", "x", "--sframe-version", "1"},
		{objectsDir + "/amd64-v3/amd64-basic.o", "-o", "x"},
	} {
		stdout, stderr, code := sfcore(append([]string{"sframe", "synth"}, args...)...)
		if code != exitFailed || stdout != "" || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%q: got exit status %d, %q, %q", args, code, stdout, stderr)
		}
		if strings.HasSuffix(strings.Join(args, " "), "/none/x") && !strings.Contains(stderr, "there is no directory ") {
			t.Errorf("%q: got %q", args, stderr)
		}
	}
}
