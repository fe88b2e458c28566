package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/sfcore/sfcore/internal/crash/store"
)

func TestLastOf(t *testing.T) {
	at := func(seconds int64) time.Time { return time.Unix(seconds, 0) }
	all := []foundCore{
		{file: "a", program: "/usr/bin/server", time: at(5), keeper: "systemd"},
		{file: "b", program: "server", time: at(4), keeper: "abrt"},
		{file: "c", program: "a-name-of-15-by", time: at(3), keeper: "systemd"},
		{file: "d", program: "/usr/bin/other", time: at(9), keeper: "systemd", why: "it was removed"},
		{file: "e", time: at(10), keeper: kernel, why: "this is a text file"},
	}
	for program, want := range map[string]string{
		"": "d", "/usr/bin/server": "a", "/opt/server": "b", "/opt/a-name-of-15-bytes": "c", "/usr/bin/other": "d", "/bin/none": "", "/opt/a-name-of-15": "", "/opt/server-2": "",
	} {
		got := ""
		if f := lastOf(all, program); f != nil {
			got = f.file
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", program, got, want)
		}
	}
}

// The kernel's cores are found by the pattern for their names, and learnt of what they are.
func TestPatternCores(t *testing.T) {
	dir := t.TempDir()
	core, err := os.ReadFile(cutCore(t, "amd64-v3-null-1", 0))
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"core.17": core, "core.x": core, "other": core, "core.18": nil, "core.19": []byte("hello\n"),
		"c-server-5": core, "c-!usr!bin!server-6.zst": []byte("x"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("core.17", filepath.Join(dir, "core.20")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ pattern, want string }{
		{"core", "core.17 core.19"},
		{"core.%p", "core.17 core.19 core.x"},
		{"c-%E-%P", "c-!usr!bin!server-6.zst=/usr/bin/server,6 c-server-5=server,5"},
		{"%d/core", ""},
		{"none", ""},
	} {
		pattern := filepath.Join(dir, tt.pattern)
		if tt.pattern == "%d/core" {
			pattern = "/%d/core"
		}
		found, _ := patternCores(context.Background(), pattern)
		got := map[string]bool{}
		for _, f := range found {
			name := filepath.Base(f.file)
			if strings.HasPrefix(name, "c-") {
				name += "=" + f.program + "," + (*pidFlag)(&f.pid).String()
			} else if strings.HasSuffix(f.program, "/null") != (f.why == "") {
				t.Errorf("%s: got program %q, %s", name, f.program, f.why)
			}
			got[name] = true
		}
		for _, name := range strings.Fields(tt.want) {
			if !got[name] {
				t.Errorf("%s: got %v, want %s", tt.pattern, got, name)
			}
		}
		if len(got) != len(strings.Fields(tt.want)) {
			t.Errorf("%s: got %v, want %q", tt.pattern, got, tt.want)
		}
	}
}

func TestPidOf(t *testing.T) {
	proc := t.TempDir()
	for pid, name := range map[string]string{"10": "server", "11": "worker", "12": "worker", "13": "a-name-of-15-by", "x": "none"} {
		if err := os.Mkdir(filepath.Join(proc, pid), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(proc, pid, "comm"), []byte(name+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"server": "", "a-name-of-15-bytes": "", "worker": "2 processes are called so: 11, 12", "none": "no process is called so", "": "no process is called so"} {
		pid, err := pidOf(proc, name)
		if err == nil && (want != "" || pid == 0) || err != nil && err.Error() != want {
			t.Errorf("%s: got %d, %v, want %q", name, pid, err, want)
		}
	}
}

// journalRoot is the root of a system whose systemd keeps cores in its journal.
func journalRoot(t *testing.T) string {
	t.Helper()
	f, err := os.Open("../../internal/crash/foreign/testdata/systemd-252.tar.zst")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	root, in := t.TempDir(), tar.NewReader(z)
	for h, err := in.Next(); ; h, err = in.Next() {
		if err != nil {
			t.Fatal(err)
		}
		if name := filepath.Clean(h.Name); strings.HasPrefix(name, "var/log/journal/") {
			text, err := io.ReadAll(in)
			if err == nil {
				err = errors.Join(os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o700), os.WriteFile(filepath.Join(root, name), text, 0o600))
			}
			if err != nil {
				t.Fatal(err)
			}
			return root
		}
	}
}

// Cores that are in systemd's journal are taken out of it. Without journalctl that is said.
func TestJournalCores(t *testing.T) {
	root := journalRoot(t)
	if err := os.MkdirAll(filepath.Join(root, "var/lib/systemd/coredump"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv(storeVariable, filepath.Join(root, "none"))
	t.Setenv("TMPDIR", t.TempDir())
	if _, err := exec.LookPath("journalctl"); err == nil {
		kept, _ := keptCores(t.Context(), root)
		n := 0
		for i := range kept {
			f := &kept[i]
			if f.unpack == nil {
				continue
			}
			if text := f.String(); !strings.HasSuffix(text, ", kept by systemd in the journal") || !strings.HasPrefix(text, "/") || f.pid == 0 {
				t.Errorf("got %s", text)
			}
			name, err := unpacked(t.Context(), f, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			if stdout, stderr, _ := sfcore("bt", name); !strings.Contains(stdout, fmt.Sprintf(", pid %d\n", f.pid)) {
				t.Errorf("got %s, %s", stdout, stderr)
			}
			n++
		}
		if n == 0 {
			t.Errorf("no core of the journal is among %d crashes", len(kept))
		}
	}
	t.Setenv("PATH", t.TempDir())
	crashRoot = root
	defer func() { crashRoot = "/" }()
	if _, stderr, code := sfcore("bt"); code != exitFailed || !strings.Contains(stderr, "the store of systemd (journalctl is not here: ") {
		t.Errorf("without journalctl: %d, %s", code, stderr)
	}
}

// bt alone shows the newest crash of each store that others and sfcore have.
func TestStores(t *testing.T) {
	core, err := os.ReadFile(cutCore(t, "amd64-v3-null-1", 0))
	if err != nil {
		t.Fatal(err)
	}
	packed, err := os.ReadFile(filepath.Join(coresDir, "amd64-v3-null-1", "core.zst"))
	if err != nil {
		t.Fatal(err)
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write(core); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	apport := "ProblemType: Crash\nDate: Sat Nov 21 10:11:12 2026\nExecutablePath: /usr/bin/null\nProcStatus:\n Pid:\t4711\nSignal: 11\nCoreDump: base64\n " +
		base64.StdEncoding.EncodeToString(zipped.Bytes()) + "\n"
	root := t.TempDir()
	place := func(name string, data []byte) string {
		t.Helper()
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	crashRoot = root
	defer func() { crashRoot = "/" }()
	t.Setenv(storeVariable, filepath.Join(root, "none"))
	t.Setenv("TMPDIR", t.TempDir())
	bt := func(keeper string, more ...string) {
		t.Helper()
		stdout, stderr, _ := sfcore(append(append([]string{"bt", "--path", filepath.Join(coresDir, "amd64-v3-null-1", "exe")}, more...), "--short")...)
		if !strings.Contains(stdout, "  #1   ~ caller at nullcall.c:6\n") || !strings.Contains(stderr, "sfcore: the newest crash is of ") || !strings.Contains(stderr, "kept by "+keeper+" in ") {
			t.Errorf("%s: got\n%s\n%s", keeper, stdout, stderr)
		}
		if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
			t.Errorf("%s: %v is left (%v)", keeper, left, err)
		}
	}
	if _, stderr, code := sfcore("bt"); code != exitFailed || !strings.Contains(stderr, "no core was named, and no crash was found that you may read; looked at ") {
		t.Errorf("without a store: %d, %s", code, stderr)
	}
	// Each one is newer than the one before.
	place("proc/sys/kernel/core_pattern", []byte(filepath.Join(root, "cores", "core.%p")+"\n"))
	old := place("cores/core.4711", core)
	if err := os.Chtimes(old, time.Time{}, time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	bt(kernel)
	place("var/spool/abrt/ccpp-1/analyzer", []byte("CCpp"))
	place("var/spool/abrt/ccpp-1/executable", []byte("/usr/bin/null"))
	place("var/spool/abrt/ccpp-1/time", []byte("1700000000"))
	place("var/spool/abrt/ccpp-1/coredump", core)
	bt("abrt")
	place("var/lib/systemd/coredump/core.null.0.0123456789abcdef0123456789abcdef.4711.1750000000000000.zst", packed)
	bt("systemd")
	place("var/crash/_usr_bin_null.0.crash", []byte(apport))
	bt("apport")
	program := filepath.Join(coresDir, "amd64-v3-null-1", "exe", "null")
	bt("systemd", program) // it knows only the name of the program; apport tells of another path

	dir := filepath.Join(root, "store")
	s, err := store.Open(dir, store.Limits{Crashes: 10, Bytes: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	r := &store.Record{Schema: store.Schema, ID: store.NewID(time.Now().AddDate(10, 0, 0), 1), Time: time.Now().AddDate(10, 0, 0), PID: 4711, UID: os.Getuid(), GID: os.Getgid(), Program: "/usr/bin/null", Signal: "SIGSEGV", Kept: store.KeepReport}
	if err := s.Put(r); err != nil {
		t.Fatal(err)
	}
	report, _, _ := sfcore(append([]string{"bt", "--format", "jsonl"}, caseArgs(t, "amd64-v3-null-1")...)...)
	e, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, r.ID+".jsonl.zst"), e.EncodeAll([]byte(report), nil), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(storeVariable, dir)
	bt("sfcore")
}
