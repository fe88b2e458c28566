// Package resolve finds files: the file of a module, by the path that the
// process knew and by build-id, and the separate debug files of an ELF file. It
// proposes candidates; the caller has them opened, compares them and decides. It opens
// only regular files, and no name or link leads out of a sysroot.
package resolve

import (
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
)

// Options say where to look for files.
type Options struct {
	// Exe is the file of the main program, "" to search for it.
	Exe string
	// Paths are files, and directories with files, of any layout.
	Paths []string
	// Sysroot is the directory below which recorded paths are; "" for the root
	// of this system.
	Sysroot string
	// ProcessRoot is the root directory of a live process, which may be in a
	// container; "" if there is none.
	ProcessRoot string
	// NoRoot is set if recorded paths must not be looked up: what the process has
	// mounted may never answer.
	NoRoot bool
	// CoreDir is the directory of the core file; "" for other images.
	CoreDir string
	// DebugDirs are directories of debug files; nil for the system's own, in
	// Sysroot if it is given.
	DebugDirs []string
	// CacheDir is where the build-ids of the files below Paths are kept for the
	// next run; if it is "" they are not kept.
	CacheDir string
	// Searching, if not nil, is called for each file that is looked at below Paths, with
	// how many there are so far, and with -1 at the end; also concurrently.
	Searching func(files int)
}

// systemDebugDirs are where distributions install debug files, and links by
// build-id to all files.
var systemDebugDirs = []string{"/usr/lib/debug", "/usr/lib"}

// Resolver proposes files. It is safe for concurrent use.
type Resolver struct {
	opts  Options
	roots []string // absolute
	tree  func() []entry
	byID  func() map[string][]string
	dirs  followed
}

// New returns a Resolver. It does not open any file yet.
func New(opts Options) *Resolver {
	r := &Resolver{opts: opts, roots: roots(opts)}
	searching := opts.Searching
	if searching == nil {
		searching = func(int) {}
	}
	r.tree = sync.OnceValue(func() []entry {
		defer searching(-1)
		return list(opts.Paths, searching)
	})
	r.byID = sync.OnceValue(func() map[string][]string {
		files := r.tree()
		defer searching(-1)
		return indexIDs(files, opts, searching)
	})
	return r
}

// Module describes a module.
type Module struct {
	Path    string // as the process knew it; may end in " (deleted)"
	BuildID string // in lower-case hexadecimal; "" if unknown
	Main    bool   // it is the program itself
	// Held is a path through which the file of a live process can be opened even
	// if Path has changed; "" if there is none.
	Held string
	// Unanswering is set if Path is in a file system that may never answer.
	Unanswering bool
}

// recorded returns the module's path, without the mark of a deleted file.
func (m *Module) recorded() string { return strings.TrimSuffix(m.Path, " (deleted)") }

// Images yields the names of files that may be the module's, each once: the given
// program, then files below Paths, first at the recorded path there, at the recorded path in Sysroot or on this
// system, next to the core, and in directories by build-id.
func (r *Resolver) Images(m Module) iter.Seq[string] {
	return unique(func(yield func(string) bool) {
		recorded := m.recorded()
		base := path.Base(recorded)
		if m.Main && r.opts.Exe != "" && !yield(r.opts.Exe) {
			return
		}
		for _, dir := range r.opts.Paths { // which may spare a search below it
			for _, name := range []string{recorded, base} {
				if file := r.dirs.below(dir, name); file != "" && isFile(file) && !yield(file) {
					return
				}
			}
		}
		if !r.named(base, yield) {
			return
		}
		if m.BuildID != "" && !all(r.withID(m.BuildID), yield) {
			return
		}
		// A live process's file is its own, whatever is there by that name.
		places := nonEmpty(m.Held)
		if m.Held == "" && !m.Unanswering || r.opts.Sysroot != "" {
			places = append(r.inRoots(recorded), places...)
		}
		if r.opts.CoreDir != "" {
			places = append(places, filepath.Join(r.opts.CoreDir, base))
		}
		if !all(places, yield) {
			return
		}
		if !all(r.idFiles(m.BuildID, ""), yield) || m.BuildID != "" || !m.Main {
			return
		}
		for _, e := range r.tree()[:min(len(r.tree()), maxByShape)] {
			if !yield(e.name) {
				return
			}
		}
	})
}

// isFile reports whether there is a regular file with a name.
func isFile(name string) bool {
	st, err := os.Stat(name)
	return err == nil && st.Mode().IsRegular()
}

// maxByShape bounds the files that are proposed for a module without a known
// build-id or name.
const maxByShape = 1 << 12

// named yields the files below Paths with a base name, and reports whether to
// continue.
func (r *Resolver) named(base string, yield func(string) bool) bool {
	for _, e := range r.tree() {
		if filepath.Base(e.name) == base && !yield(e.name) {
			return false
		}
	}
	return true
}

// withID returns the files below Paths with a build-id.
func (r *Resolver) withID(id string) []string {
	if len(r.tree()) == 0 {
		return nil
	}
	return r.byID()[id]
}

// idFiles returns the paths of files with a build-id in .build-id directories:
// .build-id/NN/NNNN with a suffix.
func (r *Resolver) idFiles(id, suffix string) []string {
	if len(id) < 4 {
		return nil
	}
	name := filepath.Join(".build-id", id[:2], id[2:]+suffix)
	var names []string
	for _, dir := range r.debugDirs() {
		names = append(names, filepath.Join(dir, name))
	}
	return names
}

// debugDirs returns the directories of debug files.
func (r *Resolver) debugDirs() []string {
	if r.opts.DebugDirs != nil {
		return r.opts.DebugDirs
	}
	var dirs []string
	for _, dir := range systemDebugDirs {
		if r.opts.NoRoot && r.opts.Sysroot == "" {
			dirs = append(dirs, dir) // of this system
		}
		dirs = append(dirs, r.inRoots(dir)...)
	}
	return dirs
}

// inRoots returns the places where a recorded path may be: in the sysroot or,
// without one, as the process sees it and on this system.
func (r *Resolver) inRoots(name string) []string {
	switch {
	case !path.IsAbs(name):
		return nil
	case r.opts.Sysroot != "":
		return nonEmpty(r.dirs.below(r.opts.Sysroot, name))
	case r.opts.NoRoot:
		return nil
	case r.opts.ProcessRoot != "":
		return append(nonEmpty(r.dirs.below(r.opts.ProcessRoot, name)), name)
	}
	return []string{name}
}

func nonEmpty(name string) []string {
	if name == "" {
		return nil
	}
	return []string{name}
}

// below returns a path below a root, or "". No symbolic link leads out of the root.
func below(root, name string) string {
	return new(followed).joined(root, name)
}

// unique leaves out names that were yielded before.
func unique(names iter.Seq[string]) iter.Seq[string] {
	return func(yield func(string) bool) {
		seen := map[string]bool{}
		for name := range names {
			if name = filepath.Clean(name); seen[name] {
				continue
			}
			seen[name] = true
			if !yield(name) {
				return
			}
		}
	}
}

func all(names []string, yield func(string) bool) bool {
	for _, name := range names {
		if !yield(name) {
			return false
		}
	}
	return true
}
