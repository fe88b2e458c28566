package store

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/sfcore/sfcore/internal/limit"
)

var errTooLong = errors.New("the file is too long")

// ReadFile reads a regular file of up to most bytes.
func ReadFile(name string, most int64) ([]byte, error) {
	switch st, err := os.Stat(name); {
	case err != nil:
		return nil, err
	case !st.Mode().IsRegular():
		return nil, fmt.Errorf("%s: not a regular file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if int64(len(text)) > most {
		return nil, fmt.Errorf("%s: %w: it has more than %v", name, errTooLong, limit.Size(most))
	}
	return text, err
}

// WriteFile writes a file, which only its user may read, as a whole or not at all.
func WriteFile(name string, text []byte) error {
	part := name + partSuffix
	err := os.WriteFile(part, text, 0o600)
	if err == nil {
		err = os.Rename(part, name)
	}
	if err != nil {
		_ = os.Remove(part)
	}
	return err
}
