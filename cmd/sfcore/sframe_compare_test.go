package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/sframe/compare"
)

func TestCompareGolden(t *testing.T) {
	for name, tt := range map[string]struct {
		args []string
		code int
	}{
		"compare-help":  {[]string{"compare", "--help"}, exitComplete},
		"compare-clean": {[]string{"compare", objectsDir + "/amd64-v3/linked-plt.elf", objectsDir + "/amd64-v1/linked-exec.elf"}, exitComplete},
		"compare-v1":    {[]string{"compare", objectsDir + "/amd64-v1/amd64-edges.o"}, exitIncomplete},
		"compare-all":   {[]string{"compare", "--all", objectsDir + "/amd64-v1/amd64-edges.o"}, exitIncomplete},
		"compare-json":  {[]string{"compare", "--format", "json", objectsDir + "/amd64-v3/amd64-outermost.o"}, exitIncomplete},
		"compare-cpio":  {[]string{"compare", coresDir + "/amd64-v2e1-debian-cpio/exe/cpio"}, exitIncomplete},
		"compare-core":  {append([]string{"compare"}, caseArgs(t, "amd64-v3-mixednofp")...), exitIncomplete},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, code := sfcore(append([]string{"sframe"}, tt.args...)...)
			if code != tt.code || stderr != "" {
				t.Errorf("got exit status %d, %q, want %d", code, stderr, tt.code)
			}
			testkit.Golden(t, filepath.Join("testdata", "sframe", name+".golden"), []byte(stdout))
			if name == "compare-json" && !json.Valid([]byte(stdout)) {
				t.Error("this is not JSON")
			}
		})
	}
}

// A file that cannot be compared does not keep others from being.
func TestCompareUnreadable(t *testing.T) {
	stdout, stderr, code := sfcore("sframe", "compare", "none", objectsDir+"/hostile/fre-15-words.o", objectsDir+"/amd64-v3/amd64-basic.o")
	if code != exitFailed || strings.Count(stderr, "\n") != 2 || !strings.Contains(stderr, "no .eh_frame") || !strings.Contains(stdout, "no differences") {
		t.Errorf("got exit status %d, %q, %q", code, stderr, stdout)
	}
}

func TestHabitsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/sframe-habits.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range compare.Habits {
		if !strings.Contains(string(text), "| `"+h.ID+"` |") {
			t.Errorf("docs/sframe-habits.md does not explain %s: %s", h.ID, h.Meaning)
		}
	}
}
