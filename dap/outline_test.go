package dap

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/process"
)

// The line of an address in a listing does not depend on what was asked before, and is
// that of an outline from the beginning of the function.
func TestOutlines(t *testing.T) {
	dir := cores + "amd64-v3-bigfn/"
	p, err := openCore(t.Context(), Spec{Core: dir + "core.zst", Options: process.Options{Paths: []string{dir + "exe"}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	s, err := p.Stack(p.Threads()[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	warm, named, lines := newSnapshot(t.Context(), func() {}, p, 0, &workspace{}), 0, map[int]bool{}
	r := rand.New(rand.NewPCG(20, 26))
	for i := range s.Frames {
		pc := s.Frames[i].LookupPC()
		_, start := warm.symbol(pc)
		if start != 0 {
			named++
		}
		for range 50 {
			addr := pc - r.Uint64N(pc-start+1)
			if start == 0 {
				addr = pc
			}
			cold := newSnapshot(t.Context(), func() {}, p, 0, &workspace{})
			want, ok := cold.listingAt(addr, addr)
			if got, same := warm.listingAt(addr, addr); got != want || same != ok {
				t.Errorf("%#x: got %+v, %v, want %+v, %v", addr, got, same, want, ok)
			}
			if !ok || start == 0 {
				continue
			}
			n, words := 0, cold.words()
			for at := start; ; n++ {
				l := cold.lineAt(words, at)
				if at = l.end(); at > addr {
					break
				}
			}
			if line := listingHead + n%listingPage + 1; want.line != line || want.page != n/listingPage {
				t.Errorf("%#x: got %+v, want line %d of page %d", addr, want, line, n/listingPage)
			}
			lines[n] = true
		}
	}
	if named == 0 || len(lines) < 20 {
		t.Errorf("got %d frames with names, %d lines", named, len(lines))
	}
}

// codeOnly is a process that consists of code at an address.
func codeOnly(t *testing.T, at uint64, code []byte) *snapshot {
	t.Helper()
	var regs arch.Regs
	regs.Set(arch.AMD64.PC, at)
	core := testkit.NewCore(arch.AMD64).Thread(1, 0, &regs).Segment(at, uint64(len(code)), true, code).Done()
	name := filepath.Join(t.TempDir(), "core")
	if err := os.WriteFile(name, core, 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := openCore(t.Context(), Spec{Core: name}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return newSnapshot(t.Context(), func() {}, p, 0, &workspace{})
}

// The line of an address in code without a name is known before the code is disassembled,
// and is right whatever the bytes before it are, or if there are none.
func TestAround(t *testing.T) {
	const at = 0x10000
	r := rand.New(rand.NewPCG(20, 26))
	random := make([]byte, 4096)
	for i := range random {
		random[i] = byte(r.Uint32())
	}
	for name, tt := range map[string]struct {
		at   uint64
		code []byte
	}{
		"instructions": {at, bytes.Repeat([]byte{0xff, 0xd0}, 500)}, "no instructions": {at, bytes.Repeat([]byte{6}, 500)},
		"anything": {at, random}, "start of the address space": {0, bytes.Repeat([]byte{0x90}, 500)},
	} {
		s := codeOnly(t, tt.at, tt.code)
		for _, off := range []uint64{1, 2, 3, 17, 254, 256, 300} {
			boundary := tt.at + off
			for _, addr := range []uint64{boundary - 1, boundary} {
				l, ok := s.listingAt(addr, boundary)
				if !ok || l.kind != refAround {
					t.Fatalf("%s: %#x: got %+v, %v", name, boundary, l, ok)
				}
				lines := strings.Split(s.around(boundary), "\n")
				text := func(i int) uint64 {
					v, _, _ := strings.Cut(lines[i], " ")
					return parse(t, v)
				}
				if from := text(l.line - 1); from > addr || text(listingHead+listingAhead) != boundary || from != boundary && addr == boundary {
					t.Errorf("%s: %#x: got line %d: %q", name, addr, l.line, lines[l.line-1])
				}
			}
		}
	}
}

// A listing costs nothing before it is read, and outlines do not grow without end.
func TestOutlinesBounded(t *testing.T) {
	s := codeOnly(t, 0x10000, bytes.Repeat([]byte{0x90}, 4096))
	words := s.words()
	for i := range uint64(1000) {
		if _, ok := s.listingAt(0x10000+i, 0x10000+i); !ok {
			t.Fatal("no listing")
		}
	}
	if s.outlines.spent != 0 {
		t.Errorf("got %d instructions of code without names", s.outlines.spent)
	}
	for i := range uint64(3) {
		if n, ok := s.outlines.instruction(s, words, 0x10000+i, 0x10000+i+99); n != 99 || !ok {
			t.Errorf("got instruction %d, %v, want 99", n, ok)
		}
	}
	if want := 3 * (100 + outlineWork); s.outlines.spent != want {
		t.Errorf("got %d spent, want %d", s.outlines.spent, want)
	}
	s.outlines.spent = maxOutlined - 50
	if _, ok := s.outlines.instruction(s, words, 0x10000, 0x10000+199); ok {
		t.Error("got more instructions than there may be")
	}
	if n, ok := s.outlines.instruction(s, words, 0x10000, 0x10000+149); n != 149 || !ok {
		t.Errorf("got %d, %v, want what was known before", n, ok)
	}
	if _, ok := s.outlines.instruction(s, words, 0x10003, 0x10003); ok || len(s.outlines.functions) != 3 {
		t.Errorf("got %d outlines, want no more", len(s.outlines.functions))
	}
}

// Bytes before which nothing falls into step are tried only so often for a request.
func TestSyncBounded(t *testing.T) {
	s := codeOnly(t, 0x10000, bytes.Repeat([]byte{0xff, 0xd0}, 2048))
	left := maxSync
	if lines := s.sync(0x10800, 1, &left); len(lines) != maxSync/2 || left > 0 {
		t.Errorf("got %d lines, %d bytes left", len(lines), left)
	}
	if lines := s.sync(0x10800, 1, &left); lines != nil {
		t.Errorf("got %d lines, want none without bytes left", len(lines))
	}
	if lines := s.before(0x10800, 1000); len(lines) != 1000 || !lines[0].valid {
		t.Errorf("got %d lines", len(lines))
	}
}
