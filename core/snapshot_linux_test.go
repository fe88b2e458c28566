package core

import (
	"errors"
	"os"
	"slices"
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
	if changed, err := v.findMaps(forever); !changed || err != nil || len(v.maps) < 2 {
		t.Errorf("got %v, %v, %d mappings", changed, err, len(v.maps))
	}
	v.dir = &procDir{pid: 1 << 30, fd: -1}
	if changed, err := v.findMaps(forever); changed || err == nil || !strings.HasPrefix(err.Error(), "process 1073741824: ") {
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
	if changed, err := gone.findMaps(forever); changed || err != nil || gone.maps != nil {
		t.Errorf("the same: got %v, %v, %d mappings", changed, err, len(gone.maps))
	}
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	if changed, err := gone.findMaps(forever); changed || !errors.Is(err, errExecuted) {
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
		v.copyRegisters(tracees)
		none := *img.Arch
		none.PAC, none.FPRegSet = false, nil
		w := &visit{arch: &none}
		w.copyRegisters(slices.Clone(tracees))
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
