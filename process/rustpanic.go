package process

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/unwind"
)

// rustPanic returns the text that a program in Rust panics with, if that is a literal, and
// the place in its source; "" for what is not known. The functions that a panic goes
// through keep both in their frames [library/std/src/panicking.rs: begin_panic, library/
// core/src/panicking.rs: panic_fmt].
func (p *Process) rustPanic(function string, f *unwind.Frame) (text, place string) {
	sp, ok := f.Regs.Get(p.img.Arch.SP)
	if !ok || f.Trust == unwind.Guess || f.CFA <= sp || f.CFA-sp > maxRustFrame {
		return "", ""
	}
	words := &memreader.Words{R: p.Memory(), BigEndian: p.img.Arch.BigEndian}
	formats := function == "core::panicking::panic_fmt"
	for at := sp; at+24 <= f.CFA; at += 8 {
		// The text and its size or, of a format, a pointer to it come before the place.
		loc := at + 16
		if formats {
			loc = at + 8
		}
		to, err := words.Uint64(loc)
		where, ok := p.rustPlace(words, to)
		if err != nil || !ok {
			continue
		}
		found := ""
		if formats {
			args, err := words.Uint64(at)
			if found = p.rustFormat(words, args); err != nil || args < sp { // on the stack of the caller
				continue
			}
		} else if found = p.rustText(words, at); found == "" {
			continue
		}
		if place != "" && place != where {
			return "", "" // it is not known which one it is
		}
		text, place = found, where
	}
	return text, place
}

// maxRustFrame bounds the frame of such a function, in bytes: it has about 100.
const maxRustFrame = 4 << 10

// rustPlace reads a core::panic::Location: the name of a file, its line and column.
func (p *Process) rustPlace(words *memreader.Words, at uint64) (string, bool) {
	if p.modules.At(at) == nil {
		return "", false
	}
	file := p.rustText(words, at)
	line, err := words.Uint(at+16, 4)
	col, bad := words.Uint(at+20, 4)
	if !strings.HasSuffix(file, ".rs") || err != nil || bad != nil || line == 0 || col == 0 || line > maxRustLine || col > maxRustLine {
		return "", false
	}
	return fmt.Sprintf("%s:%d", file, line), true
}

// maxRustLine bounds the lines of a file, and the columns of a line.
const maxRustLine = 1 << 24

// rustFormat reads the text of a core::fmt::Arguments without arguments; "" if it has some.
// From Rust 1.93 on it is a pointer and twice the size, plus one; before, it began with a
// slice of one text, and slices without elements came behind it.
func (p *Process) rustFormat(words *memreader.Words, at uint64) string {
	first, err := words.Uint64(at)
	second, bad := words.Uint64(at + 8)
	switch {
	case err != nil || bad != nil || p.modules.At(first) == nil:
		return ""
	case second == 1: // the number of texts
		if args, err := words.Uint64(at + 24); err != nil || args != 0 {
			return ""
		}
		return p.rustText(words, first)
	case second&1 == 1:
		return p.rustBytes(words, first, second>>1)
	}
	return ""
}

// rustText reads a &'static str, of a module.
func (p *Process) rustText(words *memreader.Words, at uint64) string {
	text, err := words.Uint64(at)
	size, bad := words.Uint64(at + 8)
	if err != nil || bad != nil {
		return ""
	}
	return p.rustBytes(words, text, size)
}

func (p *Process) rustBytes(words *memreader.Words, at, size uint64) string {
	if size == 0 || size > maxMessage || p.modules.At(at) == nil {
		return ""
	}
	b := make([]byte, size)
	if n, _ := words.R.ReadMem(b, at); n < len(b) || !utf8.Valid(b) {
		return ""
	}
	return string(b)
}
