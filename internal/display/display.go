// Package display makes text of cores, programs and paths safe to show: such text
// may hold any bytes. Front ends have it shown by a terminal or an editor, which
// obey control characters, and where invisible characters make names look like
// others.
package display

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// unsafe are the characters that are not shown as they are: controls (C0, DEL, C1),
// format characters, which include all that change the direction of text, line and
// paragraph separators, and whatever else Unicode wants to be ignored when shown
// [Unicode 15, 4.5 General Category, 5.21 Ignoring Characters in Processing].
var unsafe = []*unicode.RangeTable{
	unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector,
}

// Unsafe reports whether a character could do more on a screen than be seen.
func Unsafe(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' || r == 0x7f
	}
	return unicode.In(r, unsafe...)
}

// Text returns s with unsafe characters, but for tabs, and bytes that are not UTF-8
// written as escapes: \u001b, \x9b.
func Text(s string) string {
	if isPrintableASCII(s) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\ufffd"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case Unsafe(r) && r != '\t':
			b.Write(escape(nil, r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isPrintableASCII(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// JSON returns a JSON document with unsafe characters written as escapes, which
// mean the same. It returns doc itself if there are none.
func JSON(doc []byte) []byte {
	for i := 0; i < len(doc); {
		r, size := rune(doc[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(doc[i:])
		}
		if r >= 0x7f && Unsafe(r) {
			return escapeFrom(doc, i)
		}
		i += size
	}
	return doc
}

// escapeFrom escapes the unsafe characters of a document from a place on.
func escapeFrom(doc []byte, start int) []byte {
	b := append(make([]byte, 0, len(doc)+64), doc[:start]...)
	for i := start; i < len(doc); {
		r, size := utf8.DecodeRune(doc[i:])
		if r >= 0x7f && Unsafe(r) {
			b = escape(b, r)
		} else {
			b = append(b, doc[i:i+size]...)
		}
		i += size
	}
	return b
}

// escape appends a character as JSON escapes it: beyond 16 bits, as two.
func escape(b []byte, r rune) []byte {
	if hi, lo := utf16.EncodeRune(r); hi != unicode.ReplacementChar {
		return fmt.Appendf(b, `\u%04x\u%04x`, hi, lo)
	}
	return fmt.Appendf(b, `\u%04x`, r)
}
