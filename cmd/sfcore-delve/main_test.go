package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/delve/backend"
	"github.com/sfcore/sfcore/internal/delve/wire"
	"github.com/sfcore/sfcore/internal/module"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/memreader"
)

// mainEnv makes this test's program sfcore-delve.
const mainEnv = "SFCORE_TEST_MAIN"

// hungryEnv makes it a program that takes all the memory that it may.
const hungryEnv = "SFCORE_TEST_HUNGRY"

const tookAll = "took all"

func takeAll() {
	if err := backend.LimitMemory(1 << 30); err != nil {
		panic(err)
	}
	var all [][]byte
	for range 64 {
		all = append(all, make([]byte, 1<<30))
	}
	panic(fmt.Sprint(tookAll, len(all)))
}

func TestMain(m *testing.M) {
	if os.Getenv(hungryEnv) != "" {
		takeAll()
	}
	if os.Getenv(mainEnv) != "" {
		main()
		return
	}
	m.Run()
}

const dir = "../../testdata/goroutines/amd64"

// open returns the modules of a core file, and what sfcore-delve is told of it.
func open(t *testing.T) (*module.Set, *wire.Setup) {
	t.Helper()
	img, err := core.Open(t.Context(), filepath.Join(dir, "core.zst"), core.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tg := module.Find(img, module.Options{Paths: []string{filepath.Join(dir, "exe")}})
	t.Cleanup(func() { tg.Close() })
	m := tg.WithGo()
	if m == nil {
		t.Fatal("got no Go module")
	}
	s := &wire.Setup{Arch: "amd64", File: m.Files.Open, Entry: m.Image().Entry, MaxFrames: 100, Locals: true, Runtime: true}
	for i := range img.Threads {
		s.Threads = append(s.Threads, wire.Thread{ID: img.Threads[i].ID, Regs: img.Threads[i].PrStatus[arch.PrStatusRegs:]})
	}
	return tg, s
}

// list lists goroutines by this test's program, and returns how many there are,
// and of how many not all could be found out.
func list(t *testing.T, s *wire.Setup, mem memreader.Reader) (n, unknown int, err error) {
	t.Helper()
	testkit.NeedRestart(t)
	t.Setenv(mainEnv, "1")
	err = wire.List(t.Context(), os.Args[0], s, mem, func(g *wire.Goroutine) bool {
		if n++; g.Err != "" {
			unknown++
		}
		return true
	})
	return n, unknown, err
}

func TestList(t *testing.T) {
	tg, s := open(t)
	if n, unknown, err := list(t, s, tg.Memory()); n != 33 || unknown != 0 || err != nil {
		t.Errorf("got %d goroutines, %d unknown, %v, want 33", n, unknown, err)
	}
	s.File = filepath.Join(t.TempDir(), "none")
	if n, _, err := list(t, s, tg.Memory()); n != 0 || err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("no file: got %d goroutines, %v", n, err)
	}
}

// damaged is memory in which some bytes are not what they were.
type damaged struct {
	memreader.Reader
	seed  uint64
	every int // bytes
}

// ReadMem implements memreader.Reader. The damage depends on the address alone.
func (d *damaged) ReadMem(p []byte, addr uint64) (int, error) {
	n, err := d.Reader.ReadMem(p, addr)
	for i := range p[:n] {
		r := rand.New(rand.NewPCG(d.seed, addr+uint64(i)))
		if r.IntN(d.every) == 0 {
			p[i] = byte(r.Uint32())
		}
	}
	return n, err
}

// Whatever memory and the program's file hold, there is an end, and at most an
// error.
func TestDamage(t *testing.T) {
	tg, s := open(t)
	file, err := os.ReadFile(s.File)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(6) {
		mem := &damaged{tg.Memory(), seed, 10 << (2 * seed)}
		n, unknown, err := list(t, s, mem)
		t.Logf("memory, one of %d bytes: %d goroutines, %d unknown, %v", mem.every, n, unknown, err)
		if n == 0 && err == nil {
			t.Errorf("seed %d: got neither goroutines nor an error", seed)
		}
	}
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 0))
		bad := append([]byte(nil), file...)
		for range 1 << (2 * seed) {
			bad[r.IntN(len(bad))] ^= 1 << r.IntN(8)
		}
		setup := *s
		setup.File = filepath.Join(t.TempDir(), "goroutines")
		if err := os.WriteFile(setup.File, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		n, unknown, err := list(t, &setup, tg.Memory())
		t.Logf("file, %d bits: %d goroutines, %d unknown, %v", 1<<(2*seed), n, unknown, err)
		if n == 0 && err == nil {
			t.Errorf("seed %d: got neither goroutines nor an error", seed)
		}
	}
}
