package core

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/memreader"
)

// openOwnDir opens this process's directory in /proc.
func openOwnDir(t *testing.T) *procDir {
	t.Helper()
	d, err := openProc(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.close)
	return d
}

// status makes an NT_PRSTATUS with every register, or only with SP and pc.
func status(a *arch.Arch, r *arch.Regs) []byte {
	desc := make([]byte, 400)
	for _, l := range a.PrStatus {
		v, _ := r.Get(l.Reg)
		byteOrder(a).PutUint64(desc[l.Off:], v)
	}
	return desc
}

// What a thread was doing is what the tracer saw; what /proc said before comes
// second.
func TestLiveThread(t *testing.T) {
	const sigSTOP, sigUSR1, eventStop = 19, 10, unix.PTRACE_EVENT_STOP
	full, none := status(arch.AMD64, regs(arch.AMD64, 1)), status(arch.AMD64, new(arch.Regs))
	odd := errors.New("odd")
	for _, tt := range []struct {
		name   string
		c      tracee
		st     procStat
		status []byte
		want   string // state, signal, error, whether there are registers
	}{
		{"held", tracee{step: stopped, stop: change{signal: 5, event: eventStop}}, procStat{state: Sleeping}, full, "sleeping 0 <nil> true"},
		{"ran", tracee{step: stopped, stop: change{signal: 5, event: eventStop}}, procStat{state: Running}, full, "running 0 <nil> true"},
		{"new", tracee{step: stopped, stop: change{signal: 5, event: eventStop}}, procStat{}, full, "running 0 <nil> true"},
		{"a signal comes", tracee{step: stopped, stop: change{signal: sigUSR1}}, procStat{state: Sleeping}, full, "sleeping 10 <nil> true"},
		{"stopped by a signal", tracee{step: stopped, stop: change{signal: sigSTOP, event: eventStop}}, procStat{state: Sleeping}, full, "stopped 19 <nil> true"},
		{"ended", tracee{step: missed, err: errZombie}, procStat{state: Sleeping}, nil, "zombie 0 the thread has ended; other threads of the process still run false"},
		{"uninterruptible", tracee{step: missed, err: fmt.Errorf("x: %w", errUninterruptible)}, procStat{}, nil, "uninterruptible 0 x: " + errUninterruptible.Error() + " false"},
		{"another error, of a new thread", tracee{step: missed, err: odd}, procStat{}, nil, " 0 odd false"},
		{"a kernel worker", tracee{step: stopped, stop: change{signal: 5, event: eventStop}}, procStat{state: Sleeping, worker: true}, none, "kernel-worker 0 " + errWorker.Error() + " false"},
		{"a kernel worker that is missed", tracee{step: missed, err: odd}, procStat{state: Sleeping, worker: true}, nil, "sleeping 0 odd false"},
		{"the flag of a worker, which runs code", tracee{step: stopped, stop: change{signal: 5, event: eventStop}}, procStat{state: Sleeping, worker: true}, full, "sleeping 0 <nil> true"},
	} {
		tt.c.tid, tt.st.name = 7, "name"
		v := &visit{
			arch: arch.AMD64, tracees: []tracee{{}, tt.c}, regs: [][]byte{nil, tt.status}, fpRegs: [][]byte{nil, {1}},
			threads: map[int]procStat{7: tt.st}, nsIDs: map[int]int{7: 3},
		}
		th := v.thread(1)
		_, known := th.Regs.Get(arch.AMD64.PC)
		if got := fmt.Sprintf("%s %d %v %v", th.State, th.Signal, th.Err, known); got != tt.want || th.ID != 7 || th.NSID != 3 || th.Name != "name" || th.PACMask != 0 {
			t.Errorf("%s: got %s, %+v, want %s", tt.name, got, th, tt.want)
		}
		if held := th.PrStatus != nil; held != known || (th.FPRegSet != nil) == (th.State == KernelWorker) {
			t.Errorf("%s: got notes of %d and %d bytes", tt.name, len(th.PrStatus), len(th.FPRegSet))
		}
	}
}

