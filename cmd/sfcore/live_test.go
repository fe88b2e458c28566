package main

import (
	"testing"
	"time"
)

func TestByteSize(t *testing.T) {
	tests := []struct {
		text string
		want byteSize
		show string
	}{
		{"1", 1, "1 B"},
		{"65536", 65536, "64.0 KiB"},
		{"64K", 65536, "64.0 KiB"},
		{"64kb", 65536, "64.0 KiB"},
		{"1.5M", 0, ""},
		{"3MiB", 3 << 20, "3.0 MiB"},
		{"2 GiB", 2 << 30, "2.0 GiB"},
		{"0", 0, ""},
		{"", 0, ""},
		{"-1", 0, ""},
		{"4294967296", 0, ""},
		{"1KM", 0, ""},
		{"K", 0, ""},
	}
	for _, tt := range tests {
		var got byteSize
		err := got.Set(tt.text)
		if got != tt.want || (err == nil) != (tt.want != 0) {
			t.Errorf("%q: got %d, %v, want %d", tt.text, uint64(got), err, uint64(tt.want))
		}
		if err == nil && got.String() != tt.show {
			t.Errorf("%q: got %q, want %q", tt.text, got.String(), tt.show)
		}
	}
}

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
