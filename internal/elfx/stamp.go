package elfx

import "io/fs"

// Stamp identifies a version of a file on this machine. It is zero for a file that was
// not opened by its name.
type Stamp struct {
	Size              int64 // in bytes
	Modified, Changed int64 // in nanoseconds since 1970; Changed is 0 if the system does not tell
	Inode, Device     uint64
}

func stampOf(st fs.FileInfo) Stamp {
	s := Stamp{Size: st.Size(), Modified: st.ModTime().UnixNano()}
	s.addInode(st)
	return s
}
