//go:build !linux

package main

import "errors"

type sandbox struct{}

func enterSandbox(string) (*sandbox, error) {
	return nil, errors.New("--sandbox needs Linux")
}

func (*sandbox) readOnly() error { return nil }
