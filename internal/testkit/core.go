package testkit

import (
	"encoding/binary"

	"github.com/sfcore/sfcore/arch"
)

// Core builds an ELF core file as the kernel writes it. Its methods append in
// the order of their calls and return the Core.
type Core struct {
	arch  *arch.Arch
	order binary.ByteOrder
	notes []*Bytes
	segs  []coreSegment
}

type coreSegment struct {
	addr, size uint64
	exec       bool
	write      bool
	data       []byte
}

// CoreFile is an entry of an NT_FILE note. Off is in bytes.
type CoreFile struct {
	Lo, Hi, Off uint64
	Path        string
}

// NewCore returns a core file without threads and memory.
func NewCore(a *arch.Arch) *Core {
	c := &Core{arch: a, order: binary.LittleEndian}
	if a.BigEndian {
		c.order = binary.BigEndian
	}
	return c.NoteSegment()
}

// Data returns an empty Bytes in the core's byte order.
func (c *Core) Data() *Bytes { return New(c.order) }

// NoteSegment begins another PT_NOTE segment.
func (c *Core) NoteSegment() *Core { c.notes = append(c.notes, c.Data()); return c }

// Note appends a note.
func (c *Core) Note(owner string, typ uint32, desc []byte) *Core {
	b := c.notes[len(c.notes)-1]
	b.D32(uint32(len(owner)+1), uint32(len(desc)), typ).Str(owner).Align(4).Raw(desc).Align(4)
	return c
}

// Thread appends the NT_PRSTATUS of a thread and, where the architecture has
// registers in it, its NT_FPREGSET. Registers that are not known are zero.
func (c *Core) Thread(id, signal int, regs *arch.Regs) *Core {
	size := 336 // of struct elf_prstatus
	if c.arch.Machine == arch.EMAArch64 {
		size = 392
	}
	status := make([]byte, size)
	c.order.PutUint16(status[arch.PrStatusSignal:], uint16(signal))
	c.order.PutUint32(status[arch.PrStatusPID:], uint32(id))
	c.putRegs(status, c.arch.PrStatus, regs)
	c.Note("CORE", 1, status)
	if c.arch.FPRegSet != nil {
		fp := make([]byte, 136)
		c.putRegs(fp, c.arch.FPRegSet, regs)
		c.Note("CORE", 2, fp)
	}
	return c
}

func (c *Core) putRegs(desc []byte, table []arch.RegLoc, regs *arch.Regs) {
	for _, l := range table {
		v, _ := regs.Get(l.Reg)
		c.order.PutUint64(desc[l.Off:], v)
	}
}

// Process appends NT_PRPSINFO.
func (c *Core) Process(pid int, name, args string) *Core {
	desc := make([]byte, 136)
	c.order.PutUint32(desc[24:], uint32(pid))
	copy(desc[40:55], name)
	copy(desc[56:135], args)
	return c.Note("CORE", 3, desc)
}

// SigInfo appends NT_SIGINFO with an address or, as two 32-bit numbers in
// target byte order, the sender.
func (c *Core) SigInfo(signo, code int, union uint64) *Core {
	desc := c.Data().D32(uint32(signo), 0, uint32(code), 0).D64(union).Zero(104).Done()
	return c.Note("CORE", 0x53494749, desc)
}

// Auxv appends NT_AUXV with pairs of type and value.
func (c *Core) Auxv(pairs ...uint64) *Core {
	return c.Note("CORE", 6, c.Data().D64(pairs...).D64(0, 0).Done())
}

// Files appends NT_FILE with file offsets in units of unit bytes.
func (c *Core) Files(unit uint64, files ...CoreFile) *Core {
	b := c.Data().D64(uint64(len(files)), unit)
	for _, f := range files {
		b.D64(f.Lo, f.Hi, f.Off/unit)
	}
	for _, f := range files {
		b.Str(f.Path)
	}
	return c.Note("CORE", 0x46494c45, b.Done())
}

// Segment appends a mapping of size bytes, the first of which were dumped. Segments
// with the same slice share its bytes in the file.
func (c *Core) Segment(addr, size uint64, exec bool, data []byte) *Core {
	c.segs = append(c.segs, coreSegment{addr: addr, size: size, exec: exec, data: data})
	return c
}

// Writable appends a mapping of size bytes that the process may write to.
func (c *Core) Writable(addr, size uint64, data []byte) *Core {
	c.segs = append(c.segs, coreSegment{addr: addr, size: size, write: true, data: data})
	return c
}

// Done returns the file. With 65,535 segments or more it uses PN_XNUM.
func (c *Core) Done() []byte {
	const ehdrSize, phdrSize, shdrSize, pnXNum = 64, 56, 64, 0xffff
	n := len(c.notes) + len(c.segs)
	num, shoff, shnum, shsize := n, uint64(0), 0, 0
	if n >= pnXNum {
		num, shoff, shnum, shsize = pnXNum, ehdrSize+uint64(n)*phdrSize, 1, shdrSize
	}
	class := byte(1)
	if c.arch.BigEndian {
		class = 2
	}
	b := c.Data().Raw([]byte{0x7f, 'E', 'L', 'F', 2, class, 1}).Zero(9)
	b.D16(4, c.arch.Machine).D32(1).D64(0, ehdrSize, shoff).D32(0)
	b.D16(ehdrSize, phdrSize, uint16(num), uint16(shsize), uint16(shnum), 0)

	off := ehdrSize + uint64(n)*phdrSize + uint64(shsize)
	phdr := func(typ, flags uint32, off, addr, filesz, memsz uint64) {
		b.D32(typ, flags).D64(off, addr, 0, filesz, memsz, 4)
	}
	for _, note := range c.notes {
		phdr(4, 0, off, 0, uint64(note.Len()), 0)
		off += uint64(note.Len())
	}
	written := map[*byte]uint64{} // where the bytes of a slice are in the file
	var contents [][]byte
	for _, s := range c.segs {
		flags := uint32(4) // PF_R
		if s.exec {
			flags |= 1
		}
		if s.write {
			flags |= 2
		}
		at := off
		if len(s.data) > 0 {
			if where, ok := written[&s.data[0]]; ok {
				at = where
			} else {
				written[&s.data[0]] = off
				contents = append(contents, s.data)
				off += uint64(len(s.data))
			}
		}
		phdr(1, flags, at, s.addr, uint64(len(s.data)), s.size)
	}
	if shnum > 0 { // section header 0: sh_info is the number of segments
		b.Zero(44).D32(uint32(n)).Zero(16)
	}
	for _, note := range c.notes {
		b.Raw(note.Done())
	}
	for _, data := range contents {
		b.Raw(data)
	}
	return b.Done()
}
