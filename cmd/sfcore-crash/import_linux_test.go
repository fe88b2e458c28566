package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"

	"github.com/sfcore/sfcore/internal/crash/store"
	"github.com/sfcore/sfcore/internal/testkit"
)

const foreignData = "../../internal/crash/foreign/testdata"

// TestMain has this program read cores and reports, as the command does.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == "read-core" || os.Args[1] == "rename") {
		main()
		return
	}
	os.Exit(m.Run())
}

// extract unpacks what "test/crash/stores" has made: files with attributes. Without root
// they belong to who runs the test.
func extract(t *testing.T, name string) string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	dir := t.TempDir()
	for in := tar.NewReader(z); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return dir
		} else if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.Clean("/"+h.Name))
		if h.Typeflag == tar.TypeDir {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		text, err := io.ReadAll(in)
		if err == nil {
			err = os.WriteFile(path, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		for key, value := range h.PAXRecords {
			if attr, ok := strings.CutPrefix(key, "SCHILY.xattr."); ok && strings.HasPrefix(attr, "user.") {
				if err := unix.Setxattr(path, attr, []byte(value), 0); err != nil {
					t.Skipf("the file system of %s has no attributes: %v", dir, err)
				}
			}
		}
	}
}

// run runs a command, and returns what it prints.
func run(t *testing.T, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	root := newRootCommand()
	root.SetArgs(append([]string{"--config", filepath.Join(t.TempDir(), "none")}, args...))
	root.SetOut(&out)
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return out.String()
}

// What is of the day, and of a journal that not every system can read.
var (
	moments = regexp.MustCompile(`(?m)^[0-9.-]+  [0-9-]+ [0-9:]+  `)
	numbers = regexp.MustCompile(`\[\d+\], user \d+`)
)

// The stores that systemd 252 and 262 have left are listed and imported, once. The pids
// differ, and the owners depend on who runs the test.
func TestImportSystemd(t *testing.T) {
	testkit.NeedRestart(t)
	_, err := exec.LookPath("journalctl")
	for _, version := range []string{"252", "262"} {
		t.Run(version, func(t *testing.T) {
			root, dir := extract(t, filepath.Join(foreignData, "systemd-"+version+".tar.zst")), filepath.Join(t.TempDir(), "store")
			got := numbers.ReplaceAllString(moments.ReplaceAllString(run(t, "list", "--from", "systemd", "--root", root), ""), "")
			want, sum := "victim: SIGABRT\nvictim: SIGSEGV\nvictim: SIGABRT\nvictim: SIGSEGV\n", "imported 4 of 4 crashes: 0 known before, 0 without a core, 0 failed\n"
			if err == nil {
				want = "victim: SIGSEGV (systemd kept no core)\nvictim: SIGABRT\nvictim: SIGSEGV\nvictim: SIGABRT\nvictim: SIGSEGV (its file was removed)\n" +
					"victim: SIGSEGV\nvictim: SIGABRT\nvictim: SIGSEGV\n"
				sum = "imported 6 of 8 crashes: 0 known before, 2 without a core, 0 failed\n"
			}
			if got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			if got := run(t, "list", "--from", "systemd", "--root", root, "--format", "json"); !strings.HasPrefix(got, `[{"schema":"sfcore.crash/1",`) {
				t.Errorf("got %q", got)
			}
			args := []string{"import", "--store", dir, "--root", root, "--path", filepath.Join(foreignData, "victim"), "systemd"}
			if got := run(t, args...); got != sum {
				t.Errorf("got %q, want %q", got, sum)
			}
			if got := run(t, args...); !strings.HasPrefix(got, "imported 0 of ") {
				t.Errorf("the second time: got %q", got)
			}
			checkImported(t, dir, err == nil)
		})
	}
}

// checkImported checks the records of the store.
func checkImported(t *testing.T, dir string, journal bool) {
	t.Helper()
	kept, err := store.Open(dir, store.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	records, _, err := kept.Records()
	if err != nil {
		t.Fatal(err)
	}
	units := 0
	for i := range records {
		r := &records[i]
		want := map[string]string{"SIGSEGV": "null-access in fail < parse < handle", "SIGABRT": "abort in give_up < parse < handle"}[r.Signal]
		if r.Title() != want || r.Kept != store.KeepReport || r.Program != "/crash/victim" || r.Origin == nil || r.Origin.Store != "systemd" || len(r.Problems) > 0 && os.Getuid() == 0 {
			t.Errorf("got %+v, want %q", r, want)
		}
		if kept.Report(r.ID) == "" {
			t.Errorf("%s has no report", r.ID)
		}
		if r.Unit == "crash.service" {
			units++
		}
	}
	if journal && units < len(records)-1 {
		t.Errorf("%d of %d have a unit", units, len(records))
	}
}

// A core that cannot be read leaves nothing, and is said.
func TestImportBroken(t *testing.T) {
	testkit.NeedRestart(t)
	dir, kept := t.TempDir(), filepath.Join(t.TempDir(), "store")
	for name, text := range map[string]string{
		"core": "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x04\x00", "core.zst": "\x28\xb5\x2f\xfd\x04\x58\x21",
		"a.crash": "ProblemType: Crash\nSignal: 11\nCoreDump: base64\n H4sI!\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		if got := run(t, "import", "--store", kept, dir); got != "imported 0 of 3 crashes: 0 known before, 0 without a core, 3 failed\n" {
			t.Errorf("got %q", got)
		}
	}
	entries, err := os.ReadDir(kept)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if store.ValidID(strings.SplitN(e.Name(), ".json", 2)[0]) {
			t.Error(fmt.Sprint(e.Name(), " is left"))
		}
	}
}

// A directory without cores is said to have none, and what would be one.
func TestImportNothing(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.zst"), []byte("\x28\xb5\x2f\xfd"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"import", dir}, {"list", "--from", dir}} {
		var out, errs bytes.Buffer
		root := newRootCommand()
		root.SetArgs(append(args, "--store", filepath.Join(t.TempDir(), "store"), "--config", filepath.Join(dir, "none")))
		root.SetOut(&out)
		root.SetErr(&errs)
		if err := root.ExecuteContext(t.Context()); err != nil || !strings.Contains(errs.String(), dir+": there is no core; ") {
			t.Errorf("%q: got %q, %v", args, errs.String(), err)
		}
	}
}
