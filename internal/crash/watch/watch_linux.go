// Package watch waits for core files in a directory where others write them.
package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sfcore/sfcore/internal/crash"
	"github.com/sfcore/sfcore/internal/crash/store"
)

// Watcher waits for core files in a directory where others write them.
type Watcher struct {
	Dir string // absolute
	// State is a file in which it notes what it has handled.
	State string
	// Present says what is done with the files that are there at the start.
	Present Present
	// Remove removes a core when all of it was kept that is to be kept.
	Remove bool
	// Once ends when nothing is left to handle.
	Once bool
	// Handle handles a core. kept is set if all was kept that is to be kept.
	Handle func(ctx context.Context, c *crash.CoreFile) (kept bool, err error)
	// Kept returns the record of a crash, nil if there is none.
	Kept func(id string) *store.Record
	Say  func(string)

	times
	dir     *os.File
	seen    *seen
	files   map[string]*candidate // that are waiting or ready
	owned   map[int]int           // how many of them, by owner
	waiting map[string]*candidate
	ready   map[int][]*candidate // by owner
	turns   map[int]int          // when it was an owner's turn last
	turn    int
	more    bool // some files were left out for want of room
	scanned time.Time
	changed unix.Timespec // the directory, when it was scanned
	said    int
}

// Present is what is done with files that are there at the start.
type Present string

// What may be done with them.
const (
	PresentUnseen Present = "unseen" // those are handled that were not handled before
	PresentAll    Present = "all"    // all are handled, also again
	PresentNone   Present = "none"   // they are left alone
)

// times are how long a Watcher waits; they are shorter in tests.
type times struct {
	// settle is how long a file that is closed must stay as it is, and patience how long
	// one that is shorter than its headers say. Then it is taken for cut off.
	settle, patience time.Duration
	// rescan is how often the directory is read whole if the kernel tells of new files,
	// and poll how often it is looked at otherwise.
	rescan, poll time.Duration
}

var usualTimes = times{settle: 500 * time.Millisecond, patience: 30 * time.Second, rescan: time.Minute, poll: time.Second}

const (
	// maxEntries is how many files of a directory are looked at, and maxWaiting how many
	// of them are kept in mind to be handled. The others wait until these are.
	maxEntries = 1 << 20
	maxWaiting = 10000
	// maxOwned is how many of one owner are, so that all have their turn.
	maxOwned = 1000
	// maxBackoff is how long a file that keeps changing is not looked at again.
	maxBackoff = 10 * time.Second
	// maxTries is how often a file is tried that ended this program.
	maxTries = 2
	// maxSaidFiles is how many files are said to be unusable.
	maxSaidFiles = 100
)

// candidate is a file that may become a core.
type candidate struct {
	name  string
	key   fileKey
	owner int
	met   time.Time
	since time.Time // it is as it is
	next  time.Time // to look at it again
}

// Run watches until ctx ends, or the directory is gone.
func (w *Watcher) Run(ctx context.Context) error {
	if w.times == (times{}) {
		w.times = usualTimes
	}
	fd, err := unix.Open(w.Dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: w.Dir, Err: err}
	}
	w.dir = os.NewFile(uintptr(fd), w.Dir)
	defer w.dir.Close()
	if w.seen, err = openSeen(w.State); err != nil {
		return fmt.Errorf("%s: %w", w.State, err)
	}
	defer w.seen.close()
	if w.Present == PresentAll {
		w.seen.done = map[fileKey]bool{}
	}
	w.files, w.owned, w.waiting = map[string]*candidate{}, map[int]int{}, map[string]*candidate{}
	w.ready, w.turns = map[int][]*candidate{}, map[int]int{}
	events, stop, err := listenTo(w.dir)
	if err != nil {
		w.Say(fmt.Sprintf("%s: the kernel does not tell of new files, so that they are looked for every %v: %v", w.Dir, w.poll, err))
	}
	defer stop()
	if err := w.scan(w.Present == PresentNone); err != nil {
		return err
	}
	for {
		w.lookAll(time.Now())
		if err := w.scanIfDue(events != nil); err != nil {
			return err
		}
		wait := w.poll
		if c := w.pick(); c != nil {
			w.handle(ctx, c)
			wait = 0
		} else if len(w.waiting) > 0 {
			wait = min(wait, w.settle/2)
		} else if w.Once && !w.more {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case e := <-events:
			if e.lost {
				w.scanned = time.Time{}
			} else {
				w.meet(e.name, false, nil)
			}
		case <-time.After(wait):
		}
	}
}

