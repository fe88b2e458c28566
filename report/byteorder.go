package report

import "fmt"

// ByteOrder is the byte order of a process.
type ByteOrder uint8

// The byte orders.
const (
	LittleEndian ByteOrder = iota
	BigEndian
)

// String returns "little" or "big".
func (o ByteOrder) String() string {
	if o == BigEndian {
		return "big"
	}
	return "little"
}

// MarshalText implements encoding.TextMarshaler.
func (o ByteOrder) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. Any text but "little" and
// "big" is an error.
func (o *ByteOrder) UnmarshalText(text []byte) error {
	for _, known := range []ByteOrder{LittleEndian, BigEndian} {
		if string(text) == known.String() {
			*o = known
			return nil
		}
	}
	return fmt.Errorf("unknown byte order %q", text)
}
