package core

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sfcore/sfcore/memreader"
)

// A process that the kernel does not dump is refused, and so is one that is not there.
func TestOpenDyingAnother(t *testing.T) {
	for pid, want := range map[int]error{os.Getpid(): ErrAnother, 1 << 30: ErrNoProcess} {
		if d, err := OpenDying(pid); !errors.Is(err, want) {
			t.Errorf("process %d: got %v, %v, want %v", pid, d, err, want)
		}
	}
}

// dyingSubject returns a subject as if the kernel dumped it, and the image that its dump
// would begin with.
func dyingSubject(t *testing.T, nsIDs bool) (*subject, *Dying, *Image) {
	t.Helper()
	needPtrace(t)
	s := startSubject(t, os.Args[0], "plain")
	s.ready(t)
	live := attach(t, s.pid)
	head := &Image{Arch: live.Arch, Auxv: live.Auxv, PID: s.pid, Threads: live.Threads, Signal: &Signal{Number: 11, Thread: s.pid}}
	for i := range head.Threads {
		head.Threads[i].Name = ""
	}
	dir, err := openProc(s.pid)
	if err != nil {
		t.Fatal(err)
	}
	d := newDying(dir)
	if err := d.look(); err != nil {
		d.Close()
		t.Fatal(err)
	}
	if nsIDs { // as in a container
		for i := range head.Threads {
			th := &head.Threads[i]
			d.ids[1000+i] = th.ID
			if th.ID == s.pid {
				head.Signal.Thread = 1000 + i
			}
			th.ID = 1000 + i
		}
	}
	return s, d, head
}

// hasStack reports whether the stack of a thread is in a mapping.
func hasStack(img *Image, m *Mapping) bool {
	return slices.ContainsFunc(img.Threads, func(th Thread) bool {
		sp, _ := th.Regs.Get(img.Arch.SP)
		return sp >= m.Lo && sp < m.Hi
	})
}

// An image of a dying process has the memory that is in no file until it is left, and
// the stacks also then.
func TestDyingImage(t *testing.T) {
	s, d, head := dyingSubject(t, false)
	img := d.Image(head, 1<<20, 64<<20, time.Now().Add(unhurried))
	defer closeImage(t, img)

	if img.PID != s.pid || !img.Live.Dying || img.Live.Copied == 0 || img.Root != "" || img.Executable == "" {
		t.Errorf("got process %d, %+v, root %q, program %q", img.PID, img.Live, img.Root, img.Executable)
	}
	for i := range img.Threads {
		if th := &img.Threads[i]; th.Name == "" || th.NSID != 0 {
			t.Errorf("thread %d has the name %q and the id %d in its namespace", th.ID, th.Name, th.NSID)
		}
	}
	held, anon, file := 0, (*Mapping)(nil), (*Mapping)(nil)
	for i := range img.Mappings {
		m := &img.Mappings[i]
		if m.File != "" {
			held++
			if img.Held[m.File] == nil {
				t.Errorf("%s is not held", m.Path)
			}
		}
		switch pm := &d.visit.maps[i]; {
		case m.Path == "" && pm.write && !hasStack(img, m): // of which the top is copied
			anon = m
		case m.File != "" && m.Exec && !pm.write:
			file = m
		}
	}
	if held == 0 || anon == nil || file == nil {
		t.Fatalf("got %d held files, memory without a file %v, code %v", held, anon, file)
	}
	sp, _ := img.Threads[0].Regs.Get(img.Arch.SP)
	for _, left := range []bool{false, true} {
		t.Run(fmt.Sprintf("left %v", left), func(t *testing.T) {
			if left {
				img.Leave()
			}
			if _, err := memreader.ReadFull(img.Mem, sp, 64); err != nil {
				t.Errorf("the stack: %v", err)
			}
			_, err := memreader.ReadFull(img.Mem, anon.Hi-64, 64)
			if fault := (*memreader.FaultError)(nil); left != errors.As(err, &fault) || left && fault.Why != memreader.OutOfTime {
				t.Errorf("memory without a file: %v", err)
			}
			at := file.Lo + headSize
			if n, err := img.Mem.ReadMem(make([]byte, 8), at); n != 0 || err == nil {
				t.Errorf("%s: got %d bytes, %v, want that they are left to the file", file.Path, n, err)
			}
		})
	}
}

// Memory that is partly copied is read as a whole.
func TestDyingMemoryAcross(t *testing.T) {
	s, d, head := dyingSubject(t, false)
	_ = unix.Kill(s.pid, unix.SIGSTOP)
	s.waitState(t, "T")
	img := d.Image(head, 256, 1<<20, time.Now().Add(unhurried))
	defer closeImage(t, img)
	for i := range img.Threads {
		sp, _ := img.Threads[i].Regs.Get(img.Arch.SP)
		m := img.Mapping(sp)
		if m == nil {
			continue
		}
		size := int(min(4096, m.Hi-sp+redZone))
		got, err := memreader.ReadFull(img.Mem, sp-redZone, size)
		want, err2 := memreader.ReadFull(d.visit.mem, sp-redZone, size)
		if err != nil || err2 != nil || !bytes.Equal(got, want) {
			t.Errorf("thread %d: got %v, %v, or other bytes", img.Threads[i].ID, err, err2)
		}
	}
}

// Threads of a process in a pid namespace have both of their ids.
func TestDyingNamespace(t *testing.T) {
	s, d, head := dyingSubject(t, true)
	img := d.Image(head, 1<<16, 1<<20, time.Now().Add(unhurried))
	defer closeImage(t, img)
	for i := range img.Threads {
		if th := &img.Threads[i]; th.NSID != 1000+i || th.Name == "" {
			t.Errorf("thread %d: got the id %d in its namespace, name %q", th.ID, th.NSID, th.Name)
		}
	}
	if img.Signal.Thread != s.pid {
		t.Errorf("got a signal of thread %d, want %d", img.Signal.Thread, s.pid)
	}
}

// What was opened stays the process's after it has ended: nothing else is read.
func TestDyingEnded(t *testing.T) {
	s, d, head := dyingSubject(t, false)
	_ = unix.Kill(s.pid, unix.SIGKILL)
	_ = s.cmd.Wait()
	img := d.Image(head, 1<<16, 1<<20, time.Now().Add(unhurried))
	defer closeImage(t, img)
	sp, _ := img.Threads[0].Regs.Get(img.Arch.SP)
	_, err := memreader.ReadFull(img.Mem, sp, 64)
	if fault := (*memreader.FaultError)(nil); !errors.As(err, &fault) || fault.Why != memreader.Gone {
		t.Errorf("got %v, want that the memory is gone", err)
	}
}
