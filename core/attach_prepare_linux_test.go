package core

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/memreader"
)

// Room is made for the tops of stacks as they are, for the tops of threads that run, for
// stacks that are longer and one more, and for as much other memory as is asked for.
func TestMakeRoom(t *testing.T) {
	const each, top = 16 << 10, topSize + redZone
	stackMap := procMapping{Mapping: Mapping{Lo: 0x100000, Hi: 0x200000}, read: true}
	data := procMapping{Mapping: Mapping{Lo: 0x300000, Hi: 0x310000}, read: true, write: true}
	first := procMapping{Mapping: Mapping{Lo: 0x400000, Hi: 0x500000, Path: "[stack]"}, read: true}
	asleep := func(sps ...uint64) map[int]procSyscall {
		m := map[int]procSyscall{}
		for i, sp := range sps {
			m[i+1] = procSyscall{sp: sp}
		}
		return m
	}
	for _, tt := range []struct {
		name    string
		threads int
		asleep  map[int]procSyscall
		maps    []procMapping
		opts    AttachOptions
		tops    int
		want    int
	}{
		{"no threads", 0, nil, nil, AttachOptions{StackBudget: 1 << 20, StackTotal: 1 << 30}, 0, each},
		{"threads that run", 3, nil, nil, AttachOptions{StackBudget: 1 << 20, StackTotal: 1 << 30}, 3 * top, each},
		{"one that sleeps", 2, asleep(0x1ff000), []procMapping{stackMap}, AttachOptions{StackBudget: 1 << 20, StackTotal: 1 << 30}, top + 0x1000 + redZone, each},
		{"two that sleep", 2, asleep(0x1ff000, 0x1f0000), []procMapping{stackMap}, AttachOptions{StackBudget: 0x6400, StackTotal: 1 << 30}, 0x1000 + redZone + top, each + 0x6400 + redZone},
		{"the first stack", 1, asleep(0x1ff000), []procMapping{stackMap, first}, AttachOptions{StackBudget: 0x6400, StackTotal: 1 << 30}, 0x1000 + redZone, each + 0x6400 + redZone},
		{"the total", 9, nil, nil, AttachOptions{StackBudget: 1 << 20, StackTotal: 5 * each}, 5 * each, each},
		{"memory", 0, nil, []procMapping{data}, AttachOptions{StackBudget: 1 << 20, StackTotal: 1 << 30, Memory: 1 << 30}, 0, each + 0x10000},
		{"some memory", 0, nil, []procMapping{data}, AttachOptions{StackBudget: 1 << 20, StackTotal: 1 << 30, Memory: 0x123}, 0, each + 0x123},
	} {
		v := &visit{threads: map[int]procStat{}, asleep: tt.asleep, maps: tt.maps}
		for i := range tt.threads {
			v.threads[i+1] = procStat{}
		}
		if err := v.makeRoom(&tt.opts); err != nil || len(v.room) != tt.want || len(v.topRoom) != tt.tops {
			t.Errorf("%s: got %d bytes, and %d for tops, %v, want %d, %d", tt.name, len(v.room), len(v.topRoom), err, tt.want, tt.tops)
		}
		for _, room := range [][]byte{v.room, v.topRoom} {
			for i := range room {
				if (room[i] != 0) != (i%headSize == 0) {
					t.Fatalf("%s: byte %#x is %d: each page is to be written once", tt.name, i, room[i])
				}
			}
		}
	}
	v := &visit{dir: &procDir{pid: 7}, maps: []procMapping{{Mapping: Mapping{Lo: 0, Hi: 1 << 62}, read: true, write: true}}}
	err := v.makeRoom(&AttachOptions{StackTotal: 1 << 30, Memory: 1 << 60})
	want := "process 7: no room for copies of 16384 bytes of stacks and 1152921504606846976 of other memory: cannot allocate memory"
	if err == nil || err.Error() != want || !errors.Is(err, unix.ENOMEM) || v.room != nil {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestCheckRoom(t *testing.T) {
	for size, want := range map[uint64]error{0: nil, 1: nil, 1 << 20: nil, 1<<47 + 1: unix.ENOMEM, 1 << 47: unix.ENOMEM, ^uint64(0): unix.ENOMEM} {
		if err := checkRoom(size); !errors.Is(err, want) {
			t.Errorf("%d bytes: got %v, want %v", size, err, want)
		}
	}
	// What it gets it gives back.
	const gib = 1 << 20 // in KiB, as VmSize
	before := processStatus(os.Getpid()).number("VmSize", 0)
	for range 4 {
		if err := checkRoom(gib << 10); err != nil {
			t.Skip("this system does not give so much: ", err)
		}
	}
	if after := processStatus(os.Getpid()).number("VmSize", 0); before == 0 || after >= before+gib {
		t.Errorf("got %d KiB of address space, %d before", after, before)
	}
}

// Of files with code the first page is copied, wherever that is mapped, and all of the
// vDSO.
func TestHeadCopies(t *testing.T) {
	maps, err := parseMaps([]byte(`1000-9000 r--p 00000000 08:01 1 /bin/a
9000-a000 r-xp 00008000 08:01 1 /bin/a
a000-a800 r-xp 00000000 08:01 2 /bin/small
b000-c000 r--p 00000000 08:01 3 /data
c000-d000 --xp 00000000 08:01 4 /secret
d000-e000 rwxp 00000000 00:00 0
e000-f000 r-xp 00001000 08:01 5 /bin/later
10000-14000 r-xp 00000000 00:00 0 [vdso]
100000-400000 r-xp 00000000 00:00 0
`))
	if err != nil {
		t.Fatal(err)
	}
	for vdso, want := range map[uint64]string{
		0x10000:  "0x1000+4096 0xa000+2048 0x10000+16384",
		0x100000: "0x1000+4096 0xa000+2048 0x100000+1048576",
		0x10001:  "0x1000+4096 0xa000+2048",
	} {
		v := &visit{maps: maps, auxv: Auxv{{ATSysinfoEhdr, vdso}}}
		var got []string
		for _, c := range v.headCopies() {
			got = append(got, fmt.Sprintf("%#x+%d", c.Addr, len(c.Data)))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("vDSO at %#x: got %s, want %s", vdso, got, want)
		}
	}
}

// Heads are replaced by what is mapped now, as far as it can be read.
func TestCopyHeads(t *testing.T) {
	v := openOwn(t)
	data, addr := mapNew(t, 2*headSize)
	data[7], data[headSize-1] = 7, 8
	code := func(lo uint64, inode uint64) procMapping {
		return procMapping{Mapping: Mapping{Lo: lo, Hi: lo + 2*headSize, Exec: true}, read: true, inode: inode}
	}
	v.maps = []procMapping{code(0x2000, 1), code(addr, 2)}
	v.heads = make([]memreader.Segment, 9)
	v.copyHeads(time.Now().Add(1000 * time.Hour))
	if len(v.heads) != 2 || v.heads[0].Size != 0 || len(v.heads[0].Data) != 0 || v.heads[1].Addr != addr || v.heads[1].Size != headSize ||
		string(v.heads[1].Data) != string(data[:headSize]) {
		t.Errorf("got %d heads, %+v", len(v.heads), v.heads[0])
	}
}

// Memory of files that may never answer is not read.
func TestSetMaps(t *testing.T) {
	v := &visit{mem: new(carefulMemory), files: newHeldFiles()}
	v.files.mounted = fileSystems{"00:2a": "fuse"}
	if err := v.setMaps([]byte("1000-2000 r--p 0 08:01 1 /a\n3000-4000 r--p 0 00:2a 1 /b\n5000-6000 r--p 0 00:2b 1 /c\n")); err != nil || len(v.maps) != 3 || !strings.HasPrefix(string(v.mapsText), "1000-2000 ") {
		t.Fatalf("got %d mappings, %v", len(v.maps), err)
	}
	for addr, want := range map[uint64]int{0x1000: 8, 0x3000: 0, 0x3ffc: 0, 0x4000: 8, 0x5008: 0, 0x6000: 8} {
		if got := v.mem.readable(addr, 8); got != want {
			t.Errorf("%#x: got %d bytes, want %d", addr, got, want)
		}
	}
	v.files.mounted = nil // as the user permits
	if err := v.setMaps([]byte("3000-4000 r--p 0 00:2a 1 /b\n")); err != nil || v.mem.readable(0x3000, 8) != 8 {
		t.Errorf("permitted: got %v", err)
	}
	if err := v.setMaps([]byte("3000\n")); err == nil {
		t.Error("got no error of a damaged line")
	}
}

// A process in a pid namespace of its own has other ids there, and one that began
// later has a later start.
func TestAttachNamespace(t *testing.T) {
	needPtrace(t)
	for _, tt := range []struct {
		name  string
		flags uintptr
	}{{"ours", 0}, {"its own", unix.CLONE_NEWPID}} {
		t.Run(tt.name, func(t *testing.T) {
			subjectFlags = tt.flags
			defer func() { subjectFlags = 0 }()
			s := startSubject(t, os.Args[0], "plain")
			line, err := s.out.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			img := attach(t, s.pid)
			leader, err := openDirOf(t, s.pid).stat("stat")
			if err != nil || img.Live.Started != leader.started || leader.started == 0 {
				t.Errorf("got start %d, want %d, %v", img.Live.Started, leader.started, err)
			}
			own := 0
			if tt.flags != 0 {
				own = 1
			}
			if img.Live.NSPID != own {
				t.Errorf("got id %d in its namespace, want %d", img.Live.NSPID, own)
			}
			for i := range img.Threads {
				th := &img.Threads[i]
				want := processStatus(th.ID).innermost()
				if tt.flags == 0 {
					want = 0
				} else if th.ID != s.pid && !strings.Contains(" "+strings.TrimSpace(line)+" ", fmt.Sprintf(" %d ", want)) {
					continue // one of the runtime's, which the subject does not list
				}
				if th.NSID != want {
					t.Errorf("thread %d: got id %d, want %d", th.ID, th.NSID, want)
				}
			}
		})
	}
}

func openDirOf(t *testing.T, pid int) *procDir {
	t.Helper()
	d, err := openProc(pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.close)
	return d
}

// A visit ends when its context does, and after an error that does not pass.
func TestVisitOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if img, err := visitOnce(ctx, os.Getpid(), &AttachOptions{}); img != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, %v, want %v", img, err, context.Canceled)
	}
	if img, err := visitOnce(t.Context(), 1<<30, &AttachOptions{}); img != nil || !errors.Is(err, ErrNoProcess) || !strings.HasPrefix(err.Error(), "process 1073741824: ") {
		t.Errorf("got %v, %v, want %v", img, err, ErrNoProcess)
	}
	// Process 2 is kthreadd where pid namespaces do not hide it.
	if name := processName(2); name == "kthreadd" {
		img, err := visitOnce(t.Context(), 2, &AttachOptions{MaxStop: unhurried})
		if img != nil || err == nil || errors.Is(err, errNoMemory) && err.Error() != "process 2: "+errNoMemory.Error() {
			t.Errorf("a kernel thread: got %v, %v", img, err)
		}
	}
}

