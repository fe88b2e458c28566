//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Samples that perf takes are walked as perf walks them. Frames of a library without
// .sframe are reached by .sframe once synth has made one for it.
func TestPerf(t *testing.T) {
	sfcore := buildSfcore(t)
	dir := t.TempDir()
	source, err := filepath.Abs("testdata/perf/work.c")
	if err != nil {
		t.Fatal(err)
	}
	if build(t, dir, "gcc", "-O2", "-fomit-frame-pointer", "-Wa,--gsframe", source, "-o", "work") != nil {
		t.Skip("gcc and an assembler that knows --gsframe are needed")
	}
	if build(t, dir, "perf", "record", "-e", "cpu-clock", "-F", "999", "--call-graph", "dwarf,16384", "-o", "perf.data", "./work") != nil {
		t.Skip("perf is needed, and the right to use it")
	}
	walk := func(file string, args ...string) (samples int, frames map[string]int, problems []string) {
		return walkPerf(t, sfcore, dir, file, args...)
	}
	samples, frames, problems := walk("perf.data")
	if samples < 20 {
		t.Skipf("only %d samples", samples)
	}
	if len(problems) > 0 {
		t.Errorf("got %q", problems)
	}
	asPerf := func(file string, samples, all int) {
		t.Helper()
		framesAsPerf(t, dir, file, samples, all)
	}
	asPerf("perf.data", samples, frames["all"])
	// What is compressed, or was written to a pipe, is as good.
	for file, command := range map[string]string{
		"packed": "perf record -z -o packed", "piped": "perf record -o - >piped", "both": "perf record -z -o - >both",
	} {
		if build(t, dir, "sh", "-c", strings.Replace(command, "record", "record -q -e cpu-clock -F 999 --call-graph dwarf,16384", 1)+" ./work") != nil {
			t.Logf("%s: this perf cannot do that", command)
			continue
		}
		n, of, problems := walk(file)
		if n < samples/2 || len(problems) > 0 {
			t.Errorf("%s: got %d samples, %q, want about %d", file, n, problems, samples)
		}
		if file != "both" { // perf script 6.1 cannot read that
			asPerf(file, n, of["all"])
		}
	}
	if frames["sframe"] >= frames["all"]/2 {
		t.Errorf("got %v frames, although the C library has no .sframe", frames)
	}
	libs, err := exec.Command("sh", "-c", `ldd "$0" | sed -n 's|.* => \(/[^ ]*\) .*|\1|p'`, filepath.Join(dir, "work")).Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "side"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, file := range append(strings.Fields(string(libs)), "work") {
		_ = build(t, dir, sfcore, "sframe", "synth", "-o", "side", file) // which may leave functions out
	}
	if _, with, _ := walk("perf.data", "--sframe-dir", "side"); with["sframe"] < with["all"]*9/10 {
		t.Errorf("got %v frames with .sframe for all", with)
	}
	t.Logf("%d samples: %v", samples, frames)
	// Another program at the same place is noticed.
	if err := build(t, dir, "gcc", "-O1", "-g", source, "-o", "work"); err != nil {
		t.Fatal(err)
	}
	if _, _, problems := walk("perf.data"); len(problems) != 1 || !strings.Contains(problems[0], "/work: its build-id is ") {
		t.Errorf("got %q of a program that was built again", problems)
	}
}

// walkPerf runs sframe perf, and returns how many frames each method finds.
func walkPerf(t *testing.T, sfcore, dir, file string, args ...string) (samples int, frames map[string]int, problems []string) {
	t.Helper()
	cmd := exec.Command(sfcore, append([]string{"sframe", "perf", "--format", "json", file}, args...)...)
	cmd.Dir = dir
	out, err := cmd.Output()
	var got struct {
		Samples int
		Methods []struct {
			Method string
			Frames int
		}
		Problems []string
	}
	if again := json.Unmarshal(out, &got); again != nil || (err != nil) != (len(got.Problems) > 0) {
		t.Fatalf("%v, %v: %s", err, again, out)
	}
	frames = map[string]int{}
	for _, m := range got.Methods {
		frames[m.Method] = m.Frames
	}
	return got.Samples, frames, got.Problems
}

// framesAsPerf compares the number of frames with what perf script finds.
func framesAsPerf(t *testing.T, dir, file string, samples, all int) {
	t.Helper()
	cmd := exec.Command("perf", "script", "--no-inline", "-i", file, "-F", "ip")
	cmd.Dir = dir
	text, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	user := 0
	for _, line := range strings.Split(string(text), "\n") {
		if ip := strings.TrimSpace(line); ip != "" && !strings.HasPrefix(ip, "ffffffff") {
			user++
		}
	}
	// perf stops in functions without tables, of which the start of a program has one.
	if all < user || all > user+samples {
		t.Errorf("%s: got %d frames of %d samples, perf has %d", file, all, samples, user)
	}
}

// Samples of a library that another one replaced at its address are walked by its tables.
func TestPerfReplaced(t *testing.T) {
	sfcore := buildSfcore(t)
	dir := t.TempDir()
	sources, err := filepath.Abs("testdata/perf")
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"-shared", "-fPIC", "-DROOM=4096", filepath.Join(sources, "library.c"), "-o", "first.so"},
		{"-shared", "-fPIC", "-DROOM=64", filepath.Join(sources, "library.c"), "-o", "second.so"},
		{filepath.Join(sources, "replaced.c"), "-ldl", "-o", "replaced"},
	} {
		if build(t, dir, append([]string{"gcc", "-O1", "-g", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-fno-stack-protector"}, args...)...) != nil {
			t.Skip("gcc is needed")
		}
	}
	if build(t, dir, "./replaced") != nil {
		t.Skip("the second library is not mapped where the first was")
	}
	if build(t, dir, "perf", "record", "-e", "cpu-clock", "-F", "999", "--call-graph", "dwarf,65528", "-o", "perf.data", "./replaced") != nil {
		t.Skip("perf is needed, and the right to use it")
	}
	samples, frames, problems := walkPerf(t, sfcore, dir, "perf.data")
	if samples < 10 || len(problems) > 0 {
		t.Fatalf("got %d samples, %q", samples, problems)
	}
	framesAsPerf(t, dir, "perf.data", samples, frames["all"])
	if frames["cfi"] < 12*samples { // of ten calls, main and what is below it
		t.Errorf("got %v frames of %d samples", frames, samples)
	}
	t.Logf("%d samples: %v", samples, frames)
}
