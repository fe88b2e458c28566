//go:build linux && (amd64 || arm64)

package sandbox

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ordinary are the files and directories of the system below which there are no
// devices, and no files in which the kernel tells of itself or of processes.
type ordinary struct {
	hidden  map[string]bool // mount points of other files
	parents map[string]bool // directories with such a mount point below
	open    []*os.File

	dirs, files []string // names of open
}

// ordinaryFiles opens the directories and files next to the mount points of other
// files, and returns names that lead to what was opened until release is
// called, whatever is renamed.
func ordinaryFiles() (dirs, files []string, release func(), err error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, nil, nil, err
	}
	o := &ordinary{hidden: map[string]bool{}, parents: map[string]bool{}}
	release = func() {
		for _, f := range o.open {
			f.Close()
		}
	}
	root, err := os.OpenFile("/", unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, nil, nil, err
	}
	o.open = append(o.open, root)
	shown := o.sort(string(mounts))
	o.add(root, "/")
	for _, name := range shown {
		o.addBelow(root, strings.TrimPrefix(name, "/"), name)
	}
	return o.dirs, o.files, release, nil
}

// neverOrdinary are hidden whatever file system they are of: containers have a
// tmpfs at /dev.
var neverOrdinary = []string{"/dev", "/proc", "/sys"}

// kernelFileSystems are the types of file systems that hold no files of users, as
// mountinfo names them. A directory that automounts is of none of these types.
var kernelFileSystems = []string{
	"proc", "sysfs", "devtmpfs", "devpts", "debugfs", "tracefs", "securityfs", "cgroup", "cgroup2", "bpf", "configfs", "pstore", "efivarfs",
	"mqueue", "binfmt_misc", "fusectl", "nsfs", "hugetlbfs", "selinuxfs", "smackfs", "rpc_pipefs", "nfsd", "resctrl", "functionfs", "binder",
}

// sort finds in mountinfo [proc_pid_mountinfo(5)] what is hidden, and returns the
// other mount points below that, such as /dev/shm.
func (o *ordinary) sort(mountinfo string) (shown []string) {
	for _, name := range neverOrdinary {
		o.hide(name)
	}
	var others []string
	for line := range strings.Lines(mountinfo) {
		fields := strings.Fields(line)
		dash := slices.Index(fields, "-")
		if dash < 5 || dash+1 >= len(fields) {
			continue
		}
		name := unescape(fields[4])
		if slices.Contains(kernelFileSystems, fields[dash+1]) {
			o.hide(name)
		} else {
			others = append(others, name)
		}
	}
	for _, name := range others {
		if !o.hidden[name] && o.inHidden(name) {
			shown = append(shown, name)
		}
	}
	return shown
}

func (o *ordinary) hide(name string) {
	o.hidden[name] = true
	for name != "/" && name != "." {
		name = path.Dir(name)
		o.parents[name] = true
	}
}

func (o *ordinary) inHidden(name string) bool {
	for ; name != "/" && name != "."; name = path.Dir(name) {
		if o.hidden[name] {
			return true
		}
	}
	return false
}

// add adds what is below dir, or dir itself if nothing below it is hidden. What
// cannot be read is left out.
func (o *ordinary) add(dir *os.File, name string) {
	if !o.parents[name] {
		o.dirs = append(o.dirs, fdName(dir))
		return
	}
	list, err := os.ReadDir(fdName(dir))
	if err != nil {
		return
	}
	for _, entry := range list {
		if below := path.Join(name, entry.Name()); !o.hidden[below] {
			o.addBelow(dir, entry.Name(), below)
		}
	}
}

// addBelow adds the file or directory that is called base in dir, and name from the
// root. It follows no link: what a link leads to is below the root too.
func (o *ordinary) addBelow(dir *os.File, base, name string) {
	fd, err := unix.Openat(int(dir.Fd()), base, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	f := os.NewFile(uintptr(fd), name)
	o.open = append(o.open, f)
	if st, err := f.Stat(); err == nil && st.IsDir() {
		o.add(f, name)
	} else if err == nil && st.Mode().IsRegular() {
		o.files = append(o.files, fdName(f))
	}
}

// fdName leads to an open file.
func fdName(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }

// unescape reads a name as mountinfo has it: space, tab, newline and backslash are \
// and three octal digits.
func unescape(s string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, `\`)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		digits := after[:min(3, len(after))]
		if code, err := strconv.ParseUint(digits, 8, 8); err == nil {
			b.WriteByte(byte(code))
		}
		s = after[len(digits):]
	}
}
