package testkit

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMachine(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{
		"":                                    "",
		"#!/bin/sh\n# a script of many bytes": "",
		"\x7fELF\x02\x01\x01":                 "",
		"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x3e\x00more": "\x02\x01\x3e\x00",
	} {
		name := filepath.Join(dir, "file")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := machine(name); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if got := machine(filepath.Join(dir, "none")); got != "" {
		t.Errorf("got %q for no file", got)
	}
}