// A visit leaves nothing open, whether it succeeds or not.
func TestAttachLeaks(t *testing.T) {
	needPtrace(t)
	s := startSubject(t, os.Args[0], "plain")
	s.ready(t)
	dead := startSubject(t, os.Args[0], "plain")
	dead.ready(t)
	_ = dead.cmd.Process.Kill()
	dead.waitState(t, "Z")
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which would close files
	testkit.Leaks(t, 4, func(int) {
		for _, pid := range []int{s.pid, dead.pid, s.tids[0], 1 << 30} {
			img, err := Attach(t.Context(), pid, AttachOptions{MaxStop: unhurried})
			if (err == nil) != (pid == s.pid) {
				t.Fatalf("%d: %v", pid, err)
			}
			if err == nil {
				closeImage(t, img)
			}
		}
	})
	s.answers(t)
}

// A process that is denied all the time is tried as often as may be, and each visit closes
// what it has opened.
func TestVisitOnceLeaks(t *testing.T) {
	needPtrace(t)
	cat := exec.Command("cat") // which has one thread
	in, err := cat.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cat.Start(); err != nil {
		t.Skip(err)
	}
	defer func() {
		in.Close()
		_ = cat.Wait()
	}()
	trace(t, cat.Process.Pid)
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which would close files
	files := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	before := files()
	img, err := visitOnce(t.Context(), cat.Process.Pid, &AttachOptions{MaxStop: unhurried})
	if img != nil || !errors.Is(err, ErrDenied) || !strings.Contains(err.Error(), "already traced by process") {
		t.Errorf("got %v, %v, want that it is traced", img, err)
	}
	for end := time.Now().Add(unhurried); files() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("got %d open files, %d before", files(), before)
		}
	}
}

