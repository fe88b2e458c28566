package store

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"
)

func TestWithin(t *testing.T) {
	c, err := parseCounts([]byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	rate, begun := Rate{2, time.Minute}, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, tt := range []struct {
		program string
		uid     int
		after   time.Duration
		ok      bool
		refused int
	}{
		{"a", 1, 0, true, 0},
		{"a", 1, time.Second, true, 0},
		{"a", 1, 2 * time.Second, false, 0},
		{"a", 2, 2 * time.Second, true, 0}, // another user
		{"b", 1, 2 * time.Second, true, 0}, // another program
		{"a", 1, 59 * time.Second, false, 0},
		{"a", 1, 60 * time.Second, true, 2}, // another span, which tells of the one before
		{"a", 1, 61 * time.Second, true, 0},
		{"a", 1, 62 * time.Second, false, 0},
		{"a", 1, -time.Hour, true, 1}, // the clock was set back
	} {
		ok, refused := c.within(rate, tt.program, tt.uid, begun.Add(tt.after))
		if ok != tt.ok || refused != tt.refused {
			t.Errorf("crash %d: got %v, %d, want %v, %d", i, ok, refused, tt.ok, tt.refused)
		}
	}
	if c.Refused != 3 {
		t.Errorf("got %d refused, want 3", c.Refused)
	}
}

// Counts survive, and damage begins them anew.
func TestCounts(t *testing.T) {
	c, _ := parseCounts([]byte("{}"))
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, want := range []int{1, 2, 3} {
		if got := c.Count("kind", fmt.Sprint("id", i), now); got != want {
			t.Errorf("got number %d, want %d", got, want)
		}
	}
	c.within(Rate{0, time.Minute}, "a", 1, now)
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := parseCounts(text); err != nil || !reflect.DeepEqual(again, c) || again.Kinds["kind"].First != "id0" {
		t.Errorf("got %+v, %v, want %+v", again, err, c)
	}
	for _, text := range []string{"", "{", "[]", `{"kinds":{"a":null},"rates":{"b":null}}`} {
		c, err := parseCounts([]byte(text))
		if (err == nil) != (len(text) > 2) || len(c.Kinds)+len(c.Rates) > 0 {
			t.Errorf("%q: got %+v, %v", text, c, err)
		}
		c.Count("kind", "id", now)
		c.within(Rate{1, time.Minute}, "a", 1, now)
	}
}

// Strangers who crash under many names make no counts without bound. What was seen last
// stays.
func TestCountsBounded(t *testing.T) {
	c, _ := parseCounts([]byte("{}"))
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range maxKinds + 10 {
		c.Count(fmt.Sprint("kind", i), "id", now.Add(time.Duration(i)*time.Second))
	}
	if len(c.Kinds) != maxKinds || c.Kinds["kind9"] != nil || c.Kinds["kind10"] == nil {
		t.Errorf("got %d kinds", len(c.Kinds))
	}
	for i := range maxRates + 10 {
		c.within(Rate{1, time.Hour}, fmt.Sprint("program", i), 1, now.Add(time.Duration(i)*time.Second))
	}
	if len(c.Rates) != maxRates || c.Rates["1 program9"] != nil || c.Rates["1 program10"] == nil {
		t.Errorf("got %d rates", len(c.Rates))
	}
	c.within(Rate{1, time.Second}, "late", 1, now.Add(time.Hour*24))
	if len(c.Rates) != 1 {
		t.Errorf("got %d rates, want only the last", len(c.Rates))
	}
}
