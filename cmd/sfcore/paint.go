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
	return false, fmt.Errorf("--color: %q is none of auto, always and never", when)
}

func (p painter) wrap(code, s string) string {
	if !p || s == "" || s == " " {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p painter) address(s string) string { return p.wrap("34", s) }
func (p painter) name(s string) string    { return p.wrap("33", s) }
func (p painter) dim(s string) string     { return p.wrap("2", s) }
func (p painter) bad(s string) string     { return p.wrap("1;31", s) }