// The defaults are what the comments say, and the options of the caller count.
func TestAttachDefaults(t *testing.T) {
	if b, total, stop := DefaultStackBudget, DefaultStackTotal, DefaultMaxStop; b != 1048576 || total != 268435456 || stop != time.Second {
		t.Errorf("got %d, %d, %v", b, total, stop)
	}
	needPtrace(t)
	s := startSubject(t, os.Args[0], "plain")
	s.ready(t)
	img, err := Attach(t.Context(), s.pid, AttachOptions{StackTotal: 65 * 640, MaxStop: unhurried})
	if err != nil {
		t.Fatal(err)
	}
	defer closeImage(t, img)
	if b := img.Live.StackBudget; b == 0 || b >= DefaultStackBudget {
		t.Errorf("got a budget of %d, want a share of the total", b)
	}
	words := memreader.Words{R: img.Mem, BigEndian: img.Arch.BigEndian}
	for i := range img.Threads {
		th := &img.Threads[i]
		if len(th.PrStatus) < arch.PrStatusRegs {
			continue
		}
		if got := byteOrder(img.Arch).Uint32(th.PrStatus[arch.PrStatusPID:]); got != uint32(th.ID) {
			t.Errorf("thread %d: got pr_pid %d", th.ID, got)
		}
		if got := byteOrder(img.Arch).Uint16(th.PrStatus[arch.PrStatusSignal:]); int(got) != th.Signal {
			t.Errorf("thread %d: got pr_cursig %d, signal %d", th.ID, got, th.Signal)
		}
		if (th.FPRegSet != nil) != (len(img.Arch.FPRegSet) > 0) {
			t.Errorf("thread %d: got %d bytes of NT_FPREGSET", th.ID, len(th.FPRegSet))
		}
		last := img.Arch.PrStatus[len(img.Arch.PrStatus)-1]
		if len(th.PrStatus) < int(last.Off)+8 {
			t.Errorf("thread %d: got %d bytes of NT_PRSTATUS", th.ID, len(th.PrStatus))
		}
		if sp, ok := th.Regs.Get(img.Arch.SP); ok {
			if _, err := words.Uint64(sp); err != nil {
				t.Errorf("thread %d: %v", th.ID, err)
			}
		}
	}
}

