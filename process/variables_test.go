package process_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/report"
)

const localsDir = "../testdata/locals"

func openLocals(t testing.TB, name string) *process.Process {
	t.Helper()
	dir := filepath.Join(localsDir, name)
	img, err := core.Open(context.Background(), filepath.Join(dir, "core.zst"), core.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tg := process.New(img, process.Options{Exe: filepath.Join(dir, "prog")})
	t.Cleanup(func() { tg.Close() })
	return tg
}

// variablesOf returns the variables of the first thread, a line each.
func variablesOf(t testing.TB, tg *process.Process) string {
	t.Helper()
	return listVariables(withVariables(tg))
}

// withVariables describes the first thread with its variables.
func withVariables(tg *process.Process) *report.Thread {
	w := tg.NewWalker()
	s := w.Walk(tg.Threads()[0])
	r := w.Describe(s, false)
	w.AddVariables(s, r)
	return r
}

func listVariables(r *report.Thread) string {
	var b strings.Builder
	for i := range r.Frames {
		f := &r.Frames[i]
		fmt.Fprintf(&b, "%s\n", f.Function)
		for j := range f.Variables {
			v := &f.Variables[j]
			kind := "local"
			if v.Argument {
				kind = "argument"
			}
			fmt.Fprintf(&b, "  %s (%s) %s = %s\n", kind, v.Type, v.Name, v.Text())
		}
	}
	return b.String()
}

// TestVariables compares variables with golden files. Those of -O0 are the values
// that locals.c gives them.
func TestVariables(t *testing.T) {
	for _, arch := range []string{"amd64", "aarch64", "s390x"} {
		for _, level := range []string{"O0", "O2"} {
			name := arch + "-" + level
			t.Run(name, func(t *testing.T) {
				tg := openLocals(t, name)
				testkit.Golden(t, filepath.Join(localsDir, name+".golden"), []byte(variablesOf(t, tg)))
				if p := tg.Problems(); len(p) > 0 {
					t.Errorf("problems: %v", p)
				}
			})
		}
	}
}

// Values do not depend on the architecture, addresses and names of types aside.
func TestVariablesOfArchitectures(t *testing.T) {
	var want []string
	for _, arch := range []string{"amd64", "aarch64", "s390x"} {
		text, err := os.ReadFile(filepath.Join(localsDir, arch+"-O0.golden"))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for line := range strings.Lines(string(text)) {
			if !strings.Contains(line, "0x") && !strings.HasPrefix(line, "  argument (const char *)") {
				got = append(got, line)
			}
		}
		if want == nil {
			want = got
		}
		if a, b := strings.Join(got, ""), strings.Join(want, ""); a != b {
			t.Errorf("%s: got\n%s\nwant\n%s", arch, a, b)
		}
	}
}
