package process

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/unwind"
)

// A process begins in its dynamic linker, and the stack of what that calls before
// main, such as the constructors of libraries, ends there.
func TestStackFromLinker(t *testing.T) {
	img, open := dynamic(t)
	tg := open()
	th := tg.Threads()[0]
	found := false
	for m := range tg.modules.All() {
		if !strings.Contains(m.Path, "ld-linux") {
			continue
		}
		found = true
		th.Regs.Set(img.Arch.PC, m.Image().Entry+m.Bias+8) // behind the call of _dl_start
		s := tg.NewWalker().Walk(th)
		if s.Stop.Reason != unwind.Outermost || len(s.Frames) != 1 {
			t.Errorf("got %d frames, %v (%v)", len(s.Frames), s.Stop.Reason, s.Stop.Detail)
		}
	}
	if !found {
		t.Error("the dynamic linker is not among the modules")
	}
}

// dynamic returns the image of a dynamic program, and a function that makes the
// target of it.
func dynamic(t *testing.T) (*core.Image, func() *Process) {
	t.Helper()
	dir := filepath.Join("../testdata/cores", "amd64-v3-libcdyn-1")
	img, err := core.Open(context.Background(), filepath.Join(dir, "core.zst"), core.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return img, func() *Process {
		tg := New(img, Options{Paths: []string{filepath.Join(dir, "exe")}, Sysroot: filepath.Join(dir, "sysroot")})
		t.Cleanup(func() { tg.Close() })
		return tg
	}
}

// nameless is memory without the name of the dynamic linker, as qemu-user leaves
// it: that is within the program, where it cannot be written.
type nameless struct {
	memreader.Reader
	at uint64 // of the name
}

func (m nameless) ReadMem(p []byte, addr uint64) (int, error) {
	const size = 16
	if addr-m.at < size {
		return 0, &memreader.FaultError{Addr: addr}
	}
	if m.at-addr < uint64(len(p)) {
		p = p[:m.at-addr]
	}
	return m.Reader.ReadMem(p, addr)
}

// A core that names no files has the dynamic linker among its modules also where
// its name is not in memory.
func TestLinkerWithoutName(t *testing.T) {
	img, open := dynamic(t)
	for i := range img.Mappings {
		img.Mappings[i].Path = ""
	}
	program := make([]byte, 4096)
	phdr, _ := img.Auxv.Get(core.ATPhdr)
	if n, _ := img.Mem.ReadMem(program, phdr); !bytes.Contains(program[:n], []byte("/lib64/ld-linux")) {
		t.Fatal("the core does not have the name")
	}
	img.Mem = nameless{img.Mem, phdr + uint64(bytes.Index(program, []byte("/lib64/ld-linux")))}
	base, _ := img.Auxv.Get(core.ATBase)
	for m := range open().modules.All() {
		if m.Lo == base && strings.Contains(m.Path, "ld-linux") {
			return
		}
	}
	t.Errorf("no module at %#x", base)
}
