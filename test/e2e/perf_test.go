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
	walk := func(args ...string) (samples int, frames map[string]int) {
		cmd := exec.Command(sfcore, append([]string{"sframe", "perf", "--format", "json", "perf.data"}, args...)...)
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		var got struct {
			Samples int
			Methods []struct {
				Method string
				Frames int
			}
		}
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatal(err)
		}
		frames = map[string]int{}
		for _, m := range got.Methods {
			frames[m.Method] = m.Frames
		}
		return got.Samples, frames
	}
	samples, frames := walk()
	if samples < 20 {
		t.Skipf("only %d samples", samples)
	}
	cmd := exec.Command("perf", "script", "--no-inline", "-i", "perf.data", "-F", "ip")
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
	if all := frames["all"]; all < user || all > user+samples {
		t.Errorf("got %d frames of %d samples, perf has %d", all, samples, user)
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
	if _, with := walk("--sframe-dir", "side"); with["sframe"] < with["all"]*9/10 {
		t.Errorf("got %v frames with .sframe for all", with)
	}
	t.Logf("%d samples: %v, perf %d", samples, frames, user)
}
