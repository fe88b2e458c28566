package sandbox

import (
	"fmt"
	"syscall"
)

// become makes this process one of another user and group, without other groups.
func (id Identity) become() error {
	if err := syscall.Setgroups(nil); err != nil {
		return fmt.Errorf("--user: giving up groups: %w", err)
	}
	if err := syscall.Setresgid(id.GID, id.GID, id.GID); err != nil {
		return fmt.Errorf("--user: becoming group %d: %w", id.GID, err)
	}
	if err := syscall.Setresuid(id.UID, id.UID, id.UID); err != nil {
		return fmt.Errorf("--user: becoming user %d: %w", id.UID, err)
	}
	return nil
}
