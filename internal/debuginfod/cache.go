package debuginfod

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/memreader"
)

// entry is a place in the cache: BUILDID/executable, BUILDID/debuginfo or
// BUILDID/source and the path. An empty file says that no server has it.
type entry struct {
	name string
	id   string // that the file must have; "" for a source file
}

func (c *Client) entry(id, kind, path string) entry {
	if path == "" {
		return entry{filepath.Join(c.cacheDir, id, kind), id}
	}
	// Names are bounded. The end of a path says most.
	escaped := strings.NewReplacer("/", "#", "\x00", "#").Replace(path)
	return entry{name: filepath.Join(c.cacheDir, id, kind+escaped[max(0, len(escaped)-maxName):])}
}

// maxName bounds the bytes of a path in the name of a file.
const maxName = 200

// lookup reports whether the cache has the file, from this user or root and of the
// right build. It returns ErrNotFound if the servers were asked a short time ago.
func (e entry) lookup() (bool, error) {
	st, err := os.Stat(e.name)
	switch {
	case err != nil || !st.Mode().IsRegular() || !elfx.Own(st):
		return false, nil //nolint:nilerr // it is not there
	case st.Size() > 0:
		return e.check(e.name) == nil, nil
	case time.Since(st.ModTime()) < missFor:
		return false, ErrNotFound
	}
	_ = os.Remove(e.name) // another process may have been faster
	return false, nil
}

// miss notes that no server has the file.
func (e entry) miss() {
	if os.MkdirAll(filepath.Dir(e.name), 0o700) != nil {
		return
	}
	if f, err := os.OpenFile(e.name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err == nil {
		_ = f.Close()
	}
}

// store writes the file, all of it or nothing.
func (e entry) store(r io.Reader) (err error) {
	dir, base := filepath.Split(e.name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, base[:min(len(base), 32)]+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	n, err := io.Copy(f, r)
	if closed := f.Close(); err == nil {
		err = closed
	}
	switch {
	case err != nil:
		return err
	case n == 0:
		return errors.New("the file is empty")
	}
	if err := e.check(f.Name()); err != nil {
		return err
	}
	return os.Rename(f.Name(), e.name)
}

// check reports whether an ELF file is the requested one.
func (e entry) check(name string) error {
	if e.id == "" {
		return nil
	}
	data, release, err := elfx.MapFile(name)
	if err != nil {
		return err
	}
	defer release()
	return e.checkMapped(data)
}

func (e entry) checkMapped(data []byte) error {
	id, err := elfx.MappedBuildID(data)
	fault := (*memreader.FaultError)(nil)
	switch {
	case errors.As(err, &fault):
		return errors.New("the file in the cache shrank or cannot be read")
	case err != nil:
		return err
	case id != e.id:
		return fmt.Errorf("a file with build-id %q was fetched for %s: %w", id, e.id, fs.ErrInvalid)
	}
	return nil
}
