package core

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sfcore/sfcore/memreader"
)

// The words on which threads of a live process wait are in the image, also if they are
// not on a stack: those of Go's runtime are variables.
func TestAttachLocks(t *testing.T) {
	needPtrace(t)
	s := startSubject(t, os.Args[0], "threads")
	s.ready(t)
	waits := 0
	for range 100 { // the runtime may be busy
		img, err := Attach(t.Context(), s.pid, AttachOptions{MaxStop: unhurried})
		if err != nil {
			t.Fatal(err)
		}
		for i := range img.Threads {
			c, ok := img.InCall(&img.Threads[i], img.Process)
			if !ok || c.Number != img.Arch.SystemCall.Futex {
				continue
			}
			words := memreader.Words{R: img.Mem, BigEndian: img.Arch.BigEndian}
			for _, at := range []uint64{c.Args[0], c.Args[0] + lockBehind - 8} {
				if _, err := words.Uint64(at); err != nil {
					t.Errorf("thread %d waits on %#x: %v", img.Threads[i].ID, c.Args[0], err)
				}
			}
			waits++
		}
		closeImage(t, img)
		if waits > 0 {
			break
		}
	}
	if waits == 0 {
		t.Error("no thread was in futex(2)")
	}
	s.answers(t)
}

// Around each word that can be written, the lock is copied: as far as the mapping goes,
// and but for what is copied already. It does not count as stacks.
func TestCopyLocks(t *testing.T) {
	v := openOwn(t)
	_, addr := mapNew(t, 0x3000)
	part := func(lo, hi uint64, read, write bool) procMapping {
		return procMapping{Mapping: Mapping{Lo: addr + lo, Hi: addr + hi}, read: read, write: write}
	}
	v.maps = []procMapping{part(0, 0x1000, true, true), part(0x1000, 0x1800, true, false), part(0x1800, 0x2000, false, true), part(0x2000, 0x3000, true, true)}
	for _, tt := range []struct {
		name  string
		words []uint64
		want  string
	}{
		{"none", nil, ""},
		{"in the middle", []uint64{0x100}, "0xf0-0x120"},
		{"at the beginning", []uint64{8}, "0x0-0x28"},
		{"at the end", []uint64{0xff0}, "0xfe0-0x1000"},
		{"two that overlap", []uint64{0x110, 0x100}, "0xf0-0x120 0x120-0x130"},
		{"what cannot be written", []uint64{0x1100}, ""},
		{"what cannot be read", []uint64{0x1900}, ""},
		{"nowhere", []uint64{0x4000, ^uint64(0) - addr}, ""},
		{"what is copied", []uint64{0x2000 + 0x20}, "0x2010-0x2020 0x2030-0x2040"},
	} {
		v.waits, v.snap.Copied, v.stacks = nil, 5, []copied{{span: span{addr + 0x2020, addr + 0x2030, addr + 0x3000}}}
		for _, word := range tt.words {
			v.waits = append(v.waits, addr+word)
		}
		v.copyLocks(time.Now().Add(1000 * time.Hour))
		var got []string
		for _, c := range v.ascending() {
			if c.data != nil {
				got = append(got, fmt.Sprintf("%#x-%#x", c.lo-addr, c.hi-addr))
			}
		}
		if strings.Join(got, " ") != tt.want || v.snap.Copied != 5 {
			t.Errorf("%s: got %s, %d bytes of stacks, want %s", tt.name, got, v.snap.Copied, tt.want)
		}
	}
}
