package version

import (
	"encoding/json"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

func TestGet(t *testing.T) {
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef"}
	for _, tt := range []struct {
		main     string
		settings []debug.BuildSetting
		released string
		want     string
		text     string
	}{
		{"(devel)", nil, "", number + "-dev", number + "-dev ("},
		{"v" + number, nil, "", number, number + " ("},
		{"v" + number, []debug.BuildSetting{revision}, "", number, number + " (" + runtime.Version() + ", commit 0123456789ab)"},
		{"v" + number, []debug.BuildSetting{revision, {Key: "vcs.modified", Value: "true"}}, "", number + "-dev", number + "-dev (" + runtime.Version() + ", commit 0123456789ab, changed)"},
		{"v0.0.0-20251125000000-0123456789ab", []debug.BuildSetting{revision, {Key: "vcs.time", Value: "2026-11-25T00:00:00Z"}}, "", number + "-dev", number + "-dev (" + runtime.Version() + ", commit 0123456789ab of 2026-11-25T00:00:00Z)"},
		{"(devel)", nil, "7.8.9", "7.8.9", "7.8.9 ("},
	} {
		got := get(&debug.BuildInfo{Main: debug.Module{Version: tt.main}, Settings: tt.settings}, tt.released)
		if got.Version != tt.want || !strings.HasPrefix(got.String(), tt.text) {
			t.Errorf("%+v: got %q, %q", tt, got.Version, got)
		}
	}
}

// The changelog begins with the version that the tree is, or becomes.
func TestChangelog(t *testing.T) {
	text, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	heading := regexp.MustCompile(`(?m)^## (\S+), (unreleased|\d{4}-\d\d-\d\d)$`).FindSubmatch(text)
	if heading == nil || string(heading[1]) != number {
		t.Errorf("the newest version of CHANGELOG.md is in %q, and this tree is of %s", heading, number)
	}
}

// The extension of VS Code has the same version: it ships with the program.
func TestExtension(t *testing.T) {
	for _, name := range []string{"package.json", "package-lock.json"} {
		text, err := os.ReadFile("../../editors/vscode/" + name)
		if err != nil {
			t.Fatal(err)
		}
		var manifest struct {
			Version  string
			Packages map[string]struct{ Version string } // "" is the extension
		}
		if err := json.Unmarshal(text, &manifest); err != nil {
			t.Fatal(err)
		}
		if manifest.Version != number || manifest.Packages != nil && manifest.Packages[""].Version != number {
			t.Errorf("%s says %s and %q, and this tree is of %s", name, manifest.Version, manifest.Packages[""].Version, number)
		}
	}
}
