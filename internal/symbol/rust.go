package symbol

import (
	"strconv"
	"strings"
)

// legacyRust returns a name of Rust's legacy form with one more underscore before
// identifiers that begin with one. The demangler takes the first underscore for a
// separator, which newer names have, and would leave it out. Names of other forms
// are returned unchanged.
func legacyRust(name string) string {
	rest, ok := strings.CutPrefix(name, "_ZN")
	if !ok || !strings.Contains(name, "17h") {
		return name
	}
	var b strings.Builder
	b.WriteString("_ZN")
	last := ""
	for rest != "" && rest[0] != 'E' {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		size, err := strconv.Atoi(rest[:digits])
		if err != nil || size > len(rest)-digits {
			return name
		}
		last, rest = rest[digits:digits+size], rest[digits+size:]
		if strings.HasPrefix(last, "_") && !strings.HasPrefix(last, "_$") { // "_$" begins an escape
			b.WriteString(strconv.Itoa(size+1) + "_")
		} else {
			b.WriteString(strconv.Itoa(size))
		}
		b.WriteString(last)
	}
	if len(last) != 17 || last[0] != 'h' || strings.Trim(last[1:], "0123456789abcdef") != "" {
		return name
	}
	return b.String() + rest
}
