package main

import (
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// byteSize is a number of bytes below 2^63, as a flag: "65536", "64K", "64KiB".
type byteSize uint64

var byteUnits = []string{"B", "KiB", "MiB", "GiB", "TiB"}

// Format implements fmt.Formatter.
func (s byteSize) Format(f fmt.State, _ rune) {
	v, unit := float64(s), 0
	for v >= 1024 && unit < len(byteUnits)-1 {
		v, unit = v/1024, unit+1
	}
	fmt.Fprintf(f, "%s %s", strconv.FormatFloat(v, 'f', min(unit, 1), 64), byteUnits[unit])
}

// String implements pflag.Value: it returns what Set takes.
func (s *byteSize) String() string {
	v, unit := uint64(*s), 0
	for v != 0 && v%1024 == 0 && unit < len(byteUnits)-1 {
		v, unit = v/1024, unit+1
	}
	return strconv.FormatUint(v, 10) + strings.TrimRight(byteUnits[unit], "iB")
}

// Type implements pflag.Value.
func (*byteSize) Type() string { return "size" }

var errByteSize = errors.New("not a size such as 65536, 64K, 1M, 8G or 2T")

// Set implements pflag.Value.
func (s *byteSize) Set(text string) error {
	digits := strings.TrimRight(text, "BbIiKkMmGgTt ")
	v, err := strconv.ParseUint(digits, 10, 63)
	if err != nil || v == 0 {
		return errByteSize
	}
	unit := strings.TrimSpace(strings.ToUpper(text[len(digits):]))
	unit = strings.TrimSuffix(strings.TrimSuffix(unit, "B"), "I")
	shift, ok := map[string]int{"": 0, "K": 10, "M": 20, "G": 30, "T": 40}[unit]
	if !ok || bits.Len64(v)+shift > 63 {
		return errByteSize
	}
	*s = byteSize(v << shift)
	return nil
}
