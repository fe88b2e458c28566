package main

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// painter colours text, or leaves it as it is.
type painter bool

// newPainter decides by the --color flag, and by NO_COLOR [no-color.org].
func newPainter(when string, out io.Writer) (painter, error) {
	switch when {
	case "always":
		return true, nil
	case "never":
		return false, nil
	case "auto":
		f, ok := out.(*os.File)
		return painter(ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(f.Fd()))), nil
	}
	return false, fmt.Errorf("--color: unknown value %q; use auto, always or never", when)
}

// Colours, as parameters of the terminal's SGR sequence.
const (
	colorAddress = "34"
	colorName    = "33"
	colorDim     = "2"
	colorBad     = "1;31"
)

// begin and end append the start and the end of text in a colour.
func (p painter) begin(b []byte, color string) []byte {
	if !p {
		return b
	}
	return append(append(append(b, "\x1b["...), color...), 'm')
}

func (p painter) end(b []byte) []byte {
	if !p {
		return b
	}
	return append(b, "\x1b[0m"...)
}

func (p painter) wrap(color, s string) string {
	if !p || s == "" || s == " " {
		return s
	}
	return string(p.end(append(p.begin(nil, color), s...)))
}

func (p painter) dim(s string) string { return p.wrap(colorDim, s) }
func (p painter) bad(s string) string { return p.wrap(colorBad, s) }

// widthOf returns how many columns the terminal has that out is; 0 for something else.
func widthOf(out io.Writer) int {
	f, ok := out.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width < leastWidth {
		return 0
	}
	return width
}

// leastWidth is the width of the narrowest terminal for which lines are made to fit.
const leastWidth = 40
