//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"slices"

	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/sys/unix"
)

const (
	readFile = landlock.AccessFSSet(unix.LANDLOCK_ACCESS_FS_READ_FILE)
	readFS   = readFile | landlock.AccessFSSet(unix.LANDLOCK_ACCESS_FS_READ_DIR)

	// spoolFS are the rights that a temporary file for a core needs.
	spoolFS = readFS | landlock.AccessFSSet(unix.LANDLOCK_ACCESS_FS_WRITE_FILE|unix.LANDLOCK_ACCESS_FS_MAKE_REG|
		unix.LANDLOCK_ACCESS_FS_REMOVE_FILE|unix.LANDLOCK_ACCESS_FS_TRUNCATE)

	// firstFS are the rights of Landlock's first version, of Linux 5.13. They are enough
	// where the filter lets no file be opened for writing.
	firstFS = landlock.AccessFSSet(unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1)
	// everyFS are the rights of Landlock's third version, of Linux 6.2: the
	// first that keeps files from being truncated.
	everyFS = landlock.AccessFSSet(unix.LANDLOCK_ACCESS_FS_TRUNCATE<<1 - 1)
)

// Enter gives up, for all threads, the rights to run programs, to use
// the network, to change files other than temporary ones below spool, to
// read devices and what the kernel tells of itself and of processes, and to reach
// other processes; and capabilities. What is open stays open. The error says what
// the system lacks.
//
// The first step, before a core is read. The second is [Finish].
func Enter(spool string, user Identity) error {
	dirs, files, release, err := ordinaryFiles()
	if err != nil {
		return fmt.Errorf("--sandbox: %w", err)
	}
	defer release()
	if err := setLimits(); err != nil {
		return fmt.Errorf("--sandbox: %w", err)
	}
	if err := dropPrivileges(user); err != nil {
		return fmt.Errorf("--sandbox: %w", err)
	}
	if err := restrict(dirs, files, spool); err != nil {
		return err
	}
	return filterCalls(slices.Concat(spoolingCalls(), readingCalls()))
}

// EnterReading is both steps at once, for a process that makes no temporary files and
// that goes on where the system lacks something: lacks then says what. With an error,
// the process is still the user that it was, or has still its capabilities.
func EnterReading(user Identity) (lacks, err error) {
	dirs, files, release, err := ordinaryFiles()
	if err != nil {
		return nil, fmt.Errorf("--sandbox: %w", err)
	}
	defer release()
	if err := errors.Join(setLimits(), dropPrivileges(user)); err != nil {
		return nil, fmt.Errorf("--sandbox: %w", err)
	}
	return errors.Join(restrict(dirs, files, ""), filterCalls(readingCalls())), nil
}

// restrict leaves the rights to read below dirs, to read files, and to write temporary
// files in spool, unless it is "".
func restrict(dirs, files []string, spool string) error {
	needed, since := everyFS, "6.2"
	if spool == "" {
		needed, since = firstFS, "5.13"
	}
	strict := landlock.Config{HandledAccessFS: needed}
	rules := []landlock.Rule{landlock.PathAccess(readFS, dirs...), landlock.PathAccess(readFile, files...)}
	if spool != "" {
		rules = append(rules, landlock.PathAccess(spoolFS, spool).IgnoreIfMissing())
	}
	if err := strict.RestrictPaths(rules...); err != nil {
		return fmt.Errorf("--sandbox needs Landlock as in Linux %s or later: %w", since, err)
	}
	// What later versions know, on kernels that know it: the filter forbids
	// it too, so none is needed.
	more := landlock.V11
	more.HandledAccessFS &^= needed
	if err := more.BestEffort().Restrict(); err != nil {
		return fmt.Errorf("--sandbox: %w", err)
	}
	return nil
}

// Finish gives up, once the core is open, the right to write temporary files.
func Finish() error { return filterCalls(readingCalls()) }
