package dap

import (
	"encoding/json"
	"testing"
)

func TestFetching(t *testing.T) {
	for raw, want := range map[string]bool{
		`true`: true, `1`: true, `"on"`: true, `"Always"`: true, `{}`: true, `{"enabled": true}`: true, `{"enabled": "auto"}`: true, `["http://a"]`: true,
		`false`: false, `null`: false, `0`: false, `"off"`: false, `"never"`: false, `[]`: false, `""`: false,
		`{"enabled": false}`: false, `{"enabled": false, "servers": ["http://a"]}`: false, `{"enabled": "never"}`: false,
	} {
		got := fetching(!want)
		if err := json.Unmarshal([]byte(raw), &got); err != nil || bool(got) != want {
			t.Errorf("%s: got %v, %v, want %v", raw, got, err, want)
		}
	}
	for _, raw := range []string{`"perhaps"`, `2`, `{"enabled": 7}`, `[1]`} {
		var got fetching
		if err := json.Unmarshal([]byte(raw), &got); err == nil {
			t.Errorf("%s: got %v, want an error", raw, got)
		}
	}
}

// Servers that a configuration names are not used, which is said.
func TestFetchingServers(t *testing.T) {
	for raw, warned := range map[string]bool{
		`{}`: false, `{"debuginfod": true}`: false, `{"debuginfod": {"enabled": false}}`: false, `{"debuginfod": []}`: false,
		`{"debuginfod": ["http://a"]}`: true, `{"debuginfod": {"enabled": true, "servers": ["http://a"]}}`: true, `{"debuginfod": {"timeout": 3}}`: true,
	} {
		c, err := parseConfig(json.RawMessage(raw))
		if err != nil || len(c.warnings) > 0 != warned {
			t.Errorf("%s: got %v and warnings %q", raw, err, c.warnings)
		}
	}
}
