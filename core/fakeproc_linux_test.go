package core

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/memreader"
)

// fakeID is the process, and the first thread, that a directory of procFiles is of.
const fakeID = 7

// fifo is the text of a file that answers nobody before the test opens it.
const fifo = "fifo"

// procFiles makes a directory like /proc/PID of files with their texts: states that no
// test can bring a process to at will, such as a thread that waits for a disk. A text
// "-> x" makes a symbolic link.
func procFiles(t *testing.T, files map[string]string) *procDir {
	t.Helper()
	d := procFilesToClose(t, files)
	t.Cleanup(d.close)
	return d
}

// procFilesToClose is procFiles for who closes the directory.
func procFilesToClose(t *testing.T, files map[string]string) *procDir {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		err := error(nil)
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			err = os.Symlink(target, path)
		} else if text == fifo {
			err = unix.Mkfifo(path, 0o600)
		} else {
			err = os.WriteFile(path, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	fd, err := unix.Open(dir, unix.O_DIRECTORY|unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	return &procDir{pid: fakeID, fd: fd, alive: fakeID}
}

// statOf is a stat file of a thread that began at tick 5.
func statOf(name, state string) string {
	return fmt.Sprintf("7 (%s) %s%s 5 0\n", name, state, strings.Repeat(" 0", 18))
}

// syscallOf is the syscall file of a thread in a system call.
func syscallOf(number int, sp uint64) string {
	return fmt.Sprintf("%d 0x1 0x2 0x3 0x4 0x5 0x6 %#x 0x1000\n", number, sp)
}

// programOf is the head of a program for an ELF machine.
func programOf(machine uint16, order binary.ByteOrder) string {
	e := &testkit.ELF{Order: order, Type: 2, Machine: machine, Bare: true}
	return string(e.File())
}

// memoryOfNobody is the memory of a process that has ended, which is as that of one that
// has executed another program.
func memoryOfNobody(t *testing.T) *carefulMemory {
	t.Helper()
	needPtrace(t) // an emulator starts no subjects
	s := startSubject(t, os.Args[0], "plain")
	s.ready(t)
	mem, err := memreader.OpenLive(s.pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = mem.Close() })
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	return &carefulMemory{Live: mem}
}
