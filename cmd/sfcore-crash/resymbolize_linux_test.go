package main

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"

	"github.com/sfcore/sfcore/internal/crash/store"
	"github.com/sfcore/sfcore/internal/document"
	"github.com/sfcore/sfcore/internal/testkit"
)

// strippedCase has a program that is stripped, and its debug file.
const strippedCase = "../../testdata/cores/amd64-v2-stripped-debuglink"

// keptIn returns the one record of a store, and its report.
func keptIn(t *testing.T, dir string) (*store.Record, string) {
	t.Helper()
	s, err := store.Open(dir, store.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Find("last")
	if err != nil {
		t.Fatal(err)
	}
	return r, s.Report(r.ID)
}

// imported makes a store with the crash of the stripped program, whose files are searched
// at paths.
func imported(t *testing.T, paths ...string) string {
	t.Helper()
	testkit.NeedRestart(t)
	dir := filepath.Join(t.TempDir(), "store")
	cores := t.TempDir()
	core, err := os.ReadFile(filepath.Join(strippedCase, "core.zst"))
	if err == nil {
		err = os.WriteFile(filepath.Join(cores, "core.zst"), core, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"import", "--store", dir}
	for _, p := range paths {
		args = append(args, "--path", filepath.Join(strippedCase, p))
	}
	if got := run(t, append(args, cores)...); !strings.HasPrefix(got, "imported 1 of 1 crash") {
		t.Fatal(got)
	}
	return dir
}

// TestResymbolize has a crash of a stripped program. When its debug file has come, names
// and groups are those that they had been with it, and a second time nothing changes.
func TestResymbolize(t *testing.T) {
	want, wantReport := keptIn(t, imported(t, "exe", "debug"))
	dir := imported(t, "exe")
	before := run(t, "top", "--store", dir)
	if !strings.Contains(before, "null-access in deep+0x") {
		t.Fatalf("the stripped program has names: %s", before)
	}
	args := []string{"resymbolize", "--store", dir, "--path", filepath.Join(strippedCase, "debug")}
	if got := run(t, args...); !strings.HasPrefix(got, "1 of 1 crash changed, ") || strings.Contains(got, ", 0 frames") {
		t.Errorf("got %q", got)
	}
	got, report := keptIn(t, dir)
	if !reflect.DeepEqual(got.Signature, want.Signature) {
		t.Errorf("got %+v, want %+v", got.Signature, want.Signature)
	}
	if got.Kind != want.Kind || got.Number != want.Number {
		t.Errorf("the kind has changed: %s %d, was %s %d", got.Kind, got.Number, want.Kind, want.Number)
	}
	if a, b := stacksIn(t, report), stacksIn(t, wantReport); a != b {
		t.Errorf("got\n%s\nwant\n%s", a, b)
	}
	if after := run(t, "top", "--store", dir); after == before || !strings.Contains(after, want.Title()) {
		t.Errorf("the group is %q, was %q, want %q", after, before, want.Title())
	}
	const nothing = "0 of 1 crash changed, 0 frames with other names; 0 without a report, 0 failed\n"
	for _, args := range [][]string{args, {"resymbolize", "--store", dir, "last"}, {"resymbolize", "--store", dir}} {
		if got := run(t, args...); got != nothing {
			t.Errorf("%q: got %q", args, got)
		}
	}
}

// TestResymbolizeKilled has a record whose names were made again by a command that was
// killed before it came to the index: the next one does the rest.
func TestResymbolizeKilled(t *testing.T) {
	dir := imported(t, "exe", "debug")
	before := run(t, "top", "--store", dir)
	s, err := store.Open(dir, store.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	r, _ := keptIn(t, dir)
	changed := *r.Signature
	changed.Title = "an old title"
	r.Signature = &changed
	if err := s.Put(r); err != nil {
		t.Fatal(err)
	}
	if got := run(t, "resymbolize", "--store", dir); !strings.HasPrefix(got, "1 of 1 crash changed, 0 frames") {
		t.Errorf("got %q", got)
	}
	if after := run(t, "top", "--store", dir); after != before {
		t.Errorf("got %q, want %q", after, before)
	}
}

// stacksIn returns the stacks of a report, as JSON.
func stacksIn(t *testing.T, name string) string {
	t.Helper()
	doc, err := document.ReadOne(name)
	if err != nil || doc == nil {
		t.Fatal(name, err)
	}
	return string(document.Encode(doc.Threads))
}

// TestResymbolizeFromServer has the debug file on a server.
func TestResymbolizeFromServer(t *testing.T) {
	dir, asked := imported(t, "exe"), ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked += r.URL.Path + " "
		http.ServeFile(w, r, filepath.Join(strippedCase, "debug", "deep.debug"))
	}))
	defer server.Close()
	t.Setenv("DEBUGINFOD_URLS", server.URL)
	t.Setenv("DEBUGINFOD_CACHE_PATH", t.TempDir())
	temp := t.TempDir()
	if err := os.Chmod(filepath.Dir(temp), 0o755); err != nil { // or another user could not read below it
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", temp)
	if got := run(t, "resymbolize", "--store", dir, "--debuginfod"); !strings.HasPrefix(got, "1 of 1 crash changed, ") {
		t.Errorf("got %q; the server was asked for %q", got, asked)
	}
	r, _ := keptIn(t, dir)
	if want := "/buildid/" + r.Build + "/debuginfo "; asked != want || r.Build == "" {
		t.Errorf("the server was asked for %q, want %q", asked, want)
	}
	if !strings.Contains(r.Title(), "boom") {
		t.Errorf("got %q", r.Title())
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("%v is left (%v)", left, err)
	}
}

// TestResymbolizeDamaged has reports that are none, cut off, or gone: the crash stays as
// it is, and an error says what is wrong.
func TestResymbolizeDamaged(t *testing.T) {
	dir := imported(t, "exe")
	before, report := keptIn(t, dir)
	whole, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, want string
		text       []byte
	}{
		{"text", "this is not a report", []byte("hello")},
		{"cut off", "the report is cut off", cutOff(t, whole)},
		{"damaged", "this is not a report", whole[:len(whole)/2]},
		{"empty", "this is not a report", nil},
		{"another architecture", "vax", []byte(`{"schema":"sfcore.report/1","process":{"arch":"vax","byteOrder":"little"},"threads":[],"modules":[],"problems":[]}`)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := os.WriteFile(report, tt.text, 0o600); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			root := newRootCommand()
			root.SetOut(&out)
			root.SetArgs([]string{"--config", filepath.Join(t.TempDir(), "none"), "resymbolize", "--store", dir, "--path", filepath.Join(strippedCase, "debug")})
			err := root.ExecuteContext(t.Context())
			if err == nil || !strings.Contains(out.String(), "1 failed") {
				t.Errorf("got %q, %v", out.String(), err)
			}
			if got := renameError(t, report); !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			text, readErr := os.ReadFile(report)
			if readErr != nil || !bytes.Equal(text, tt.text) {
				t.Errorf("the report has changed (%v)", readErr)
			}
			if after, _ := keptIn(t, dir); !reflect.DeepEqual(after, before) {
				t.Errorf("got %+v, want %+v", after, before)
			}
		})
	}
	if err := os.Remove(report); err != nil {
		t.Fatal(err)
	}
	if got := run(t, "resymbolize", "--store", dir); got != "0 of 1 crash changed, 0 frames with other names; 1 without a report, 0 failed\n" {
		t.Errorf("got %q", got)
	}
}

