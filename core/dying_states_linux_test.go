package core

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/memreader"
)

// pretendDying makes a process that the kernel is dumping, if its status says so.
func pretendDying(t *testing.T, files map[string]string) *Dying {
	t.Helper()
	d := newDying(procFiles(t, files))
	v := d.visit
	v.mem = openOwn(t).mem
	t.Cleanup(func() {
		v.files.close()
		if v.root != nil {
			v.root.Close()
		}
		if v.mem.pagemap != nil {
			v.mem.pagemap.Close()
		}
	})
	return d
}

// A process is looked at only if the kernel is dumping it. Its threads have names, and
// ids in a pid namespace of their own.
func TestDyingOpen(t *testing.T) {
	for _, tt := range []struct {
		name, dumping, ns string
		change            map[string]string // "-" removes a file
		is                error
		ids               map[int]int
	}{
		{"dumped", "CoreDumping:\t1\n", "pid:[1]", nil, nil, map[int]int{1: 7, 2: 8, 0: 9}},
		{"in our namespace", "CoreDumping:\t1\n", ownNamespace("pid"), nil, nil, nil},
		{"not dumped", "CoreDumping:\t0\n", "pid:[1]", nil, ErrAnother, nil},
		{"before Linux 4.15", "", "pid:[1]", nil, ErrAnother, nil},
		{"a process without stat", "CoreDumping:\t1\n", "pid:[1]", map[string]string{"stat": "-"}, ErrNoProcess, nil},
		{"no mappings", "CoreDumping:\t1\n", "pid:[1]", map[string]string{"task/7/maps": ""}, errNoMemory, nil},
	} {
		files := aroundFiles(t)
		files["status"] += tt.dumping
		files["ns/pid"] = "-> " + tt.ns
		files["task/7/comm"], files["task/8/comm"] = "prog\n", "run\ns\n"
		for name, text := range tt.change {
			if files[name] = text; text == "-" {
				delete(files, name)
			}
		}
		d := pretendDying(t, files)
		if !d.visit.snap.Dying {
			t.Errorf("%s: the image would not say that it is of a dying process", tt.name)
		}
		if err := d.open(); !errors.Is(err, tt.is) || (err == nil) != (tt.is == nil) {
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.is)
		}
		if !maps.Equal(d.ids, tt.ids) {
			t.Errorf("%s: got ids %v, want %v", tt.name, d.ids, tt.ids)
		}
		names := map[int]string{7: "prog", 8: "run\ns"}
		if tt.is != nil {
			names = nil
		}
		if !maps.Equal(d.names, names) {
			t.Errorf("%s: got names %v, want %v", tt.name, d.names, names)
		}
	}
}

// A thread gets its id here and its name. Where it has a stack, and what it waits for, is
// to be copied.
func TestDyingName(t *testing.T) {
	d := &Dying{visit: &visit{arch: arch.AMD64}, names: map[int]string{7: "prog"}, ids: map[int]int{1: 7}}
	const word = 0x5000
	full, none := Thread{ID: 1, Name: "old", PrStatus: make([]byte, 400)}, Thread{ID: 9, Name: "old"}
	for r, v := range map[arch.Reg]uint64{0: ^uint64(511), 5: word, 4: 128, 1: 2, 10: 0, arch.AMD64.SP: 0x7000} { // -ERESTARTSYS
		full.Regs.Set(r, v)
	}
	binary.LittleEndian.PutUint64(full.PrStatus[112+8*15:], 202) // orig_rax: futex
	d.name(&full)
	d.name(&none)
	if full.ID != 7 || full.NSID != 1 || full.Name != "prog" || none.ID != 9 || none.NSID != 0 || none.Name != "old" {
		t.Errorf("got %d, %d, %q and %d, %d, %q", full.ID, full.NSID, full.Name, none.ID, none.NSID, none.Name)
	}
	if !slices.Equal(d.visit.sps, []uint64{0x7000}) || !slices.Equal(d.visit.waits, []uint64{word}) {
		t.Errorf("got stack pointers %#x, words %#x", d.visit.sps, d.visit.waits)
	}
}

// What is not copied is read from the process, unless it is in a file that is held and
// that the process cannot have changed in memory.
func TestDyingMemory(t *testing.T) {
	held, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	part := func(lo, hi uint64, path string, write bool) procMapping {
		return procMapping{Mapping: Mapping{Lo: lo, Hi: hi, Path: path}, write: write}
	}
	v := &visit{files: newHeldFiles(), maps: []procMapping{
		part(0x1000, 0x2000, "", true), part(0x2000, 0x3000, "held", false), part(0x3000, 0x4000, "held", true), part(0x4000, 0x4800, "other", false), part(0x4800, 0x5000, "", false),
	}}
	v.files.files[fileKey(&v.maps[1])] = held
	space := memreader.NewSpace([]memreader.Segment{
		{Addr: 0x1000, Size: 0x5000, Why: memreader.NotCopied},
		{Addr: 0x1800, Size: 4, Data: []byte("copy")},
		{Addr: 0x1900, Size: 0x10, Why: memreader.OverBudget},
		{Addr: 0x1a00, Size: 0x10, Why: memreader.OutOfTime},
		{Addr: 0x1b00, Size: 0x10, Why: memreader.Denied},
		{Addr: 0x4800, Size: 4, Data: []byte("more")},
	})
	process := &testkit.Memory{Segs: map[uint64][]byte{0x1000: bytes.Repeat([]byte{'p'}, 0x2800), 0x4000: bytes.Repeat([]byte{'p'}, 0x2000)}}
	m := &dyingMemory{liveMemory{Space: space, process: process, visit: v}}
	for _, tt := range []struct {
		name string
		addr uint64
		size int
		want string
	}{
		{"copied", 0x1800, 4, "copy"},
		{"copied in part", 0x1802, 8, "pypppppp"},
		{"without a file", 0x1000, 8, "pppppppp"},
		{"over the budget", 0x1904, 8, "pppppppp"},
		{"out of time", 0x1a04, 8, "pppppppp"},
		{"denied", 0x1b04, 8, ""},
		{"up to a file that is held", 0x1ffc, 8, "pppp"},
		{"in a file that is held", 0x2000, 8, ""},
		{"in a file that is held, but can be written", 0x3000, 8, "pppppppp"},
		{"in a file that is not held", 0x4000, 8, "pppppppp"},
		{"across mappings, to what is copied", 0x47fc, 8, "ppppmore"},
		{"across mappings, and behind what is copied", 0x47fc, 12, "ppppmorepppp"},
		{"up to what is not there any more", 0x37fc, 8, "pppp"},
		{"in no mapping", 0x5000, 8, ""},
	} {
		p := make([]byte, tt.size)
		n, err := m.ReadMem(p, tt.addr)
		if string(p[:n]) != tt.want || (err == nil) != (n == len(p)) {
			t.Errorf("%s: got %q, %v, want %q", tt.name, p[:n], err, tt.want)
		}
	}
}
