//go:build !linux

package core

import (
	"errors"
	"fmt"
	"time"
)

// ErrAnother is for a process that the kernel does not dump.
var ErrAnother = errors.New("the kernel does not dump this process")

// Dying is a process that the kernel is dumping. Only Linux has any.
type Dying struct{}

// OpenDying returns an error: it needs Linux.
func OpenDying(pid int) (*Dying, error) {
	return nil, fmt.Errorf("process %d: only Linux shows a process that is being dumped", pid)
}

// Close does nothing.
func (*Dying) Close() {}

// Image returns head.
func (*Dying) Image(head *Image, _, _ uint64, _ time.Time) *Image { return head }

// Leave does nothing.
func (*Image) Leave() {}
