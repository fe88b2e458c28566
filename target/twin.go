package target

import "github.com/sfcore/sfcore/internal/elfx"

// openImage is openCandidate, but for a file that a module was found to be of: it
// is opened, and its names and lines are read, once.
func (m *Module) openImage(name string) (*elfx.File, func(), error) {
	if first := m.target.firstOf(name); first != nil {
		return first.image, func() {}, nil
	}
	return m.openCandidate(name)
}

// join notes that the module is of a file, and which one was first.
func (m *Module) join(name string) {
	t := m.target
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.first == nil {
		t.first = make(map[string]*Module)
	}
	if first := t.first[name]; first == nil {
		t.first[name] = m
	} else if first.image == m.image {
		m.twin = first
	}
}

// firstOf returns the first module of a file; nil if there is none.
func (t *Target) firstOf(name string) *Module {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.first[name]
}
