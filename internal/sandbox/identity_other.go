//go:build !linux

package sandbox

func (Identity) become() error { return errSystem }