// A worker has neither SP nor pc.
func TestNoKernelWorker(t *testing.T) {
	v := &visit{
		arch: arch.AMD64, tracees: []tracee{{tid: 7, step: stopped, stop: change{event: 1}}}, regs: [][]byte{status(arch.AMD64, new(arch.Regs))}, fpRegs: [][]byte{nil},
		threads: map[int]procStat{7: {state: Sleeping}},
	}
	if th := v.thread(0); th.State != Sleeping || th.Err != nil {
		t.Errorf("a thread that jumped to 0: got %q, %v", th.State, th.Err)
	}
	for _, r := range []arch.Reg{arch.AMD64.PC, arch.AMD64.SP} {
		var half arch.Regs
		half.Set(r, 1)
		v := &visit{
			arch: arch.AMD64, tracees: []tracee{{tid: 7, step: stopped, stop: change{event: 1}}}, regs: [][]byte{status(arch.AMD64, &half)}, fpRegs: [][]byte{nil},
			threads: map[int]procStat{7: {state: Sleeping, worker: true}},
		}
		if th := v.thread(0); th.State != Sleeping || th.Err != nil {
			t.Errorf("a thread with register %d: got %q, %v", r, th.State, th.Err)
		}
	}
}

// A thread that is new is looked at, and the mask is the kernel's or else the usual
// one. Registers come from both notes.
func TestLiveThreadRegisters(t *testing.T) {
	a := arch.S390X
	fp := make([]byte, 136)
	want := regs(a, 3)
	for _, l := range a.FPRegSet {
		v, _ := want.Get(l.Reg)
		byteOrder(a).PutUint64(fp[l.Off:], v)
	}
	d := openOwnDir(t)
	v := &visit{
		dir: d, arch: a, tracees: []tracee{{tid: os.Getpid(), step: stopped, stop: change{event: 1}}}, regs: [][]byte{status(a, want)}, fpRegs: [][]byte{fp},
		threads: map[int]procStat{},
	}
	th := v.thread(0)
	if name := processName(os.Getpid()); th.Name != name || name == "" || th.Regs != *want {
		t.Errorf("got %+v, want name %q and registers %+v", th, name, *want)
	}
	for own, mask := range map[uint64]uint64{0: arch.AArch64.PACMask, 0x7f << 40: 0x7f << 40} {
		v := &visit{dir: d, arch: arch.AArch64, pacMask: own, tracees: []tracee{{tid: 1 << 30}}, regs: [][]byte{nil}, fpRegs: [][]byte{nil}, threads: map[int]procStat{}}
		if th := v.thread(0); th.PACMask != mask {
			t.Errorf("mask %#x: got %#x, want %#x", own, th.PACMask, mask)
		}
	}
}

// The memory of an image says why a byte is not there: by what was to be copied, by
// the budget of a stack, or because it was not asked for.
func TestLiveSpace(t *testing.T) {
	v := &visit{
		maps:  []procMapping{{Mapping: Mapping{Lo: 0x1000, Hi: 0x9000}}},
		heads: []memreader.Segment{{Addr: 0x1000, Size: 4, Data: []byte("head")}},
		stacks: []copied{
			{span: span{0x3000, 0x3010, 0x4000}, data: []byte("0123456789abcdef")},
			{span: span{0x5000, 0x5010, 0x6000}, data: []byte("abc"), err: &memreader.FaultError{Addr: 0x5003, Why: memreader.OutOfTime}},
			{span: span{0x7000, 0x7010, 0x8000}, data: []byte("ab"), err: errors.New("odd")},
		},
	}
	space := v.space()
	for _, tt := range []struct {
		addr uint64
		want string
		why  memreader.Why
	}{
		{0xfff, "", memreader.Unmapped},
		{0x1000, "head", memreader.NotCopied},
		{0x2000, "", memreader.NotCopied},
		{0x300e, "ef", memreader.OverBudget},
		{0x3fff, "", memreader.OverBudget},
		{0x4000, "", memreader.NotCopied},
		{0x5001, "bc", memreader.OutOfTime},
		{0x500f, "", memreader.OutOfTime},
		{0x5010, "", memreader.OverBudget},
		{0x7000, "ab", memreader.NotCopied},
		{0x7010, "", memreader.OverBudget},
		{0x9000, "", memreader.Unmapped},
	} {
		p := make([]byte, 8)
		n, err := space.ReadMem(p, tt.addr)
		fault := (*memreader.FaultError)(nil)
		if string(p[:n]) != tt.want || !errors.As(err, &fault) || fault.Why != tt.why {
			t.Errorf("%#x: got %q, %v, want %q, %v", tt.addr, p[:n], err, tt.want, tt.why)
		}
	}
}

