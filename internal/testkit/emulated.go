package testkit

import (
	"io"
	"os"
	"testing"
)

// NeedRestart skips a test that runs its own program again where an emulator such as
// qemu-user runs it: that cannot, and the fork before may hang for ever.
func NeedRestart(t testing.TB) {
	t.Helper()
	if Emulated() {
		t.Skip("an emulator runs this test, and cannot run it again")
	}
}

// Emulated reports whether an emulator runs this program: the system's shell is for
// another machine.
func Emulated() bool {
	shell := machine("/bin/sh")
	return shell != "" && shell != machine(os.Args[0])
}

// machine returns the bytes of an ELF file that say which machine it is for, "" if it is
// none.
func machine(name string) string {
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	var head [20]byte // e_ident, e_type and e_machine [gABI, ELF Header]
	if _, err := io.ReadFull(f, head[:]); err != nil || string(head[:4]) != "\x7fELF" {
		return ""
	}
	return string(head[4:6]) + string(head[18:20])
}
