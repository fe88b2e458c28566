package target

import (
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	securejoin "github.com/cyphar/filepath-securejoin"
	"github.com/sfcore/sfcore/internal/elfx"
)

const (
	// maxIndexed bounds the files below Options.Paths: a whole distribution
	// has fewer, a path given by mistake may have more.
	maxIndexed = 1 << 20

	// maxByShape bounds the files that are opened for a module of which
	// neither a build-id nor a name is known.
	maxByShape = 1 << 12
)

// fileSearch finds candidates for the files of modules. It opens regular
// files only.
type fileSearch struct {
	opts    *Options
	coreDir string // "" if the image is from no file
	listed  func() []string
	byID    func() map[string][]string
}

func newFileSearch(opts *Options, corePath string) *fileSearch {
	s := &fileSearch{opts: opts}
	if corePath != "" && corePath != "-" {
		s.coreDir = filepath.Dir(corePath)
	}
	s.listed = sync.OnceValue(s.list)
	s.byID = sync.OnceValue(s.indexIDs)
	return s
}

// candidates yields the names of files that may be m's, each once: the program
// file given, those below Paths, below Sysroot, next to the core, and the path
// that the process knew.
func (s *fileSearch) candidates(m *Module) iter.Seq[string] {
	return func(yield func(string) bool) {
		seen := map[string]bool{}
		for name := range s.all(m) {
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

func (s *fileSearch) all(m *Module) iter.Seq[string] {
	recorded := strings.TrimSuffix(m.Path, " (deleted)")
	base := path.Base(recorded)
	return func(yield func(string) bool) {
		if m.Main && s.opts.Exe != "" && !yield(s.opts.Exe) {
			return
		}
		for _, name := range s.listed() {
			if filepath.Base(name) == base && !yield(name) {
				return
			}
		}
		if s.opts.Sysroot != "" {
			if name := s.belowSysroot(recorded); name != "" && !yield(name) {
				return
			}
		}
		if s.coreDir != "" && !yield(filepath.Join(s.coreDir, base)) {
			return
		}
		if m.held != "" {
			if !yield(m.held) {
				return
			}
			// With a sysroot, a file of the recorded name elsewhere is another one.
		} else if s.opts.Sysroot == "" && path.IsAbs(recorded) && !yield(recorded) {
			return
		}
		if len(s.listed()) == 0 {
			return
		}
		for _, name := range s.others(m) {
			if !yield(name) {
				return
			}
		}
	}
}

// belowSysroot returns where a recorded path is below the sysroot, or "". No
// symbolic link leads out of it.
func (s *fileSearch) belowSysroot(recorded string) string {
	root, err := filepath.Abs(s.opts.Sysroot)
	if err != nil {
		return ""
	}
	name, err := securejoin.SecureJoin(root, recorded)
	if err != nil {
		return ""
	}
	return filepath.Join(s.opts.Sysroot, strings.TrimPrefix(name, root))
}

// others returns the files below Paths that have m's build-id under another
// name or, if that is not known, all of them.
func (s *fileSearch) others(m *Module) []string {
	if m.BuildID != "" {
		return s.byID()[m.BuildID]
	}
	if !m.Main {
		return nil
	}
	return s.listed()[:min(len(s.listed()), maxByShape)]
}

// list returns the regular files below Paths.
func (s *fileSearch) list() []string {
	var files []string
	for _, root := range s.opts.Paths {
		if target, err := filepath.EvalSymlinks(root); err == nil {
			root = target
		}
		_ = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			switch {
			case err != nil || len(files) >= maxIndexed:
				return nil //nolint:nilerr // what cannot be read is not a candidate
			case d.Type().IsRegular(), d.Type()&fs.ModeSymlink != 0 && isRegular(name):
				files = append(files, name)
			}
			return nil
		})
	}
	return files
}

func isRegular(name string) bool {
	st, err := os.Stat(name)
	return err == nil && st.Mode().IsRegular()
}

// indexIDs maps build-ids to the files below Paths that have them.
func (s *fileSearch) indexIDs() map[string][]string {
	ids := make(map[string][]string)
	for _, name := range s.listed() {
		if !looksLikeELF(name) {
			continue
		}
		f, release, err := openELF(name)
		if err != nil {
			continue
		}
		if id := f.BuildID(); id != "" {
			ids[id] = append(ids[id], name)
		}
		release()
	}
	return ids
}

// looksLikeELF tells by the first bytes, without mapping the file.
func looksLikeELF(name string) bool {
	f, err := elfx.OpenRegular(name)
	if err != nil {
		return false
	}
	defer f.Close()
	var magic [4]byte
	n, _ := f.Read(magic[:])
	return n == 4 && string(magic[:]) == "\x7fELF"
}
