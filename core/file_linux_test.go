package core

import (
	"context"
	"errors"
	"io/fs"
	"syscall"
	"testing"
)

// /proc/self/mem is a regular file, whose first byte cannot be read (EIO).
func TestOpenUnreadable(t *testing.T) {
	const path = "/proc/self/mem"
	img, err := Open(context.Background(), path, Options{})
	if pe, ok := errors.AsType[*fs.PathError](err); !ok || pe.Path != path || !errors.Is(err, syscall.EIO) {
		t.Errorf("got %v, %v, want %v of %s", img, err, syscall.EIO, path)
	}
}
