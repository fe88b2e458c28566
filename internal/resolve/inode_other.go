//go:build !unix

package resolve

import "io/fs"

// inode returns 0, because the system has no inodes. Time and size must do.
func inode(fs.FileInfo) uint64 { return 0 }

// device returns 0: all files are in the same file system, as far as is known.
func device(fs.FileInfo) uint64 { return 0 }
