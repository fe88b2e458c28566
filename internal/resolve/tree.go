package resolve

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/sfcore/sfcore/internal/elfx"
)

// maxListed bounds the files below Options.Paths: a whole distribution has
// fewer, a path given by mistake may have more.
const maxListed = 1 << 20

// entry is a regular file below one of Options.Paths.
type entry struct {
	name  string
	stamp stamp
}

// stamp says whether a file is the one that was seen before.
type stamp struct {
	mtime int64 // nanoseconds
	size  int64
	inode uint64
}

// list returns the regular files in trees. It does not leave the file system of a root,
// for others that are mounted below it: a system's /proc has no end.
func list(roots []string, searching func(int)) []entry {
	var files []entry
	for _, root := range roots {
		if target, err := filepath.EvalSymlinks(root); err == nil {
			root = target
		}
		of, _ := os.Stat(root)
		_ = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			if len(files) >= maxListed {
				return fs.SkipAll
			}
			if err == nil && d.IsDir() && name != root && !sameDevice(of, d) {
				return fs.SkipDir
			}
			if err != nil || d.Type()&^fs.ModeSymlink != 0 {
				return nil //nolint:nilerr // what cannot be read is not a candidate
			}
			searching(len(files))
			if st, err := os.Stat(name); err == nil && st.Mode().IsRegular() {
				files = append(files, entry{name, stamp{st.ModTime().UnixNano(), st.Size(), inode(st)}})
			}
			return nil
		})
	}
	return files
}

// sameDevice reports whether a directory is in the file system of a root, as far as the
// system tells.
func sameDevice(root fs.FileInfo, d fs.DirEntry) bool {
	st, err := d.Info()
	return root == nil || err != nil || device(st) == device(root)
}

// indexIDs maps build-ids to the files that have them. It does not open files that
// have not changed since an earlier run.
func indexIDs(files []entry, opts Options, searching func(int)) map[string][]string {
	kept := openKept(opts)
	ids := make([]string, len(files))
	var unknown []int
	for i := range files {
		id, ok := kept.lookup(&files[i])
		if ids[i] = id; !ok {
			unknown = append(unknown, i)
		}
	}
	inParallel(len(unknown), func(i int) {
		searching(len(files))
		ids[unknown[i]] = readID(files[unknown[i]].name)
	})
	if len(unknown) > 0 || len(kept.ids) != len(files) {
		kept.save(files, ids)
	}
	byID := make(map[string][]string)
	for i, id := range ids {
		if id != "" {
			byID[id] = append(byID[id], files[i].name)
		}
	}
	return byID
}

// inParallel calls f for 0 to n-1.
func inParallel(n int, f func(i int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// readID returns the build-id of a file, "" if it has none or is not an ELF file.
func readID(name string) (id string) {
	f, err := elfx.OpenRegular(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	var magic [4]byte
	if n, _ := f.Read(magic[:]); n < 4 || string(magic[:]) != "\x7fELF" {
		return ""
	}
	data, release, err := elfx.MapOpen(f)
	if err != nil {
		return ""
	}
	defer release()
	id, _ = elfx.MappedBuildID(data) // a file that shrinks meanwhile has none
	return id
}
