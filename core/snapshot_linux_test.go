package core

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/memreader"
)

// What the process has mapped meanwhile is noticed.
func TestFindMaps(t *testing.T) {
	v := openOwn(t)
	v.dir, v.files = openOwnDir(t), newHeldFiles()
	v.mapsText = []byte("1000-2000 r--p 0 0:0 0\n")
	forever := time.Now().Add(1000 * time.Hour)
	if changed, err := v.findMaps(v.askForMaps(), forever); !changed || err != nil || len(v.maps) < 2 {
		t.Errorf("got %v, %v, %d mappings", changed, err, len(v.maps))
	}
	v.dir = &procDir{pid: 1 << 30, fd: -1}
	if changed, err := v.findMaps(v.askForMaps(), forever); changed || err == nil || !strings.HasPrefix(err.Error(), "process 1073741824: ") {
		t.Errorf("no file: got %v, %v", changed, err)
	}
	needPtrace(t)
	s := startSubject(t, os.Args[0], "plain")
	s.ready(t)
	mem, err := memreader.OpenLive(s.pid)
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	gone := &visit{mem: &carefulMemory{Live: mem}, dir: openDirOf(t, s.pid), files: newHeldFiles()}
	if gone.mapsText, err = gone.dir.read("maps"); err != nil {
		t.Fatal(err)
	}
	_ = unix.Kill(s.pid, unix.SIGSTOP) // so that it maps nothing more
	s.waitState(t, "T")
	if gone.mapsText, err = gone.dir.read("maps"); err != nil {
		t.Fatal(err)
	}
	if changed, err := gone.findMaps(gone.askForMaps(), forever); changed || err != nil || gone.maps != nil {
		t.Errorf("the same: got %v, %v, %d mappings", changed, err, len(gone.maps))
	}
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	if changed, err := gone.findMaps(gone.askForMaps(), forever); changed || !errors.Is(err, errExecuted) {
		t.Errorf("gone: got %v, %v, want %v", changed, err, errExecuted)
	}
}

// Registers are those of the threads that stand still, each in its place; the other
// notes only where the architecture has them.
func TestCopyRegisters(t *testing.T) {
	needPtrace(t)
	s := startSubject(t, os.Args[0], "plain")
	s.ready(t)
	img := attach(t, s.pid)
	tr := newTracer(t, s.pid)
	onTracerThread(func() {
		if _, err := tr.seizeNew(false); err != nil {
			t.Error(err)
			return
		}
		if err := tr.stopAll(); err != nil {
			t.Error(err)
			return
		}
		tracees := append([]tracee{{tid: 5, step: missed}, {tid: 1 << 30, step: stopped}}, tr.tracees...)
		tracees[2].stop = change{signal: int(unix.SIGSTOP), event: unix.PTRACE_EVENT_STOP}
		tracees[3].stop = change{signal: int(unix.SIGUSR1)}
		tracees[4].stop = change{signal: int(unix.SIGTRAP), event: unix.PTRACE_EVENT_STOP}
		other := *img.Arch
		other.PAC, other.FPRegSet = true, []arch.RegLoc{{Reg: 1}}
		v := &visit{arch: &other, pacMask: 5}
		tops := v.newTops(&AttachOptions{})
		v.copyRegisters(tracees, tops)
		none := *img.Arch
		none.PAC, none.FPRegSet = false, nil
		w := &visit{arch: &none}
		w.copyRegisters(slices.Clone(tracees), w.newTops(&AttachOptions{}))
		if !tops.all.Load() || int(tops.told.Load()) != len(tr.tracees) {
			t.Errorf("got %d threads for the tops, want %d; these are all: %v", tops.told.Load(), len(tr.tracees), tops.all.Load())
		}
		for i := range tr.tracees {
			if h := tops.list[i]; h.sp != v.sps[i] || *h.regs != v.known[i] || h.wait != 0 && !slices.Contains(v.waits, h.wait) {
				t.Errorf("thread %d: got %+v for the tops", i, h)
			}
		}
		if v.pacMask != 5 || w.pacMask != 0 || len(v.known) != len(tr.tracees) || len(v.sps) != len(tr.tracees) || len(w.known) != len(tr.tracees) {
			t.Errorf("got masks %#x and %#x, %d threads, %d stacks, want %d", v.pacMask, w.pacMask, len(v.known), len(v.sps), len(tr.tracees))
		}
		if c := tracees[1]; c.step != missed || !errors.Is(c.err, unix.ESRCH) || !strings.HasPrefix(c.err.Error(), "the registers cannot be read: ") || v.regs[0] != nil || v.regs[1] != nil {
			t.Errorf("a thread that was killed: got %+v", c)
		}
		order := byteOrder(img.Arch)
		for i, c := range tracees[2:] {
			desc, want := v.regs[i+2], uint16(0)
			if i < 2 {
				want = uint16(c.stop.signal)
			}
			if id, signal := order.Uint32(desc[arch.PrStatusPID:]), order.Uint16(desc[arch.PrStatusSignal:]); id != uint32(c.tid) || c.stop.event != 0 && signal != want || len(v.fpRegs[i+2]) == 0 || w.fpRegs[i+2] != nil {
				t.Errorf("thread %d: got id %d, signal %d, want %d; notes of %d and %d bytes", c.tid, id, signal, want, len(v.fpRegs[i+2]), len(w.fpRegs[i+2]))
			}
			var regs arch.Regs
			setRegs(&regs, img.Arch.PrStatus, desc, order)
			if sp, ok := regs.Get(img.Arch.SP); !ok || sp != v.sps[i] || regs != v.known[i] {
				t.Errorf("thread %d: got SP %#x, %v, want %#x", c.tid, sp, ok, v.sps[i])
			}
		}
		tr.release()
	})
	s.answers(t)
}