// Code that is in no file is read from the process, up to the end of its mapping.
// Nothing else is.
func TestLiveMemory(t *testing.T) {
	img := &Image{Mappings: []Mapping{
		{Lo: 0x1000, Hi: 0x2000, Exec: true}, {Lo: 0x2000, Hi: 0x3000}, {Lo: 0x3000, Hi: 0x4000, Exec: true, File: "/proc/self/fd/3"}, {Lo: 0x5000, Hi: 0x6000, Exec: true},
	}}
	space := memreader.NewSpace([]memreader.Segment{
		{Addr: 0x1000, Size: 0x3000, Why: memreader.NotCopied},
		{Addr: 0x1000, Size: 2, Data: []byte("ab")},
		{Addr: 0x5000, Size: 0x1000, Why: memreader.OverBudget},
		{Addr: 0x7000, Size: 0x1000, Why: memreader.NotCopied},
	})
	process := make([]byte, 0x10000)
	for i := range process {
		process[i] = 'p'
	}
	l := &liveMemory{Space: space, process: &testkit.Memory{Segs: map[uint64][]byte{0: process[:0x1800], 0x1900: process[:0x8000]}}, image: img}
	for _, tt := range []struct {
		name string
		addr uint64
		want string
		ok   bool
	}{
		{"copied", 0x1000, "ab", true},
		{"copied, and code", 0x1000, "abpp", true},
		{"code", 0x1010, "pppp", true},
		{"code up to what is no code", 0x1ffe, "pp", false},
		{"code that is not there any more", 0x17fe, "pp", false},
		{"no code", 0x2000, "", false},
		{"code in a file", 0x3000, "", false},
		{"unmapped", 0x4000, "", false},
		{"over budget", 0x5000, "", false},
		{"in no mapping", 0x7000, "", false},
	} {
		p := make([]byte, max(len(tt.want), 4))
		if tt.ok {
			p = p[:len(tt.want)]
		}
		n, err := l.ReadMem(p, tt.addr)
		fault := (*memreader.FaultError)(nil)
		if string(p[:n]) != tt.want || tt.ok != (n == len(p)) || !tt.ok && !errors.As(err, &fault) {
			t.Errorf("%s: got %q, %v, want %q", tt.name, p[:n], err, tt.want)
		}
	}
}

