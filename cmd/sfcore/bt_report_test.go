package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// reportFile writes what bt prints of a case to a file.
func reportFile(t *testing.T, name, format string, compressed bool) string {
	t.Helper()
	out, stderr, _ := sfcore(append([]string{"bt", "--format", format}, caseArgs(t, name)...)...)
	if out == "" {
		t.Fatal(stderr)
	}
	b := []byte(out)
	if compressed {
		w, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		b = w.EncodeAll(b, nil)
	}
	file := filepath.Join(t.TempDir(), "report")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// A report is printed as the core that it was made of, in every format.
func TestBtReport(t *testing.T) {
	for _, name := range []string{"amd64-v2-threads", "s390x-v3-threads", "amd64-v3-libcdyn-1", "aarch64-v2-plt-2"} {
		files := []string{reportFile(t, name, "json", false), reportFile(t, name, "jsonl", true)}
		for _, how := range []string{"text", "json", "jsonl", "folded", "speedscope", "markdown", "text --group", "json --group"} {
			flags := append([]string{"bt", "--format"}, strings.Fields(how)...)
			want, wantErr, wantCode := sfcore(slices.Concat(flags, caseArgs(t, name))...)
			for _, file := range files {
				stdout, stderr, code := sfcore(slices.Concat(flags, []string{file})...)
				if format := flags[2]; format == "text" || format == "folded" {
					wantErr, stderr = "", "" // a report has the problems of all modules, and these formats do not look at all
				}
				if stdout != want || code != wantCode || stderr != wantErr {
					t.Errorf("%s as %s: got exit status %d, %s, and\n%.300s\nwant %d, %s, and\n%.300s", name, how, code, stderr, stdout, wantCode, wantErr, want)
				}
			}
		}
	}
}

// Equal stacks of a report are put together as those of the core are.
func TestBtReportGroups(t *testing.T) {
	args := []string{filepath.Join(goroutinesDir, "amd64", "core.zst"), filepath.Join(goroutinesDir, "amd64", "exe", "goroutines")}
	for _, made := range []string{"jsonl", "jsonl --group", "json --group"} {
		out, stderr, _ := sfcore(slices.Concat([]string{"bt", "--format"}, strings.Fields(made), args)...)
		file := filepath.Join(t.TempDir(), "report")
		if err := os.WriteFile(file, []byte(out), 0o600); err != nil || out == "" {
			t.Fatal(err, stderr)
		}
		for _, how := range []string{"text --group", "json --group", "folded --group", "markdown", "text --group --function futex", "text --state"} {
			flags := append([]string{"bt", "--format"}, strings.Fields(how)...)
			want, _, _ := sfcore(slices.Concat(flags, args)...)
			got, _, _ := sfcore(slices.Concat(flags, []string{file})...)
			if got != want || !strings.HasPrefix(how, "folded") && !strings.Contains(want, "12249") {
				t.Errorf("%s of %s: got\n%s\nwant\n%s", how, made, got, want)
			}
			if how == "text --group" && !strings.Contains(got, "\n2 threads") || how == "text --state" && !strings.Contains(got, "\n5 threads wait in ") {
				t.Errorf("%s of %s: nothing is put together:\n%s", how, made, got)
			}
		}
	}
}

func TestBtReportOptions(t *testing.T) {
	const name = "amd64-v2-threads"
	file := reportFile(t, name, "json", false)
	two := reportFile(t, name, "jsonl", false)
	text, err := os.ReadFile(two)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(two, append(text, text...), 0o600); err != nil {
		t.Fatal(err)
	}
	one, _, _ := sfcore("bt", file)
	if both, _, _ := sfcore("bt", two); both != one+one {
		t.Errorf("two reports: got\n%s", both)
	}
	if out, stderr, code := sfcore("bt", "--format", "html", file); code != exitComplete || !strings.Contains(out, "<!DOCTYPE html>") {
		t.Errorf("html: got exit status %d, %s, %.200s", code, stderr, out)
	}
	tid := strings.Fields(one[strings.Index(one, "Thread "):])[1]
	if out, _, _ := sfcore("bt", "--thread", tid, file); strings.Count(out, "Thread ") != 1 || !strings.Contains(out, "Thread "+tid) {
		t.Errorf("--thread %s: got %s", tid, out)
	}
	for _, tt := range []struct {
		want string
		args []string
	}{
		{"--source needs a core or a process, and this is a report", []string{"--source", "2", file}},
		{"--thread 1: no such thread", []string{"--thread", "1", file}},
	} {
		if stdout, stderr, code := sfcore(append([]string{"bt"}, tt.args...)...); code != exitFailed || stdout != "" || !strings.Contains(stderr, tt.want) {
			t.Errorf("%v: got exit status %d, %s, want %q", tt.args, code, stderr, tt.want)
		}
	}
	// Of a report that is cut off, the stacks that are there are printed.
	if err := os.WriteFile(two, text[:len(text)*2/3], 0o600); err != nil {
		t.Fatal(err)
	}
	if out, stderr, code := sfcore("bt", two); code != exitIncomplete || !strings.Contains(out, "Thread "+tid) || !strings.Contains(stderr, "the report is cut off") {
		t.Errorf("cut off: got exit status %d, %s, %s", code, stderr, out)
	}
}
