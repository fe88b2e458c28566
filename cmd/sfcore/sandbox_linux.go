//go:build linux && (amd64 || arm64)

package main

import (
	"fmt"

	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/sys/unix"
)

// sandbox gives up the rights of this process in steps: see [enterSandbox].
type sandbox struct{ config *landlock.Config }

const (
	readFS = landlock.AccessFSSet(unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR)

	// spoolFS are the rights that a temporary file for a core needs.
	spoolFS = readFS | landlock.AccessFSSet(unix.LANDLOCK_ACCESS_FS_WRITE_FILE|unix.LANDLOCK_ACCESS_FS_MAKE_REG|
		unix.LANDLOCK_ACCESS_FS_REMOVE_FILE|unix.LANDLOCK_ACCESS_FS_TRUNCATE)

	// everyFS are the rights of Landlock's third version, of Linux 6.2: the
	// first that keeps files from being truncated.
	everyFS = landlock.AccessFSSet(unix.LANDLOCK_ACCESS_FS_TRUNCATE<<1 - 1)
)

// enterSandbox gives up, for all threads, the rights to run programs, to use
// the network, to change files other than temporary ones below spool, and to
// inspect other processes. The error says what the system lacks.
func enterSandbox(spool string) (*sandbox, error) {
	config, err := landlock.NewConfig(everyFS)
	if err != nil {
		return nil, err
	}
	s := &sandbox{config}
	err = config.RestrictPaths(landlock.PathAccess(readFS, "/"), landlock.PathAccess(spoolFS, spool).IgnoreIfMissing())
	if err != nil {
		return nil, fmt.Errorf("--sandbox needs Landlock as in Linux 6.2 or later: %w", err)
	}
	return s, allowOnly(landlockCalls, oldUnlink, sandboxCalls, oldCalls)
}

// readOnly gives up the right to change temporary files too.
func (s *sandbox) readOnly() error {
	if err := s.config.RestrictPaths(landlock.PathAccess(readFS, "/")); err != nil {
		return fmt.Errorf("--sandbox: %w", err)
	}
	return allowOnly(sandboxCalls, oldCalls)
}
