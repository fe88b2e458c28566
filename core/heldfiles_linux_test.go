package core

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sfcore/sfcore/internal/testkit"
)

// Only regular ELF files are held, each once, and as many as may be open.
func TestHold(t *testing.T) {
	d := openOwnDir(t)
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	elf, other := file("elf", "\x7fELF and more"), file("text", "no ELF file")
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	mapping := func(path string, inode uint64, exec bool) procMapping {
		return procMapping{Mapping: Mapping{Lo: 0x1000, Hi: 0x2000, Path: path, Exec: exec}, inode: inode, dev: "08:01"}
	}
	maps := []procMapping{
		mapping(elf, 1, true), mapping(elf, 1, true), mapping(other, 2, true), mapping(filepath.Join(dir, "pipe"), 3, true), mapping(filepath.Join(dir, "none"), 4, true),
		mapping(elf, 5, false), mapping(elf, 0, true),
	}
	h := newHeldFiles()
	h.hold(d, maps)
	h.hold(d, maps)
	defer h.close()
	if len(h.files) != 4 || len(h.problems) != 0 {
		t.Errorf("got %d files, %v", len(h.files), h.problems)
	}
	for i := range maps {
		m := &maps[i]
		name := h.name(m)
		if (name != "") != (m.inode == 1) {
			t.Errorf("%s, inode %d: got %q", m.Path, m.inode, name)
		}
		if name != "" {
			if text, err := os.ReadFile(name); string(text) != "\x7fELF and more" {
				t.Errorf("got %q, %v", text, err)
			}
		}
	}
	deleted := maps[0]
	deleted.Deleted = true
	if f := d.openMapped(&deleted); f != nil {
		t.Errorf("a file that took the place of the mapped one: got %s", f.Name())
	}
	doubt := newHeldFiles()
	doubt.mounted = fileSystems{"08:01": "fuse.x"}
	doubt.hold(d, maps[:2])
	if want := elf + ": not opened: it is in a file system of type fuse.x, which may never answer"; len(doubt.problems) != 1 || doubt.problems[0].Error() != want || doubt.name(&maps[0]) != "" {
		t.Errorf("got %v, want %s", doubt.problems, want)
	}
	full := newHeldFiles()
	for i := range maxHeld {
		full.files[fmt.Sprint(i)] = nil
	}
	if full.hold(d, maps); len(full.files) != maxHeld {
		t.Errorf("got %d files, want %d", len(full.files), maxHeld)
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if got := newHeldFiles().most(); limit.Cur > 2*maxHeld && got != maxHeld {
		t.Errorf("got room for %d files with %d", got, limit.Cur)
	}
	few := limit
	for cur, want := range map[uint64]int{otherFiles + 3: 2, otherFiles + 1: 0, 2*maxHeld + 1: maxHeld, 2 * maxHeld: 2*maxHeld - otherFiles - 1} {
		few.Cur = cur
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &few); err != nil {
			continue // the hard limit is lower
		}
		got := h.most()
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("limit %d: got room for %d files, want %d", cur, got, want)
		}
	}
	for name, want := range map[string]error{"fd": errNotRegular, "none": os.ErrNotExist} {
		if f, err := d.openRegular(name); f != nil || !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", name, err, want)
		}
	}
	if f, err := d.openRegular("exe"); err != nil || !isELF(f) {
		t.Errorf("the program: got %v", err)
	} else {
		f.Close()
	}
}

// Nothing below a root that may never answer is opened, unless it is ours.
func TestOpenRoot(t *testing.T) {
	v := &visit{dir: openOwnDir(t), files: newHeldFiles()}
	if v.openRoot(); v.root == nil || len(v.files.problems) != 0 {
		t.Errorf("without FUSE: got %v", v.files.problems)
	}
	v.root.Close()
	v.root, v.files.mayHang = nil, true
	if v.openRoot(); v.root == nil || len(v.files.problems) != 0 {
		t.Errorf("the root that we have: got %v", v.files.problems)
	}
	v.root.Close()
	v.root, v.dir = nil, &procDir{pid: 1 << 30, fd: -1}
	v.openRoot()
	want := "no files are looked for where the process sees them: it has mounted FUSE, or an overlay of its own, which may never answer"
	if v.root != nil || len(v.files.problems) != 1 || v.files.problems[0].Error() != want {
		t.Errorf("another root: got %v", v.files.problems)
	}
	v = &visit{dir: procFiles(t, map[string]string{"ns/mnt": "-> mnt:[1]", "task/7/root": "-> /"}), files: newHeldFiles()}
	if v.openRoot(); v.root == nil || len(v.files.problems) != 0 {
		t.Errorf("another root, without FUSE: got %v", v.files.problems)
	}
	v.root.Close()
}

// Files that may not be opened any more are counted, and the program is found even
// where its file is gone.
func TestHoldFew(t *testing.T) {
	needPtrace(t) // an emulator has a /proc/self of its own
	d, dir := openOwnDir(t), t.TempDir()
	var maps []procMapping
	for i := range uint64(3) {
		path := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(path, []byte("\x7fELF"), 0o600); err != nil {
			t.Fatal(err)
		}
		maps = append(maps, procMapping{Mapping: Mapping{Lo: 0x1000, Hi: 0x2000, Path: path, Exec: true}, inode: i + 1, dev: "08:01"})
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	few, h := limit, newHeldFiles()
	defer h.close()
	few.Cur = otherFiles + 1
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	h.hold(d, maps)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	want := "2 files of the process are not opened: sfcore may not have more open; raise the limit with ulimit -n"
	if len(h.problems) != 1 || h.problems[0].Error() != want || h.name(&maps[1]) != "" || h.name(&maps[2]) != "" {
		t.Errorf("got %v, want %s", h.problems, want)
	}
	exe := procMapping{Mapping: Mapping{Lo: 0x1000, Hi: 0x2000, Path: d.link("exe"), Deleted: true}}
	if f := d.openMapped(&exe); f == nil {
		t.Error("the program is not found by what it runs")
	} else {
		f.Close()
	}
}

func TestOpenMappedLeaks(t *testing.T) {
	d := openOwnDir(t)
	path := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(path, []byte("no ELF file"), 0o600); err != nil {
		t.Fatal(err)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which would close files
	testkit.Leaks(t, 3, func(int) {
		if f := d.openMapped(&procMapping{Mapping: Mapping{Lo: 0x1000, Hi: 0x2000, Path: path}}); f != nil {
			t.Errorf("got %s", f.Name())
		}
	})
}
