package crash

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sfcore/sfcore/internal/crash/store"
	"github.com/sfcore/sfcore/internal/testkit"
)

// A core file is handled as a process is: by the rules, within the budget.
func TestHandleCore(t *testing.T) {
	testkit.NeedRestart(t)
	for _, tt := range []struct {
		name   string
		change func(*Config)
		time   time.Time
		want   store.Keep // "" if it is only counted
		core   bool
		file   string // what is wrong
	}{
		{"a report", func(*Config) {}, time.Unix(1e9, 0), store.KeepReport, false, ""},
		{"a line", func(c *Config) { c.Rules = []Rule{{Program: "/bin/it", Keep: store.KeepLine}} }, time.Unix(1e9, 0), store.KeepLine, false, ""},
		{"a core", func(c *Config) { c.Rules = []Rule{{Keep: store.KeepCore}} }, time.Unix(1e9, 0), store.KeepCore, true, ""},
		{"a large core", func(c *Config) { c.Rules, c.CoreSize = []Rule{{Keep: store.KeepCore}}, 1000 }, time.Unix(1e9, 0), store.KeepCore, false, "the core: larger than the 1000 B of core-size"},
		{"over budget", func(c *Config) { c.Rate.Crashes = 0 }, time.Unix(1e9, 0), "", false, ""},
		{"of the future", func(*Config) {}, time.Now().Add(time.Hour), store.KeepReport, false, ""},
		{"before all time", func(*Config) {}, time.Unix(-1e9, 0), store.KeepReport, false, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, c := t.TempDir(), DefaultConfig()
			c.Store, c.Time = dir+"/store", duration{20 * time.Second}
			tt.change(c)
			name := filepath.Join(dir, "core")
			if err := os.WriteFile(name, theDump(), 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			r := &handled{h: newHandler(t, c, outlineLine+nameLine(t, "")+reportLines, dir+"/journal", func(line string) { t.Log(line) })}
			r.rec, r.err = r.h.HandleCore(t.Context(), &CoreFile{
				ID: "1-7", File: f, Path: name, Size: int64(len(theDump())), UID: os.Getuid(), GID: os.Getgid(), Time: tt.time,
			}, ReaderOptions{Paths: []string{"/a"}, Sysroot: "/b"})
			counts, err := r.h.store.Counts()
			if tt.want == "" {
				if r.rec != nil || r.err != nil || err != nil || counts.Refused != 1 {
					t.Errorf("got %+v, %v, %+v", r.rec, r.err, counts)
				}
				return
			}
			if r.err != nil || r.rec == nil || r.rec.Kept != tt.want || r.rec.File != name || r.rec.Program != "/bin/it" || r.rec.PID != 0 || r.rec.Number != 1 {
				t.Fatalf("got %+v, %v", r.rec, r.err)
			}
			if now := time.Now(); tt.time.Unix() == 1e9 && r.rec.Time.Unix() != 1e9 || r.rec.Time.After(now) || r.rec.Time.Year() < 2000 {
				t.Errorf("got the time %v of %v", r.rec.Time, tt.time)
			}
			if got := unpack(t, r.h.store.Report(r.rec.ID)); (string(got) == reportLines) != (tt.want != store.KeepLine) {
				t.Errorf("got the report %q", got)
			}
			if got := unpack(t, r.h.store.Core(r.rec.ID)); bytes.Equal(got, theDump()) != tt.core {
				t.Errorf("got a core of %d bytes", len(got))
			}
			if got := fmt.Sprint(r.rec.Problems); tt.file == "" && got != "[]" || !strings.Contains(got, tt.file) {
				t.Errorf("got the problems %s, want %q", got, tt.file)
			}
		})
	}
}
