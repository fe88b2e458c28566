package resolve

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	securejoin "github.com/cyphar/filepath-securejoin"
	"golang.org/x/sys/unix"

	"github.com/sfcore/sfcore/internal/elfx"
)

// openIn opens a file by its name, or by what the name is in a root.
func openIn(root, rest, name string) (*os.File, error) {
	var handle *os.File
	var err error
	if root == "" {
		handle, err = elfx.Handle(name)
	} else {
		handle, err = handleIn(root, rest)
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errno}
	} else if err != nil {
		return nil, err
	}
	defer handle.Close()
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(handle.Fd()), &st); err != nil {
		return nil, &fs.PathError{Op: "statfs", Path: name, Err: err}
	}
	if kind := kernelFileSystems[uint32(st.Type)]; kind != "" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("is a file that the kernel makes up (%s), %w", kind, elfx.ErrNotRegular)}
	}
	return elfx.OpenHandle(handle, name)
}

// handleIn returns a handle of what a name is in a root. Links lead where they
// would if the root was that of the system.
func handleIn(root, rest string) (*os.File, error) {
	dir, err := elfx.Handle(root)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	fd, err := unix.Openat2(int(dir.Fd()), rest, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS,
	})
	switch {
	case err == nil:
		return os.NewFile(uintptr(fd), rest), nil
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM), errors.Is(err, unix.EAGAIN):
		// Linux before 5.6, a seccomp filter such as our own, or the tree changes.
		return walkIn(dir, root, rest)
	}
	return nil, err
}

// walkIn is handleIn without openat2. Another process may change links after SecureJoin
// has resolved them, so each directory is opened in the last, and no link is
// followed.
func walkIn(dir *os.File, root, rest string) (*os.File, error) {
	joined, err := securejoin.SecureJoin(root, rest)
	if err != nil {
		return nil, err
	}
	handle := dir
	for element := range strings.SplitSeq(strings.TrimPrefix(joined, root+"/"), "/") {
		fd, err := unix.Openat(int(handle.Fd()), element, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if handle != dir {
			handle.Close()
		}
		if err != nil {
			return nil, err
		}
		handle = os.NewFile(uintptr(fd), joined)
	}
	return handle, nil // a link is not regular
}

// kernelFileSystems are file systems whose files are regular in name only: reading
// one may consume what it has, as of /proc/kmsg, or show what the kernel knows.
// The numbers are f_type of statfs [linux include/uapi/linux/magic.h].
var kernelFileSystems = map[uint32]string{
	unix.PROC_SUPER_MAGIC: "proc", unix.SYSFS_MAGIC: "sysfs", unix.DEBUGFS_MAGIC: "debugfs", unix.TRACEFS_MAGIC: "tracefs",
	unix.SECURITYFS_MAGIC: "securityfs", unix.SELINUX_MAGIC: "selinuxfs", unix.SMACK_MAGIC: "smackfs",
	unix.CGROUP_SUPER_MAGIC: "cgroup", unix.CGROUP2_SUPER_MAGIC: "cgroup2", unix.BPF_FS_MAGIC: "bpf", unix.PSTOREFS_MAGIC: "pstore",
	unix.EFIVARFS_MAGIC: "efivarfs", unix.BINFMTFS_MAGIC: "binfmt_misc", unix.NSFS_MAGIC: "nsfs", unix.DEVPTS_SUPER_MAGIC: "devpts",
	unix.RDTGROUP_SUPER_MAGIC: "resctrl", unix.BINDERFS_SUPER_MAGIC: "binder", unix.XENFS_SUPER_MAGIC: "xenfs",
	0x62656570: "configfs", 0x19800202: "mqueue", 0x65735543: "fusectl", 0x67596969: "rpc_pipefs", 0x6e667364: "nfsd",
}
