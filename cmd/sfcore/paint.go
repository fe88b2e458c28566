package main

import (
	"fmt"
	"os"
)

// painter colours text, or leaves it as it is.
type painter bool

// newPainter decides by the --color flag and, if that is auto, by NO_COLOR, CLICOLOR_FORCE
// and CLICOLOR [no-color.org, bixense.com/clicolors].
func newPainter(when string, out *output) (painter, error) {
	switch when {
	case "always":
		return true, nil
	case "never":
		return false, nil
	case "auto":
		return wantsColor(os.Getenv, out.terminal != nil), nil
	}
	return false, fmt.Errorf("--color: unknown value %q; use auto, always or never", when)
}

func wantsColor(env func(string) string, terminal bool) painter {
	switch {
	case env("NO_COLOR") != "":
		return false
	case env("CLICOLOR_FORCE") != "" && env("CLICOLOR_FORCE") != "0":
		return true
	}
	return painter(terminal && env("CLICOLOR") != "0" && env("TERM") != "dumb")
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
