package info

import "path"

// fileNamed is the path that was asked for last, as it mostly is again.
type fileNamed struct {
	table  *lineTable
	number uint64
	path   string
}

// pathBytes is how many bytes of a path are joined in the time of a step.
const pathBytes = 4

// fileName returns the path of a file by its number in the unit's table.
func (u *unit) fileName(i uint64) string {
	d, t := u.file.d, u.lineTable()
	if d.named.table != t || d.named.number != i {
		name := u.joined(t, i)
		if !d.work.spend(len(name) / pathBytes) {
			return ""
		}
		d.named = fileNamed{t, i, name}
	}
	return d.named.path
}

func (u *unit) joined(t *lineTable, i uint64) string {
	if i >= uint64(len(t.files)) || t.version < 5 && i == 0 {
		return ""
	}
	name := pathOf(t.files[i].name)
	if name == "" || path.IsAbs(name) {
		return name
	}
	var dir string
	n := t.files[i].dir
	if n < uint64(len(t.dirs)) {
		dir = pathOf(t.dirs[n])
	}
	if n > 0 && !path.IsAbs(dir) && len(t.dirs) > 0 { // by the compiler's, which is the first
		dir = path.Join(pathOf(t.dirs[0]), dir)
	}
	return path.Join(dir, name)
}

// pathOf copies a name, unless that is too long for one.
func pathOf(name []byte) string {
	if len(name) > maxPath {
		return ""
	}
	return string(name)
}
