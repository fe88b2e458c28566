//go:build !linux || (!amd64 && !arm64)

package main

import "errors"

func enterSandbox(string, identity) error {
	return errors.New("--sandbox needs Linux on amd64 or arm64")
}

func finishSandbox() error { return nil }
