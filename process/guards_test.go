package process_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/report"
)

// openGuards opens a core of guards.cc.
func openGuards(t testing.TB, level string) *process.Process {
	t.Helper()
	dir := filepath.Join("../testdata/guards", "amd64-"+level)
	img, err := core.Open(context.Background(), filepath.Join(dir, "core.zst"), core.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := process.New(img, process.Options{Exe: filepath.Join(dir, "prog")})
	t.Cleanup(func() { p.Close() })
	return p
}

// heldBy returns the function of the thread that holds each lock for which a thread
// waits, by the names of the locks in guards.cc.
func heldBy(t testing.TB, p *process.Process) map[string]string {
	t.Helper()
	r, err := p.Report(context.Background(), p.Threads())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Deadlocks) > 0 {
		t.Errorf("got deadlocks %v, want none: owners are only inferred", r.Deadlocks)
	}
	locks := map[uint64]string{}
	for _, name := range []string{"plain", "owned", "released", "first", "second", "later", "ended", "inlined", "again", "shared", "given", "busy", "behind"} {
		addr, ok := p.Address("_ZL" + string(rune('0'+len(name))) + name)
		if !ok {
			t.Fatalf("the program has no %s", name)
		}
		locks[addr] = name
	}
	held := map[string]string{}
	for i := range r.Waits {
		w := &r.Waits[i]
		if w.Inferred != (w.Owner != 0) || w.Inferred != strings.HasPrefix(w.Evidence, "a std::") {
			t.Errorf("got %+v", w)
		}
		held[locks[uint64(w.Address)]] = holder(r, w.Owner)
	}
	return held
}

// holder returns the function of guards.cc in which a thread is, by its innermost name
// but for those that let threads stand still.
func holder(r *report.Document, tid int) string {
	for i := range r.Threads {
		if r.Threads[i].TID != tid {
			continue
		}
		for j := range r.Threads[i].Frames {
			name, _, _ := strings.Cut(r.Threads[i].Frames[j].Function, "(")
			if !slices.Contains([]string{"rest", "call"}, name) {
				return name
			}
		}
	}
	return ""
}

// Guards that do not exist yet or any more, that another thread seems to have too, that
// are given up for a condition, or that are just made, make no owner.
func TestGuardsMakeOwners(t *testing.T) {
	for _, level := range []string{"O0", "Og"} {
		t.Run(level, func(t *testing.T) {
			held := heldBy(t, openGuards(t, level))
			for lock, want := range map[string]string{
				"plain": "hold_plain", "owned": "hold_owned", "first": "hold_two", "second": "hold_two",
				"released": "", "later": "", "ended": "", "inlined": "", "again": "", "shared": "", "given": "", "behind": "", "busy": "",
			} {
				got, waited := held[lock]
				if !waited || got != want {
					t.Errorf("%s: got %q (waited for: %v), want %q", lock, got, waited, want)
				}
			}
		})
	}
}

// recorded adds the stacks of all threads to a Waits.
func recorded(p *process.Process) *process.Waits {
	waits, w := process.NewWaits(p), p.NewWalker()
	for _, th := range p.Threads() {
		waits.Add(w.Describe(w.Walk(th), false), th)
	}
	return waits
}

// A guard that was not looked at may be one of the same lock.
func TestGuardsBeyondTheBounds(t *testing.T) {
	p := openGuards(t, "O0")
	waits := recorded(p)
	whole, places, read := process.WaitingWithin(waits, 1<<10, 1<<10)
	if owners(&whole) != 4 {
		t.Fatalf("got %d owners, want 4", owners(&whole))
	}
	for _, tt := range []struct {
		name          string
		places, parts int
		want          int
	}{
		{"enough", places, read, 4},
		{"too many places", places - 1, read, 0},
		{"too many parts of guards", places, read - 1, 0},
	} {
		r, _, _ := process.WaitingWithin(waits, tt.places, tt.parts)
		if got := owners(&r); got != tt.want {
			t.Errorf("%s: got %d owners, want %d", tt.name, got, tt.want)
		}
		if len(r.Waits) != len(whole.Waits) {
			t.Errorf("%s: got %d waits, want %d", tt.name, len(r.Waits), len(whole.Waits))
		}
	}
	if problems := p.Problems(); !strings.Contains(strings.Join(problems, "\n"), "no owners of locks are inferred") {
		t.Errorf("got problems %q, want one that says so", problems)
	}
}

// Where nobody waits for a lock without an owner, no variables are looked at.
func TestGuardsAreLookedAtOnlyForWaiters(t *testing.T) {
	p := openGuards(t, "O0")
	r, places, read := process.WaitingWithin(process.NewWaits(p), 1<<10, 1<<10)
	if len(r.Waits) != 0 || places != 0 || read != 0 {
		t.Errorf("got %d waits, %d places, %d parts of guards, want none", len(r.Waits), places, read)
	}
}

func owners(r *report.Waiting) (n int) {
	for i := range r.Waits {
		if r.Waits[i].Owner != 0 {
			n++
		}
	}
	return n
}
