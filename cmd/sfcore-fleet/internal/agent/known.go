package agent

import (
	"bufio"
	"bytes"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/sfcore/sfcore/internal/crash/store"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/message"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/queue"
)

// KnownFile is the name of the file that has the known kinds, each on a line of 32
// characters, in order: who looks for one need not read it whole.
const KnownFile = "known"

const (
	lineSize = 33
	// maxKnown bounds the known kinds. The newest go first if there are more.
	maxKnown = 200000
	// maxFirst bounds the kinds of which this host has sent a crash.
	maxFirst = 10000
	// lookEvery is how often kinds are forgotten that are not known any more.
	lookEvery = time.Minute
)

// known is which kinds of crashes are known to all hosts.
type known struct {
	file string

	mu     sync.Mutex
	kinds  map[string]time.Time // until when each is known
	next   map[string]time.Time // those that a watch tells that has begun; nil when it is whole
	sent   map[string]bool      // by this host
	looked time.Time            // when old ones were forgotten
	dirty  bool                 // the file is not as this
}

// load reads what was known when this program ended. Without a server it stays like that,
// until all of it is old.
func (k *known) load(now time.Time) {
	text, err := store.ReadFile(k.file, maxKnown*lineSize)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kinds = map[string]time.Time{}
	if err != nil {
		return
	}
	for in := bufio.NewScanner(bytes.NewReader(text)); in.Scan(); {
		if kind := in.Text(); message.IsKind(kind) {
			k.kinds[kind] = now.Add(queue.KnownFor)
		}
	}
}

func (k *known) has(kind string, now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return now.Before(k.kinds[kind])
}

// first reports whether this host has sent no crash of a kind before.
func (k *known) first(kind string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.sent[kind] {
		return false
	}
	if k.sent == nil || len(k.sent) >= maxFirst {
		k.sent = map[string]bool{}
	}
	k.sent[kind] = true
	return true
}

// begin begins a list of all kinds.
func (k *known) begin() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.next = map[string]time.Time{}
}

// change tells until when a kind is known, or with the zero time that it is not.
func (k *known) change(kind string, until time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	to := k.kinds
	if k.next != nil {
		to = k.next
	}
	switch {
	case until.IsZero():
		delete(to, kind)
	case message.IsKind(kind) && len(to) < maxKnown:
		to[kind] = until
	}
	k.dirty = k.dirty || k.next == nil
}

// whole ends the list of all kinds.
func (k *known) whole() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.next != nil {
		k.kinds, k.next, k.dirty = k.next, nil, true
	}
}

// flush writes the file if it is not up to date, as a whole: a handler may be reading the one
// before. What fails is tried again the next time.
func (k *known) flush(now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now.Sub(k.looked) >= lookEvery {
		k.looked = now
		before := len(k.kinds)
		maps.DeleteFunc(k.kinds, func(_ string, until time.Time) bool { return !now.Before(until) })
		k.dirty = k.dirty || len(k.kinds) < before
	}
	if !k.dirty {
		return
	}
	var text bytes.Buffer
	for _, kind := range slices.Sorted(maps.Keys(k.kinds)) {
		text.WriteString(kind + "\n")
	}
	if store.WriteFile(k.file, text.Bytes()) == nil {
		k.dirty = false
		_ = os.Chmod(k.file, 0o644) //nolint:gosec // hashes of addresses; handlers of users read them
	}
}