// Mappings that do not come in time leave a visit without memory. The thread that waits
// for them uses nothing of the visit.
func TestFindMapsLate(t *testing.T) {
	v := openOwn(t)
	v.dir = procFiles(t, map[string]string{"task/7/maps": fifo})
	v.mapsText = []byte("1000-2000 r--p 0 0:0 0\n")
	changed, err := v.findMaps(v.askForMaps(), time.Now().Add(time.Millisecond))
	if changed || err != nil || v.maps != nil || !v.mem.lost.Load() {
		t.Errorf("got %v, %v, lost %v", changed, err, v.mem.lost.Load())
	}
	answer(t, v.dir, "task/7/maps", "")
}

// The mappings have a quarter of the time that is left.
func TestShareForMaps(t *testing.T) {
	v := openOwn(t)
	v.dir, v.files, v.arch = procFiles(t, map[string]string{"task/7/maps": fifo}), newHeldFiles(), arch.AMD64
	began := time.Now()
	if err := v.copyAll(v.askForMaps(), &AttachOptions{StackTotal: 1}, began.Add(400*time.Millisecond)); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took < 90*time.Millisecond || !v.mem.lost.Load() {
		t.Errorf("gave up after %v", took)
	}
	answer(t, v.dir, "task/7/maps", "")
}

// A process that ends behind the preparation is said to have ended.
func TestStopEnded(t *testing.T) {
	needPtrace(t)
	s := startSubject(t, os.Args[0], "plain")
	s.ready(t)
	v, opts := begin(s.pid, &AttachOptions{}), aroundOptions()
	opts.MaxStop = unhurried
	if err := v.prepare(opts); err != nil {
		t.Fatal(err)
	}
	defer v.close()
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	if err := v.stop(opts); !errors.Is(err, ErrNoProcess) || err.Error() != fmt.Sprintf("process %d: %v", s.pid, ErrNoProcess) || len(v.snap.Phases) != 1 {
		t.Errorf("got %v, phases %v", err, v.snap.Phases)
	}
}

// A visit gives way to another program of this name, and does not stop the process.
func TestStopBusy(t *testing.T) {
	needPtrace(t)
	s := startSubject(t, os.Args[0], "plain")
	s.ready(t)
	other := startSubject(t, os.Args[0], "tracer "+strconv.Itoa(s.pid))
	if line, err := other.out.ReadString('\n'); err != nil || line != "traces\n" {
		t.Skipf("the subject cannot trace another: %q, %v", line, err)
	}
	v, opts := begin(s.pid, &AttachOptions{}), aroundOptions()
	opts.MaxStop = unhurried
	if err := v.prepare(opts); err != nil {
		t.Fatal(err)
	}
	defer v.close()
	err := v.stop(opts)
	if busy := (*busyError)(nil); !errors.As(err, &busy) || busy.pid != s.pid || busy.by != other.pid || v.snap.StoppedFor != 0 || len(v.snap.Phases) != 1 {
		t.Errorf("got %v, stopped for %v, phases %v, want that %d is there", err, v.snap.StoppedFor, v.snap.Phases, other.pid)
	}
	s.answers(t)
}

// Stacks are copied if the process is the prepared one, and the heads of files again if
// its mappings are others.
func TestCopyAll(t *testing.T) {
	_, addr := mapNew(t, 2*headSize)
	const before = "1000-2000 r--p 0 00:00 0\n"
	now := fmt.Sprintf("%x-%x r-xp 0 08:01 1 /a\n", addr, addr+2*headSize)
	for _, tt := range []struct {
		name, maps string
		heads      int
		is         error
	}{
		{"as before", before, 3, nil},
		{"other mappings", now, 1, nil},
		{"damaged mappings", "1000\n", 3, errMapsLine},
		{"no mappings", "-> none", 3, ErrNoProcess},
	} {
		v := openOwn(t)
		v.dir, v.files, v.arch, v.mapsText = procFiles(t, map[string]string{"task/7/maps": tt.maps}), newHeldFiles(), arch.AMD64, []byte(before)
		v.heads = make([]memreader.Segment, 3)
		err := v.copyAll(v.askForMaps(), aroundOptions(), time.Now().Add(1000*time.Hour))
		if !errors.Is(err, tt.is) || (err == nil) != (tt.is == nil) || len(v.heads) != tt.heads {
			t.Errorf("%s: got %d heads, %v, want %d, %v", tt.name, len(v.heads), err, tt.heads, tt.is)
		}
		if copied := v.snap.StackBudget != 0; copied != (tt.is == nil) {
			t.Errorf("%s: stacks are copied: %v", tt.name, copied)
		}
		if p := v.snap.Phases; len(p) != 1 || p[0].Name != PhaseStacks || !p[0].Held {
			t.Errorf("%s: got phases %+v", tt.name, p)
		}
	}
}
