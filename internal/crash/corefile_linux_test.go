package crash

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/testkit"
)

// A core is as long as its program headers say, in both byte orders.
func TestExtent(t *testing.T) {
	whole := theDump()
	big := testkit.NewCore(arch.S390X).Segment(0x1000, 8192, false, make([]byte, 8192)).Done()
	many := testkit.NewCore(arch.AMD64)
	for i := range 0x10000 {
		many.Segment(uint64(i)<<12, 1, false, []byte{1})
	}
	xnum := many.Done()
	put := func(b []byte, at int, v uint64) []byte {
		b = bytes.Clone(b)
		binary.LittleEndian.PutUint64(b[at:], v)
		return b
	}
	with := func(b []byte, at int, v byte) []byte { b = bytes.Clone(b); b[at] = v; return b }
	for _, tt := range []struct {
		name string
		core []byte
		want int64 // -1 for no core
	}{
		{"whole", whole, int64(len(whole))},
		{"longer", append(bytes.Clone(whole), 1, 2), int64(len(whole))},
		{"cut", whole[:len(whole)-1], int64(len(whole))},
		{"cut in the program headers", whole[:100], 64 + 2*56},
		{"cut in the header", whole[:63], 64},
		{"nothing", nil, 64},
		{"a beginning", whole[:3], 64},
		{"big-endian", big, int64(len(big))},
		{"65,537 segments", xnum, int64(len(xnum))},
		{"65,537 segments, cut", xnum[:1000], 64 + 0x10001*56 + 64},
		{"text", []byte("#!/bin/sh\n"), -1},
		{"long text", bytes.Repeat([]byte("text"), 100), -1},
		{"a program", with(whole, 16, 2), -1},
		{"32-bit", with(whole, 4, 1), -1},
		{"other program headers", with(whole, 54, 57), -1},
		{"an offset beyond all", put(whole, 64+8, 1<<63), math.MaxInt64},
		{"a size beyond all", put(whole, 64+32, 1<<63-1), math.MaxInt64},
		{"program headers beyond all", put(whole, 32, 1<<63), math.MaxInt64},
		{"a section header beyond all", put(put(xnum, 40, 1<<63-1), 0, binary.LittleEndian.Uint64(xnum)), math.MaxInt64},
	} {
		got, err := extent(bytes.NewReader(tt.core), int64(len(tt.core)))
		if tt.want < 0 && !errors.Is(err, errNoCore) || tt.want >= 0 && (err != nil || got != tt.want) {
			t.Errorf("%s: got %d, %v, want %d", tt.name, got, err, tt.want)
		}
	}
}

// Any bytes have an extent, or are no core.
func FuzzExtent(f *testing.F) {
	f.Add(theDump())
	f.Add([]byte("\x7fELF"))
	f.Fuzz(func(t *testing.T, b []byte) {
		need, err := extent(bytes.NewReader(b), int64(len(b)))
		if err != nil && need != 0 || err == nil && need < coreHeader {
			t.Fatalf("got %d, %v", need, err)
		}
	})
}

// A core file is handled as a process is: by the rules, within the budget.
func TestHandleCore(t *testing.T) {
	testkit.NeedRestart(t)
	for _, tt := range []struct {
		name   string
		change func(*Config)
		time   time.Time
		want   Keep // "" if it is only counted
		core   bool
		file   string // what is wrong
	}{
		{"a report", func(*Config) {}, time.Unix(1e9, 0), KeepReport, false, ""},
		{"a line", func(c *Config) { c.Rules = []Rule{{Program: "/bin/it", Keep: KeepLine}} }, time.Unix(1e9, 0), KeepLine, false, ""},
		{"a core", func(c *Config) { c.Rules = []Rule{{Keep: KeepCore}} }, time.Unix(1e9, 0), KeepCore, true, ""},
		{"a large core", func(c *Config) { c.Rules, c.CoreSize = []Rule{{Keep: KeepCore}}, 1000 }, time.Unix(1e9, 0), KeepCore, false, "the core: larger than the 1000 B of core-size"},
		{"over budget", func(c *Config) { c.Rate.Crashes = 0 }, time.Unix(1e9, 0), "", false, ""},
		{"of the future", func(*Config) {}, time.Now().Add(time.Hour), KeepReport, false, ""},
		{"before all time", func(*Config) {}, time.Unix(-1e9, 0), KeepReport, false, ""},
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
			r := &handled{h: newHandler(t, c, outlineLine+sigLine(t)+reportLines, dir+"/journal", func(line string) { t.Log(line) })}
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
			if got := r.file(t, reportSuffix); (string(got) == reportLines) != (tt.want != KeepLine) {
				t.Errorf("got the report %q", got)
			}
			if got := r.file(t, coreSuffix); bytes.Equal(got, theDump()) != tt.core {
				t.Errorf("got a core of %d bytes", len(got))
			}
			if got := fmt.Sprint(r.rec.Problems); tt.file == "" && got != "[]" || !strings.Contains(got, tt.file) {
				t.Errorf("got the problems %s, want %q", got, tt.file)
			}
		})
	}
}
