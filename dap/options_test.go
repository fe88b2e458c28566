package dap

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// Every option has a setting, but for those that are not the user's: the cache
// and the context are the program's, sources are found by the adapter itself.
func TestSettingsReachOptions(t *testing.T) {
	t.Setenv("DEBUGINFOD_URLS", "http://localhost:1")
	c, err := parseConfig(json.RawMessage(`{
		"coreFile": "core", "program": "/p", "sysroot": "/s", "paths": ["/a"], "debugDirs": ["/d"], "sframeDirs": ["/f"],
		"methods": ["cfi"], "maxFrames": 3, "maxTime": 1500, "maxTotalTime": 2500, "debuginfod": {"servers": ["http://localhost:1"], "timeout": 3}}`))
	if err != nil {
		t.Fatal(err)
	}
	spec, err := c.spec()
	if err != nil {
		t.Fatal(err)
	}
	others := map[string]bool{"CacheDir": true, "Context": true, "Progress": true, "Searching": true, "SourceMap": true}
	v := reflect.ValueOf(spec.Options)
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; v.Field(i).IsZero() != others[name] {
			t.Errorf("%s is %v", name, v.Field(i))
		}
	}
	if got := fmt.Sprint(spec.Options.MaxTime); got != "1.5s" {
		t.Errorf("got a time limit of %s", got)
	}
}

// A setting that is wrong is named as the user wrote it.
func TestWrongSettings(t *testing.T) {
	t.Setenv("DEBUGINFOD_URLS", "")
	for text, want := range map[string]string{
		`"methods": ["magic"]`: `"methods": unknown method "magic"`,
		`"maxFrames": -1`:      `"maxFrames": -1 is negative`,
		`"maxTime": -5`:        `"maxTime": -5ms is negative`,
		`"maxTotalTime": -5`:   `"maxTotalTime": -5ms is negative`,
	} {
		c, err := parseConfig(json.RawMessage(`{"coreFile": "core", ` + text + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.spec(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
	// Without a server nothing is fetched, which is no reason to show nothing.
	c, err := parseConfig(json.RawMessage(`{"coreFile": "core", "debuginfod": true}`))
	if err != nil {
		t.Fatal(err)
	}
	if spec, err := c.spec(); err != nil || spec.Options.Debuginfod || len(c.warnings) != 1 || !strings.Contains(c.warnings[0], "DEBUGINFOD_URLS") {
		t.Errorf("got %v, %v and warnings %q", spec.Options.Debuginfod, err, c.warnings)
	}
	if len(settings) != 6 {
		t.Errorf("got %d settings; Check has as many errors", len(settings))
	}
}
