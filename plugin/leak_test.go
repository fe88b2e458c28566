package plugin

import (
	"sync"
	"testing"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/process"
)

// TestLeaks opens and closes sessions, of core files and of this process's
// images, in turn, and leaves one walk in the middle.
func TestLeaks(t *testing.T) { leaks(t, inProcess(t, openTest)) }

// TestLeaksRelayed does it with sessions that are served elsewhere.
func TestLeaksRelayed(t *testing.T) { leaks(t, serve(t, relaying(nil), newest)) }

func leaks(t *testing.T, c *Client) {
	p, img := coreOf("amd64-v2-stripped-debuglink"), manyThreads(1, 3)
	testkit.Leaks(t, 100, func(n int) {
		s, err := openEither(t, c, n%4 == 0, img, p)
		if err != nil {
			t.Fatal(err)
		}
		for th, err := range s.Stacks(t.Context(), true) {
			if err != nil || len(th.Frames) == 0 {
				t.Fatalf("got %+v, %v", th, err)
			}
			if n%5 == 0 {
				break
			}
		}
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// TestLoad has many callers use sessions of their own and one that they share,
// which is closed under their hands.
func TestLoad(t *testing.T) {
	c := inProcess(t, openTest)
	const callers, rounds = 8, 3
	shared, err := c.Open(t.Context(), coreOf("amd64-v3-threads"))
	if err != nil {
		t.Fatal(err)
	}
	img := manyThreads(1, 3)
	var all sync.WaitGroup
	for n := range callers {
		all.Go(func() {
			for range rounds {
				s, err := openEither(t, c, n%2 == 0, img, coreOf("amd64-v3-deep"))
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := s.Report(t.Context()); err != nil {
					t.Error(err)
				}
				// The shared one may be gone: any answer will do, but there must be one.
				for _, err := range shared.Stacks(t.Context(), false) {
					_ = err
				}
				_, _ = shared.Modules(t.Context())
				if err := s.Close(t.Context()); err != nil {
					t.Error(err)
				}
			}
			if n == callers/2 {
				if err := shared.Close(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// openEither opens an image of this process, or a core file.
func openEither(t *testing.T, c *Client, ours bool, img *core.Image, p Spec) (*Session, error) {
	if ours {
		return c.OpenImage(t.Context(), img, process.Options{})
	}
	return c.Open(t.Context(), p)
}
