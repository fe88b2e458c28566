// Package backend is the body of sfcore-delve. It lets delve inspect a process
// through the memory, registers and files that sfcore found, which package
// internal/delve/wire hands over. If delve fails on a damaged process, even by a
// panic in a goroutine of its own, only this program ends.
package backend

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/sfcore/sfcore/internal/delve/wire"
)

// Serve finds the goroutines of the process that r describes, and writes them to w.
// The error is the connection's; errors about the process are written to w. Serve
// calls limit with how much memory delve may use, in bytes.
func Serve(r io.Reader, w io.Writer, limit func(uint64) error) error {
	conn := wire.NewConn(r, w)
	s, err := conn.Setup()
	if err != nil {
		return err
	}
	return conn.End(list(conn, s, limit))
}

// list hands over all goroutines.
func list(conn *wire.Conn, s *wire.Setup, limit func(uint64) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("delve: panic: %v at %s", p, panicked(debug.Stack()))
		}
	}()
	if decodeRegisters[s.Arch] == nil {
		return fmt.Errorf("delve does not support %s", s.Arch)
	}
	if s.Debug != "" {
		remove, err := placeDebug(s)
		if err != nil {
			return err
		}
		defer remove()
	}
	if err := limit(enough(s)); err != nil {
		return err
	}
	t, err := newTarget(s, &memory{conn: conn, pages: make(map[uint64][]byte)})
	if err != nil {
		return fmt.Errorf("delve: %w", err)
	}
	image := t.BinInfo().Images[0]
	if err := image.LoadError(); errors.Is(err, proc.ErrDebuginfodSkippedOnAttach) || err == nil && image.Stripped() {
		return fmt.Errorf("%s: delve found no debug information that it can read", s.File)
	} else if err != nil {
		return fmt.Errorf("delve: %s: %w", s.File, err)
	}
	l := &lister{target: t, setup: s, reasons: waitReasons(t)}
	return l.all(conn.Send)
}

// placeDebug puts the separate debug file where delve finds it: in a directory of
// files that are called like the program.
func placeDebug(s *wire.Setup) (remove func(), err error) {
	dir, err := os.MkdirTemp("", "sfcore-delve")
	if err != nil {
		return nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	file := s.File
	if resolved, err := filepath.EvalSymlinks(file); err == nil && strings.HasPrefix(file, "/proc/") {
		file = resolved
	}
	name := filepath.Join(dir, filepath.Base(file)+".debug")
	if err := os.Symlink(s.Debug, name); err != nil {
		remove()
		return nil, err
	}
	s.Debug = name
	return remove, nil
}

// enough returns how much memory delve may use. It depends on the size of the files,
// and is more than delve was seen to use.
func enough(s *wire.Setup) uint64 {
	const (
		base   = 2 << 30
		factor = 32 // debug information is mostly compressed
	)
	size := uint64(base)
	for _, name := range []string{s.File, s.Debug} {
		if st, err := os.Stat(name); err == nil {
			size += factor * uint64(min(st.Size(), 16<<30))
		}
	}
	return size
}

// panicked returns the innermost function of delve in a stack that panicked.
func panicked(stack []byte) string {
	for line := range strings.Lines(string(stack)) {
		if name, ok := strings.CutPrefix(line, "github.com/go-delve/delve/"); ok {
			name, _, _ = strings.Cut(strings.TrimSpace(name), "(0x")
			return name
		}
	}
	return "an unknown place"
}
