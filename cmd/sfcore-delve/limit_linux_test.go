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
	if _, _, err := list(t, s, nil); err == nil || !strings.Contains(err.Error(), "out of memory") {
		t.Errorf("got %v, want that the program ran out of memory", err)
	}
}
