package core

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/sfcore/sfcore/memreader"
)

// muteMemory answers once it is told to, and only then writes.
type muteMemory struct{ answer chan struct{} }

func (m *muteMemory) ReadMem(p []byte, addr uint64) (int, error) {
	<-m.answer
	for i := range p {
		p[i] = byte(addr)
	}
	return len(p), nil
}

// A read that does not end is given up. What it reads in the end is not the caller's.
func TestPresentMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mute, lost := &muteMemory{make(chan struct{}, 1)}, 0
		m := &presentMemory{mute, func() { lost++ }}
		var p [2]byte
		mute.answer <- struct{}{}
		if n, err := m.ReadMem(p[:], 7); n != 2 || err != nil || p != [2]byte{7, 7} || lost != 0 {
			t.Fatalf("got %d bytes %v, %v, lost %d times", n, p, err, lost)
		}
		n, err := m.ReadMem(p[:], 8)
		if fault := (*memreader.FaultError)(nil); n != 0 || !errors.As(err, &fault) || fault.Why != memreader.OutOfTime || fault.Addr != 8 || lost != 1 {
			t.Errorf("got %d bytes, %v, lost %d times", n, err, lost)
		}
		mute.answer <- struct{}{}
		synctest.Wait()
		if p != [2]byte{7, 7} {
			t.Errorf("got %v of a late read", p)
		}
	})
}
