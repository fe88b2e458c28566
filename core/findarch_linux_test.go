package core

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/testkit"
)

// The architecture is the vDSO's, which no file system has to be asked for, or else the
// program's.
func TestFindArch(t *testing.T) {
	big, little := binary.ByteOrder(binary.BigEndian), binary.ByteOrder(binary.LittleEndian)
	s390x, aarch64 := programOf(uint16(elf.EM_S390), big), programOf(uint16(elf.EM_AARCH64), little)
	sparc := programOf(uint16(elf.EM_SPARCV9), big) // which sfcore does not read
	class := []byte(aarch64)
	class[4] = 1
	for _, tt := range []struct {
		name, vdso string
		where      string // what is mapped there
		inode      uint64
		exe        string
		want       *arch.Arch
		is         error
		message    string
	}{
		{"vDSO", s390x, "[vdso]", 0, aarch64, arch.S390X, nil, ""},
		{"vDSO, and no program", aarch64, "[vdso]", 0, "-> none", arch.AArch64, nil, ""},
		{"a file of that name", s390x, "[vdso]", 5, aarch64, arch.AArch64, nil, ""},
		{"another mapping", s390x, "[vvar]", 0, aarch64, arch.AArch64, nil, ""},
		{"a vDSO that cannot be read", "", "[vdso]", 0, aarch64, arch.AArch64, nil, ""},
		{"a large program", "", "", 0, aarch64 + string(make([]byte, 2*headSize)), arch.AArch64, nil, ""},
		{"no program", "", "", 0, "-> none", nil, ErrNoProcess, "process 7: no such process"},
		{"no regular file", "", "", 0, "-> /", nil, errNotRegular, "process 7: not a regular file"},
		{"an empty file", "", "", 0, "", nil, io.EOF, "process 7: reading the program: EOF"},
		{"no ELF file", "", "", 0, "#!/bin/sh", nil, nil, "process 7: the program it runs: this is a script, not an ELF file"},
		{"a 32-bit program", "", "", 0, string(class), nil, nil, "process 7: the program it runs: this is a 32-bit ELF file; sfcore reads only 64-bit files"},
		{"an unknown machine", "", "", 0, sparc, nil, nil, "process 7 runs a program for ELF machine 43; sfcore knows " + arch.Names()},
	} {
		v := openOwn(t)
		v.dir = procFiles(t, map[string]string{"task/7/exe": tt.exe})
		vdso, addr := mapNew(t, 2*headSize)
		copy(vdso, tt.vdso)
		if tt.vdso == "" {
			addr = 0x1000
		}
		v.maps = []procMapping{
			{Mapping: Mapping{Lo: addr, Hi: addr + 2*headSize, Path: tt.where}, inode: tt.inode},
			{Mapping: Mapping{Lo: addr, Hi: addr + 2*headSize, Path: "other"}},
		}
		got, err := v.findArch()
		message := ""
		if err != nil {
			message = err.Error()
		}
		if got != tt.want || message != tt.message || tt.is != nil && !errors.Is(err, tt.is) {
			t.Errorf("%s: got %v, %v, want %v, %s", tt.name, got, err, tt.want, tt.message)
		}
	}
}

// Files come in the order of the list, none for what cannot be opened. Who does not wait
// any more leaves none of them open.
func TestOpenAll(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	code := func(path string, inode uint64) procMapping {
		return procMapping{Mapping: Mapping{Path: path, Exec: true}, inode: inode}
	}
	list := []procMapping{code(self, 1), code("/none", 2), code(self, 3)}
	opened := make(chan *os.File)
	go openOwnDir(t).openAll(list, opened, nil)
	for i, want := range []bool{true, false, true} {
		f := <-opened
		if (f != nil) != want {
			t.Errorf("file %d: got %v, want one: %v", i, f, want)
		}
		f.Close()
	}
	go (&procDir{pid: fakeID, fd: -1}).openAll(list[:1], opened, nil)
	if f := <-opened; f != nil {
		t.Errorf("no directory: got %s", f.Name())
	}
	enough, d := make(chan struct{}), openOwnDir(t)
	close(enough)
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which would close files
	testkit.Leaks(t, 5, func(int) {
		d.openAll(list, nil, enough)
		d.openAll(list[1:], nil, enough)
		late := newHeldFiles()
		late.left = 0
		late.hold(d, list)
		late.close()
	})
	if _, err := unix.FcntlInt(uintptr(d.fd), unix.F_GETFD, 0); err != nil {
		t.Errorf("the visit's directory was closed: %v", err)
	}
}

// Who looks for the architecture, or for a suspect, leaves nothing open.
func TestLooksLeak(t *testing.T) {
	v, defect := openOwn(t), programOf(uint16(elf.EM_SPARCV9), binary.BigEndian)
	v.dir = procFiles(t, map[string]string{"task/7/exe": defect})
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which would close files
	testkit.Leaks(t, 3, func(int) {
		if a, err := v.findArch(); err == nil {
			t.Errorf("got %s", a.Name)
		}
		suspect(os.Getpid())
	})
}

// Without descriptors the first thing that a visit opens tells what to do.
func TestPrepareWithoutFiles(t *testing.T) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	none := limit
	none.Cur = 0
	v := begin(os.Getpid(), &AttachOptions{})
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	err := v.prepare(aroundOptions())
	dying, err2 := OpenDying(os.Getpid())
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("process %d: sfcore may not open more files (too many open files): ", os.Getpid())
	if !errors.Is(err, unix.EMFILE) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	if dying != nil || !errors.Is(err2, unix.EMFILE) || !strings.HasPrefix(err2.Error(), want) {
		t.Errorf("a process that is dumped: got %v, %v, want %s", dying, err2, want)
	}
}
