package core

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// ownStack is less than the stack of a thread of a subject. In Go, stacks of others
// follow.
const ownStack = 512

// attachSleepers takes snapshots until all threads of a subject that wait are let sleep,
// and returns the last one.
func attachSleepers(t *testing.T, s *subject) *Image {
	t.Helper()
	var img *Image
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		img = attachNext(t, s, img)
		if len(sleeping(s, img)) == len(s.tids) {
			return img
		}
		time.Sleep(time.Millisecond) // until they sleep again
	}
	t.Skip("this system does not count how often a thread runs, or the threads never sleep")
	return nil
}

func attachNext(t *testing.T, s *subject, last *Image) *Image {
	t.Helper()
	img, err := Attach(t.Context(), s.pid, AttachOptions{MaxStop: unhurried, After: last, LetSleep: true, StackBudget: ownStack})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { img.Close() })
	return img
}

// sleeping returns the waiting threads of a subject that were not stopped.
func sleeping(s *subject, img *Image) (tids []int) {
	for i := range img.Threads {
		if th := &img.Threads[i]; th.Same && slices.Contains(s.tids, th.ID) {
			tids = append(tids, th.ID)
		}
	}
	return tids
}

func threadOf(t *testing.T, img *Image, tid int) *Thread {
	t.Helper()
	i := slices.IndexFunc(img.Threads, func(th Thread) bool { return th.ID == tid })
	if i < 0 {
		t.Fatalf("thread %d is missing", tid)
	}
	return &img.Threads[i]
}

// TestAttachLetSleep lets threads sleep that have not run, and stops one that has.
func TestAttachLetSleep(t *testing.T) {
	needPtrace(t)
	s := startSubject(t, os.Args[0], "plain")
	s.ready(t)
	first := attachNext(t, s, nil)
	if n := len(sleeping(s, first)); n != 0 || first.Live.Slept != 0 {
		t.Fatalf("the first snapshot has let %d threads sleep, and says %d", n, first.Live.Slept)
	}
	first.Close()
	img := attachSleepers(t, s)
	if img.Live.Slept < len(s.tids) {
		t.Errorf("got %d threads that slept, want %d or more", img.Live.Slept, len(s.tids))
	}
	sp := map[int]uint64{}
	for _, tid := range s.tids {
		sp[tid] = wholeStack(t, img, tid)
	}
	next := attachNext(t, s, img)
	if got := sleeping(s, next); len(got) != len(s.tids) {
		t.Errorf("threads %v of %v sleep on", got, s.tids)
	}
	for _, tid := range s.tids {
		if got := wholeStack(t, next, tid); got != sp[tid] {
			t.Errorf("thread %d: SP is %#x, and was %#x", tid, got, sp[tid])
		}
	}

	// One runs, and has another stack then.
	woken := s.tids[3]
	at := sp[woken] + ownStack - 1 // the thread does not write there
	mem, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", s.pid), os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	defer mem.Close()
	b := make([]byte, 1)
	if _, err := mem.ReadAt(b, int64(at)); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 0xff
	if _, err := mem.WriteAt(b, int64(at)); err != nil {
		t.Fatal(err)
	}
	if err := unix.Tgkill(s.pid, woken, unix.SIGURG); err != nil { // Go's runtime handles it
		t.Fatal(err)
	}
	time.Sleep(10 * time.Millisecond)
	last := attachNext(t, s, next)
	if threadOf(t, last, woken).Same {
		t.Errorf("thread %d was not stopped though it has run", woken)
	}
	if got := readByte(t, last, at); got != b[0] {
		now := make([]byte, 1)
		if _, err := mem.ReadAt(now, int64(at)); err == nil && now[0] != b[0] {
			t.Skip("the thread was given work, and has written there itself")
		}
		t.Errorf("the stack has %#x, want %#x", got, b[0])
	}
	if got := sleeping(s, last); len(got) != len(s.tids)-1 {
		t.Errorf("threads %v sleep on", got)
	}

	// Without LetSleep all are stopped.
	all, err := Attach(t.Context(), s.pid, AttachOptions{MaxStop: unhurried, After: last})
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	if got := sleeping(s, all); len(got) != 0 || all.Live.Slept != 0 {
		t.Errorf("threads %v were not stopped", got)
	}
}

