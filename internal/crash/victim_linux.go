package crash

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sfcore/sfcore/internal/crash/store"
)

// Victim is the process that the kernel dumps, as the kernel and /proc tell of it.
type Victim struct {
	PID      int // %P: in the first pid namespace
	UID, GID int // %u and %g: the real ones
	Signal   int // %s
	// Dumpable is %d: 1 if the memory may be shown to the user of the process.
	Dumpable int
	// PIDFD is %F, from Linux 6.16 on: a descriptor that this program has got, -1 if
	// there is none.
	PIDFD int
}

// ParseVictim parses the arguments of a handler: %P %u %g %s %d, and %F or nothing.
func ParseVictim(args []string) (*Victim, error) {
	v := &Victim{PIDFD: -1}
	fields := []*int{&v.PID, &v.UID, &v.GID, &v.Signal, &v.Dumpable, &v.PIDFD}
	names := []string{"PID (%P)", "UID (%u)", "GID (%g)", "SIGNAL (%s)", "DUMPABLE (%d)", "PIDFD (%F)"}
	for i, arg := range args {
		n, err := strconv.ParseUint(arg, 10, 32)
		if err != nil {
			if names[i] == "PIDFD (%F)" && (arg == "" || arg == "%F") { // of a kernel that does not know it
				continue
			}
			return nil, fmt.Errorf("%s: %q is not a number; core_pattern must end in %%P %%u %%g %%s %%d", names[i], arg)
		}
		*fields[i] = int(n)
	}
	if v.PID == 0 {
		return nil, errors.New("PID (%P): must not be 0")
	}
	return v, nil
}

// Owner returns to whom the report belongs: the user of the process, or root if the
// process may not be shown to its user, or has changed users since it began.
func (v *Victim) Owner() (uid, gid int) {
	status, err := os.ReadFile(v.proc("status"))
	if err != nil || v.Dumpable != 1 || !sameIDs(string(status), "Uid:", v.UID) || !sameIDs(string(status), "Gid:", v.GID) {
		return 0, 0
	}
	return v.UID, v.GID
}

// sameIDs reports whether all ids in a line of /proc/PID/status are id: the real one,
// the effective one, the saved one and that of the file system.
func sameIDs(status, name string, id int) bool {
	for line := range strings.Lines(status) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			fields := strings.Fields(rest)
			for _, f := range fields {
				if f != strconv.Itoa(id) {
					return false
				}
			}
			return len(fields) == 4
		}
	}
	return false
}

func (v *Victim) proc(name string) string { return fmt.Sprintf("/proc/%d/%s", v.PID, name) }

// place says where the process ran.
func (v *Victim) place() store.Place {
	text, err := readProc(v.proc("cgroup"))
	if err != nil {
		return store.Place{}
	}
	return PlaceOf(text)
}

// program returns the path of the program as the process saw it, "" if it is gone.
func (v *Victim) program() string {
	name, err := os.Readlink(v.proc("exe"))
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(name, " (deleted)")
}

// maxProc bounds a file of /proc, in bytes.
const maxProc = 64 << 10

func readProc(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b := make([]byte, maxProc)
	n, err := f.Read(b)
	return string(b[:n]), err
}

// Check reports whether the process is the one that the kernel meant: the descriptor
// says which that is, and that it has not ended.
func (v *Victim) Check() error {
	if v.PIDFD < 0 {
		return nil
	}
	text, err := readProc(fmt.Sprintf("/proc/self/fdinfo/%d", v.PIDFD))
	if err != nil {
		return fmt.Errorf("the pidfd of the process: %w", err)
	}
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "Pid:"); ok {
			if pid := strings.TrimSpace(rest); pid != strconv.Itoa(v.PID) {
				return fmt.Errorf("the pidfd is of process %s, not of %d", pid, v.PID)
			}
			return nil
		}
	}
	return fmt.Errorf("descriptor %d is no pidfd", v.PIDFD)
}

// closeOnExec keeps the descriptor from programs that are started.
func (v *Victim) closeOnExec() {
	if v.PIDFD >= 0 {
		unix.CloseOnExec(v.PIDFD)
	}
}
