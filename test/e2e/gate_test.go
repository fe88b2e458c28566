//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/gate/defect"
)

// gateOutput is what the test needs of `sframe gate --format json`.
type gateOutput struct {
	Files []struct {
		File     string `json:"file"`
		Findings []struct{ ID, State, Message string }
	} `json:"files"`
}

// gated runs the gate and returns the names of the findings that fail.
func gated(t *testing.T, sfcore string, files ...string) map[string]bool {
	t.Helper()
	out, err := exec.Command(sfcore, append([]string{"sframe", "gate", "--format", "json"}, files...)...).Output()
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		t.Fatalf("%v: %v", files, err)
	}
	var got gateOutput
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	failed := map[string]bool{}
	for _, f := range got.Files {
		for _, x := range f.Findings {
			if x.State == "new" {
				failed[x.ID] = true
			}
		}
	}
	if (err != nil) != (len(failed) > 0) {
		t.Errorf("%v: the exit status does not fit %v", files, failed)
	}
	return failed
}

// build runs a compiler in a directory.
func build(t *testing.T, dir string, args ...string) error {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Logf("%q: %v\n%.300s", args, err, out)
	}
	return err
}

// The output of the linkers of this machine passes if it is good, by objdump as well.
// Defects that are planted into it are found, and so are those that the linkers make.
func TestGate(t *testing.T) {
	sfcore := buildSfcore(t)
	sources, err := filepath.Abs("testdata/gate")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"one", "two"} {
		if build(t, dir, "g++", "-O2", "-Wa,--gsframe", "-ffunction-sections", "-fno-plt", "-c", filepath.Join(sources, name+".cc")) != nil {
			t.Skip("g++ and an assembler that knows --gsframe are needed")
		}
	}
	if build(t, dir, "gcc", "-O2", "-Wa,--gsframe", "-fno-plt", "-nostdlib", "-c", filepath.Join(sources, "bare.c")) != nil {
		t.Skip("gcc is needed")
	}
	// What each linker does of its own; a linker that is not here is left out.
	for _, linker := range []struct {
		name   string
		own    []string // defects of each of its outputs
		comdat string   // that of a discarded COMDAT copy; "" if the link fails or is right
	}{
		{"bfd", nil, ""},
		{"lld", []string{"segment-missing", "unsorted"}, ""},
		{"mold", []string{"segment-missing", "unsorted"}, "function-outside-code"},
	} {
		t.Run(linker.name, func(t *testing.T) {
			out := filepath.Join(dir, "bare-"+linker.name)
			if build(t, dir, "gcc", "-fuse-ld="+linker.name, "-nostdlib", "-no-pie", "bare.o", "-o", out) != nil {
				t.Skip("the linker is needed")
			}
			own := gated(t, sfcore, out)
			for _, id := range linker.own {
				if !own[id] {
					t.Errorf("got %v, want %s", own, id)
				}
				delete(own, id)
			}
			if len(own) > 0 {
				t.Errorf("got %v in good output", own)
			}
			data, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			planted := 0
			for i := range defect.All {
				d := &defect.All[i]
				bad, ok, err := d.Plant(data)
				if err != nil {
					t.Fatal(err)
				}
				if !ok {
					continue
				}
				planted++
				file := out + "-" + d.ID
				if err := os.WriteFile(file, bad, 0o755); err != nil {
					t.Fatal(err)
				}
				if got := gated(t, sfcore, file); !got[d.ID] {
					t.Errorf("%s: got %v, want %s", d.What, got, d.ID)
				}
			}
			if planted < 15 {
				t.Errorf("only %d defects could be planted", planted)
			}
			// Two copies of a function, of which the linker drops one.
			both := filepath.Join(dir, "both-"+linker.name)
			if build(t, dir, "g++", "-fuse-ld="+linker.name, "one.o", "two.o", "-o", both) == nil {
				got := gated(t, sfcore, both)
				if linker.comdat != "" && !got[linker.comdat] || linker.comdat == "" && got["function-outside-code"] {
					t.Errorf("got %v of two COMDAT copies, want %q", got, linker.comdat)
				}
			}
			// objdump reads what the gate lets pass.
			if text, err := exec.Command("objdump", "--sframe", out).CombinedOutput(); err != nil || strings.Contains(string(text), "Error") || !strings.Contains(string(text), "Num FDEs") {
				t.Errorf("objdump: %v\n%.500s", err, text)
			}
		})
	}
	// Archives and object files, also one with a section without a byte (mold#1646).
	if err := build(t, dir, "objcopy", "--remove-section=.rela.sframe", "--update-section", ".sframe=/dev/null", "bare.o", "empty.o"); err != nil {
		t.Fatal(err)
	}
	if err := build(t, dir, "ar", "rc", "lib.a", "one.o", "two.o", "bare.o", "empty.o"); err != nil {
		t.Fatal(err)
	}
	if got := gated(t, sfcore, filepath.Join(dir, "lib.a")); len(got) > 0 {
		t.Errorf("got %v in an archive of good objects", got)
	}
}
