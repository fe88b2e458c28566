package testkit

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// caseFiles are what every case of testdata/cores has.
var caseFiles = []string{"core.zst", "expected.json", "meta.json", "bt.golden"}

// Cases returns the names of the recorded cores in dir, as the file CASES lists
// them. It fails if a case is missing, lacks a file or is not in the list: a
// test that looked for what is there would not see what is gone.
func Cases(t testing.TB, dir string) []string {
	t.Helper()
	names, err := cases(os.DirFS(dir))
	if err != nil {
		t.Fatalf("%s: %v", dir, err)
	}
	return names
}

// EachCase runs a test for each of the recorded cores in dir, and fails if it
// did not begin for all of them. If -run or -skip chooses subtests, the others
// are left out.
func EachCase(t *testing.T, dir string, test func(t *testing.T, name string)) {
	t.Helper()
	names := Cases(t, dir)
	began := 0
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			began++
			test(t, name)
		})
	}
	if began != len(names) && !choosesSubtests() {
		t.Errorf("the test ran for %d of %d cases", began, len(names))
	}
}

func choosesSubtests() bool {
	return slices.ContainsFunc([]string{"test.run", "test.skip"}, func(name string) bool {
		f := flag.Lookup(name)
		return f != nil && strings.Contains(f.Value.String(), "/")
	})
}

// cases reads the list of cases and compares it with the directories next to it.
func cases(dir fs.FS) (names []string, err error) {
	text, err := fs.ReadFile(dir, "CASES")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		head, list, ok := strings.Cut(strings.TrimSpace(line), ":")
		if strings.HasPrefix(head, "#") {
			continue
		}
		group, count, _ := strings.Cut(head, " ")
		n, err := strconv.Atoi(count)
		if members := strings.Fields(list); !ok || err != nil || n != len(members) {
			return nil, fmt.Errorf("CASES: %q lists %d cases", head, len(members))
		}
		for _, name := range strings.Fields(list) {
			names = append(names, group+"-"+name)
		}
	}
	slices.Sort(names)
	var wrong []error
	for i, name := range names {
		if i > 0 && names[i-1] == name {
			wrong = append(wrong, fmt.Errorf("CASES lists %s twice", name))
		}
		for _, file := range caseFiles {
			if _, err := fs.Stat(dir, name+"/"+file); err != nil {
				wrong = append(wrong, err)
			}
		}
	}
	entries, err := fs.ReadDir(dir, ".")
	for _, e := range entries {
		if e.IsDir() && !slices.Contains(names, e.Name()) {
			wrong = append(wrong, fmt.Errorf("CASES does not list %s", e.Name()))
		}
	}
	return names, errors.Join(append(wrong, err)...)
}
