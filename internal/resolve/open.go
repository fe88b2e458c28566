package resolve

import (
	"os"
	"path/filepath"
	"strings"
)

// Open opens a file that the Resolver proposed, if it is a regular file with contents
// of its own. If the name is below the sysroot, below the root of the process or,
// with a sysroot, below a directory of debug files, then so is what is opened: links
// are followed as they are in that root. The caller closes the file. The error wraps [elfx.ErrNotRegular] if the file is there, but
// is not one that is opened.
func (r *Resolver) Open(name string) (*os.File, error) {
	if name == r.opts.Exe { // which the user named
		return openIn("", "", name)
	}
	root, rest := r.split(name)
	return openIn(root, rest, name)
}

// split returns the root that a name must not leave, and the name in that root; "" if
// there is none.
func (r *Resolver) split(name string) (root, rest string) {
	if len(r.roots) == 0 {
		return "", ""
	}
	abs := absolute(name)
	for _, root := range r.roots {
		if rest, ok := strings.CutPrefix(abs, root+"/"); ok {
			return root, rest
		}
	}
	return "", ""
}

// beside returns the name that a file gives for another, relative to itself, without
// leaving the root of the file; "" if it has none that a sysroot allows.
func (r *Resolver) beside(file, name string) string {
	root, rest := r.split(file)
	if root == "" && r.opts.Sysroot != "" && !filepath.IsLocal(name) {
		return ""
	}
	if root == "" {
		return filepath.Join(filepath.Dir(file), name)
	}
	// The name stays as it was written: --sysroot may be relative.
	prefix := strings.TrimSuffix(filepath.Clean(file), rest)
	return prefix + strings.TrimPrefix(filepath.Join("/", filepath.Dir(rest), name), "/")
}

// roots returns the directories that names must not leave.
func roots(opts Options) []string {
	roots, dirs := []string{}, []string{opts.Sysroot, opts.ProcessRoot}
	if opts.Sysroot != "" {
		dirs = append(dirs, opts.DebugDirs...)
	}
	for _, root := range dirs {
		if root = absolute(root); root != "" && root != "/" {
			roots = append(roots, root)
		}
	}
	return roots
}

// absolute returns a name from the root of this system; "" for "".
func absolute(name string) string {
	if name == "" {
		return ""
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return name
	}
	return abs
}
