package core

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

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
}

func newHeldFiles() *heldFiles { return &heldFiles{files: map[string]*os.File{}} }

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
// For other files only the process's memory says what is code.
func (h *heldFiles) hold(d *procDir, maps []procMapping) {
	for i := range maps {
		m := &maps[i]
		if !m.Exec || m.inode == 0 || len(h.files) >= maxHeld {
			continue
		}
		key := fileKey(m)
		if _, tried := h.files[key]; !tried {
			h.files[key] = d.openMapped(m)
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

// arch returns the architecture of the program that the process runs.
func (d *procDir) arch() (*arch.Arch, error) {
	f, err := d.openRegular(d.memory("exe"))
	if err != nil {
		return nil, d.explain(err)
	}
	defer f.Close()
	head := make([]byte, headSize)
	n, err := f.ReadAt(head, 0)
	if n == 0 {
		return nil, fmt.Errorf("process %d: reading the program: %w", d.pid, err)
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

// ownPIDNamespace names the pid namespace of this process.
func ownPIDNamespace() string {
	ns, _ := os.Readlink("/proc/self/ns/pid")
	return ns
}
