package core

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sfcore/sfcore/memreader"
)

// ErrAnother is for a process that the kernel does not dump. It may be another one that
// has got the id.
var ErrAnother = errors.New("the kernel does not dump this process")

// Dying is a process that the kernel is dumping. All of its threads stand still, and
// its memory stays readable until the kernel has written the dump, or cannot. Whoever
// reads the dump, as core_pattern says, decides when that is. Nothing is traced.
type Dying struct {
	visit *visit
	names map[int]string // of the threads, by id
	ids   map[int]int    // of the threads, by their ids in the pid namespace of the process
}

// OpenDying opens what shows a process that the kernel is dumping: its memory, its
// mappings, the files that it has mapped, also those that are deleted or in its own
// mount namespace. It needs CAP_SYS_PTRACE and, for files that have no name here,
// CAP_CHECKPOINT_RESTORE. Afterwards these rights may be given up. What was opened
// stays that process's whatever else gets its id.
//
// The error matches [ErrAnother] if the kernel does not dump process pid,
// [ErrNoProcess] if there is none, and [ErrDenied].
func OpenDying(pid int) (*Dying, error) {
	dir, err := openProc(pid)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("process %d: %w", pid, ErrNoProcess)
	} else if err != nil {
		return nil, (&procDir{pid: pid, fd: -1}).explain(err)
	}
	d := newDying(dir)
	if err := d.open(); err != nil {
		d.visit.close()
		return nil, err
	}
	return d, nil
}

func newDying(dir *procDir) *Dying {
	v := &visit{pid: dir.pid, dir: dir, files: newHeldFiles(), clock: time.Now(), snap: Snapshot{Dying: true}}
	return &Dying{visit: v, names: map[int]string{}, ids: map[int]int{}}
}

func (d *Dying) open() error {
	v := d.visit
	if v.dir.status("status").number("CoreDumping", 0) != 1 { // [linux 4.15, fs/proc/array.c]
		return fmt.Errorf("process %d: %w", v.pid, ErrAnother)
	}
	return d.look()
}

// look opens what shows the process.
func (d *Dying) look() error {
	v := d.visit
	if err := v.openMemory(); err != nil {
		return err
	}
	v.mem.ByFile()
	if err := v.lookAtMaps(&AttachOptions{}); err != nil {
		return err
	}
	v.files.hold(v.dir, v.maps)
	tids, err := v.dir.threads()
	if err != nil {
		return err
	}
	for _, tid := range tids {
		dir := "task/" + strconv.Itoa(tid)
		if text, err := v.dir.read(dir + "/comm"); err == nil {
			d.names[tid] = strings.TrimSuffix(string(text), "\n")
		}
		if v.snap.NSPID != 0 {
			d.ids[v.dir.status(dir+"/status").innermost()] = tid
		}
	}
	return nil
}

// Close closes everything that Image has not taken over.
func (d *Dying) Close() { d.visit.close() }

// Image makes an image of the process. head is the image of its dump's head, see
// [CopyDumpHead]: it has the threads with their registers, and the signal. The new image
// takes over what it needs of head, which must not be closed, and what d has opened.
//
// The image has copies of up to each bytes of every stack, and of up to total of all
// of them. What else is not in files is read from the process as long as that is
// there; [Image.Leave] ends that. Copying ends at the deadline.
func (d *Dying) Image(head *Image, each, total uint64, deadline time.Time) *Image {
	v := d.visit
	img := &Image{
		Arch: head.Arch, PID: v.pid, Name: head.Name, Command: cmp.Or(v.command, head.Command), Executable: cmp.Or(v.executable, head.Executable),
		Signal: head.Signal, Threads: head.Threads, Auxv: head.Auxv, Live: &v.snap, Process: v.mem, Held: map[string]*os.File{},
		Mappings: make([]Mapping, len(v.maps)),
		Problems: slices.Concat(head.Problems, v.files.problems),
	}
	img.OnClose = func() {
		v.close()
		_ = head.Close()
	}
	img.file = head.file
	v.snap.Time = v.clock
	for i := range img.Threads {
		d.name(&img.Threads[i])
	}
	if img.Signal != nil {
		if tid, ok := d.ids[img.Signal.Thread]; ok {
			img.Signal.Thread = tid
		}
	}
	for i := range v.maps {
		m := &v.maps[i]
		img.Mappings[i] = m.Mapping
		img.loads = append(img.loads, newLoad(m.Lo, m.Hi, m.flags()))
		img.Mappings[i].File = v.files.name(m)
		img.Mappings[i].Unanswering = v.files.doubt(m) != ""
		if f := v.files.files[fileKey(m)]; f != nil {
			img.Held[img.Mappings[i].File] = f
		}
	}
	opts := &AttachOptions{StackBudget: each, StackTotal: total}
	v.copyStacks(opts, deadline)
	v.copyLocks(deadline)
	img.Mem = &dyingMemory{liveMemory: liveMemory{Space: v.space(), process: v.mem, image: img, visit: v}}
	return img
}

// name gives a thread its id in our pid namespace, and its name. It notes what is to be
// copied for it.
func (d *Dying) name(t *Thread) {
	v := d.visit
	if tid, ok := d.ids[t.ID]; ok {
		t.NSID, t.ID = t.ID, tid
	}
	if name, ok := d.names[t.ID]; ok {
		t.Name = name
	}
	if sp, ok := t.Regs.Get(v.arch.SP); ok {
		v.sps = append(v.sps, sp)
	}
	if call, ok := arguments(v.arch, &t.Regs, t.PrStatus); ok {
		v.waits = append(v.waits, call.Args[0])
	}
}

// Leave ends the use of the memory of a process that the kernel is dumping, which may
// then end. Images of other kinds stay as they are.
func (i *Image) Leave() {
	if m, ok := i.Mem.(*dyingMemory); ok {
		m.visit.mem.lose()
	}
}

// dyingMemory is the copied memory, and whatever else is not in files that are held.
type dyingMemory struct{ liveMemory }

// ReadMem implements memreader.Reader.
func (m *dyingMemory) ReadMem(p []byte, addr uint64) (int, error) {
	n, err := m.Space.ReadMem(p, addr)
	for n < len(p) {
		at := addr + uint64(n)
		fault := (*memreader.FaultError)(nil)
		if !errors.As(err, &fault) || fault.Why != memreader.NotCopied && fault.Why != memreader.OverBudget && fault.Why != memreader.OutOfTime {
			return n, err
		}
		mapping := mappingOf(m.visit.maps, at)
		if mapping == nil || !mapping.write && m.visit.files.name(mapping) != "" {
			return n, err
		}
		k, failed := m.process.ReadMem(p[n:n+int(min(uint64(len(p)-n), mapping.Hi-at))], at)
		if n += k; failed != nil || n == len(p) {
			return n, failed
		}
		k, err = m.Space.ReadMem(p[n:], addr+uint64(n))
		n += k
	}
	return n, nil
}
