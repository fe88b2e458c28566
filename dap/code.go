package dap

import (
	"fmt"

	"github.com/sfcore/sfcore/internal/disasm"
	"github.com/sfcore/sfcore/memreader"
)

// line is a line of disassembly: an instruction, or what stands in for it.
type line struct {
	addr  uint64
	size  uint64
	valid bool
	why   error // why memory cannot be read there; nil if it can
}

// end returns the address behind the line.
func (l *line) end() uint64 { return l.addr + l.size }

// lineAt disassembles at an address.
func (s *snapshot) lineAt(words *memreader.Words, addr uint64) line {
	code, err := s.codeAt(words, addr)
	if len(code) == 0 {
		unit := s.unit()
		return line{addr: addr, size: unit - addr%unit, why: err}
	}
	size, valid := disasm.Measure(s.process.Image().Arch, code)
	return line{addr: addr, size: uint64(size), valid: valid}
}

// codeAt returns the bytes of an instruction, and what follows it. They are
// valid until the next use of words.
func (s *snapshot) codeAt(words *memreader.Words, addr uint64) ([]byte, error) {
	code, err := words.Bytes(addr, disasm.MaxSize)
	if err != nil {
		code = readAvailable(words.R, addr, disasm.MaxSize)
	}
	return code, err
}

// write returns the bytes of a line, which are valid until the next use of
// words, and its text.
func (s *snapshot) write(words *memreader.Words, l *line) ([]byte, string) {
	if l.why != nil {
		return nil, unreadableText(l.why)
	}
	code, _ := s.codeAt(words, l.addr)
	code = code[:min(uint64(len(code)), l.size)]
	return code, oneLine(disasm.Decode(s.process.Image().Arch, code, l.addr, s.symbol).Text)
}

func unreadableText(err error) string {
	if fe, ok := err.(*memreader.FaultError); ok { //nolint:errorlint // Reader promises this very type
		return fmt.Sprintf("?? (%v)", fe.Why)
	}
	return fmt.Sprintf("?? (%v)", err)
}

// after disassembles n lines from addr on. It ends early at the end of the
// address space.
func (s *snapshot) after(addr uint64, n int) []line {
	words := s.words()
	lines := make([]line, 0, min(n, maxInstructions))
	for range n {
		l := s.lineAt(words, addr)
		lines = append(lines, l)
		if l.end() <= addr {
			break
		}
		addr = l.end()
	}
	return lines
}

const (
	// maxFunction is how far behind the beginning of a function its code is
	// disassembled from there.
	maxFunction = 256 << 10

	// maxSync is how many bytes before an address are tried to disassemble
	// backwards without the beginning of a function. In so many, decoding falls
	// into step with the instructions wherever it begins.
	maxSync = 256

	// maxSynced bounds the bytes that a request tries so. Where instructions that are
	// made for it never fall into step, what comes before them is shown as bytes.
	maxSynced = 1 << 22
)

// before disassembles the n lines that end at addr. It returns fewer at the
// beginning of the address space.
func (s *snapshot) before(addr uint64, n int) []line {
	var chunks [][]line // the last in memory first
	left := maxSynced
	for have := 0; have < n && addr > 0; {
		chunk := s.chunkBefore(addr, &left)
		chunks = append(chunks, chunk)
		have += len(chunk)
		addr = chunk[0].addr
	}
	var lines []line
	for i := len(chunks) - 1; i >= 0; i-- {
		lines = append(lines, chunks[i]...)
	}
	return lines[max(0, len(lines)-n):]
}

// chunkBefore disassembles one or more lines that end at addr, which is not 0:
// those of the function there is, if there is one. left is how many bytes may still be
// tried.
func (s *snapshot) chunkBefore(addr uint64, left *int) []line {
	unit := s.unit()
	if _, start := s.symbol(addr - 1); start != 0 && addr-start <= maxFunction {
		if lines := s.between(start, addr); len(lines) > 0 {
			return lines
		}
	}
	if lines := s.sync(addr, unit, left); len(lines) > 0 {
		return lines
	}
	size := min(addr, unit)
	if addr%unit != 0 {
		size = addr % unit
	}
	l := s.lineAt(s.words(), addr-size)
	l.size, l.valid = size, false
	return []line{l}
}

// between disassembles from start to end. If an instruction goes beyond the
// end, bytes stand in for it.
func (s *snapshot) between(start, end uint64) []line {
	words := s.words()
	var lines []line
	for addr := start; addr < end; {
		l := s.lineAt(words, addr)
		if next := l.end(); next <= addr || next > end {
			l.size, l.valid = end-addr, false
		}
		lines = append(lines, l)
		addr = l.end()
	}
	return lines
}

// ends reports whether some bytes before addr are an instruction that ends there.
func (s *snapshot) ends(addr, unit uint64) bool {
	words := s.words()
	for back := unit; back <= min(addr, disasm.MaxSize); back += unit {
		if l := s.lineAt(words, addr-back); l.valid && l.size == back {
			return true
		}
	}
	return false
}

// sync finds instructions that end at addr by beginning somewhere before and
// falling into step. It returns nil if the bytes there are not instructions.
func (s *snapshot) sync(addr, unit uint64, left *int) []line {
	if !s.ends(addr, unit) {
		return nil
	}
	from := min(addr, maxSync) / unit * unit
	for back := from; back >= unit && back+disasm.MaxSize > from && *left > 0; back -= unit {
		*left -= int(back)
		lines := s.between(addr-back, addr)
		for i := len(lines) - 1; i >= 0 && lines[i].valid; i-- {
			if i == 0 || !lines[i-1].valid {
				return lines[i:]
			}
		}
	}
	return nil
}
