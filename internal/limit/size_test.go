package limit

import (
	"fmt"
	"testing"
)

func TestSize(t *testing.T) {
	tests := []struct {
		text string
		want Size
		show string // to people
		flag string // as a default
	}{
		{"1", 1, "1 B", "1"},
		{"65536", 65536, "64.0 KiB", "64K"},
		{"64K", 65536, "64.0 KiB", "64K"},
		{"64kb", 65536, "64.0 KiB", "64K"},
		{"1.5M", 0, "", ""},
		{"3MiB", 3 << 20, "3.0 MiB", "3M"},
		{"2 GiB", 2 << 30, "2.0 GiB", "2G"},
		{"0", 0, "", ""},
		{"", 0, "", ""},
		{"-1", 0, "", ""},
		{"4294967296", 1 << 32, "4.0 GiB", "4G"},
		{"5000000001", 5_000_000_001, "4.7 GiB", "5000000001"},
		{"1536M", 1536 << 20, "1.5 GiB", "1536M"},
		{"2T", 2 << 40, "2.0 TiB", "2T"},
		{"8tib", 8 << 40, "8.0 TiB", "8T"},
		{"9223372036854775807", 1<<63 - 1, "8388608.0 TiB", "9223372036854775807"},
		{"9223372036854775808", 0, "", ""},
		{"8388607T", 8388607 << 40, "8388607.0 TiB", "8388607T"},
		{"8388608T", 0, "", ""},
		{"18446744073709551616", 0, "", ""},
		{"K1", 0, "", ""},
		{"1P", 0, "", ""},
		{"1KM", 0, "", ""},
		{"K", 0, "", ""},
	}
	for _, tt := range tests {
		var got Size
		err := got.Set(tt.text)
		if got != tt.want || (err == nil) != (tt.want != 0) {
			t.Errorf("%q: got %d, %v, want %d", tt.text, uint64(got), err, uint64(tt.want))
		}
		if err == nil && (fmt.Sprint(got) != tt.show || got.String() != tt.flag) {
			t.Errorf("%q: got %v and %q, want %q and %q", tt.text, got, got.String(), tt.show, tt.flag)
		}
	}
}