// scanIfDue reads the directory if something may be in it that is not known.
func (w *Watcher) scanIfDue(told bool) error {
	var st unix.Stat_t
	if err := statFD(int(w.dir.Fd()), &st); err != nil || st.Nlink == 0 {
		return fmt.Errorf("%s was removed", w.Dir)
	}
	age := time.Since(w.scanned)
	switch {
	case w.more && (len(w.files) < maxOwned/2 && age >= w.poll || age >= w.patience):
	case age >= w.rescan:
	// A change within the same tick of the clock as the scan is not seen by the time.
	case !told && age >= w.poll && (st.Mtim != w.changed || time.Since(time.Unix(st.Mtim.Unix())) < 2*w.poll):
	default:
		return nil
	}
	return w.scan(false)
}

// scan reads the directory. With done, what is there counts as handled.
func (w *Watcher) scan(done bool) error {
	var st unix.Stat_t
	if err := statFD(int(w.dir.Fd()), &st); err != nil {
		return err
	}
	w.changed, w.more = st.Mtim, false
	if _, err := w.dir.Seek(0, io.SeekStart); err != nil {
		return err
	}
	present := map[fileKey]bool{}
	for n := 0; n < maxEntries; {
		names, err := w.dir.Readdirnames(1024)
		for _, name := range names {
			w.meet(name, done, present)
		}
		n += len(names)
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
	}
	w.scanned = time.Now()
	if err := w.seen.prune(present); err != nil {
		w.Say(fmt.Sprintf("%s: %v", w.State, err))
	}
	return nil
}

// meet takes note of a file. Only regular files with one name count, as for the kernel
// when it writes a core [linux fs/coredump.c].
func (w *Watcher) meet(name string, done bool, present map[fileKey]bool) {
	st, key, ok := w.stat(name)
	if !ok {
		return
	}
	if present != nil {
		present[key] = true
	}
	if done {
		w.end(key)
		return
	}
	if _, known := w.seen.done[key]; known {
		return
	}
	now := time.Now()
	if c := w.files[name]; c != nil {
		c.next = now.Add(min(w.settle, c.next.Sub(now)))
		return
	}
	c := &candidate{name: name, key: key, owner: int(st.Uid), met: now, since: now, next: now.Add(w.settle)}
	if len(w.files) >= maxWaiting || w.owned[c.owner] >= maxOwned {
		w.more = true
		return
	}
	w.files[name], w.waiting[name] = c, c
	w.owned[c.owner]++
}

// forget forgets a file that is neither waiting nor ready any more.
func (w *Watcher) forget(c *candidate) {
	delete(w.files, c.name)
	if w.owned[c.owner]--; w.owned[c.owner] == 0 {
		delete(w.owned, c.owner)
	}
}

// stat looks at what has a name, without opening it.
func (w *Watcher) stat(name string) (st unix.Stat_t, key fileKey, ok bool) {
	err := unix.Fstatat(int(w.dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW)
	return st, keyOf(&st), err == nil && isPlain(&st)
}

// statFD is fstat, which in qemu-user leaves out nanoseconds.
func statFD(fd int, st *unix.Stat_t) error { return unix.Fstatat(fd, "", st, unix.AT_EMPTY_PATH) }

func isPlain(st *unix.Stat_t) bool { return st.Mode&unix.S_IFMT == unix.S_IFREG && st.Nlink == 1 }

func keyOf(st *unix.Stat_t) fileKey { return fileKey{st.Ino, st.Size, st.Mtim.Nano()} }

// lookAll looks at the files for which it is time.
func (w *Watcher) lookAll(now time.Time) {
	for name, c := range w.waiting {
		if c.next.After(now) {
			continue
		}
		switch w.look(c, now) {
		case isReady:
			w.ready[c.owner] = append(w.ready[c.owner], c)
			delete(w.waiting, name)
		case isNothing:
			delete(w.waiting, name)
			w.forget(c)
		case isComing:
			c.next = now.Add(min(max(w.settle, now.Sub(c.met)/8), maxBackoff))
		}
	}
}

type state int

const (
	isComing state = iota
	isReady
	isNothing // or gone
)

// look reports whether a file is a complete core.
func (w *Watcher) look(c *candidate, now time.Time) state {
	st, key, ok := w.stat(c.name)
	if !ok {
		return isNothing
	}
	if int(st.Uid) != c.owner {
		return isNothing // met again by its new owner
	}
	if key != c.key {
		c.key, c.since = key, now
	}
	if now.Sub(c.since) < w.settle {
		return isComing
	}
	f, err := w.open(c)
	switch {
	case errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, errChanged):
		return isComing
	case err != nil:
		w.sayFile(c, err)
		w.seen.ignore(key)
		return isNothing
	}
	defer f.Close()
	if isWritten(f) {
		c.since = now
		return isComing
	}
	need, err := extent(f, c.key.size)
	switch {
	case err != nil:
		w.seen.ignore(key)
		return isNothing
	case need > c.key.size && now.Sub(c.since) < w.patience:
		return isComing
	case c.key.size < coreHeader:
		w.seen.ignore(key)
		return isNothing
	}
	return isReady
}

