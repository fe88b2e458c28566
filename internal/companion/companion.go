// Package companion finds the programs that are installed next to sfcore.
package companion

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// Find returns the path of a program that belongs to sfcore. It looks next to this
// program, then in PATH.
func Find(name string) (string, error) {
	file := name
	if runtime.GOOS == "windows" {
		file += ".exe"
	}
	if self, err := os.Executable(); err == nil {
		if resolved, err := filepath.EvalSymlinks(self); err == nil {
			self = resolved
		}
		if beside := filepath.Join(filepath.Dir(self), file); isProgram(beside) {
			return beside, nil
		}
	}
	if path, err := exec.LookPath(file); err == nil {
		return path, nil
	}
	return "", fmt.Errorf("%s is neither next to sfcore nor in PATH; to build it: go install github.com/sfcore/sfcore/cmd/%s", file, name)
}

func isProgram(name string) bool {
	st, err := os.Stat(name)
	return err == nil && st.Mode().IsRegular()
}
