//go:build unix

package elfx

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/memreader"
)

// TestOpen opens files by name, and says of others what they are.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	note := testkit.New(binary.LittleEndian).D32(4, 2, noteGNUBuildID).Str("GNU").D8(0xab, 0xcd).Align(4).Done()
	im := image{typ: TypeDyn, progs: []Prog{{Type: ProgNote, Off: bodyOff, Filesz: uint64(len(note))}}, body: note}
	for name, data := range map[string]string{"elf": string(im.build(binary.LittleEndian)), "bare": string((&image{}).build(binary.LittleEndian)), "text": "hello\n", "empty": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]struct{ id, err string }{
		"elf":     {"abcd", ""},
		"bare":    {"", ""},
		"text":    {"", "this is a text file, not an ELF file"},
		"empty":   {"", "the file is empty"},
		"missing": {"", "no such file"},
		".":       {"", "is a directory"},
	} {
		f, release, err := Open(filepath.Join(dir, name), nil)
		if want.err != "" {
			if f != nil || release != nil || err == nil || !strings.Contains(err.Error(), want.err) {
				t.Errorf("%s: got %v, %v, want %q", name, f, err, want.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if id := f.BuildID(); id != want.id {
			t.Errorf("%s: got build-id %q, want %q", name, id, want.id)
		}
		if id, err := MappedBuildID(f.Data); id != want.id || err != nil {
			t.Errorf("%s: got build-id %q, %v, want %q", name, id, err, want.id)
		}
		release()
	}
	if id, err := MappedBuildID([]byte("hello\n")); id != "" || err == nil || !strings.Contains(err.Error(), "a text file") {
		t.Errorf("got %q, %v from a text", id, err)
	}
	if _, release, err := OpenFile(os.NewFile(^uintptr(0), "closed"), nil); release != nil || err == nil {
		t.Error("opened a file that is not open")
	}
}

// The search for a build-id reads section headers: it takes them from the budget that
// files share.
func TestOpenWithBudget(t *testing.T) {
	im := image{sections: make([]Section, 2*usualHeaders/headerSize)}
	name := filepath.Join(t.TempDir(), "elf")
	if err := os.WriteFile(name, im.build(binary.LittleEndian), 0o600); err != nil {
		t.Fatal(err)
	}
	for headers, want := range map[uint64]string{0: "", maxHeaders: "e_shnum"} {
		f, release, err := Open(name, &Budget{headers: headers})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Sections(); fieldOf(err) != want {
			t.Errorf("got %v after %d bytes, want an error of %q", err, headers, want)
		}
		release()
	}
}

// Names of one file may have the same bytes grow for nothing once, until it changes. A
// budget of a file alone knows of no others.
func TestAllowanceOfNames(t *testing.T) {
	dir := t.TempDir()
	name, link, other := filepath.Join(dir, "elf"), filepath.Join(dir, "link"), filepath.Join(dir, "other")
	data := packedZeros(t, 1<<20, Section{Name: ".a"}).Data
	for _, name := range []string{name, other} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(name, link); err != nil {
		t.Skip(err)
	}
	st, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	_, known := identify(st)
	var budget Budget
	of := func(name string, budget *Budget) *allowance {
		f, release, err := Open(name, budget)
		if err != nil {
			t.Fatal(err)
		}
		release()
		return f.allowance
	}
	first := of(name, &budget)
	for _, tt := range []struct {
		name   string
		budget *Budget
		same   bool
	}{{name, &budget, known}, {link, &budget, known}, {other, &budget, false}, {name, new(Budget), false}, {name, nil, false}} {
		a := of(tt.name, tt.budget)
		if (a == first) != tt.same || a.left != uint64(len(data)) {
			t.Errorf("%s: shares the allowance of the first: %v, of %d bytes", tt.name, a == first, a.left)
		}
	}
	if err := os.Chtimes(name, time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if of(name, &budget) == first {
		t.Error("a file that has changed shares the allowance of before")
	}
}

// Files that are not regular are refused by what they are, also when they are open.
func TestNotRegular(t *testing.T) {
	for mode, want := range map[fs.FileMode]string{
		fs.ModeDir: "directory", fs.ModeNamedPipe: "pipe", fs.ModeSocket: "socket", fs.ModeDevice: "device", fs.ModeDevice | fs.ModeCharDevice: "device",
	} {
		if err := notRegular("x", mode); !errors.Is(err, ErrNotRegular) || err.Error() != "open x: is a "+want+", not a regular file" {
			t.Errorf("%v: got %v", mode, err)
		}
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if data, release, err := MapOpen(r); data != nil || release != nil || !errors.Is(err, ErrNotRegular) {
		t.Errorf("a pipe: got %q, %v", data, err)
	}
}

// info is a file that belongs to a user, nil if that is not known.
type info struct{ sys any }

func (i info) Sys() any         { return i.sys }
func (info) Name() string       { return "" }
func (info) Size() int64        { return 0 }
func (info) Mode() fs.FileMode  { return 0 }
func (info) ModTime() time.Time { return time.Time{} }
func (info) IsDir() bool        { return false }

// Only files of this user and of root are trusted.
func TestOwn(t *testing.T) {
	me := uint32(os.Geteuid())
	for name, tt := range map[string]struct {
		file  info
		uid   int
		known bool
		own   bool
	}{
		"mine":    {info{&syscall.Stat_t{Uid: me}}, int(me), true, true},
		"root's":  {info{&syscall.Stat_t{Uid: 0}}, 0, true, true},
		"another": {info{&syscall.Stat_t{Uid: me + 1}}, int(me) + 1, true, false},
		"unknown": {info{nil}, 0, false, false},
	} {
		if uid, known := Owner(tt.file); uid != tt.uid || known != tt.known {
			t.Errorf("%s: got user %d, %v", name, uid, known)
		}
		if got := Own(tt.file); got != tt.own {
			t.Errorf("%s: got %v, want %v", name, got, tt.own)
		}
	}
}

// A file that shrinks while its headers are read is told of, and is no ELF file.
func TestOpenShrunk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, append((&image{}).build(binary.LittleEndian), make([]byte, 1<<16)...), 0o600); err != nil {
		t.Fatal(err)
	}
	data, release, err := MapFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	defer func() { // see memreader's TestGuard
		if e, ok := recover().(runtime.Error); ok && runtime.GOARCH == "arm64" {
			t.Skip("this emulator does not tell where the fault was:", e)
		} else if ok {
			panic(e)
		}
	}()
	id, err := MappedBuildID(data)
	if _, ok := errors.AsType[*memreader.FaultError](err); id != "" || !ok {
		t.Errorf("got %q, %v, want a fault", id, err)
	}
}
