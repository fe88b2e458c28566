package resolve

import (
	"path/filepath"
	"strings"
	"sync"

	securejoin "github.com/cyphar/filepath-securejoin"
)

// followed remembers where the links of directories lead: many files are in the same
// directory, and a few links can stand for hundreds. It is safe for concurrent use.
type followed struct {
	mu    sync.Mutex
	dirs  map[[2]string]realDir // by root and name
	roots map[string]string     // absolute, by what was given
}

// realDir is where a directory is, from its root on.
type realDir struct {
	dir string
	ok  bool
}

// maxFollowed bounds the directories that are remembered.
const maxFollowed = 1 << 12

// below is the function of this name, but follows the links of the directory once.
func (f *followed) below(root, name string) string {
	i := strings.LastIndexByte(name, '/')
	base := name[i+1:]
	if base == "" || base == "." || base == ".." {
		return f.joined(root, name)
	}
	at := f.real(root, name[:i+1])
	if !at.ok {
		return ""
	}
	return f.joined(root, at.dir+"/"+base)
}

// joined follows all links.
func (f *followed) joined(root, name string) string {
	rest, ok := f.inside(root, name)
	if !ok {
		return ""
	}
	return filepath.Join(root, rest)
}

// inside is joined from the root on.
func (f *followed) inside(root, name string) (rest string, ok bool) {
	abs, err := f.absolute(root)
	if err != nil {
		return "", false
	}
	joined, err := securejoin.SecureJoin(abs, name)
	return strings.TrimPrefix(joined, abs), err == nil
}

// absolute returns a root, whose directory is asked for once.
func (f *followed) absolute(root string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if abs, known := f.roots[root]; known {
		return abs, nil
	}
	abs, err := filepath.Abs(root)
	if err == nil {
		if f.roots == nil {
			f.roots = map[string]string{}
		}
		f.roots[root] = abs
	}
	return abs, err
}

func (f *followed) real(root, dir string) realDir {
	key := [2]string{root, dir}
	f.mu.Lock()
	at, known := f.dirs[key]
	f.mu.Unlock()
	if known {
		return at
	}
	at.dir, at.ok = f.inside(root, dir)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dirs == nil || len(f.dirs) >= maxFollowed {
		f.dirs = map[[2]string]realDir{}
	}
	f.dirs[key] = at
	return at
}
