package crash

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sfcore/sfcore/internal/crash/store"
)

// CoreFile is a core that the kernel, or another program, wrote to a file.
type CoreFile struct {
	// ID is under which the crash is kept: see [store.NewID]; its number is that of the inode.
	ID   string
	File *os.File
	// Path is the name of the file, for people. It may have any bytes.
	Path string
	Size int64
	// UID and GID are the owner, to whom the report belongs.
	UID, GID int
	// Time is when it was written last.
	Time time.Time
}

// HandleCore is [Handler.Handle] for a core file. It returns nil if the crash was over
// budget, and only counted. Handler.Dump is not used.
func (h *Handler) HandleCore(ctx context.Context, c *CoreFile, reader ReaderOptions) (*store.Record, error) {
	h.begun = time.Now()
	when := c.Time
	if when.After(h.begun) || when.Before(time.Unix(0, 0)) {
		when = h.begun // whoever owns the file sets its time
	}
	h.rec = &store.Record{Schema: store.Schema, ID: c.ID, Time: when.UTC(), UID: c.UID, GID: c.GID, File: c.Path}
	h.store = h.Config.open()
	err := h.read(ctx, &source{
		args:  reader.args(c.Path, c.UID, c.GID, h.Config.Time.Duration),
		file:  c.File,
		core:  func() io.Reader { return io.NewSectionReader(c.File, 0, c.Size) },
		size:  c.Size,
		letGo: func() {},
		asks:  true,
	})
	return h.rec, err
}

// ReaderOptions say where the reader of a core file searches for programs and libraries.
type ReaderOptions struct {
	Paths   []string // as [process.Options] has them
	Sysroot string
}

// args are the arguments of the program that reads a core file.
func (o *ReaderOptions) args(name string, uid, gid int, most time.Duration) []string {
	args := []string{"read-core", "--sysroot=" + o.Sysroot}
	for _, p := range o.Paths {
		args = append(args, "--path="+p)
	}
	return append(args, "--", name, strconv.Itoa(uid), strconv.Itoa(gid), most.String())
}

// readable returns which of them this process may not read, now that it has given up its
// rights.
func (o *ReaderOptions) readable() error {
	var errs []error
	check := func(name string, err error) {
		if errors.Is(err, fs.ErrPermission) {
			err = fmt.Errorf("%s is not searched: user %d, as whom crashes are read here, may not read it", name, os.Getuid())
		}
		errs = append(errs, err)
	}
	if o.Sysroot != "" {
		_, err := os.Stat(filepath.Join(o.Sysroot, "etc"))
		if errors.Is(err, fs.ErrNotExist) { // one may search it
			err = nil
		}
		check(o.Sysroot, err)
	}
	for _, name := range o.Paths {
		f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
		if err == nil {
			err = f.Close()
		}
		check(name, err)
	}
	return errors.Join(errs...)
}
