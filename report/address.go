package report

import "strconv"

// Addr is an address or an offset. In JSON it is a string, "0x" and lower-case
// hexadecimal digits.
type Addr uint64

// MarshalText implements encoding.TextMarshaler.
func (a Addr) MarshalText() ([]byte, error) { return a.AppendText(nil) }

// AppendText implements encoding.TextAppender.
func (a Addr) AppendText(b []byte) ([]byte, error) {
	return strconv.AppendUint(append(b, "0x"...), uint64(a), 16), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (a *Addr) UnmarshalText(text []byte) error {
	v, err := strconv.ParseUint(string(text), 0, 64)
	*a = Addr(v)
	return err
}

// OptAddr is an Addr that may be unknown.
type OptAddr struct {
	Addr
	Known bool
}

// Known returns an address that is known.
func Known(v uint64) OptAddr { return OptAddr{Addr(v), true} }

// IsZero reports whether the address is unknown, and so left out of JSON.
func (a OptAddr) IsZero() bool { return !a.Known }

// UnmarshalText implements encoding.TextUnmarshaler.
func (a *OptAddr) UnmarshalText(text []byte) error {
	a.Known = true
	return a.Addr.UnmarshalText(text)
}