// An image has what the visit found, threads in the order of their ids, and no
// threads that ended.
func TestLiveImage(t *testing.T) {
	needPtrace(t)
	s := startSubject(t, os.Args[0], "plain")
	s.ready(t)
	v := begin(s.pid, &AttachOptions{})
	if err := v.prepare(&AttachOptions{StackBudget: DefaultStackBudget, StackTotal: DefaultStackTotal}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(s.tids)
	v.tracees = []tracee{{tid: s.tids[2], step: stopped}, {tid: s.tids[1], step: ended}, {tid: s.tids[0], step: missed, err: errLate}}
	v.regs, v.fpRegs = make([][]byte, 3), make([][]byte, 3)
	for i := range v.maps {
		if m := &v.maps[i]; m.Path == "[stack]" {
			m.dev, m.inode = "00:7f", 7
		}
	}
	v.files.mounted = fileSystems{"00:7f": "fuse"}
	v.files.problems = []error{errLate}
	img := v.image()
	defer closeImage(t, img)
	want := []int{s.tids[0], s.tids[2]}
	var got []int
	for _, th := range img.Threads {
		got = append(got, th.ID)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got threads %v, want %v", got, want)
	}
	phase := img.Live.Phases[len(img.Live.Phases)-1]
	if phase.Name != PhaseComplete || phase.Held || len(img.Problems) < 1 || !errors.Is(img.Problems[0], errLate) || img.Process == nil || len(img.Mappings) != len(v.maps) {
		t.Errorf("got phase %+v, problems %v", phase, img.Problems)
	}
	exe := 0
	for i, m := range img.Mappings {
		if m.Path == "[stack]" && !m.Unanswering || v.maps[i].inode == 0 && m.Unanswering {
			t.Errorf("got mapping %+v of device %s", m, v.maps[i].dev)
		}
		if m.Path == img.Executable && m.Exec && m.File != "" {
			exe++
		}
	}
	if _, err := os.Stat(img.Root + "/proc"); err != nil || !strings.HasPrefix(img.Root, "/proc/self/fd/") || exe == 0 {
		t.Errorf("root %s: %v; %d mappings of the program with a file", img.Root, err, exe)
	}
	root := v.root
	if v.root = nil; v.image().Root != "" {
		t.Error("got a root though none is open")
	}
	v.root = root
	if img.Command != strings.Join(s.cmd.Args, " ") || img.PID != s.pid {
		t.Errorf("got command %q of process %d", img.Command, img.PID)
	}
}

// Arguments are separated by spaces, and cut off where they are long.
func TestCommandLine(t *testing.T) {
	needPtrace(t) // an emulator has a /proc/self of its own
	d := openOwnDir(t)
	want := strings.Join(os.Args, " ")
	if got := d.commandLine(); got != want || len(os.Args) < 2 {
		t.Errorf("got %q, want %q", got, want)
	}
	long := startSubject(t, os.Args[0], "plain", strings.Repeat("x", 2000), strings.Repeat("y", 3000))
	long.ready(t)
	want = strings.Join(long.cmd.Args, " ")[:maxCommand]
	if got := openDirOf(t, long.pid).commandLine(); got != want {
		t.Errorf("got %d bytes, want %d", len(got), len(want))
	}
}

// The parts of a visit follow each other, and the process stands still for those in
// the middle.
func TestAttachPhases(t *testing.T) {
	needPtrace(t)
	s := startSubject(t, os.Args[0], "plain")
	s.ready(t)
	follow := func(*arch.Arch, []arch.Regs, []memreader.Segment, memreader.Reader) []memreader.Segment { return nil }
	for _, tt := range []struct {
		name string
		opts AttachOptions
		want string
	}{
		{"stacks", AttachOptions{}, "prepare seize stop* registers* stacks* release* complete"},
		{"memory", AttachOptions{Memory: 1}, "prepare seize stop* registers* stacks* memory* release* complete"},
		{"follow", AttachOptions{Follow: follow}, "prepare seize stop* registers* stacks* release* complete"},
	} {
		tt.opts.MaxStop = unhurried
		before := time.Now()
		img, err := Attach(t.Context(), s.pid, tt.opts)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		held, all := time.Duration(0), time.Duration(0)
		for _, p := range img.Live.Phases {
			name := p.Name
			if p.Held {
				name += "*"
				held += p.Took
			}
			all += p.Took
			got = append(got, name)
			if p.Took < 0 {
				t.Errorf("%s: %s took %v", tt.name, name, p.Took)
			}
		}
		took := time.Since(before)
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
		live := img.Live
		if held != live.StoppedFor || all > took || live.Time.Before(before) || live.Time.After(before.Add(took)) || live.StackBudget != DefaultStackBudget || live.Late != 0 {
			t.Errorf("%s: got %+v in %v", tt.name, live, took)
		}
		closeImage(t, img)
	}
}
