package foreign

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// journalTime is how long the journal may take to be listed.
const journalTime = 2 * time.Minute

// systemd lists the cores of systemd-coredump, what the journal says of them, and what is
// in the journal alone.
func (l *List) systemd(ctx context.Context, root string) error {
	dir := filepath.Join(root, systemdDir)
	missing := l.directory(ctx, dir, Systemd)
	if missing != nil && !errors.Is(missing, fs.ErrNotExist) {
		return missing
	}
	files := map[string]*Crash{}
	for i := range l.Crashes {
		files[filepath.Base(l.Crashes[i].File)] = &l.Crashes[i]
	}
	var more []Crash
	err := listJournal(ctx, root, func(e *entry) {
		if c := files[e.file]; c == nil {
			e.crash.root = root
			more = append(more, e.crash)
		} else if e.about(c) {
			c.Cursor, c.Unit, c.Cgroup = e.crash.Cursor, e.crash.Unit, e.crash.Cgroup
			if filepath.IsAbs(e.crash.Program) {
				c.Program = e.crash.Program // attributes may be lost
			}
			if c.Signal == "" {
				c.Signal = e.crash.Signal
			}
		}
	})
	l.Crashes = append(l.Crashes, more...)
	switch {
	case errors.Is(err, exec.ErrNotFound):
		l.Problems = append(l.Problems, "journalctl is not here: cores in the journal, units and containers are not listed")
	case err != nil:
		l.Problems = append(l.Problems, err.Error())
	}
	if missing != nil && len(more) == 0 {
		return missing
	}
	return ctx.Err()
}

// journalctl makes a process that reads the journal of this machine, or below a root.
func journalctl(ctx context.Context, root string, args ...string) (*exec.Cmd, error) {
	program, err := exec.LookPath("journalctl")
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, append([]string{"--quiet", "--no-pager"}, args...)...)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}
	cmd.WaitDelay = time.Second
	if abs, err := filepath.Abs(root); err == nil && root != "" && abs != "/" {
		// --root would have the machine be the same as this one.
		cmd.Args = append(cmd.Args, "--directory="+filepath.Join(abs, "var/log/journal"))
	}
	return cmd, nil
}

// listJournal lists the entries of systemd-coredump.
func listJournal(ctx context.Context, root string, each func(*entry)) error {
	ctx, cancel := context.WithTimeout(ctx, journalTime)
	defer cancel()
	cmd, err := journalctl(ctx, root, "--output=json", "--output-fields="+strings.Join(listedFields, ","), "MESSAGE_ID="+coredumpID)
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	var said bytes.Buffer
	cmd.Stderr = &limited{&said, maxKept}
	if err := cmd.Start(); err != nil {
		return err
	}
	failed := parseEntries(out, each)
	if failed != nil {
		cancel()
	}
	_, _ = io.Copy(io.Discard, out)
	if err := cmd.Wait(); failed == nil && err != nil {
		failed = fmt.Errorf("journalctl: %w: %s", err, bytes.TrimSpace(said.Bytes()))
	}
	return failed
}

// limited takes so many bytes, and drops the rest.
type limited struct {
	to   io.Writer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.left -= n
	_, err := l.to.Write(p[:n])
	return len(p), err
}

// errChanged is for a file that is not the one that was listed.
var errChanged = errors.New("it has changed since it was listed")

// Open opens what has the core, for [Unpack]: a file, or a pipe from the journal. done
// must be called when it was read, in any case.
func (c *Crash) Open(ctx context.Context) (in *os.File, done func(), err error) {
	if c.Missing != "" {
		return nil, nil, errors.New(c.Missing)
	}
	if c.File == "" {
		return c.openJournal(ctx)
	}
	dir, err := os.OpenRoot(filepath.Dir(c.File))
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = dir.Close() }()
	f, st, err := (&walk{root: dir}).open(filepath.Base(c.File))
	if err != nil {
		return nil, nil, err
	}
	if st.Ino != c.inode || st.Size != c.Size || !time.Unix(st.Mtim.Unix()).Equal(c.written) {
		return nil, nil, errors.Join(errChanged, f.Close())
	}
	return f, func() { f.Close() }, nil
}

// openJournal has journalctl export the entry.
func (c *Crash) openJournal(ctx context.Context) (in *os.File, done func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	cmd, err := journalctl(ctx, c.root, "--output=export", "--output-fields=COREDUMP", "--lines=1", "--cursor="+c.Cursor)
	if err != nil {
		cancel()
		return nil, nil, err
	}
	in, out, err := os.Pipe()
	if err != nil {
		cancel()
		return nil, nil, err
	}
	cmd.Stdout = out
	err = cmd.Start()
	out.Close()
	if err != nil {
		cancel()
		return nil, nil, errors.Join(err, in.Close())
	}
	return in, func() {
		in.Close()
		cancel()
		_ = cmd.Wait() // it was ended
	}, nil
}

// Scratch opens a temporary file without a name, to unpack a core to.
func Scratch(dir string) (*os.File, error) {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EISDIR) {
		return namedScratch(dir)
	} else if err != nil {
		return nil, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	return os.NewFile(uintptr(fd), "an unpacked core"), nil
}

// namedScratch is for file systems that make no file without a name.
func namedScratch(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, "sfcore-*")
	if err != nil {
		return nil, err
	}
	return f, os.Remove(f.Name())
}
