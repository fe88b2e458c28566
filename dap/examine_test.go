package dap

import "testing"

func TestExamine(t *testing.T) {
	for text, want := range map[string]examine{
		"": {1, 8, 'x'}, "8gx": {8, 8, 'x'}, "2wd": {2, 4, 'd'}, "i": {1, 8, 'i'}, "16c": {16, 1, 'c'}, "s": {1, 8, 's'}, "0x": {0, 8, 'x'},
	} {
		if got, err := parseExamine(text); err != nil || got != want {
			t.Errorf("%q: got %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"z", "9999999999999999999999", "5000", "8g!"} {
		if got, err := parseExamine(text); err == nil {
			t.Errorf("%q: got %+v, want an error", text, got)
		}
	}
}
