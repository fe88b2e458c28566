//go:build !unix

package resolve

import "io/fs"

// inode returns 0: the system has none. Time and size have to do.
func inode(fs.FileInfo) uint64 { return 0 }
