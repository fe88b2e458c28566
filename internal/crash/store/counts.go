package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"time"
)

// Counts are what must survive this program, for it runs once for each crash.
type Counts struct {
	// Kinds are the kinds of crashes.
	Kinds map[string]*Kind `json:"kinds"`
	// Rates are the crashes of each program and user in a span of time.
	Rates map[string]*Window `json:"rates"`
	// Refused is how many crashes were over budget, and Lost how many could not be read.
	Refused int `json:"refused"`
	Lost    int `json:"lost"`
}

// Kind counts the crashes of a kind.
type Kind struct {
	Count int    `json:"count"`
	First string `json:"first"` // the id of the first that was kept
	// Newest is the id of the last that was kept, "" if an older version has counted it.
	Newest string    `json:"newest,omitempty"`
	Last   time.Time `json:"last"`
}

// Rate is a number of crashes per time.
type Rate struct {
	Crashes int
	Per     time.Duration
}

// Window counts crashes since a moment.
type Window struct {
	Since   time.Time `json:"since"`
	Crashes int       `json:"crashes"`
	Refused int       `json:"refused,omitempty"`
}

const (
	// maxKinds and maxRates bound what is counted. The kinds that were not seen for the
	// longest time are forgotten.
	maxKinds = 10000
	maxRates = 1000
	// maxCounts bounds the file, in bytes.
	maxCounts = 16 << 20
)

// parseCounts reads counts that were kept. Those that cannot be read begin anew.
func parseCounts(text []byte) (*Counts, error) {
	c := new(Counts)
	err := json.Unmarshal(text, c)
	if err != nil {
		c = new(Counts)
		err = fmt.Errorf("the counts of crashes begin anew: %w", err)
	}
	if c.Kinds == nil {
		c.Kinds = map[string]*Kind{}
	}
	if c.Rates == nil {
		c.Rates = map[string]*Window{}
	}
	maps.DeleteFunc(c.Kinds, func(_ string, k *Kind) bool { return k == nil })
	maps.DeleteFunc(c.Rates, func(_ string, w *Window) bool { return w == nil })
	return c, err
}

// within reports whether a crash is within the budget of its program and user, and
// counts it. refused is how many were not, in the span of time before, if this crash
// begins a new one.
func (c *Counts) within(rate Rate, program string, uid int, now time.Time) (ok bool, refused int) {
	key := rateKey(program, uid)
	w := c.Rates[key]
	if w == nil || now.Sub(w.Since) >= rate.Per || now.Before(w.Since) {
		if w != nil {
			refused = w.Refused
		}
		w = &Window{Since: now}
		c.Rates[key] = w
		c.forgetRates(rate.Per, now)
	}
	if w.Crashes >= rate.Crashes {
		w.Refused++
		c.Refused++
		return false, refused
	}
	w.Crashes++
	return true, refused
}

// rateKey is under which the crashes of a program of a user are counted.
func rateKey(program string, uid int) string { return fmt.Sprintf("%d %s", uid, program) }

// forgetRates drops what is over, and then the oldest.
func (c *Counts) forgetRates(per time.Duration, now time.Time) {
	maps.DeleteFunc(c.Rates, func(_ string, w *Window) bool { return now.Sub(w.Since) >= per })
	forget(c.Rates, maxRates, func(w *Window) time.Time { return w.Since })
}

// Count counts a crash of a kind, and returns the how manieth it is.
func (c *Counts) Count(kind, id string, now time.Time) int {
	k := c.Kinds[kind]
	if k == nil {
		k = &Kind{First: id}
		c.Kinds[kind] = k
		forget(c.Kinds, maxKinds, func(k *Kind) time.Time {
			if k.Last.IsZero() {
				return now
			}
			return k.Last
		})
	}
	k.Count++
	k.Newest = max(k.Newest, id)
	if now.After(k.Last) { // crashes that are imported are older
		k.Last = now
	}
	return k.Count
}

// forget drops the oldest of a map down to most.
func forget[T any](m map[string]T, most int, when func(T) time.Time) {
	if len(m) <= most {
		return
	}
	keys := slices.SortedFunc(maps.Keys(m), func(a, b string) int { return when(m[a]).Compare(when(m[b])) })
	for _, key := range keys[:len(m)-most] {
		delete(m, key)
	}
}

// Counts returns what was counted. Only root may.
func (s *Store) Counts() (*Counts, error) {
	text, err := ReadFile(filepath.Join(s.dir, countsFile), maxCounts)
	if errors.Is(err, fs.ErrNotExist) {
		return parseCounts([]byte("{}"))
	} else if err != nil {
		return nil, err
	}
	return parseCounts(text)
}
