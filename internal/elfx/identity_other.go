//go:build !unix

package elfx

import "io/fs"

// identify returns what all names of a file have in common, and whether it is known.
func identify(fs.FileInfo) (id identity, known bool) { return id, false }
