package module

import (
	"iter"

	"github.com/sfcore/sfcore/internal/dwarf/info"
	"github.com/sfcore/sfcore/internal/elfx"
)

// furtherFiles finds the files that debug information refers to: the file into
// which dwz put what several files have in common, and split files (.dwo, .dwp).
func (n *names) furtherFiles() info.Options {
	files := n.set.files
	if n.work > 0 || files == nil { // a registered image, or a file without a process
		return info.Options{MaxWork: n.work, Budget: &n.set.work}
	}
	return info.Options{
		Budget: &n.set.work,
		Supplement: func(name, id string) *elfx.File {
			for f := range n.openAll(files.Supplement(name, id, n.debugName())) {
				if f.BuildID() == id {
					return f
				}
			}
			return n.fetchSupplement(id)
		},
		Split: func(name, dir string) iter.Seq[*elfx.File] {
			return n.openAll(files.Split(name, dir, n.file))
		},
		Package: func() *elfx.File {
			for f := range n.openAll(files.Package(n.file, n.debugName())) {
				return f
			}
			return nil
		},
	}
}

// openAll opens every file that can be opened. The files are closed with the set.
func (n *names) openAll(names iter.Seq[string]) iter.Seq[*elfx.File] {
	return func(yield func(*elfx.File) bool) {
		for name := range names {
			f, release, err := n.set.openCandidate(n.path, name)
			if err != nil {
				continue
			}
			n.set.keep(release)
			f.Name = name
			if !yield(f) {
				return
			}
		}
	}
}

func (n *names) fetchSupplement(id string) *elfx.File {
	client := n.set.opts.Debuginfod
	if client == nil {
		return nil
	}
	name, err := client.DebugInfo(id)
	if err != nil {
		n.fetchProblem(err)
		return nil
	}
	for f := range n.openAll(func(yield func(string) bool) { yield(name) }) {
		return f
	}
	return nil
}
