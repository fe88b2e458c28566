package resolve

import (
	"iter"
	"os"
	"path"
	"strings"
)

// Substitution replaces the beginning of source paths. From matches whole
// elements; an empty one matches paths that are not absolute.
type Substitution struct{ From, To string }

// apply returns a path with its beginning replaced, if that is From.
func (s Substitution) apply(file string) (string, bool) {
	from := strings.TrimSuffix(s.From, "/")
	switch rest, ok := strings.CutPrefix(file, from); {
	case s.From == "":
		return s.below(file), !strings.HasPrefix(file, "/")
	case !ok || rest != "" && rest[0] != '/':
		return "", false
	default:
		return s.below(rest), true
	}
}

// below returns the name of a file below To, whatever ".." the rest of its path has.
func (s Substitution) below(rest string) string {
	return strings.TrimSuffix(s.To, "/") + path.Clean("/"+rest)
}

// Sources yields the names of files that may be the source file with a path from
// debug information: by the substitutions that apply, then at the path itself. A
// relative path, as after -ffile-prefix-map, is looked up below the working
// directory, which no link may leave, unless there is a sysroot. The paths of a live
// process, which may lie, are looked up in its root only.
func (r *Resolver) Sources(file string, substitutions []Substitution) iter.Seq[string] {
	return unique(func(yield func(string) bool) {
		for _, s := range substitutions {
			if name, ok := s.apply(file); ok && !yield(name) {
				return
			}
		}
		if (r.opts.ProcessRoot != "" || r.opts.NoRoot) && r.opts.Sysroot == "" {
			if path.IsAbs(file) && !r.opts.NoRoot {
				all(nonEmpty(below(r.opts.ProcessRoot, file)), yield)
			}
			return
		}
		if cwd, err := os.Getwd(); err == nil && r.opts.Sysroot == "" && !path.IsAbs(file) {
			all(nonEmpty(below(cwd, file)), yield)
			return
		}
		all(r.inRoots(file), yield)
	})
}