// The preparation finds the threads, and where those that sleep have their stacks.
func TestPrepare(t *testing.T) {
	needPtrace(t)
	s := startSubject(t, os.Args[0], "plain")
	s.ready(t)
	s.waitState(t, "S")
	v := begin(s.pid, &AttachOptions{})
	if err := v.prepare(&AttachOptions{StackBudget: DefaultStackBudget, StackTotal: DefaultStackTotal}); err != nil {
		t.Fatal(err)
	}
	defer v.close()
	for _, tid := range s.tids {
		if st := v.threads[tid]; st.state != Sleeping || st.name == "" {
			t.Errorf("thread %d: got %+v", tid, st)
		}
		call, ok := v.dir.syscall(tid)
		if got := v.asleep[tid]; ok && (got != call || mappingOf(v.maps, got.sp) == nil) {
			t.Errorf("thread %d: got %+v, want %+v", tid, got, call)
		}
	}
	if len(v.room) == 0 || len(v.heads) == 0 || len(v.auxv) == 0 || v.arch == nil || len(v.snap.Phases) != 1 || len(v.nsIDs) != 0 || len(v.files.files) == 0 {
		t.Errorf("got %d bytes of room, %d heads, %d entries, %d files, phases %v", len(v.room), len(v.heads), len(v.auxv), len(v.files.files), v.snap.Phases)
	}
	err := begin(1<<30, &AttachOptions{}).prepare(&AttachOptions{})
	if want := "process 1073741824: no such process"; err == nil || err.Error() != want || !errors.Is(err, ErrNoProcess) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// A visit begins again as long as it says so, at most eight times, and ever later.
func TestTryAgain(t *testing.T) {
	odd := errors.New("odd")
	busy := &busyError{1, 2}
	for _, tt := range []struct {
		name  string
		errs  []error // of the attempts; the last is final
		again bool    // the last, too
		is    error
		want  string
	}{
		{"at once", []error{nil}, false, nil, ""},
		{"an error that stays", []error{odd}, false, odd, "odd"},
		{"another program, and then none", []error{errExecuted, errNoMemory, nil}, false, nil, ""},
		{"another program, and then an error", []error{errExecuted, odd}, false, odd, "odd"},
		{"busy", []error{busy}, false, ErrDenied, busy.Error()},
		{"other programs", []error{errNoMemory, errNoMemory, errNoMemory, errNoMemory, errNoMemory, errNoMemory, errNoMemory, errExecuted}, true, errExecuted, "process 9: " + errExecuted.Error()},
		{"denied", []error{odd, odd, odd, odd, odd, odd, odd, busy}, true, ErrDenied, busy.Error()},
	} {
		n, began := 0, time.Now()
		img, err := tryAgain(t.Context(), 9, func() (*Image, bool, error) {
			n++
			if n < len(tt.errs) || tt.again {
				return nil, true, tt.errs[n-1]
			}
			return &Image{PID: n}, false, tt.errs[n-1]
		})
		if n != len(tt.errs) || !errors.Is(err, tt.is) || err != nil && err.Error() != tt.want || (img == nil) != tt.again {
			t.Errorf("%s: got %v, %v after %d attempts, want %v after %d", tt.name, img, err, n, tt.is, len(tt.errs))
		}
		if took, least := time.Since(began), time.Duration(n*(n-1)/2)*time.Millisecond; took < least {
			t.Errorf("%s: %d attempts took %v, want %v at least", tt.name, n, took, least)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	img, err := tryAgain(ctx, 9, func() (*Image, bool, error) {
		n++
		cancel()
		return nil, true, odd
	})
	if img != nil || n != 1 || !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: got %v after %d attempts, want %v", err, n, context.Canceled)
	}
	for _, tt := range []struct {
		err              error
		executes, passes bool
	}{
		{errExecuted, true, true},
		{fmt.Errorf("x: %w", errNoMemory), true, true},
		{ErrDenied, false, true},
		{&denial{}, false, true},
		{busy, false, false},
		{fmt.Errorf("x: %w", busy), false, false},
		{odd, false, false},
		{ErrNoProcess, false, false},
		{nil, false, false},
	} {
		if e, p := executes(tt.err), passes(tt.err); e != tt.executes || p != tt.passes {
			t.Errorf("%v: got %v and %v, want %v and %v", tt.err, e, p, tt.executes, tt.passes)
		}
	}
}
