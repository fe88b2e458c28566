package worker

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Debug files that were not used for the longest time go, and nothing else does.
func TestTrimFiles(t *testing.T) {
	dir := t.TempDir()
	for i, name := range []string{"aa.debug", "bb.debug", "cc.debug", "notes"} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, make([]byte, 100), 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Unix(int64(1000-i), 0) // aa was used last
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		most int64
		left string
	}{{300, "[aa.debug bb.debug cc.debug notes]"}, {250, "[aa.debug bb.debug notes]"}, {1, "[aa.debug notes]"}} {
		if err := trimFiles(dir, test.most); err != nil {
			t.Fatal(err)
		}
		var names []string
		entries, err := os.ReadDir(dir)
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if got := fmt.Sprint(names); got != test.left || err != nil {
			t.Errorf("%d bytes: got %s, %v, want %s", test.most, got, err, test.left)
		}
	}
}
