//go:build e2e && linux

package waits

import (
	"bytes"
	"testing"
	"time"
)

// Guards in variables tell the owners of locks that record none. What looks like a guard
// that is not one, or not any more, tells none.
func TestGuardsOfCXX(t *testing.T) {
	const none = "futex: first second"
	for _, level := range []string{"-O0", "-Og"} {
		bin := build(t, "guards.cc", level)
		for _, tt := range []struct {
			mode    string
			threads int
			want    string
		}{
			{"guard", 3, none + " -> holder?"},
			{"unique", 3, none + " -> holder?"},
			{"scoped", 3, none + " -> holder?"},
			{"reader", 2, "rwlock: writer -> holder?"},
			{"readers", 3, "rwlock: writer"},
			{"released", 3, none},
			{"later", 3, none},
			{"destroyed", 4, none},
			{"condition", 4, none},
		} {
			t.Run(level+"/"+tt.mode, func(t *testing.T) {
				want := tt.want
				if tt.mode == "condition" {
					want = "condition: holder\n" + want
				}
				start(t, tt.threads, bin, tt.mode).check(t, want)
			})
		}
	}
}

func TestGuardsOfRust(t *testing.T) {
	const mutex, rwlock = "mutex: first second", "rwlock: first second"
	for _, flags := range [][]string{{"-C", "opt-level=0"}, nil} {
		bin := build(t, "guards.rs", flags...)
		for _, tt := range []struct {
			mode    string
			threads int
			want    string
		}{
			{"guard", 3, mutex + " -> holder?"},
			{"argument", 3, mutex + " -> holder?"},
			{"reader", 3, rwlock + " -> holder?"},
			{"writer", 3, rwlock + " -> holder?"},
			{"condition", 4, "condition: holder\n" + mutex},
			{"around", 4, mutex},
		} {
			t.Run(tt.mode, func(t *testing.T) { start(t, tt.threads, bin, tt.mode).check(t, tt.want) })
		}
	}
}

// The sentence says that the owner is inferred, and by what.
func TestSentenceOfGuard(t *testing.T) {
	p := start(t, 3, build(t, "guards.cc", "-O0"), "guard")
	const want = " as it seems (a std::lock_guard<Lock> in guard"
	var text []byte
	for until := time.Now().Add(unhurried); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		if text = bt(t, "-p", p.pid()); bytes.Contains(text, []byte(want)) {
			return
		}
	}
	t.Errorf("got %q, want %q in it", text, want)
}
