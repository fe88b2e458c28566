package target

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/sframe"
)

// SidecarSuffix follows the build-id in the names of sidecars.
const SidecarSuffix = ".sframe"

// findSidecar uses the first sidecar for the module's build-id.
func (m *Module) findSidecar() {
	if m.BuildID == "" {
		return
	}
	for _, dir := range m.target.opts.SFrameDirs {
		name := filepath.Join(dir, m.BuildID+SidecarSuffix)
		f, release, err := openELF(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			if err = m.useSidecar(name, f); err != nil {
				release()
			}
		}
		if err != nil {
			m.problem("%s: not used: %w", name, err)
			continue
		}
		m.open = append(m.open, release)
		return
	}
}

func (m *Module) useSidecar(name string, f *elfx.File) error {
	if id := f.BuildID(); id != m.BuildID {
		return errors.New("it is for build-id " + orNone(id))
	}
	s := f.Section(".sframe")
	if s == nil {
		return errors.New("it has no .sframe section")
	}
	data, err := f.SectionData(s)
	if err != nil {
		return err
	}
	m.unwind.SFrame, err = sframe.Parse(data, s.Addr+m.Bias, sframe.Options{Machine: m.image.Machine})
	if err != nil {
		m.unwind.SFrame = nil
		return err
	}
	m.SFrameFile = name
	return nil
}
