//go:build !linux

package core

import (
	"context"
	"fmt"
	"runtime"
)

// Attach makes an image of a live process, on Linux. Here it returns an error.
func Attach(context.Context, int, AttachOptions) (*Image, error) {
	return nil, fmt.Errorf("live processes are supported only on Linux, and this is %s; core files can be read here", runtime.GOOS)
}
