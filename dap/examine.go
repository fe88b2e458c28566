package dap

import (
	"fmt"
	"strings"
)

// maxString bounds a string that "x/s" shows.
const maxString = 4096

// examine shows memory as gdb's x command does.
func (s *snapshot) examine(e examine, addr uint64) string {
	var b strings.Builder
	words := s.words()
	switch e.form {
	case 'i':
		for _, l := range s.after(addr, e.count) {
			_, text := s.write(words, &l)
			fmt.Fprintf(&b, "%s:\t%s\n", s.value(l.addr, nil), text)
		}
		return b.String()
	case 's':
		for range e.count {
			text, err := words.CString(addr, maxString)
			if err != nil && text == "" {
				fmt.Fprintf(&b, "%#x:\t(%v)\n", addr, err)
				break
			}
			fmt.Fprintf(&b, "%#x:\t%q\n", addr, text)
			addr += uint64(len(text)) + 1
		}
		return b.String()
	}
	perLine := max(1, 16/e.size)
	if e.form == 'a' {
		perLine = 1
	}
	for i := range e.count {
		if i%perLine == 0 {
			if i > 0 {
				b.WriteByte('\n')
			}
			fmt.Fprintf(&b, "%#x:", addr)
		}
		v, err := words.Uint(addr, e.size)
		if err != nil {
			fmt.Fprintf(&b, "\t(%v)", err)
			break
		}
		b.WriteByte('\t')
		b.WriteString(s.formatUnit(e, v))
		addr += uint64(e.size)
	}
	b.WriteByte('\n')
	return b.String()
}

// formatUnit writes one unit of memory.
func (s *snapshot) formatUnit(e examine, v uint64) string {
	shift := 64 - 8*e.size
	switch e.form {
	case 'd':
		return fmt.Sprint(int64(v<<shift) >> shift)
	case 'u':
		return fmt.Sprint(v)
	case 'c':
		return fmt.Sprintf("%d %q", v, rune(v))
	case 'a':
		return s.value(v, nil)
	}
	return fmt.Sprintf("0x%0*x", 2*e.size, v)
}
