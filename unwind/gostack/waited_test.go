package gostack

import (
	"encoding/binary"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/testkit"
)

// Addresses of the structures of a goroutine that waits.
const (
	aG, aSudog, aLock, aChan     = 0xc0_0001_0000, 0xc0_0002_0000, 0xc0_0003_0004, 0xc0_0004_0000
	aFrame, aFrameEnd, aOther    = 0xc0_0005_0000, 0xc0_0005_0040, 0xc0_0006_0000
	elemOffset, chanOffset       = 24, 80
	elemOffset126, chanOffset126 = 32, 96
	queueOffset, nextOffset      = 0x30, 8
)

// memoryOf has the words at addresses, and the zeros after them up to the end of the
// structures.
func memoryOf(order binary.ByteOrder, words map[uint64]uint64) *testkit.Memory {
	m := &testkit.Memory{Segs: map[uint64][]byte{}}
	for _, base := range []uint64{aG, aSudog, aLock - 4, aChan, aFrame, aOther} {
		b := testkit.New(order)
		for at := range uint64(0x20) {
			b.D64(words[base+at*8])
		}
		m.Segs[base] = b.Done()
	}
	return m
}

func TestWaited(t *testing.T) {
	type words = map[uint64]uint64
	for _, tt := range []struct {
		name      string
		words     words
		semaphore uint64
		channel   uint64
	}{
		{"semaphore, arguments in the frame", words{aFrame + 8: aSudog, aFrame + 16: aLock, aSudog: aG, aSudog + elemOffset: aLock}, aLock, 0},
		{"semaphore, arguments in the caller's frame", words{aFrame + 8: aSudog, aFrameEnd: aLock, aSudog: aG, aSudog + elemOffset: aLock}, aLock, 0},
		{"semaphore, Go 1.26", words{aFrame + 8: aSudog, aFrameEnd + 8: aLock, aSudog: aG, aSudog + elemOffset126: aLock}, aLock, 0},
		{"semaphore that is no argument", words{aFrame + 8: aSudog, aSudog: aG, aSudog + elemOffset: aLock}, 0, 0},
		{"semaphore of another goroutine", words{aFrame + 8: aSudog, aFrame + 16: aLock, aSudog: aOther, aSudog + elemOffset: aLock}, 0, 0},
		{"semaphore at no address of a word", words{aFrame + 8: aSudog, aFrame + 16: aLock + 2, aSudog: aG, aSudog + elemOffset: aLock + 2}, 0, 0},
		{"no queue", words{aFrame + 8: aLock}, 0, 0},
		{"structure beyond the frame", words{aFrameEnd + 8: aSudog, aFrame + 16: aLock, aSudog: aG, aSudog + elemOffset: aLock}, 0, 0},
		{"channel, the only one", words{aFrame: aSudog, aSudog: aG, aSudog + chanOffset: aChan, aChan + queueOffset: aSudog}, 0, aChan},
		{"channel, Go 1.26", words{aFrame: aSudog, aSudog: aG, aSudog + chanOffset126: aChan, aChan + queueOffset: aSudog}, 0, aChan},
		{"channel, the first", words{aFrame: aSudog, aSudog: aG, aSudog + nextOffset: aOther, aSudog + chanOffset: aChan, aChan + queueOffset: aSudog}, 0, aChan},
		{"channel, in the middle", words{
			aFrame: aSudog, aSudog: aG, aSudog + nextOffset: aOther, aSudog + sudogPrev: aOther, aSudog + chanOffset: aChan, aOther + nextOffset: aSudog,
		}, 0, aChan},
		{"channel, in the middle of another queue", words{
			aFrame: aSudog, aSudog: aG, aSudog + nextOffset: aOther, aSudog + sudogPrev: aOther, aSudog + chanOffset: aChan,
		}, 0, 0},
		{"channel that does not have it", words{aFrame: aSudog, aSudog: aG, aSudog + chanOffset: aChan}, 0, 0},
		{"channel of another goroutine", words{aFrame: aSudog, aSudog: aOther, aSudog + chanOffset: aChan, aChan + queueOffset: aSudog}, 0, 0},
		{"channel that cannot be read", words{aFrame: aSudog, aSudog: aG, aSudog + chanOffset: 0xdead0000}, 0, 0},
	} {
		for _, a := range []*arch.Arch{arch.AMD64, arch.S390X} {
			order := binary.ByteOrder(binary.LittleEndian)
			if a.BigEndian {
				order = binary.BigEndian
			}
			m := memoryOf(order, tt.words)
			if got, ok := Semaphore(a, m, aG, aFrame, aFrameEnd); got != tt.semaphore || ok != (got != 0) {
				t.Errorf("%s, %s: got the semaphore %#x, %v, want %#x", tt.name, a.Name, got, ok, tt.semaphore)
			}
			if got, ok := Channel(a, m, aG, aFrame, aFrameEnd); got != tt.channel || ok != (got != 0) {
				t.Errorf("%s, %s: got the channel %#x, %v, want %#x", tt.name, a.Name, got, ok, tt.channel)
			}
		}
	}
}

// A frame that has no end is read to a bound.
func TestWaitedInHugeFrame(t *testing.T) {
	last, beyond := uint64(aFrame+(maxWaitFrame-1)*8), uint64(aFrame+maxWaitFrame*8)
	m := &testkit.Memory{Faults: map[uint64]int{last: 0, beyond: 0}}
	if _, ok := Channel(arch.AMD64, m, aG, aFrame, ^uint64(0)); ok {
		t.Error("got a channel")
	}
	if m.Faults[last] != 1 || m.Faults[beyond] != 0 {
		t.Errorf("got %d reads of the last word, %d of the next one, want 1 and 0", m.Faults[last], m.Faults[beyond])
	}
}
