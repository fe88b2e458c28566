package target

// GoModule returns the module with the Go runtime, loaded, the program before
// libraries; nil if there is none whose file is known.
func (t *Target) GoModule() *Module {
	var library *Module
	for _, m := range t.modules {
		m.load()
		if m.image == nil || m.image == m.memory || !m.hasGo() {
			continue
		}
		if m.Main {
			return m
		}
		if library == nil {
			library = m
		}
	}
	return library
}

// hasGo reports whether the module has Go's table of functions.
func (m *Module) hasGo() bool {
	return m.image.Section(".gopclntab") != nil || m.image.Section(".data.rel.ro.gopclntab") != nil
}

// OpenName is the name by which this process can open File: another one if that
// is known to the process it is of only. Loaded.
func (m *Module) OpenName() string {
	if m.held != "" && m.File == m.Path {
		return m.held
	}
	return m.File
}
