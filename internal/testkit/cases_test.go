package testkit

import (
	"strings"
	"testing"
	"testing/fstest"
)

// The list fits what is recorded.
func TestCases(t *testing.T) {
	if names := Cases(t, "../../testdata/cores"); len(names) < 181 {
		t.Errorf("got %d cases", len(names))
	}
}

func TestCasesMissing(t *testing.T) {
	tests := []struct{ name, list, gone, added, want string }{
		{"whole", "# all\namd64-v3 2: a b-1\naarch64-v1pac 1: a\n", "", "", ""},
		{"case gone", "amd64-v3 2: a b-1\naarch64-v1pac 1: a\n", "amd64-v3-a/", "", "open amd64-v3-a/core.zst: file does not exist"},
		{"expected stacks gone", "amd64-v3 2: a b-1\naarch64-v1pac 1: a\n", "amd64-v3-a/expected.json", "", "open amd64-v3-a/expected.json: file does not exist"},
		{"not listed", "amd64-v3 2: a b-1\n", "", "", "CASES does not list aarch64-v1pac-a"},
		{"new", "amd64-v3 2: a b-1\naarch64-v1pac 1: a\n", "", "s390x-v3-a/core.zst", "CASES does not list s390x-v3-a"},
		{"gone from both", "amd64-v3 2: b-1\naarch64-v1pac 1: a\n", "amd64-v3-a/", "", `CASES: "amd64-v3 2" lists 1 cases`},
		{"listed twice", "amd64-v3 3: a a b-1\naarch64-v1pac 1: a\n", "", "", "CASES lists amd64-v3-a twice"},
		{"no count", "amd64-v3: a b-1\n", "", "", `CASES: "amd64-v3" lists 2 cases`},
		{"no list", "amd64-v3 0\n", "", "", `CASES: "amd64-v3 0" lists 0 cases`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tree := fstest.MapFS{"CASES": {Data: []byte(tt.list)}, "README.md": {}}
			for _, name := range []string{"amd64-v3-a", "amd64-v3-b-1", "aarch64-v1pac-a"} {
				for _, file := range caseFiles {
					if file = name + "/" + file; tt.gone == "" || !strings.HasPrefix(file, tt.gone) {
						tree[file] = &fstest.MapFile{}
					}
				}
			}
			if tt.added != "" {
				tree[tt.added] = &fstest.MapFile{}
			}
			_, err := cases(tree)
			got := ""
			if err != nil {
				got, _, _ = strings.Cut(err.Error(), "\n")
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
