package resolve

import (
	"iter"
	"os"
	"strings"
)

// Substitution replaces the beginning of source paths. From matches whole
// elements; an empty one matches paths that are not absolute.
type Substitution struct{ From, To string }

// apply returns a path with its beginning replaced, if that is From.
func (s Substitution) apply(path string) (string, bool) {
	from := strings.TrimSuffix(s.From, "/")
	switch rest, ok := strings.CutPrefix(path, from); {
	case s.From == "":
		return strings.TrimSuffix(s.To, "/") + "/" + path, !strings.HasPrefix(path, "/")
	case !ok || rest != "" && rest[0] != '/':
		return "", false
	default:
		return strings.TrimSuffix(s.To, "/") + rest, true
	}
}

// Sources yields the names of files that may be the source file with a path from
// debug information: by the substitutions that apply, then at the path itself. A
// relative path, as after -ffile-prefix-map, is looked up below the working
// directory, which no link may leave, unless there is a sysroot.
func (r *Resolver) Sources(path string, substitutions []Substitution) iter.Seq[string] {
	return unique(func(yield func(string) bool) {
		for _, s := range substitutions {
			if name, ok := s.apply(path); ok && !yield(name) {
				return
			}
		}
		if cwd, err := os.Getwd(); err == nil && r.opts.Sysroot == "" && !strings.HasPrefix(path, "/") {
			all(nonEmpty(below(cwd, path)), yield)
			return
		}
		all(r.inRoots(path), yield)
	})
}
