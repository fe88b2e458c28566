package foreign

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Read lists what a store has, the oldest first: "systemd", "apport" or "abrt", below a
// root, or a directory with cores, reports of apport and directories of abrt. It reads
// no core. The error says that there is no such store.
func Read(ctx context.Context, from, root string) (*List, error) {
	l := &List{}
	var err error
	switch Kind(from) {
	case Systemd:
		err = l.systemd(ctx, root)
	case Apport:
		err = l.directory(ctx, filepath.Join(root, apportDir), Apport)
	case Abrt:
		for _, dir := range abrtDirs {
			if err = l.directory(ctx, filepath.Join(root, dir), Abrt); !errors.Is(err, fs.ErrNotExist) {
				break
			}
		}
	default:
		err = l.directory(ctx, filepath.Join(root, from), Directory)
	}
	slices.SortStableFunc(l.Crashes, func(a, b Crash) int { return a.Time.Compare(b.Time) })
	return l, err
}

// directory lists what is in a directory and, of kind [Directory], below it.
func (l *List) directory(ctx context.Context, dir string, kind Kind) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	w := &walk{list: l, root: root, dir: dir, kind: kind}
	return w.below(ctx, ".", 0)
}

// walk goes through a directory. It leaves neither that nor its file systems' plain
// files, whatever is renamed meanwhile.
type walk struct {
	list    *List
	root    *os.Root
	dir     string
	kind    Kind
	entries int
}

func (w *walk) below(ctx context.Context, name string, depth int) error {
	d, err := w.root.OpenFile(name, unix.O_DIRECTORY|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer d.Close()
	for {
		entries, err := d.ReadDir(1024)
		for _, e := range entries {
			if err := ctx.Err(); err != nil {
				return err
			}
			if w.entries++; w.entries > maxEntries || w.list.full() {
				w.list.problem(w.dir, fmt.Errorf("it has more than %d crashes or %d files, and the rest is left out", maxCrashes, maxEntries))
				return nil
			}
			w.meet(ctx, path.Join(name, e.Name()), e, depth)
		}
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func (w *walk) meet(ctx context.Context, name string, e fs.DirEntry, depth int) {
	var err error
	switch {
	case e.IsDir() && w.kind != Apport:
		if w.kind == Systemd {
			return
		}
		var isAbrt bool
		if isAbrt, err = w.abrt(name); err == nil && !isAbrt && w.kind == Directory && depth < maxDepth {
			err = w.below(ctx, name, depth+1)
		}
	case !e.Type().IsRegular() || w.kind == Abrt:
		return
	case strings.HasSuffix(name, apportSuffix):
		err = w.apport(name)
	case w.kind != Apport:
		err = w.core(name)
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		w.list.Denied++
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errNoCrash), errors.Is(err, errOtherProblem):
	case err != nil:
		w.list.problem(filepath.Join(w.dir, name), err)
	}
}

// errPlain is for what is no regular file of one name.
var errPlain = errors.New("not a regular file of one name")

// open opens a regular file with one name.
func (w *walk) open(name string) (*os.File, *unix.Stat_t, error) {
	// A FIFO or a device of this name would be opened otherwise.
	if st, err := w.root.Lstat(name); err != nil {
		return nil, nil, err
	} else if !st.Mode().IsRegular() {
		return nil, nil, errPlain
	}
	f, err := w.root.OpenFile(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	st, err := plain(f)
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, st, nil
}

func plain(f *os.File) (*unix.Stat_t, error) {
	st := new(unix.Stat_t)
	if err := unix.Fstat(int(f.Fd()), st); err != nil {
		return nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink != 1 {
		return nil, errPlain
	}
	return st, nil
}

// found makes a crash of a file.
func (w *walk) found(kind Kind, name string, st *unix.Stat_t) Crash {
	c := newCrash(kind)
	c.File, c.Size = filepath.Join(w.dir, name), st.Size
	c.inode, c.written = st.Ino, time.Unix(st.Mtim.Unix())
	c.Time, c.Owner, c.Group = c.written, int(st.Uid), int(st.Gid)
	return c
}

// core lists a core of systemd or another: what its first bytes say is one, or packed.
func (w *walk) core(name string) error {
	f, st, err := w.open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	c := w.found(Directory, name, st)
	isSystemd := parseSystemdName(path.Base(name), &c)
	if head := make([]byte, 18); !Packed(f, CoreForm) {
		if n, _ := f.ReadAt(head, 0); n < len(head) || string(head[:4]) != "\x7fELF" || head[4] == 1 || head[16]+head[17] != 4 {
			return nil
		}
	} else if !isSystemd && !strings.Contains(strings.ToLower(path.Base(name)), "core") {
		return nil // what is packed may be anything
	}
	if w.kind == Systemd && !isSystemd {
		return nil
	}
	if isSystemd {
		c.Kind = Systemd
		attributes(f, &c)
	}
	w.list.Crashes = append(w.list.Crashes, c)
	return nil
}

// attributes reads what systemd-coredump has noted of a core. It lets users read theirs
// unless the process had other rights than the user; then the report is root's, too.
func attributes(f *os.File, c *Crash) {
	value := make([]byte, 8192)
	for i := range xattrs {
		if n, err := unix.Fgetxattr(int(f.Fd()), xattrs[i].name, value); err == nil && n > 0 {
			xattrs[i].set(c, string(bytes.TrimRight(value[:n], "\x00")))
		}
	}
	if n, err := unix.Fgetxattr(int(f.Fd()), "system.posix_acl_access", value); err == nil && c.Owner == 0 {
		if slices.Contains(readers(value[:n]), c.UID) {
			c.Owner, c.Group = c.UID, c.gid
		}
	}
}

// apport lists a report of apport.
func (w *walk) apport(name string) error {
	f, st, err := w.open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	c := w.found(Apport, name, st)
	c.Form = ApportForm
	if err := parseApport(io.NewSectionReader(f, 0, st.Size), &c); err != nil {
		return err
	}
	w.list.Crashes = append(w.list.Crashes, c)
	return nil
}

// abrt lists a directory of abrt, if it is one.
func (w *walk) abrt(dir string) (bool, error) {
	elements := map[string]string{}
	for _, name := range abrtTexts {
		text, err := w.text(path.Join(dir, name))
		if err == nil {
			elements[name] = text
		} else if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errPlain) {
			return false, err
		}
	}
	if elements["analyzer"]+elements["type"] == "" {
		return false, nil
	}
	for _, name := range abrtCores {
		f, st, err := w.open(path.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return true, err
		}
		f.Close()
		c := w.found(Abrt, path.Join(dir, name), st)
		if err := parseAbrt(elements, &c); err != nil {
			return true, err
		}
		if c.Owner == 0 && c.UID > 0 {
			c.Owner, c.Group = c.UID, noGroup // abrt writes 0 if the process had changed users
		}
		w.list.Crashes = append(w.list.Crashes, c)
		return true, nil
	}
	// What is described, and has no core any more.
	f, st, err := w.open(path.Join(dir, "analyzer"))
	if err != nil {
		return true, err
	}
	f.Close()
	c := w.found(Abrt, path.Join(dir, "coredump"), st)
	c.Missing, c.Size = "the directory has no core", 0
	if err := parseAbrt(elements, &c); err != nil {
		return true, err
	}
	w.list.Crashes = append(w.list.Crashes, c)
	return true, nil
}

// text reads a small file.
func (w *walk) text(name string) (string, error) {
	f, _, err := w.open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxKept))
	return string(text), err
}
