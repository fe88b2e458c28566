//go:build e2e

// Package locals compares the arguments and local variables that sfcore shows
// with those of gdb, for programs that are compiled, run and dumped here. It needs
// gcc, g++ and gdb; with rustc, programs in Rust are compared too.
package locals

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// sfcore is the program under test, built once.
var sfcore string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "locals")
	if err != nil {
		panic(err)
	}
	sfcore = filepath.Join(dir, "sfcore")
	if out, err := exec.Command("go", "build", "-o", sfcore, "github.com/sfcore/sfcore/cmd/sfcore").CombinedOutput(); err != nil {
		panic(fmt.Sprintf("%v: %s", err, out))
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// A value is what one of the two debuggers says of a variable or a part of one.
type value struct {
	Path   string `json:"path"`
	Kind   string `json:"kind"`
	Value  string `json:"value"`
	Number string `json:"number"`
}

type frame struct {
	PC        string  `json:"pc"`
	Function  string  `json:"function"`
	Variables []value `json:"variables"`
}

// part is a variable of a report.
type part struct {
	Name, Type, Value, Missing string
	Argument, Base, Elements   bool
	Members                    []part
}

type ourFrame struct {
	PC        string
	Function  string
	Variables []part
}

// dump compiles a program and dumps its core where it aborts.
func dump(t *testing.T, source string, flags ...string) string {
	t.Helper()
	compilers := map[string]string{".c": "gcc", ".cc": "g++", ".rs": "rustc"}
	compiler := compilers[filepath.Ext(source)]
	if _, err := exec.LookPath(compiler); err != nil && compiler == "rustc" {
		t.Skip(err)
	}
	path, err := filepath.Abs(filepath.Join("testdata", source))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	run(t, dir, compiler, append(flags, "-g", "-o", "prog", path)...)
	run(t, dir, "gdb", "-nx", "-batch", "-ex", "run", "-ex", "generate-core-file core", "./prog")
	if _, err := os.Stat(filepath.Join(dir, "core")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// run returns what a command prints; sfcore fails where stacks are not complete.
func run(t *testing.T, dir, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "DEBUGINFOD_URLS=", "LC_ALL=C.UTF-8")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil && name != sfcore {
		t.Fatalf("%s: %v: %s", name, err, stderr.Bytes())
	}
	return out
}

func gdbFrames(t *testing.T, dir string) []frame {
	t.Helper()
	script, err := filepath.Abs("testdata/values.py")
	if err != nil {
		t.Fatal(err)
	}
	var frames []frame
	lines := bufio.NewScanner(bytes.NewReader(run(t, dir, "gdb", "-nx", "-batch", noDebugFiles, "-ex", "source "+script, "./prog", "core")))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		text, ok := strings.CutPrefix(lines.Text(), "FRAME ")
		if !ok {
			continue
		}
		var f frame
		if err := json.Unmarshal([]byte(text), &f); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		frames = append(frames, f)
	}
	return frames
}

func ourFrames(t *testing.T, dir string) []ourFrame {
	t.Helper()
	var report struct{ Threads []struct{ Frames []ourFrame } }
	out := run(t, dir, sfcore, "bt", "--locals", "--raw", "--format", "json", "core")
	if err := json.Unmarshal(out, &report); err != nil || len(report.Threads) == 0 {
		t.Fatalf("%v: %s", err, out)
	}
	return report.Threads[0].Frames
}

// flatten lists the values of variables by their paths.
func flatten(vars []part) map[string]part {
	all := map[string]part{}
	seen := map[string]int{}
	var walk func(path string, p *part)
	walk = func(path string, p *part) {
		if len(p.Members) == 0 {
			all[path] = *p
			return
		}
		if p.Value != "" { // a reference
			all[path] = part{Value: p.Value}
			for i := range p.Members[0].Members {
				m := &p.Members[0].Members[i]
				walk(path+member(&p.Members[0], m), m)
			}
			if len(p.Members[0].Members) == 0 {
				all[path+"&"] = p.Members[0]
			}
			return
		}
		for i := range p.Members {
			walk(path+member(p, &p.Members[i]), &p.Members[i])
		}
	}
	// gdb has the arguments last, in the outermost block.
	slices.SortStableFunc(vars, func(a, b part) int {
		switch {
		case a.Argument == b.Argument:
			return 0
		case a.Argument:
			return 1
		}
		return -1
	})
	for i := range vars {
		path := vars[i].Name
		if seen[path]++; seen[path] > 1 {
			path = fmt.Sprintf("%s#%d", path, seen[path])
		}
		walk(path, &vars[i])
	}
	return all
}

// member is what the name of a part adds to the path.
func member(of, p *part) string {
	switch {
	case of.Elements:
		return p.Name
	case p.Base:
		return "<" + p.Type + ">"
	case p.Name == "":
		return ""
	}
	return "." + p.Name
}

// equal compares a value of gdb's with the text of ours.
func equal(want *value, got string) bool {
	first, _, _ := strings.Cut(got, " ")
	switch want.Kind {
	case "int":
		n := map[string]string{"true": "1", "false": "0", "nullptr": "0"}[first]
		return first == want.Value || n == want.Value
	case "float":
		a, errA := strconv.ParseFloat(want.Value, 64)
		b, errB := strconv.ParseFloat(got, 64)
		return errA == nil && errB == nil && (a == b || float32(a) == float32(b) || math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= 1e-6*math.Abs(a))
	case "enum":
		name := strings.Trim(want.Value, "()")
		return got == name || got == want.Number || strings.HasSuffix(name, "::"+got)
	case "pointer":
		return first == want.Value || first == "@"+want.Value
	case "string":
		text, err := strconv.Unquote(got)
		return err == nil && hex.EncodeToString([]byte(text)) == want.Value
	}
	return false
}

type count struct{ both, gdbOnly, oursOnly, wrong int }

// compare compares the variables of frames that both have.
func compare(t *testing.T, gdb []frame, ours []ourFrame) (n count) {
	t.Helper()
	// Inlined frames have the pc of the one that they are in.
	next := map[string]int{}
	for i := range gdb {
		g := &gdb[i]
		from := next[g.PC]
		at := slices.IndexFunc(ours[from:], func(f ourFrame) bool { return f.PC == g.PC })
		if at < 0 {
			n.gdbOnly += len(g.Variables)
			t.Logf("frame %s %s is not in ours", g.PC, g.Function)
			continue
		}
		next[g.PC] = from + at + 1
		mine := flatten(ours[from+at].Variables)
		seen := map[string]bool{}
		for j := range g.Variables {
			want := &g.Variables[j]
			got, ok := mine[want.Path]
			if seen[want.Path] { // what a reference refers to
				got, ok = mine[want.Path+"&"]
			}
			seen[want.Path] = true
			have := ok && got.Missing == "" && got.Value != ""
			switch {
			case want.Kind == "missing" && have:
				n.oursOnly++
				t.Logf("only ours: %s %s = %s (gdb: %s)", g.Function, want.Path, got.Value, want.Value)
			case want.Kind == "missing":
			case !have:
				n.gdbOnly++
				t.Logf("only gdb: %s %s = %s (ours: %q)", g.Function, want.Path, want.Value, got.Missing)
			case equal(want, got.Value):
				n.both++
			default:
				n.wrong++
				t.Errorf("%s %s: got %q, gdb has %s %s", g.Function, want.Path, got.Value, want.Kind, want.Value)
			}
		}
		for path, got := range mine {
			if path = strings.TrimSuffix(path, "&"); !seen[path] && got.Missing == "" && got.Value != "" {
				n.oursOnly++
				t.Logf("only ours: %s %s = %s", g.Function, path, got.Value)
			}
		}
	}
	return n
}

// noDebugFiles has gdb leave alone what this machine has for libc, so that
// variables of the test programs are what is compared.
const noDebugFiles = "-iex=set debug-file-directory /nonexistent"

func TestAsGDB(t *testing.T) {
	tests := []struct {
		source string
		flags  []string
		atMost float64 // the share of gdb's values that sfcore does not have
	}{
		{"values.c", []string{"-w", "-O0"}, 0},
		{"values.c", []string{"-w", "-O2"}, 0},
		{"values.c", []string{"-w", "-O2", "-gdwarf-4", "-fdebug-types-section"}, 0},
		{"values.c", []string{"-w", "-O1", "-gdwarf-4", "-gsplit-dwarf"}, 0},
		{"values.c", []string{"-w", "-O1", "-gsplit-dwarf"}, 0},
		{"values.c", []string{"-w", "-O0", "-gdwarf-2", "-gstrict-dwarf"}, 0},
		{"inline.c", []string{"-w", "-O0"}, 0},
		{"inline.c", []string{"-w", "-O2"}, 0},
		{"inline.c", []string{"-w", "-O3", "-fomit-frame-pointer", "-gdwarf-4"}, 0},
		{"classes.cc", []string{"-w", "-O0"}, 0},
		{"classes.cc", []string{"-w", "-O2"}, 0},
		{"classes.cc", []string{"-w", "-O1", "-fdebug-types-section"}, 0},
		{"shapes.rs", nil, 0},
		// gdb takes registers of the innermost frame for those of a caller that
		// calls did not keep: it shows addresses such as 0x6.
		{"shapes.rs", []string{"-O"}, 0.15},
	}
	for _, tt := range tests {
		t.Run(tt.source+" "+strings.Join(tt.flags, " "), func(t *testing.T) {
			dir := dump(t, tt.source, tt.flags...)
			gdb, ours := gdbFrames(t, dir), ourFrames(t, dir)
			n := compare(t, gdb, ours)
			t.Logf("values: %d both, %d only gdb, %d only ours, %d different", n.both, n.gdbOnly, n.oursOnly, n.wrong)
			if n.both < 5 {
				t.Errorf("compared %d values only", n.both)
			}
			if share := float64(n.gdbOnly) / float64(n.both+n.gdbOnly); share > tt.atMost {
				t.Errorf("sfcore lacks %.1f %% of gdb's values", 100*share)
			}
		})
	}
}
