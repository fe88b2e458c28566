package unwind

import (
	"fmt"
	"slices"
)

// The functions in this file convert enumerations to text and back. The names of
// an enumeration are a list, indexed by value.

// nameOf returns the name of v, or its kind and number if it has none.
func nameOf[T ~uint8](names []string, kind string, v T) string {
	if int(v) < len(names) {
		return names[v]
	}
	return fmt.Sprintf("%s %d", kind, uint8(v))
}

// textOf returns the name of v as text.
func textOf[T ~uint8](names []string, kind string, v T) ([]byte, error) {
	if int(v) < len(names) {
		return []byte(names[v]), nil
	}
	return nil, fmt.Errorf("%s %d has no name", kind, uint8(v))
}

// valueOf sets v to the value that is named by text.
func valueOf[T ~uint8](names []string, kind string, text []byte, v *T) error {
	i := slices.Index(names, string(text))
	if i < 0 {
		return fmt.Errorf("%q is not a %s", text, kind)
	}
	*v = T(i)
	return nil
}
