package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Flags that would be ignored are refused, with what they are for.
func TestFlagsOfTheOther(t *testing.T) {
	file := caseArgs(t, "amd64-v3-null-1")
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"bt", "--interval", "1s"}, "--interval is for a live process; add -p PID, or leave the flag out"},
		{[]string{"bt", "--count", "2"}, "--count is for a live process"},
		{[]string{"bt", "--fuse"}, "--fuse is for a live process"},
		{[]string{"bt", "--stack-budget", "1M"}, "--stack-budget is for a live process"},
		{[]string{"bt", "--stack-total", "1M"}, "--stack-total is for a live process"},
		{[]string{"goroutines", "--memory", "1M"}, "--memory is for a live process"},
	} {
		if stdout, stderr, code := sfcore(append(tt.args, file...)...); code != exitFailed || stdout != "" || !strings.Contains(stderr, tt.want) {
			t.Errorf("%q: got %d, %q, %q, want %q", tt.args, code, stdout, stderr, tt.want)
		}
	}
	for _, command := range []string{"bt", "goroutines"} {
		if _, stderr, code := sfcore(command, "-p", "1", "--max-size", "1G"); code != exitFailed || !strings.Contains(stderr, "--max-size is for a core; -p shows a live process") {
			t.Errorf("%s: got %d, %q", command, code, stderr)
		}
	}
}

// Whoever types the name that another debugger has for it is told of bt.
func TestOtherNames(t *testing.T) {
	for _, name := range []string{"backtrace", "where", "stack"} {
		if _, stderr, code := sfcore(name, "core"); code != exitFailed || !strings.Contains(stderr, "did you mean bt?") {
			t.Errorf("%s: got %d, %q", name, code, stderr)
		}
	}
}

// Frames have a method's long name, so --unwind takes it.
func TestLongMethods(t *testing.T) {
	file := caseArgs(t, "amd64-v1-fpframe")
	want, _, _ := sfcore(append([]string{"bt", "--unwind", "go,fp"}, file...)...)
	got, stderr, _ := sfcore(append([]string{"bt", "--unwind", "pclntab,goroutine,frame-pointer"}, file...)...)
	if got != want || !strings.Contains(got, "frame-pointer") {
		t.Errorf("got %s, %s, want %s", got, stderr, want)
	}
}

// synth replaces nothing but what it has written itself, unless it is told to.
func TestSynthReplaces(t *testing.T) {
	dir := t.TempDir()
	exe := coresDir + "/amd64-v3-threads/exe/threads"
	for name, text := range map[string]string{"text": "precious", "empty": "", "program": readText(t, exe)} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, stderr, code := sfcore("sframe", "synth", exe, "-o", file)
		switch refused := code == exitFailed && strings.Contains(stderr, "add --force"); {
		case refused != (text != ""):
			t.Errorf("%s: got %d, %q", name, code, stderr)
		case refused && readText(t, file) != text:
			t.Errorf("%s: it was changed", name)
		}
		for _, again := range [][]string{{"--force"}, {}} {
			if _, stderr, code := sfcore(append([]string{"sframe", "synth", exe, "-o", file}, again...)...); code != exitComplete {
				t.Errorf("%s, %q: got %d, %q", name, again, code, stderr)
			}
		}
	}
}

// A core without its files is told from one whose programs have no .sframe.
func TestSFrameOfCoreWithoutFiles(t *testing.T) {
	core := filepath.Join(t.TempDir(), "core.zst")
	if err := os.WriteFile(core, []byte(readText(t, coresDir+"/amd64-v2-threads/core.zst")), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"check", "dump", "compare"} {
		_, stderr, code := sfcore("sframe", command, core)
		if code != exitFailed || !strings.Contains(stderr, "there is no file for threads: copy the missing files") || !strings.Contains(stderr, "--path DIR") {
			t.Errorf("%s: got %d, %q", command, code, stderr)
		}
	}
}

// Where --source finds nothing, it says once what is missing and what to do.
func TestSourceOfNothing(t *testing.T) {
	for name, want := range map[string]string{
		"amd64-v3-threads":       "no source file is here; the first that is missing is /srv/corpus/src/",
		"amd64-v2-stripped-none": "no frame has a source file: the debug information is missing",
	} {
		_, stderr, _ := sfcore(append([]string{"bt", "--source", "1"}, caseArgs(t, name)...)...)
		if strings.Count(stderr, "--source: ") != 1 || !strings.Contains(stderr, want) {
			t.Errorf("%s: got %q, want %q", name, stderr, want)
		}
	}
	src := t.TempDir()
	if err := os.WriteFile(filepath.Join(src, "fs.h"), []byte(strings.Repeat("a line\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, stderr, _ := sfcore(append([]string{"bt", "--source", "1", "--map", "/srv/corpus/src=" + src}, caseArgs(t, "amd64-v3-threads")...)...); strings.Contains(stderr, "--source: ") {
		t.Errorf("with sources: got %q", stderr)
	}
}
