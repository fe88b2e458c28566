package crash

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sfcore/sfcore/internal/crash/store"
)

func TestConfig(t *testing.T) {
	c, err := parseConfig(`
store = "/srv/crashes"
keep = 7
size = "2G"
time = "500ms"
memory = 67108864
[rate]
crashes = 3
per = "10s"
[[rule]]
program = "/usr/bin/*"
signals = ["SIGSEGV", "SIGBUS"]
seen = false
known = true
keep = "core"
[[rule]]
threads = 100
keep = "line"
`)
	if err != nil {
		t.Fatal(err)
	}
	want := DefaultConfig()
	want.Store, want.Keep, want.Size, want.Time, want.Memory = "/srv/crashes", 7, 2<<30, duration{500 * time.Millisecond}, 64<<20
	want.Rate = Rate{3, duration{10 * time.Second}}
	want.Rules = []Rule{{Program: "/usr/bin/*", Signals: []string{"SIGSEGV", "SIGBUS"}, Seen: new(bool), Known: new(true), Keep: store.KeepCore}, {Threads: 100, Keep: store.KeepLine}}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got %+v, want %+v", c, want)
	}
}

func TestConfigErrors(t *testing.T) {
	for text, want := range map[string]string{
		`store = `:                       "line 1: ",
		"keep = 1\nkeep = 2":             "line 2: ",
		`stoer = "/x"`:                   "stoer: no such key",
		"[[rule]]\nkep = \"core\"":       "rule.kep: no such key",
		`store = "x"`:                    "an absolute path is needed",
		`keep = 0`:                       "at least one crash",
		`time = "1ms"`:                   "100ms to 1m are possible",
		`time = "1h"`:                    "100ms to 1m are possible",
		`memory = "1M"`:                  "at least 32M",
		`memory = "much"`:                "not a size",
		"[rate]\ncrashes = -1":           "must not be negative",
		"[rate]\nper = \"1ms\"":          "nor per less than 1s",
		"[[rule]]\nkeep = \"all\"":       `rule 1: keep = "all": use line, report, small or core`,
		"[[rule]]\nsignals = [\"SEGV\"]": `rule 1: signals: "SEGV" is no signal`,
		"[[rule]]\nprogram = \"[\"":      "rule 1: program",
	} {
		if c, err := parseConfig(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %+v, %v, want %q", text, c, err, want)
		}
	}
}

// A file that is not there is the default; any other error names the file.
func TestReadConfig(t *testing.T) {
	dir := t.TempDir()
	if c, err := ReadConfig(filepath.Join(dir, "none")); err != nil || !reflect.DeepEqual(c, DefaultConfig()) {
		t.Errorf("got %+v, %v", c, err)
	}
	if err := DefaultConfig().check(); err != nil {
		t.Errorf("the default: %v", err)
	}
	bad := filepath.Join(dir, "bad")
	if err := os.WriteFile(bad, []byte("keep = 0"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{bad: bad + ": keep = 0", dir: dir + ": not a regular file"} {
		if c, err := ReadConfig(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %+v, %v, want %q", c, err, want)
		}
	}
}

func TestDecide(t *testing.T) {
	yes, no := true, false
	for _, tt := range []struct {
		name  string
		rules []Rule
		crash store.Record
		want  store.Keep
	}{
		{"no rule", nil, store.Record{}, store.KeepReport},
		{"the first that fits", []Rule{{Threads: 10, Keep: store.KeepLine}, {Keep: store.KeepCore}, {Keep: store.KeepLine}}, store.Record{Threads: 9}, store.KeepCore},
		{"threads", []Rule{{Threads: 10, Keep: store.KeepLine}}, store.Record{Threads: 10}, store.KeepLine},
		{"path", []Rule{{Program: "/usr/*/a", Keep: store.KeepLine}}, store.Record{Program: "/usr/bin/a"}, store.KeepLine},
		{"another path", []Rule{{Program: "/usr/*/a", Keep: store.KeepLine}}, store.Record{Program: "/usr/bin/b/a"}, store.KeepReport},
		{"name", []Rule{{Program: "a*", Keep: store.KeepLine}}, store.Record{Program: "/usr/bin/abc"}, store.KeepLine},
		{"another name", []Rule{{Program: "a", Keep: store.KeepLine}}, store.Record{Program: "/usr/a/abc"}, store.KeepReport},
		{"signal", []Rule{{Signals: []string{"SIGBUS", "SIGILL"}, Keep: store.KeepLine}}, store.Record{Signal: "SIGILL"}, store.KeepLine},
		{"another signal", []Rule{{Signals: []string{"SIGBUS"}, Keep: store.KeepLine}}, store.Record{Signal: "SIGILL"}, store.KeepReport},
		{"first of a kind", []Rule{{Seen: &no, Keep: store.KeepCore}}, store.Record{Number: 1}, store.KeepCore},
		{"second of a kind", []Rule{{Seen: &no, Keep: store.KeepCore}}, store.Record{Number: 2}, store.KeepReport},
		{"seen", []Rule{{Seen: &yes, Keep: store.KeepLine}}, store.Record{Number: 2}, store.KeepLine},
	} {
		c := Config{Rules: tt.rules}
		if got := c.decide(&tt.crash); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

// Any file gives a configuration that can be used, or an error.
func FuzzConfig(f *testing.F) {
	f.Add("store = \"/x\"\n[[rule]]\nkeep = \"core\"\nsignals = [\"SIGSEGV\"]\n")
	f.Add("size = \"1G\"\ntime = \"1s\"\n[rate]\nper = \"1m\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseConfig(text)
		if err == nil && c.check() != nil {
			t.Fatalf("got %+v, which may not be used: %v", c, c.check())
		}
	})
}
