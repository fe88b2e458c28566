package main

import (
	"strings"
	"testing"
)

// A length that was read does not take the machine's memory: the system refuses
// it, and the program ends.
func TestLimit(t *testing.T) {
	_, s := open(t)
	t.Setenv(hungryEnv, "1")
	// Mostly by "out of memory", but the system may refuse memory anywhere.
	if _, _, err := list(t, s, nil); err == nil || !strings.HasPrefix(err.Error(), "delve ended") || strings.Contains(err.Error(), tookAll) {
		t.Errorf("got %v, want that the program ended before it had all", err)
	}
}