// TestNameOfSleepers shows names that threads get while they sleep, and the process's own
// while its first thread sleeps.
func TestNameOfSleepers(t *testing.T) {
	needPtrace(t)
	s := startSubject(t, os.Args[0], "renames")
	s.ready(t)
	img := attachSleepers(t, s)
	named := s.tids[5]
	fmt.Fprintln(s.in, named)
	if line, err := s.out.ReadString('\n'); err != nil || line != "renamed\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	for n := 0; threadOf(t, img, named).Name != "other"; n++ {
		if n == namesEvery {
			t.Fatalf("thread %d has its old name after %d snapshots", named, n)
		}
		img = attachNext(t, s, img)
	}
	name := threadOf(t, img, s.pid).Name
	for range 100 {
		if img = attachNext(t, s, img); threadOf(t, img, s.pid).Same {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if img.Name != name || name == "" {
		t.Errorf("the process is %q, want %q; its first thread sleeps: %v", img.Name, name, threadOf(t, img, s.pid).Same)
	}
}

// renameThreads gives the threads whose ids it reads another name.
func renameThreads() {
	for tid := 0; ; {
		if _, err := fmt.Scanln(&tid); err != nil {
			return
		}
		if err := os.WriteFile(fmt.Sprintf("/proc/self/task/%d/comm", tid), []byte("other"), 0); err != nil {
			fmt.Println(err) //nolint:forbidigo // it is a program of its own
			return
		}
		fmt.Println("renamed") //nolint:forbidigo // the same
	}
}

// wholeStack checks that a thread has registers and a stack, and returns SP.
func wholeStack(t *testing.T, img *Image, tid int) uint64 {
	t.Helper()
	th := threadOf(t, img, tid)
	sp, ok := th.Regs.Get(img.Arch.SP)
	if !ok || th.Err != nil || len(th.PrStatus) == 0 {
		t.Fatalf("thread %d has no registers: %v", tid, th.Err)
	}
	readByte(t, img, sp)
	return sp
}

func readByte(t *testing.T, img *Image, at uint64) byte {
	t.Helper()
	b := make([]byte, 1)
	if _, err := img.Mem.ReadMem(b, at); err != nil {
		t.Fatal(err)
	}
	return b[0]
}

// TestAttachWoken has threads that run while the process is prepared: they are stopped,
// too, and none is missing.
func TestAttachWoken(t *testing.T) {
	needPtrace(t)
	s := startSubject(t, os.Args[0], "plain")
	s.ready(t)
	img := attachSleepers(t, s)
	opts := AttachOptions{MaxStop: unhurried, After: img, LetSleep: true, StackBudget: ownStack, StackTotal: DefaultStackTotal}
	v := begin(s.pid, &opts)
	if err := v.prepare(&opts); err != nil {
		t.Fatal(err)
	}
	if got := len(v.sleepers.byID); got < len(s.tids) {
		t.Fatalf("got %d sleepers, want %d", got, len(s.tids))
	}
	woken := s.tids[:2]
	for _, tid := range woken {
		if err := unix.Tgkill(s.pid, tid, unix.SIGURG); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(10 * time.Millisecond)
	if err := v.stop(&opts); err != nil {
		t.Fatal(err)
	}
	next := v.image()
	defer next.Close()
	for _, tid := range s.tids {
		if got, want := threadOf(t, next, tid).Same, !slices.Contains(woken, tid); got != want {
			t.Errorf("thread %d: the same is %v, want %v", tid, got, want)
		}
		wholeStack(t, next, tid)
	}
}

// TestLateSleepers reports threads that have run when there is no time to stop them.
func TestLateSleepers(t *testing.T) {
	dir := procFiles(t, map[string]string{"schedstat": "1 2 3\n"})
	file, err := unix.Openat(dir.fd, "schedstat", unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	v := &visit{sleepers: sleepers{byID: map[int]*sleeper{fakeID: {file: file}}}}
	tr := &tracer{dir: dir, known: map[int]bool{fakeID: true}}
	if err := v.stopWoken(tr); err != nil {
		t.Fatal(err)
	}
	if len(tr.tracees) != 1 || tr.tracees[0].step != missed || len(v.sleepers.byID) != 0 || tr.sleeping != 0 {
		t.Errorf("got %+v and %d sleepers", tr.tracees, len(v.sleepers.byID))
	}
}

func TestReadRuns(t *testing.T) {
	for text, want := range map[string]bool{
		"12 0 3\n": true, "0 0 0\n": false, "": false,
		"18446744073709551615 18446744073709551615 18446744073709551615000\n": false,
	} {
		dir := procFiles(t, map[string]string{"schedstat": text})
		file, err := unix.Openat(dir.fd, "schedstat", unix.O_RDONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := readRuns(file); ok != want {
			t.Errorf("%q: got %v, want %v", text, ok, want)
		}
		_ = unix.Close(file)
		if _, ok := readRuns(file); ok {
			t.Error("a closed file tells how often a thread has run")
		}
	}
}

// TestAddSleepers keeps stacks of threads that were not stopped beside those that were
// copied, which may lie between them.
func TestAddSleepers(t *testing.T) {
	fill := func(lo, hi uint64, with byte) copied {
		data := make([]byte, hi-lo)
		for i := range data {
			data[i] = with
		}
		return copied{span: span{lo, hi, 0x3000}, data: data}
	}
	v := &visit{
		stacks: []copied{fill(0x2000, 0x2100, 1)},
		sleepers: sleepers{byID: map[int]*sleeper{
			1: {stack: []copied{fill(0x1000, 0x2200, 2)}, wait: 5},
			2: {stack: []copied{fill(0x1f00, 0x3000, 3)}, wait: 6},
		}},
	}
	v.addSleepers()
	mem, b := v.stackMemory(), make([]byte, 0x2000)
	if n, err := mem.ReadMem(b, 0x1000); n != len(b) {
		t.Fatalf("got %d bytes, %v", n, err)
	}
	for at, want := range map[uint64]byte{0x1000: 2, 0x1fff: 2, 0x2000: 1, 0x20ff: 1, 0x2100: 2, 0x21ff: 2, 0x2200: 3, 0x2fff: 3} {
		if got := b[at-0x1000]; got != want {
			t.Errorf("%#x: got %d, want %d", at, got, want)
		}
	}
	for i := range v.stacks[1:] {
		if v.stacks[i].hi > v.stacks[i+1].lo {
			t.Errorf("stacks overlap: %#x and %#x", v.stacks[i].hi, v.stacks[i+1].lo)
		}
	}
	if len(v.waits) != 2 || len(v.known) != 2 {
		t.Errorf("got %d waits and %d registers, want 2", len(v.waits), len(v.known))
	}
}
