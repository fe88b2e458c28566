package module

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/sfcore/sfcore/internal/elfx"
)

// SidecarSuffix follows the build-id in the names of sidecars.
const SidecarSuffix = ".sframe"

// findSidecar uses the first valid sidecar for the module's build-id.
func (l *loader) findSidecar() {
	if l.m.BuildID == "" {
		return
	}
	for _, dir := range l.site.set.opts.SFrameDirs {
		name := filepath.Join(dir, l.m.BuildID+SidecarSuffix)
		f, release, err := elfx.Open(name, &l.site.set.budget)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			if err = l.useSidecar(name, f); err != nil {
				release()
			}
		}
		if err != nil {
			l.problem("%s: not used: %w", name, err)
			continue
		}
		l.site.set.keep(release)
		return
	}
}

func (l *loader) useSidecar(name string, f *elfx.File) error {
	if id := f.BuildID(); id != l.m.BuildID {
		return errors.New("it is for build-id " + orNone(id))
	}
	s := f.SFrameSection()
	if s == nil {
		return errors.New("it has no .sframe section")
	}
	data, err := f.SectionData(s)
	if err != nil {
		return err
	}
	section, err := l.parseSFrame(data, s.Addr+l.site.bias, s)
	if err != nil {
		return err
	}
	l.m.Tables.SFrame, l.m.Files.Sidecar = section, name
	return nil
}
