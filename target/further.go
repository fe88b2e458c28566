package target

import (
	"iter"

	"github.com/sfcore/sfcore/internal/dwarf/info"
	"github.com/sfcore/sfcore/internal/elfx"
)

// furtherFiles finds the files that the module's debug information refers to.
func (m *Module) furtherFiles() info.Options {
	files := m.target.files
	if m.registered != nil {
		return info.Options{MaxWork: workPerByte * len(m.registered)}
	}
	if files == nil { // a file by itself
		return info.Options{}
	}
	return info.Options{
		Supplement: func(name, id string) *elfx.File {
			for f := range m.openAll(files.Supplement(name, id, m.DebugFile)) {
				if f.BuildID() == id {
					return f
				}
			}
			return m.fetchSupplement(id)
		},
		Split: func(name, dir string) iter.Seq[*elfx.File] {
			return m.openAll(files.Split(name, dir, m.File))
		},
		Package: func() *elfx.File {
			for f := range m.openAll(files.Package(m.File, m.DebugFile)) {
				return f
			}
			return nil
		},
	}
}

// openAll opens the files that can be, to be closed with the target.
func (m *Module) openAll(names iter.Seq[string]) iter.Seq[*elfx.File] {
	return func(yield func(*elfx.File) bool) {
		for name := range names {
			f, release, err := m.openCandidate(name)
			if err != nil {
				continue
			}
			m.keep(release)
			f.Name = name
			if !yield(f) {
				return
			}
		}
	}
}

func (m *Module) fetchSupplement(id string) *elfx.File {
	client := m.target.opts.Debuginfod
	if client == nil {
		return nil
	}
	name, err := client.DebugInfo(id)
	if err != nil {
		m.fetchProblem(err)
		return nil
	}
	for f := range m.openAll(func(yield func(string) bool) { yield(name) }) {
		return f
	}
	return nil
}

// keep has a file released when the target is closed.
func (m *Module) keep(release func()) {
	m.target.mu.Lock()
	defer m.target.mu.Unlock()
	m.open = append(m.open, release)
}
