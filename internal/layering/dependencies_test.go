package layering

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const dependenciesFile = "docs/dependencies.md"

// docs/dependencies.md says of every module and package that this repository names for
// itself what it is for. A section is of one manifest, or of several.
func TestDependencies(t *testing.T) {
	text, err := os.ReadFile("../../" + dependenciesFile)
	if err != nil {
		t.Fatal(err)
	}
	documented := documentedDependencies(string(text))
	listed := manifests(t)
	if len(listed) < 10 {
		t.Fatalf("only %d manifests were found", len(listed))
	}
	for _, finding := range compareDependencies(listed, documented) {
		t.Error(finding)
	}
}

// The comparison finds what is missing on each side.
func TestDependenciesDiffer(t *testing.T) {
	documented := documentedDependencies("## One, `a/go.mod`\n\n| x | for |\n|---|---|\n| `m/old` | a |\n| `m/kept` | b |\n\n## Two, `gone/package.json`\n\n| `p` | c |\n")
	got := compareDependencies(map[string][]string{"a/go.mod": {"m/kept", "m/new"}, "b/package.json": nil}, documented)
	want := []string{
		"docs/dependencies.md says nothing of m/new, which a/go.mod requires",
		"docs/dependencies.md has m/old, which a/go.mod does not require",
		"docs/dependencies.md has no section for b/package.json",
		"docs/dependencies.md has a section for gone/package.json, which is not there",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func compareDependencies(listed, documented map[string][]string) (findings []string) {
	for _, manifest := range slices.Sorted(maps.Keys(listed)) {
		rows, ok := documented[manifest]
		if !ok {
			findings = append(findings, fmt.Sprintf("%s has no section for %s", dependenciesFile, manifest))
		}
		for _, name := range surplus(listed[manifest], rows) {
			findings = append(findings, fmt.Sprintf("%s says nothing of %s, which %s requires", dependenciesFile, name, manifest))
		}
		for _, name := range surplus(rows, listed[manifest]) {
			findings = append(findings, fmt.Sprintf("%s has %s, which %s does not require", dependenciesFile, name, manifest))
		}
	}
	for _, manifest := range slices.Sorted(maps.Keys(documented)) {
		if _, ok := listed[manifest]; !ok {
			findings = append(findings, fmt.Sprintf("%s has a section for %s, which is not there", dependenciesFile, manifest))
		}
	}
	return findings
}

var (
	manifestName  = regexp.MustCompile("`([^`]*(?:go\\.mod|package\\.json))`")
	dependencyRow = regexp.MustCompile("^\\| `([^`]+)`")
)

// documentedDependencies returns the first cell of the rows below each manifest in a heading.
func documentedDependencies(text string) map[string][]string {
	documented := map[string][]string{}
	manifest := ""
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			manifest = ""
			if m := manifestName.FindStringSubmatch(line); m != nil {
				manifest = m[1]
				documented[manifest] = nil
			}
		} else if m := dependencyRow.FindStringSubmatch(line); m != nil && manifest != "" {
			documented[manifest] = append(documented[manifest], m[1])
		}
	}
	return documented
}

// manifests returns what each manifest of the repository requires for itself.
func manifests(t *testing.T) map[string][]string {
	t.Helper()
	out, err := exec.Command("git", "-C", "../..", "ls-files", "--", "*go.mod", "*package.json").Output()
	if err != nil {
		t.Skipf("the manifests are listed by git: %v", err)
	}
	listed := map[string][]string{}
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSpace(name)
		path := filepath.Join("../..", name)
		if strings.HasPrefix(name, "testdata/") {
			continue // a case of tests, which is not built
		}
		if strings.HasSuffix(name, ".mod") {
			listed[name] = modules(t, path)
		} else {
			listed[name] = packages(t, path)
		}
	}
	return listed
}

// modules returns the direct requirements of a go.mod file: of its tools, their packages.
func modules(t *testing.T, path string) (names []string) {
	t.Helper()
	var mod struct {
		Tool    []struct{ Path string }
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	if err := json.Unmarshal(goCommand(t, "../..", nil, "mod", "edit", "-json", strings.TrimPrefix(path, "../../")), &mod); err != nil {
		t.Fatal(err)
	}
	for _, tool := range mod.Tool {
		names = append(names, tool.Path)
	}
	for _, r := range mod.Require {
		if !r.Indirect && !isOurs(r.Path) {
			names = append(names, r.Path)
		}
	}
	return names
}

func packages(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct{ Dependencies, DevDependencies map[string]string }
	if err := json.Unmarshal(text, &manifest); err != nil {
		t.Fatal(err)
	}
	return slices.AppendSeq(slices.Collect(maps.Keys(manifest.Dependencies)), maps.Keys(manifest.DevDependencies))
}
