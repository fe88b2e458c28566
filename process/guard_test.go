//go:build unix

package process

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/module"
)

// What reads a mapped file ends early when that shrinks, and its caller is told.
func TestGuard(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(file, bytes.Repeat([]byte{1}, 1<<16), 0o600); err != nil {
		t.Fatal(err)
	}
	data, release, err := elfx.MapFile(file)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	read := func() {
		if bytes.Contains(data, []byte{2}) {
			t.Error("got another byte")
		}
	}
	if err := Guard(read); err != nil {
		t.Errorf("got %v", err)
	}
	if err := os.Truncate(file, 0); err != nil {
		t.Fatal(err)
	}
	defer func() { // see memreader's TestGuard
		if e, ok := recover().(runtime.Error); ok && runtime.GOARCH == "arm64" {
			t.Skip("this emulator does not tell where the fault was:", e)
		} else if ok {
			panic(e)
		}
	}()
	if err := Guard(read); !errors.Is(err, module.ErrShrunk) {
		t.Errorf("got %v, want ErrShrunk", err)
	}
}

// A program that shrinks while its tail calls are looked for has none, and this is said.
func TestTailCallsOfShrunkFile(t *testing.T) {
	p, frames := tailProcess(t), stackInH(tailCallsTo["f"])
	if p.modules.At(tailF).Source() == nil {
		t.Fatal("got no debug information")
	}
	name := p.Image().Mappings[0].Path
	if err := os.Truncate(name, 0); err != nil {
		t.Fatal(err)
	}
	defer func() { // see memreader's TestGuard
		if e, ok := recover().(runtime.Error); ok && runtime.GOARCH == "arm64" {
			t.Skip("this emulator does not tell where the fault was:", e)
		} else if ok {
			panic(e)
		}
	}()
	if got, problems := p.between(&frames[0], &frames[1]), p.Problems(); got != nil || !slices.Equal(problems, []string{module.ErrShrunk.Error()}) {
		t.Errorf("got %v, problems %q", got, problems)
	}
}