// TestResymbolizeUnreadable has symbols that the user may not read as whom reports are
// read. Root may, but does not read reports as root.
func TestResymbolizeUnreadable(t *testing.T) {
	dir, symbols := imported(t, "exe"), filepath.Join(t.TempDir(), "symbols")
	if err := os.Mkdir(symbols, 0); err != nil {
		t.Fatal(err)
	}
	_, report := keptIn(t, dir)
	for _, flag := range []string{"--path=", "--sysroot="} {
		if got := renameError(t, report, flag+symbols); !strings.Contains(got, symbols+" is not searched: user ") {
			t.Errorf("%s: got %q", flag, got)
		}
	}
	cores := t.TempDir()
	if err := os.CopyFS(cores, os.DirFS(strippedCase)); err != nil {
		t.Fatal(err)
	}
	again := filepath.Join(t.TempDir(), "store")
	run(t, "import", "--store", again, "--path", symbols, cores)
	_, report = keptIn(t, again)
	doc, err := document.ReadOne(report)
	if err != nil || !strings.Contains(strings.Join(doc.Problems, "\n"), symbols+" is not searched: user ") {
		t.Errorf("the report of an import does not say it: %v", err)
	}
}

// cutOff returns a report of lines, compressed as it was, without its last line.
func cutOff(t *testing.T, whole []byte) []byte {
	t.Helper()
	z, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	text, err := z.DecodeAll(whole, nil)
	if err != nil {
		t.Fatal(err)
	}
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	return w.EncodeAll(bytes.Join(lines[:len(lines)-2], nil), nil)
}

// renameError returns why the process that reads a report does not name it.
func renameError(t *testing.T, report string, flags ...string) string {
	t.Helper()
	in, err := os.Open(report)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	start, err := readers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cmd, said := start(append(append([]string{"rename"}, flags...), "--", strconv.Itoa(os.Getuid()), strconv.Itoa(os.Getgid()))), new(bytes.Buffer)
	cmd.Stdin, cmd.Stderr = in, said
	if err := cmd.Run(); err == nil {
		t.Errorf("%s: no error", report)
	}
	return said.String()
}

// TestResymbolizeAfterKill has what a command has left that was killed while it wrote a
// report, and another one that writes it now.
func TestResymbolizeAfterKill(t *testing.T) {
	dir := imported(t, "exe")
	_, report := keptIn(t, dir)
	if err := os.WriteFile(report+".part", []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	other, err := os.Open(report)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(other.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	args := []string{"--config", filepath.Join(t.TempDir(), "none"), "resymbolize", "--store", dir, "--path", filepath.Join(strippedCase, "debug")}
	root := newRootCommand()
	root.SetOut(io.Discard)
	root.SetArgs(args)
	if err := root.ExecuteContext(t.Context()); err == nil {
		t.Error("it replaces a report that another program replaces")
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if got := run(t, args[2:]...); !strings.HasPrefix(got, "1 of 1 crash changed, ") {
		t.Errorf("got %q", got)
	}
	if _, err := os.Stat(report + ".part"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was left is still there (%v)", err)
	}
}
