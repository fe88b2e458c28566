package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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
