package main

import (
	"testing"
	"time"
)

func TestLiveFlags(t *testing.T) {
	tests := []struct {
		name  string
		flags liveFlags
		args  []string
		ok    bool
		last  int
		pause time.Duration
	}{
		{"one", liveFlags{pid: 1}, nil, true, 1, time.Second},
		{"count", liveFlags{pid: 1, count: 3}, nil, true, 3, time.Second},
		{"interval", liveFlags{pid: 1, interval: time.Hour}, nil, true, 0, time.Hour},
		{"both", liveFlags{pid: 1, interval: time.Hour, count: 2}, nil, true, 2, time.Hour},
		{"file too", liveFlags{pid: 1}, []string{"core"}, false, 1, time.Second},
		{"no pid", liveFlags{}, nil, false, 1, time.Second},
		{"negative", liveFlags{pid: 1, interval: -1}, nil, false, 0, time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.flags.check(tt.args); (err == nil) != tt.ok {
				t.Errorf("got %v, want ok %v", err, tt.ok)
			}
			if got := tt.flags.last(); got != tt.last {
				t.Errorf("got last %d, want %d", got, tt.last)
			}
			if got := tt.flags.pause(); got != tt.pause {
				t.Errorf("got pause %v, want %v", got, tt.pause)
			}
		})
	}
}

func TestRound(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 12345: "12µs", 1234567: "1.23ms", 30123456: "30.1ms", 1012345678: "1.01s",
	} {
		if got := round(d).String(); got != want {
			t.Errorf("%d ns: got %s, want %s", d, got, want)
		}
	}
}

// Snapshots keep to the times at which they are due. Those that are overdue are left
// out.
func TestMoment(t *testing.T) {
	l, late := liveFlags{interval: time.Hour}, 0
	begun := time.Now()
	if got := l.moment(begun, 1, &late); !got.Equal(begun.Add(time.Hour)) || late != 0 {
		t.Errorf("in time: got %v, %d late", got.Sub(begun), late)
	}
	begun = begun.Add(-210 * time.Minute) // the second one took 150 minutes
	if got := l.moment(begun, 2, &late); !got.Equal(begun.Add(3*time.Hour)) || late != 1 {
		t.Errorf("overdue: got %v, %d late, want 3h and 1", got.Sub(begun), late)
	}
	if got := l.moment(begun, 3, &late); !got.Equal(begun.Add(4*time.Hour)) || late != 1 {
		t.Errorf("in time again: got %v, %d late, want 4h and 1", got.Sub(begun), late)
	}
}
