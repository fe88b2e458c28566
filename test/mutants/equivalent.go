package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// equivalentFile lists the mutants of a package that do what its code does. A
// line is the key of a mutant, as -list prints it without the folder and the
// number of the line; the lines behind it, indented, are the reason. Empty
// lines and those that begin with # are comments.
const equivalentFile = "testdata/equivalent-mutants.txt"

// equivalents are the entries of such a file.
type equivalents struct {
	reasons map[string]string // by key
	seen    map[string]bool
}

// readEquivalents reads a file, which may be missing.
func readEquivalents(path string) (*equivalents, error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	e, err := parseEquivalents(text)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", path, err)
	}
	return e, nil
}

func parseEquivalents(text []byte) (*equivalents, error) {
	e := &equivalents{map[string]string{}, map[string]bool{}}
	key := ""
	for i, line := range bytes.Split(text, []byte("\n")) {
		line := string(line)
		content := strings.TrimSpace(line)
		switch {
		case content == "" || strings.HasPrefix(line, "#"):
		case content != line:
			if key == "" {
				return nil, fmt.Errorf("%d: a reason without a mutant", i+1)
			}
			e.reasons[key] = strings.TrimSpace(e.reasons[key] + " " + content)
		default:
			if key != "" && e.reasons[key] == "" {
				return nil, fmt.Errorf("%d: the mutant before has no reason", i+1)
			}
			if _, twice := e.reasons[content]; twice {
				return nil, fmt.Errorf("%d: the mutant is listed twice", i+1)
			}
			key = content
			e.reasons[key] = ""
		}
	}
	if key != "" && e.reasons[key] == "" {
		return nil, errors.New(" the last mutant has no reason")
	}
	return e, nil
}

// has reports whether a mutant is listed.
func (e *equivalents) has(m *mutant) bool {
	_, ok := e.reasons[m.key()]
	if ok {
		e.seen[m.key()] = true
	}
	return ok
}

// stale returns the entries that fit no mutant. With -only, has must have been
// asked of all mutants before.
func (e *equivalents) stale() []string {
	var keys []string
	for key := range e.reasons {
		if !e.seen[key] {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
