//go:build !linux

package elfx

import "os"

func openRegular(path string) (*os.File, error) {
	if st, err := os.Stat(path); err != nil {
		return nil, err
	} else if !st.Mode().IsRegular() {
		return nil, notRegular(path, st.Mode())
	}
	return os.OpenFile(path, os.O_RDONLY|harmless, 0)
}
