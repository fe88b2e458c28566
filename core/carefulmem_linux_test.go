package core

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/memreader"
)

// pagemapOf makes a pagemap in which only some pages are in memory.
func pagemapOf(t *testing.T, size int, present ...int) *os.File {
	t.Helper()
	entries := slices.Repeat([]uint64{^uint64(0) >> 1}, size) // every flag but that one
	for _, page := range present {
		entries[page] = 1 << 63
	}
	var text []byte
	for _, e := range entries {
		text = binary.NativeEndian.AppendUint64(text, e)
	}
	f, err := os.Create(filepath.Join(t.TempDir(), "pagemap"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if _, err := f.Write(text); err != nil {
		t.Fatal(err)
	}
	return f
}

// Pages of files that may never answer are read up to the first that is not in
// memory, other pages always.
func TestReadable(t *testing.T) {
	page := uint64(unix.Getpagesize())
	at := func(pages uint64) uint64 { return pages * page }
	spans := []span{{lo: at(3), hi: at(6)}, {lo: at(8), hi: at(9)}, {lo: at(20), hi: at(21)}}
	none, some := &carefulMemory{}, &carefulMemory{pagemap: pagemapOf(t, 10, 3, 5, 8)}
	none.avoid(spans)
	some.avoid(spans)
	for _, tt := range []struct {
		name                 string
		addr, size           uint64
		want, withoutPagemap uint64
	}{
		{"nothing", at(3), 0, 0, 0},
		{"below", at(1), at(1), at(1), at(1)},
		{"up to the file", at(2), page, page, page},
		{"into the file", at(2), page + 1, page + 1, page},
		{"a page in memory", at(3), page, page, 0},
		{"into the next page", at(3), page + 1, page, 0},
		{"from the middle of a page", at(3) + 101, page, page - 101, 0},
		{"a page that is not in memory", at(4), 1, 0, 0},
		{"the last byte of such a page", at(5) - 1, 2, 0, 0},
		{"the last page", at(5), page, page, 0},
		{"past the end of the file", at(5) + 8, page, page, 0},
		{"between files", at(6), at(2), at(2), at(2)},
		{"through the next file", at(6), at(5), at(5), at(2)},
		{"above", at(9), at(5), at(5), at(5)},
		{"a page that pagemap does not have", at(19), at(3), page, page},
	} {
		if got := some.readable(tt.addr, int(tt.size)); got != int(tt.want) {
			t.Errorf("%s: got %#x, want %#x", tt.name, got, tt.want)
		}
		if got := none.readable(tt.addr, int(tt.size)); got != int(tt.withoutPagemap) {
			t.Errorf("%s, without pagemap: got %#x, want %#x", tt.name, got, tt.withoutPagemap)
		}
	}
	var all carefulMemory
	if got := all.readable(at(4), 100); got != 100 {
		t.Errorf("before anything is doubtful: got %d, want 100", got)
	}
}

// What is not read of a page that may never come is not copied; what is not there
// is not mapped.
func TestCarefulReads(t *testing.T) {
	mem := openOwn(t).mem
	data, addr := mapNew(t, 3*unix.Getpagesize())
	page := uint64(unix.Getpagesize())
	data[0], data[page-1], data[2*page] = 1, 2, 3
	mem.avoid([]span{{lo: 3 * page, hi: 4 * page}, {lo: addr + page, hi: addr + 2*page}})
	for _, tt := range []struct {
		name     string
		addr     uint64
		size, n  uint64
		fault    uint64
		why      memreader.Why
		complete bool
	}{
		{"before", addr, page, page, 0, 0, true},
		{"into it", addr, 2 * page, page, addr + page, memreader.NotCopied, false},
		{"in it", addr + page + 5, 8, 0, addr + page + 5, memreader.NotCopied, false},
		{"behind", addr + 2*page, 8, 8, 0, 0, true},
		{"unmapped", page, 8, 0, page, memreader.Unmapped, false},
		{"unmapped before it", 2 * page, 2 * page, 0, 2 * page, memreader.Unmapped, false},
	} {
		check := func(how string, n int, err error) {
			t.Helper()
			fault := (*memreader.FaultError)(nil)
			if n != int(tt.n) || (err == nil) != tt.complete || err != nil && (!errors.As(err, &fault) || fault.Addr != tt.fault || fault.Why != tt.why) {
				t.Errorf("%s, %s: got %d bytes, %v", tt.name, how, n, err)
			}
		}
		n, err := mem.ReadMem(make([]byte, tt.size), tt.addr)
		check("ReadMem", n, err)
		copies := []memreader.Copy{{Addr: tt.addr, Data: make([]byte, tt.size)}, {Addr: addr, Data: make([]byte, 1)}}
		heard := 0
		mem.ReadAll(copies, func(done int) bool {
			for i := heard; i < done; i++ {
				if want := []uint64{tt.size, 1}[i]; uint64(len(copies[i].Data)) != want {
					t.Errorf("%s: copy %d has room for %d bytes, want %d", tt.name, i, len(copies[i].Data), want)
				}
			}
			heard = done
			return true
		})
		check("ReadAll", copies[0].N, copies[0].Err)
		if heard != 2 || copies[1].Data[0] != 1 || copies[1].Err != nil {
			t.Errorf("%s: got %d copies, the last %+v", tt.name, heard, copies[1])
		}
	}
	many := make([]memreader.Copy, 2000) // more than one system call makes
	for i := range many {
		many[i] = memreader.Copy{Addr: addr, Data: make([]byte, 1)}
	}
	mem.ReadAll(many, func(int) bool { return false })
	if last := many[len(many)-1]; many[0].N != 1 || last.N != 0 {
		t.Errorf("got %+v and %+v, though the first call was to be the last", many[0], last)
	}
}

// Copies of memory that is lost are all done at once, and nobody has to ask for it.
func TestLostCopies(t *testing.T) {
	var mem carefulMemory
	mem.lose()
	copies := []memreader.Copy{{Addr: 0x1000, Data: make([]byte, 8)}}
	mem.ReadAll(copies, nil)
	fault := (*memreader.FaultError)(nil)
	if !errors.As(copies[0].Err, &fault) || fault.Addr != 0x1000 || fault.Why != memreader.OutOfTime {
		t.Errorf("got %+v", copies[0])
	}
}

func TestCarefulMemoryLeaks(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which would close files
	testkit.Leaks(t, 5, func(n int) {
		live, err := memreader.OpenLive(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		c := &carefulMemory{Live: live}
		if n%2 == 0 {
			if c.pagemap, err = os.Open("/proc/self/maps"); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}
