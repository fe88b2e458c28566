package core

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/elfx"
)

// maxHeld bounds the files of a process that are held open; the largest
// programs have some hundreds of libraries.
const maxHeld = 4096

// heldFiles are the files that a process has mapped code of, open so that they
// can be read after it has ended, and when they have been deleted.
type heldFiles struct {
	files map[string]*os.File // by device, inode and path; nil where opening failed
	// mounted are the file systems that are asked; nil for all.
	mounted  fileSystems
	mayHang  bool          // the process has mounted some that may never answer
	left     time.Duration // for opening files that are still to be opened
	problems []error
}

// maxOpening is how long files may take to be opened, all of them together: on a
// network or a disk that answers, some milliseconds.
const maxOpening = 2 * time.Second

func newHeldFiles() *heldFiles { return &heldFiles{files: map[string]*os.File{}, left: maxOpening} }

// doubt says why the file behind a mapping is not opened, "" if it is.
func (h *heldFiles) doubt(m *procMapping) string {
	if h.mounted == nil {
		return ""
	}
	return h.mounted.doubt(m)
}

func (h *heldFiles) close() {
	for _, f := range h.files {
		if f != nil {
			f.Close()
		}
	}
}

func fileKey(m *procMapping) string {
	return m.dev + " " + strconv.FormatUint(m.inode, 10) + " " + m.Path
}

// name returns a path through which sfcore can open the file behind a mapping,
// "" if the file is not held.
func (h *heldFiles) name(m *procMapping) string {
	if f := h.files[fileKey(m)]; f != nil {
		return fmt.Sprintf("/proc/self/fd/%d", f.Fd())
	}
	return ""
}

// hold opens the ELF files that have an executable mapping and are not held yet.
// For other files only the process's memory says what is code. It waits for all
// files no longer than maxOpening.
func (h *heldFiles) hold(d *procDir, maps []procMapping) {
	var list []procMapping
	for i := range maps {
		m := &maps[i]
		if !m.Exec || m.inode == 0 || len(h.files) >= maxHeld {
			continue
		}
		key := fileKey(m)
		if _, tried := h.files[key]; tried {
			continue
		}
		h.files[key] = nil
		if why := h.doubt(m); why != "" {
			h.problems = append(h.problems, fmt.Errorf("%s: not opened: it is in a file system %s, which may never answer", m.Path, why))
			continue
		}
		list = append(list, *m)
	}
	if most := h.most(); len(list) > most {
		h.problems = append(h.problems, fmt.Errorf("%d files of the process are not opened: sfcore may not have more open; raise the limit with ulimit -n", len(list)-most))
		list = list[:most]
	}
	if len(list) == 0 {
		return
	}
	opened, enough := make(chan *os.File), make(chan struct{})
	defer close(enough)
	go d.openAll(list, opened, enough)
	h.receive(list, opened)
}

// otherFiles is how many files sfcore has open besides.
const otherFiles = 32

// most returns how many more files can be held.
func (h *heldFiles) most() int {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil || limit.Cur > 2*maxHeld {
		return maxHeld
	}
	held := 0
	for _, f := range h.files {
		if f != nil {
			held++
		}
	}
	return max(int(limit.Cur)-otherFiles-held, 0)
}

// receive takes the files of a list, as long as there is time left.
func (h *heldFiles) receive(list []procMapping, opened <-chan *os.File) {
	began, timer := time.Now(), time.NewTimer(h.left)
	defer func() {
		timer.Stop()
		h.left = max(h.left-time.Since(began), 0)
	}()
	for i := range list {
		select {
		case f := <-opened:
			h.files[fileKey(&list[i])] = f
		case <-timer.C:
			h.problems = append(h.problems, fmt.Errorf("%s: its file system did not answer in %v; it and %d more files are not opened",
				list[i].Path, maxOpening, len(list)-1-i))
			return
		}
	}
}

// openAll sends the files of a list, nil for those that cannot be opened, until
// enough is closed. It works with a descriptor of its own, which the visit does not
// close.
func (d *procDir) openAll(list []procMapping, opened chan<- *os.File, enough <-chan struct{}) {
	own := *d
	var err error
	if own.fd, err = unix.FcntlInt(uintptr(d.fd), unix.F_DUPFD_CLOEXEC, 0); err == nil {
		defer own.close()
	}
	for i := range list {
		var f *os.File
		if err == nil {
			f = own.openMapped(&list[i])
		}
		select {
		case opened <- f:
		case <-enough:
			if f != nil {
				f.Close()
			}
			return
		}
	}
}

// openMapped opens the file behind a mapping. It tries map_files, which is exact
// but needs privileges; then the path as the process sees it; then, for the
// program, /proc/PID/exe. It returns nil if none can be opened, or if the file is
// not an ELF file.
func (d *procDir) openMapped(m *procMapping) *os.File {
	names := []string{fmt.Sprintf("map_files/%x-%x", m.Lo, m.Hi)}
	if !m.Deleted {
		names = append(names, d.memory("root")+m.Path)
	}
	if exe, _ := strings.CutSuffix(d.link(d.memory("exe")), deletedSuffix); exe == m.Path {
		names = append(names, d.memory("exe"))
	}
	for _, name := range names {
		if f, err := d.openRegular(name); err == nil {
			if isELF(f) {
				return f
			}
			f.Close()
			return nil
		}
	}
	return nil
}

func isELF(f *os.File) bool {
	head := make([]byte, len(elfx.Magic))
	_, err := f.ReadAt(head, 0)
	return err == nil && string(head) == elfx.Magic
}

var errNotRegular = errors.New("not a regular file")

// openRegular opens a file only if it is regular. Opening has no effect on files
// of other kinds.
func (d *procDir) openRegular(name string) (*os.File, error) {
	path, err := d.open(name, unix.O_PATH)
	if err != nil {
		return nil, err
	}
	defer path.Close()
	if st, err := path.Stat(); err != nil {
		return nil, err
	} else if !st.Mode().IsRegular() {
		return nil, errNotRegular
	}
	return os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", path.Fd()), os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
}

// findArch returns the architecture of the program that the process runs. The vDSO has
// it too, and no file system has to be asked for that.
func (v *visit) findArch() (*arch.Arch, error) {
	d, head := v.dir, make([]byte, headSize)
	n := 0
	for i := range v.maps {
		if m := &v.maps[i]; m.Path == "[vdso]" && m.inode == 0 {
			n, _ = v.mem.ReadMem(head, m.Lo)
		}
	}
	if n == 0 {
		f, err := d.openRegular(d.memory("exe"))
		if err != nil {
			return nil, d.explain(err)
		}
		defer f.Close()
		if n, err = f.ReadAt(head, 0); n == 0 {
			return nil, fmt.Errorf("process %d: reading the program: %w", d.pid, err)
		}
	}
	e, err := elfx.Parse(head[:n])
	if fe := (*elfx.FormatError)(nil); errors.As(err, &fe) {
		return nil, fmt.Errorf("process %d: the program it runs: %s", d.pid, fe.Msg)
	} else if err != nil {
		return nil, err
	}
	a, ok := arch.ForMachine(e.Machine, e.BigEndian)
	if !ok {
		return nil, fmt.Errorf("process %d runs a program for ELF machine %d; sfcore knows %s", d.pid, e.Machine, arch.Names())
	}
	return a, nil
}

// ownNamespace names a namespace of this process.
func ownNamespace(kind string) string {
	ns, _ := os.Readlink("/proc/self/ns/" + kind)
	return ns
}
