package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/sfcore/sfcore/internal/crash"
	"github.com/sfcore/sfcore/internal/debuginfod"
)

// fetched are debug files from servers, in a directory that every user may read: the
// cache belongs to the user who has started this program, and reports are read as others.
// It is safe for concurrent use.
type fetched struct {
	client *debuginfod.Client
	dir    string

	mu    sync.Mutex
	known map[string]string // by build-id; "" if no server has it
	said  bool
}

func newFetched(ctx context.Context) (*fetched, error) {
	client, err := debuginfod.FromEnvironment(ctx)
	if err != nil {
		return nil, fmt.Errorf("--debuginfod: %w", err)
	}
	dir, err := os.MkdirTemp("", "sfcore-symbols-*")
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // others read it
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &fetched{client: client, dir: dir, known: map[string]string{}}, nil
}

func (f *fetched) remove() { _ = os.RemoveAll(f.dir) }

// add adds the debug files of builds to where a reader searches, and reports whether there
// are any.
func (f *fetched) add(to *crash.ReaderOptions, ids []string) bool {
	var paths []string
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range ids {
		name, ok := f.known[id]
		if !ok {
			var err error
			name, err = f.one(id)
			if err != nil && !errors.Is(err, debuginfod.ErrNotFound) && !f.said {
				f.said = true
				sayHere(fmt.Sprintf("the debug file of build-id %s was not fetched: %v", id, err))
			}
			f.known[id] = name
		}
		if name != "" {
			paths = append(paths, name)
		}
	}
	to.Paths = append(paths, to.Paths...)
	return len(paths) > 0
}

// one fetches a debug file and copies it.
func (f *fetched) one(id string) (string, error) {
	from, err := f.client.DebugInfo(id)
	if err != nil {
		return "", err
	}
	in, err := os.Open(from)
	if err != nil {
		return "", err
	}
	defer in.Close()
	name := filepath.Join(f.dir, id+".debug")
	out, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // others read it
	if err != nil {
		return "", err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Close()); err != nil {
		_ = os.Remove(name)
		return "", err
	}
	return name, nil
}
