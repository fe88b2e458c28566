package module

import (
	"slices"

	"github.com/sfcore/sfcore/core"
)

// maxKeptWork is the work in debug information after which a set is not renewed, so
// that many snapshots do not add up to the limit.
const maxKeptWork = 1 << 26

// Renew makes the set that of another snapshot of the same process, which it then
// owns, and closes the image that it had. It reports false and does nothing if other
// files are mapped now. No other method may be in use.
func (s *Set) Renew(img *core.Image) bool {
	if img.PID != s.img.PID || img.Arch != s.img.Arch || s.work.Used() > maxKeptWork || !slices.Equal(mappedFiles(s.img), mappedFiles(img)) {
		return false
	}
	old := s.img
	s.img, s.mem.Top, s.jit = img, img.Mem, generated{}
	s.layOut()
	if err := old.Close(); err != nil {
		s.Note(err)
	}
	return true
}

// mappedFiles returns the mappings of files. The others are memory of the process, which
// comes and goes.
func mappedFiles(img *core.Image) []core.Mapping {
	return slices.DeleteFunc(slices.Clone(img.Mappings), func(m core.Mapping) bool { return m.Path == "" || m.Path[0] == '[' && m.Path != vdsoName })
}
