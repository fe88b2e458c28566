package core

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/sfcore/sfcore/memreader"
)

// describeBatches writes the indices of the copies of each batch.
func describeBatches(all []*batch) string {
	var list []string
	for _, b := range all {
		list = append(list, fmt.Sprint(b.at))
	}
	return strings.Join(list, " ")
}

// A batch ends before it has too many copies or too many bytes.
func TestBatches(t *testing.T) {
	room := make([]byte, maxPiece+1)
	sizes := func(sizes ...int) []memreader.Copy {
		var list []memreader.Copy
		for _, n := range sizes {
			list = append(list, memreader.Copy{Data: room[:n]})
		}
		return list
	}
	for _, tt := range []struct {
		name string
		list []memreader.Copy
		want string
	}{
		{"none", nil, ""},
		{"one", sizes(1), "[0]"},
		{"too large for any", sizes(maxPiece+1, 1), "[0] [1]"},
		{"just enough bytes", sizes(maxPiece-1, 1), "[0 1]"},
		{"a byte too many", sizes(maxPiece-1, 2), "[0] [1]"},
		{"bytes of three", sizes(maxPiece-2, 1, 1, 1), "[0 1 2] [3]"},
		{"the count begins anew", sizes(maxPiece, maxPiece-1, 1, 1), "[0] [1 2] [3]"},
	} {
		if got := describeBatches(batches(tt.list)); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
	for n, want := range map[int][]int{maxPieces: {maxPieces}, maxPieces + 1: {maxPieces, 1}, 2*maxPieces + 1: {maxPieces, maxPieces, 1}} {
		var got []int
		for _, b := range batches(make([]memreader.Copy, n)) {
			got = append(got, len(b.copies))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d copies: got batches of %v, want %v", n, got, want)
		}
	}
}

// A worker that is stuck keeps the room that it was given, and what it was to copy
// besides is copied by others, each piece by itself.
func TestGiveUp(t *testing.T) {
	list := make([]memreader.Copy, 6)
	for i := range list {
		list[i] = memreader.Copy{Addr: uint64(i) * 0x1000, Data: make([]byte, i+1)}
	}
	pick := func(at ...int) *batch {
		b := &batch{at: at}
		for _, i := range at {
			b.copies = append(b.copies, list[i])
		}
		return b
	}
	given := pick(0, 1)
	given.given = true
	for _, tt := range []struct {
		name  string
		at    []*batch // what the workers are at
		want  string   // batches to be done
		added int
	}{
		{"nobody", nil, "", 0},
		{"one that is at nothing", []*batch{nil}, "", 0},
		{"one that was given up", []*batch{given}, "", 0},
		{"a single copy, which is lost", []*batch{pick(4)}, "", -1},
		{"two copies", []*batch{pick(1, 3)}, "[1] [3]", 1},
		{"some", []*batch{nil, given, pick(2), given, nil, pick(5, 3, 1)}, "[5] [3] [1]", 1},
	} {
		c := &copying{work: make(chan *batch, len(list))}
		for _, b := range tt.at {
			w := new(atomic.Pointer[batch])
			w.Store(b)
			c.workers = append(c.workers, w)
		}
		if added := c.giveUp(list); added != tt.added {
			t.Errorf("%s: got %d more batches, want %d", tt.name, added, tt.added)
		}
		close(c.work)
		var again []*batch
		for b := range c.work {
			again = append(again, b)
			i := b.at[0]
			if len(b.copies) != 1 || b.copies[0].Addr != list[i].Addr || len(b.copies[0].Data) != len(list[i].Data) ||
				unsafe.SliceData(b.copies[0].Data) == unsafe.SliceData(list[i].Data) || b.given {
				t.Errorf("%s: got %+v for copy %d", tt.name, b, i)
			}
		}
		if got := describeBatches(again); got != tt.want {
			t.Errorf("%s: got %s to be done, want %s", tt.name, got, tt.want)
		}
		for _, b := range tt.at {
			if b != nil && !b.given {
				t.Errorf("%s: batch %v is not given up", tt.name, b.at)
			}
		}
	}
}

// A worker does all batches, is at none of them afterwards, and begins none once it
// is late.
func TestWorker(t *testing.T) {
	v := openOwn(t)
	data, addr := mapNew(t, 8)
	data[3] = 7
	two := func() *copying {
		c := &copying{mem: v.mem, work: make(chan *batch, 2), finished: make(chan *batch, 2)}
		for range 2 {
			c.work <- &batch{copies: []memreader.Copy{{Addr: addr, Data: make([]byte, 8)}}}
		}
		return c
	}
	c := two()
	c.start()
	for range 2 {
		if b := <-c.finished; b.copies[0].Data[3] != 7 || b.copies[0].N != 8 {
			t.Errorf("got %+v", b.copies[0])
		}
	}
	if b := c.workers[0].Load(); len(c.workers) != 1 || b != nil {
		t.Errorf("%d workers, the first is at %v", len(c.workers), b)
	}
	c = two()
	c.late.Store(true)
	c.start()
	select {
	case b := <-c.finished:
		t.Errorf("got %+v of a worker that is late", b)
	case <-time.After(20 * time.Millisecond): // it would have begun mostly
	}
}

// Copying begins at once, not when somebody looks why nothing happens.
func TestCopyUntilBegins(t *testing.T) {
	v := openOwn(t)
	data, addr := mapNew(t, 8)
	data[3] = 7
	for _, n := range []int{0, 1, 2} {
		var list []memreader.Copy
		for range n {
			list = append(list, memreader.Copy{Addr: addr, Data: make([]byte, 8)})
		}
		began := time.Now()
		done := v.copyUntil(list, began.Add(1000*time.Hour))
		if slices.Contains(done, false) || len(done) != n || time.Since(began) > time.Hour {
			t.Errorf("%d copies: got %v after %v", n, done, time.Since(began))
		}
	}
}
