package process

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/dwarf/value"
)

// TestShorten has names of variables at the bound.
func TestShorten(t *testing.T) {
	x := strings.Repeat("x", 255)
	for name, want := range map[string]string{
		"": "", "x": "x", x + "y": x + "y", x + "yz": x + "y...", x + "é": x + "...", x + "éa": x + "...",
	} {
		if got := shorten(name); got != want {
			t.Errorf("got %q of %d bytes, want %q", got, len(name), want)
		}
	}
}

// TestMissing has why a variable has no value, in a few words where they are known.
func TestMissing(t *testing.T) {
	for want, err := range map[string]error{
		value.ErrOptimizedOut.Error(): fmt.Errorf("x: %w", value.ErrOptimizedOut), value.ErrNotRecovered.Error(): fmt.Errorf("x: %w", value.ErrNotRecovered), "other": errors.New("other"),
	} {
		if got := missing(err); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