// isWritten reports whether somebody has a file open for writing: then the kernel gives
// no lease [fcntl(2), F_SETLEASE]. Where it gives none at all, it is not known.
func isWritten(f *os.File) bool {
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	if err == nil {
		_, _ = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
	}
	return errors.Is(err, unix.EAGAIN)
}

// errChanged is for a name that another file has got.
var errChanged = errors.New("the file has changed")

// open opens a file for reading: first what its name leads to without effect, then that.
func (w *Watcher) open(c *candidate) (*os.File, error) {
	fd, err := unix.Openat(int(w.dir.Fd()), c.name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }()
	var st unix.Stat_t
	if err := statFD(fd, &st); err != nil {
		return nil, err
	}
	if !isPlain(&st) || keyOf(&st) != c.key || int(st.Uid) != c.owner {
		return nil, errChanged
	}
	return os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", fd), os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
}

// pick returns the next file to handle: that of the owner who has waited longest.
func (w *Watcher) pick() *candidate {
	owner, found := 0, false
	for o := range w.ready {
		if !found || w.turns[o] < w.turns[owner] {
			owner, found = o, true
		}
	}
	if !found {
		return nil
	}
	c := w.ready[owner][0]
	if w.ready[owner] = w.ready[owner][1:]; len(w.ready[owner]) == 0 {
		delete(w.ready, owner)
	}
	w.turn++
	w.turns[owner] = w.turn
	w.forget(c)
	return c
}

// handle handles a core, notes that it did, and removes it if that is wanted.
func (w *Watcher) handle(ctx context.Context, c *candidate) {
	f, err := w.open(c)
	if errors.Is(err, errChanged) {
		w.meet(c.name, false, nil) // it is another
		return
	} else if err != nil {
		return // it is gone
	}
	defer f.Close()
	kept := false
	if b, ok := w.seen.begun[c.key]; ok && w.Kept(b.id) != nil {
		kept = len(w.Kept(b.id).Problems) == 0
	} else if b.times >= maxTries {
		w.sayFile(c, fmt.Errorf("left alone, for it was begun %d times and never came to an end", b.times))
	} else {
		st, err := f.Stat()
		if err != nil {
			return
		}
		sys := new(unix.Stat_t)
		if err := unix.Fstat(int(f.Fd()), sys); err != nil {
			return
		}
		core := &crash.CoreFile{
			ID: store.NewID(time.Now(), c.key.ino), File: f, Path: filepath.Join(w.Dir, c.name), Size: c.key.size,
			UID: int(sys.Uid), GID: int(sys.Gid), Time: st.ModTime(),
		}
		if err := w.seen.begin(c.key, core.ID); err != nil {
			w.Say(fmt.Sprintf("%s: %v; after a restart cores may be handled again", w.State, err))
		}
		if kept, err = w.Handle(ctx, core); err != nil {
			w.sayFile(c, err)
		}
		if ctx.Err() != nil {
			return // it was interrupted
		}
	}
	w.end(c.key)
	_ = w.seen.file.Sync()
	if w.Remove && kept {
		if _, key, ok := w.stat(c.name); ok && key == c.key {
			if err := unix.Unlinkat(int(w.dir.Fd()), c.name, 0); err != nil {
				w.sayFile(c, fmt.Errorf("not removed: %w", err))
			}
		}
	}
}

// end notes that a file need not be handled again.
func (w *Watcher) end(key fileKey) {
	if err := w.seen.end(key); err != nil {
		w.Say(fmt.Sprintf("%s: %v; after a restart cores may be handled again", w.State, err))
	}
}

// sayFile says what is wrong with a file. The names are chosen by others, and so is how
// many there are.
func (w *Watcher) sayFile(c *candidate, err error) {
	switch w.said++; {
	case w.said < maxSaidFiles:
		w.Say(fmt.Sprintf("%s: %v", filepath.Join(w.Dir, c.name), err))
	case w.said == maxSaidFiles:
		w.Say(fmt.Sprintf("%s: more files have problems, which are not said", w.Dir))
	}
}
