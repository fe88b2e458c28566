//go:build !unix

package elfx

import "io/fs"

// Own reports whether a file belongs to this user. Where files have no user ids,
// the user's own directories are believed.
func Own(fs.FileInfo) bool { return true }

// Owner knows nothing, because the system has no numbers for users.
func Owner(fs.FileInfo) (uid int, known bool) { return 0, false }
