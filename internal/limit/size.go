package limit

import (
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// Size is a number of bytes below 2^63, as a flag: "65536", "64K", "64KiB".
type Size uint64

var units = []string{"B", "KiB", "MiB", "GiB", "TiB"}

// Format implements fmt.Formatter.
func (s Size) Format(f fmt.State, _ rune) {
	v, unit := float64(s), 0
	for v >= 1024 && unit < len(units)-1 {
		v, unit = v/1024, unit+1
	}
	fmt.Fprintf(f, "%s %s", strconv.FormatFloat(v, 'f', min(unit, 1), 64), units[unit])
}

// String implements pflag.Value: it returns what Set takes.
func (s *Size) String() string {
	v, unit := uint64(*s), 0
	for v != 0 && v%1024 == 0 && unit < len(units)-1 {
		v, unit = v/1024, unit+1
	}
	return strconv.FormatUint(v, 10) + strings.TrimRight(units[unit], "iB")
}

// Type implements pflag.Value.
func (*Size) Type() string { return "size" }

var errSize = errors.New("not a size such as 65536, 64K, 1M, 8G or 2T")

// Set implements pflag.Value.
func (s *Size) Set(text string) error {
	digits := strings.TrimRight(text, "BbIiKkMmGgTt ")
	v, err := strconv.ParseUint(digits, 10, 63)
	if err != nil || v == 0 {
		return errSize
	}
	unit := strings.TrimSpace(strings.ToUpper(text[len(digits):]))
	unit = strings.TrimSuffix(strings.TrimSuffix(unit, "B"), "I")
	shift, ok := map[string]int{"": 0, "K": 10, "M": 20, "G": 30, "T": 40}[unit]
	if !ok || bits.Len64(v)+shift > 63 {
		return errSize
	}
	*s = Size(v << shift)
	return nil
}
