package shrink

import (
	"bytes"
	"context"
	"encoding/binary"
	"sort"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/process"
)

const (
	// blank takes the place of words that are left out. It is no address. Breakpad uses the
	// same word, and the same rule for what stays [breakpad
	// src/client/linux/minidump_writer/linux_dumper.cc: SanitizeStackCopy].
	blank = 0x0defaced0defaced
	// smallNumber is the largest number, and with a minus the smallest, that stays.
	smallNumber = 4096
)

// Private returns a core of an image, which it closes, with what leads from frame to
// frame and without what a process keeps to itself. It has the stacks, and what sfcore
// reads to walk and to name them. Of memory that the process may write to, and of
// registers, only addresses in mappings and small numbers stay. Arguments, environment
// and vector registers are blank, and so are the names of mapped files without code.
// Code, headers of programs, and the names of files with code stay as they are.
func Private(ctx context.Context, img *core.Image, opts process.Options) ([]byte, *Summary, error) {
	s := New(img)
	s.private, s.stacks.most = true, maxPrivateStacks
	var out bytes.Buffer
	sum, err := s.core(ctx, &out, opts)
	if err != nil {
		return nil, nil, err
	}
	if err := s.blank(out.Bytes()); err != nil {
		return nil, nil, err
	}
	return out.Bytes(), sum, nil
}

// exact is memory that notes exactly what is read.
type exact struct {
	memreader.Reader
	read *[]core.Range
}

// ReadMem implements memreader.Reader.
func (e *exact) ReadMem(p []byte, addr uint64) (int, error) {
	n, err := e.Reader.ReadMem(p, addr)
	if n > 0 {
		*e.read = append(*e.read, core.Range{Lo: addr, Hi: addr + uint64(n)})
	}
	return n, err
}

// blank blanks a core file that was written.
func (s *Shrinker) blank(data []byte) error {
	f, err := elfx.Parse(data)
	if err != nil {
		return err
	}
	verbatim := core.Whole(s.verbatim, 1)
	for i := range f.Progs {
		if p := &f.Progs[i]; p.Type == elfx.ProgLoad && p.Filesz > 0 && !s.public(p.Vaddr) {
			s.blankMemory(f.Bytes(p.Off, p.Filesz), p.Vaddr, verbatim)
		}
	}
	for n, err := range f.Notes() {
		if err != nil {
			break // nothing behind it is read
		}
		s.blankNote(data, &n)
	}
	return nil
}

// public reports whether the memory at an address is code, or is in the file of a program.
func (s *Shrinker) public(addr uint64) bool {
	l := s.load(addr)
	if l == nil || l.Exec {
		return l != nil
	}
	m := s.img.Mapping(addr)
	return !l.Write && m != nil && m.Path != "" && s.program(m.Path)
}

// blankMemory blanks memory at an address, but for ranges of verbatim, which ascend.
func (s *Shrinker) blankMemory(mem []byte, addr uint64, verbatim []core.Range) {
	was := bytes.Clone(mem)
	head := min(-addr&7, uint64(len(mem)))
	clear(mem[:head])
	words := mem[head:]
	for ; len(words) >= 8; words = words[8:] {
		s.blankWord(words)
	}
	clear(words)
	end := addr + uint64(len(mem))
	first := sort.Search(len(verbatim), func(i int) bool { return verbatim[i].Hi > addr })
	for i := first; i < len(verbatim) && verbatim[i].Lo < end; i++ {
		lo, hi := max(verbatim[i].Lo, addr), min(verbatim[i].Hi, end)
		copy(mem[lo-addr:hi-addr], was[lo-addr:])
	}
}

// blankWord blanks the word that b begins with if it may say anything.
func (s *Shrinker) blankWord(b []byte) {
	if s.stays(s.word(b)) {
		return
	}
	if s.img.Arch.BigEndian {
		binary.BigEndian.PutUint64(b, blank)
	} else {
		binary.LittleEndian.PutUint64(b, blank)
	}
}

// stays reports whether a word is a small number or an address in a mapping.
func (s *Shrinker) stays(word uint64) bool {
	return word <= smallNumber || -word <= smallNumber || s.load(word) != nil || s.img.Arch.PAC && s.load(word&^s.img.Arch.PACMask) != nil
}

// Types of notes of owner CORE [elf.h].
const (
	ntPRStatus = 1
	ntFPRegSet = 2
	ntPRPSInfo = 3
	ntAuxv     = 6
	ntFile     = 0x46494c45
	ntSigInfo  = 0x53494749
)

// blankNote blanks a note of a core file.
func (s *Shrinker) blankNote(data []byte, n *elfx.Note) {
	const maskOfPAC = 0x406 // NT_ARM_PAC_MASK of owner LINUX
	switch {
	case n.Name == "CORE" && n.Type == ntPRStatus:
		for _, at := range s.img.Arch.PrStatus {
			if at.Reg != s.img.Arch.PC && at.Reg != s.img.Arch.SP && int(at.Off)+8 <= len(n.Desc) {
				s.blankWord(n.Desc[at.Off:])
			}
		}
	case n.Name == "CORE" && n.Type == ntFPRegSet: // a function may save a return address there
		for words := n.Desc; len(words) >= 8; words = words[8:] {
			s.blankWord(words)
		}
	case n.Name == "CORE" && n.Type == ntPRPSInfo:
		const arguments = 80 // pr_psargs, at the end of struct elf_prpsinfo [linux include/linux/elfcore.h]
		clear(n.Desc[max(0, len(n.Desc)-arguments):])
	case n.Name == "CORE" && n.Type == ntFile:
		s.blankNames(n.Desc)
	case n.Name == "CORE" && (n.Type == ntAuxv || n.Type == ntSigInfo),
		n.Name == "LINUX" && n.Type == maskOfPAC, n.Name == "sfcore":
	default:
		clear(n.Desc)
		clear(data[n.Start+8:][:4]) // its type: nobody takes the zeros for values
	}
}

// blankNames blanks the names of mapped files without code in NT_FILE: it leaves their
// slashes and their length.
func (s *Shrinker) blankNames(desc []byte) {
	const header, entrySize = 16, 24
	if len(desc) < header {
		return
	}
	count := min(s.word(desc), uint64(len(desc)-header)/entrySize)
	names := desc[header+count*entrySize:]
	for range count {
		end := bytes.IndexByte(names, 0)
		if end < 0 {
			break
		}
		name, _ := bytes.CutSuffix(names[:end], []byte(" (deleted)"))
		if !s.program(string(name)) {
			for i := range name {
				if name[i] != '/' {
					name[i] = 'x'
				}
			}
		}
		names = names[end+1:]
	}
}
