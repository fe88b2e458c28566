package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/sfcore/sfcore/internal/testkit"
)

func TestMain(m *testing.M) {
	if victim := os.Getenv(victimVariable); victim != "" {
		beVictim(victim)
	}
	os.Exit(m.Run())
}

// There are as many inputs as were promised, each with a name of its own.
func TestInputs(t *testing.T) {
	names, quick := map[string]bool{}, 0
	for _, in := range inputs() {
		if names[in.name] || in.what == "" || strings.ContainsAny(in.name, " /") {
			t.Errorf("%q, %q: got a name twice, no description or a bad name", in.name, in.what)
		}
		names[in.name] = true
		if in.quick {
			quick++
		}
	}
	if len(names) < 80 || quick < 15 {
		t.Errorf("got %d inputs, of which %d are quick; want 80 and 15", len(names), quick)
	}
}

// The quick inputs are made, and none is large.
func TestQuickInputs(t *testing.T) {
	for _, in := range inputs() {
		if !in.quick {
			continue
		}
		t.Run(in.name, func(t *testing.T) {
			if strings.HasPrefix(in.name, "live-") {
				testkit.NeedRestart(t)
			}
			f, err := newFolder(filepath.Join(t.TempDir(), in.name))
			if err != nil {
				t.Fatal(err)
			}
			if args := in.make(f); len(args) < 2 || f.err != nil {
				if runtime.GOOS == "windows" {
					t.Skip(f.err) // links need privileges there
				}
				t.Errorf("got %q, %v", args, f.err)
			}
			for _, end := range f.ends {
				end()
			}
			if f.size() == 0 {
				t.Error("no files")
			}
		})
	}
}

func TestChoose(t *testing.T) {
	tests := []struct {
		names []string
		quick bool
		want  int // inputs; -1 for more than 10
		err   string
	}{
		{nil, false, -1, ""},
		{nil, true, -1, ""},
		{[]string{"cfi-program", "inline-deep"}, true, 2, ""},
		{[]string{"cfi-program", "nothing"}, false, 0, `there is no input "nothing"`},
	}
	for _, tt := range tests {
		got, err := choose(tt.names, tt.quick)
		if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%q: got error %v, want %q", tt.names, err, tt.err)
		}
		if tt.want >= 0 && len(got) != tt.want || tt.want < 0 && len(got) < 10 {
			t.Errorf("%q: got %d inputs, want %d", tt.names, len(got), tt.want)
		}
	}
}

func TestVerdict(t *testing.T) {
	tests := []struct {
		name string
		c    cost
		want string
	}{
		{"cheap", cost{cpu: time.Second, memory: 1 << 20, exit: 1}, good},
		{"at the goal", cost{cpu: goalCPU, memory: goalMemory}, good},
		{"slow", cost{cpu: goalCPU + 1}, near},
		{"large", cost{memory: goalMemory + 1}, near},
		{"too slow", cost{cpu: maxCPU + 1}, broken},
		{"too large", cost{memory: maxMemory + 1}, broken},
		{"stopped", cost{exit: -1}, broken},
		{"crashed", cost{exit: 2, crash: "panic: at the disco"}, broken + ": panic: at the disco"},
	}
	for _, tt := range tests {
		if got := tt.c.verdict(); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A program that takes too much is stopped, and its cost is known.
func TestMeasure(t *testing.T) {
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip(err)
	}
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	f, err := newFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, script string
		exit         int
		crash        string
	}{
		{"status", "exit 3", 3, ""},
		{"crash", "echo 'panic: so' >&2; exit 2", 2, "panic: so"},
		{"time and memory", "x=$(head -c 3000000 /dev/zero | tr '\\0' x); i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done", 0, ""},
	}
	for _, tt := range tests {
		c, err := measure(sh, []string{"-c", tt.script}, f)
		if err != nil {
			t.Fatal(err)
		}
		if c.exit != tt.exit || c.crash != tt.crash {
			t.Errorf("%s: got %+v", tt.name, c)
		}
		if strings.HasPrefix(tt.name, "time") && (c.cpu == 0 || c.memory < 3_000_000) {
			t.Errorf("%s: got %+v, want some time and 3 MB", tt.name, c)
		}
	}
}

// The frames that are written by hand are what zstd writes.
func TestZstdRun(t *testing.T) {
	for _, size := range []uint64{1, 128 << 10, 1<<20 + 1} {
		r, err := zstd.NewReader(bytes.NewReader(zstdRun(size, 7)))
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if _, err := out.ReadFrom(r); err != nil || uint64(out.Len()) != size || bytes.Count(out.Bytes(), []byte{7}) != out.Len() {
			t.Errorf("%d bytes: got %d, %v", size, out.Len(), err)
		}
		r.Close()
	}
}
