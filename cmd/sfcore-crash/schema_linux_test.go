package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sfcore/sfcore/internal/command"
	"github.com/sfcore/sfcore/internal/crash/index"
	"github.com/sfcore/sfcore/internal/crash/store"
	"github.com/sfcore/sfcore/internal/testkit"
)

// Every command prints JSON, but for those whose output is something else.
func TestCommandsHaveJSON(t *testing.T) {
	for _, path := range command.Without(newRootCommand(), "format") {
		if !slices.Contains([]string{
			"sfcore crash bt", "sfcore crash show", // hand flags to sfcore bt, also this one
			"sfcore crash dump",                        // writes a core or a report
			"sfcore crash pipe", "sfcore crash daemon", // speak to the kernel's log
			"sfcore crash watch", "sfcore crash serve", // run until they are stopped
			"sfcore crash rm",   // prints nothing
			"sfcore crash help", // a text of cobra
			"sfcore crash completion bash", "sfcore crash completion fish", "sfcore crash completion powershell", "sfcore crash completion zsh",
		}, path) {
			t.Errorf("%s has no --format", path)
		}
	}
}

// What commands print as JSON is as the schemas in docs/schemas say, and has no other members.
func TestDocuments(t *testing.T) {
	dir, root := imported(t, "exe"), t.TempDir()
	for name, of := range map[string]struct {
		title string
		value any
		args  []string
	}{
		"crash-list":        {"crash list --format json", []store.Record{}, []string{"list", "--format", "json"}},
		"crash-record":      {"a crash in the store of sfcore-crash; crash info --format json; a line of crash list --format jsonl", store.Record{}, []string{"info", "last", "--format", "json"}},
		"crash-top":         {"crash top --format json", []index.Group{}, []string{"top", "--format", "json"}},
		"crash-top-line":    {"each line of crash top --format jsonl", index.Group{}, []string{"top", "--format", "jsonl"}},
		"crash-stats":       {"crash stats --format json", stats{}, []string{"stats", "--format", "json"}},
		"crash-status":      {"crash status --format json", status{}, []string{"status", "--format", "json"}},
		"crash-import":      {"crash import --format json", importedDocument{}, []string{"import", "--format", "json", strippedCase}},
		"crash-resymbolize": {"crash resymbolize --format json", resymbolizedDocument{}, []string{"resymbolize", "--format", "json"}},
		"crash-install":     {"crash install and uninstall, --format json", []step{}, []string{"install", "--format", "json", "--root", root}},
	} {
		documents := testkit.Published(t, filepath.Join("../../docs/schemas", name+".json"), of.title, of.value)
		text := run(t, append([]string{"--store", dir}, of.args...)...)
		if text == "[]\n" {
			t.Errorf("%s: the list is empty", name)
		}
		documents.Lines(t, text)
	}
	if _, err := os.Stat(filepath.Join(root, "etc")); err != nil {
		t.Error(err)
	}
}
