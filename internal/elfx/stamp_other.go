//go:build !linux

package elfx

import "io/fs"

// addInode adds nothing. Time and size must do.
func (*Stamp) addInode(fs.FileInfo) {}
