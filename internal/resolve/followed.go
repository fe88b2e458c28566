package resolve

import (
	"strings"
	"sync"
)

// followed remembers where the links of directories lead: many files are in the same
// directory, and a few links can stand for hundreds. It is safe for concurrent use.
type followed struct {
	mu   sync.Mutex
	dirs map[[2]string]realDir // by root and name
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
		return below(root, name)
	}
	at := f.real(root, name[:i+1])
	if !at.ok {
		return ""
	}
	return below(root, at.dir+"/"+base)
}

func (f *followed) real(root, dir string) realDir {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, known := f.dirs[[2]string{root, dir}]
	if !known {
		at.dir, at.ok = inside(root, dir)
		if f.dirs == nil || len(f.dirs) >= maxFollowed {
			f.dirs = map[[2]string]realDir{}
		}
		f.dirs[[2]string{root, dir}] = at
	}
	return at
}
