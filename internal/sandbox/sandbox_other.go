//go:build !linux || (!amd64 && !arm64)

package sandbox

import "errors"

var errSystem = errors.New("--sandbox needs Linux on amd64 or arm64")

// Enter is not possible on this system.
func Enter(string, Identity) error { return errSystem }

// EnterReading becomes the user, and says that this is no sandbox.
func EnterReading(user Identity) (lacks, err error) {
	if user.Given {
		err = user.become()
	}
	return errSystem, err
}

// Finish has nothing to do.
func Finish() error { return nil }
