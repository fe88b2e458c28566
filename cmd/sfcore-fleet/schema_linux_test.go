package main

import (
	"bytes"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sfcore/sfcore/internal/command"
	"github.com/sfcore/sfcore/internal/testkit"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/queue"
)

// Every command prints JSON, but for those whose output is something else.
func TestCommandsHaveJSON(t *testing.T) {
	for _, path := range command.Without(newRootCommand(), "format") {
		if !slices.Contains([]string{
			"sfcore-fleet all", "sfcore-fleet agent", "sfcore-fleet worker", "sfcore-fleet serve", // run until they are stopped
			"sfcore-fleet fetch",     // writes a core
			"sfcore-fleet keys",      // writes files, and prints the name of one
			"sfcore-fleet token",     // prints a line for a file
			"sfcore-fleet dead show", // writes the bytes of a message
			"sfcore-fleet dead rm",   // prints nothing
			"sfcore-fleet help",      // a text of cobra
			"sfcore-fleet completion bash", "sfcore-fleet completion fish", "sfcore-fleet completion powershell", "sfcore-fleet completion zsh",
		}, path) {
			t.Errorf("%s has no --format", path)
		}
	}
}

// What commands print as JSON is as the schemas in docs/schemas say.
func TestDocuments(t *testing.T) {
	for name, of := range map[string]struct {
		title string
		value any
	}{
		"fleet-dead":   {"sfcore-fleet dead list --format json", []queue.Dead{{Number: 1, Reason: "a reason"}}},
		"fleet-sent":   {"sfcore-fleet dead send --format json", sentAgain{"sfcore.fleet-sent/1", []uint64{1}}},
		"fleet-submit": {"sfcore-fleet submit --format json", []submittedCore{{Core: "core", ID: "1"}, {Core: "none", Error: "it is not there"}}},
	} {
		var out bytes.Buffer
		if err := writeJSON(&out, of.value); err != nil {
			t.Fatal(err)
		}
		testkit.Published(t, filepath.Join("../../docs/schemas", name+".json"), of.title, of.value).Check(t, out.String())
	}
}
