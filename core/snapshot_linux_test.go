package core

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sfcore/sfcore/memreader"
)

// What the process has mapped meanwhile is noticed.
func TestFindMaps(t *testing.T) {
	v := openOwn(t)
	v.dir, v.files = openOwnDir(t), newHeldFiles()
	v.mapsText = []byte("1000-2000 r--p 0 0:0 0\n")
	forever := time.Now().Add(1000 * time.Hour)
	if changed, err := v.findMaps(forever); !changed || err != nil || len(v.maps) < 2 {
		t.Errorf("got %v, %v, %d mappings", changed, err, len(v.maps))
	}
	v.dir = &procDir{pid: 1 << 30, fd: -1}
	if changed, err := v.findMaps(forever); changed || err == nil || !strings.HasPrefix(err.Error(), "process 1073741824: ") {
		t.Errorf("no file: got %v, %v", changed, err)
	}
	needPtrace(t)
	s := startSubject(t, os.Args[0], "plain")
	s.ready(t)
	mem, err := memreader.OpenLive(s.pid)
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	gone := &visit{mem: &carefulMemory{Live: mem}, dir: openDirOf(t, s.pid), files: newHeldFiles()}
	if gone.mapsText, err = gone.dir.read("maps"); err != nil {
		t.Fatal(err)
	}
	_ = unix.Kill(s.pid, unix.SIGSTOP) // so that it maps nothing more
	s.waitState(t, "T")
	if gone.mapsText, err = gone.dir.read("maps"); err != nil {
		t.Fatal(err)
	}
	if changed, err := gone.findMaps(forever); changed || err != nil || gone.maps != nil {
		t.Errorf("the same: got %v, %v, %d mappings", changed, err, len(gone.maps))
	}
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	if changed, err := gone.findMaps(forever); changed || !errors.Is(err, errExecuted) {
		t.Errorf("gone: got %v, %v, want %v", changed, err, errExecuted)
	}
}
