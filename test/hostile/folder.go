package main

import (
	"cmp"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/testkit"
)

// folder is a directory with the files of an input. Its methods keep the first
// error.
type folder struct {
	path  string
	stdin string // the file that is the standard input; "" if there is none
	env   []string
	// talk talks to sfcore by its standard output while it runs; nil if nobody does.
	talk func(out io.Reader) error
	// serves is set if sfcore is a server, which is interrupted after that.
	serves bool
	// ends are called after sfcore has ended.
	ends []func()
	err  error
}

func newFolder(path string) (*folder, error) {
	path, err := filepath.Abs(path)
	if err == nil {
		err = os.MkdirAll(path, 0o700)
	}
	return &folder{path: path}, err
}

// in returns the path of a file in the folder.
func (f *folder) in(name string) string { return filepath.Join(f.path, name) }

func (f *folder) check(err error) {
	if f.err == nil {
		f.err = err
	}
}

// write writes a file, and returns its path.
func (f *folder) write(name string, data []byte) string {
	path := f.in(name)
	f.check(os.MkdirAll(filepath.Dir(path), 0o700))
	f.check(os.WriteFile(path, data, 0o600))
	return path
}

// sparse makes a file as long as size whose end is a hole.
func (f *folder) sparse(name string, head []byte, size int64) string {
	path := f.write(name, head)
	f.check(os.Truncate(path, size))
	return path
}

// link makes a second name for a file, and returns its path.
func (f *folder) link(name, second string) string {
	f.check(os.Symlink(f.in(name), f.in(second)))
	return f.in(second)
}

// symlink makes a link with any text.
func (f *folder) symlink(text, name string) { f.check(os.Symlink(text, f.in(name))) }

// size returns how many bytes the files have together. Links are not followed.
func (f *folder) size() (total int64) {
	f.check(filepath.Walk(f.path, func(_ string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			total += info.Size()
		}
		return err
	}))
	return total
}

// Where the program and the stack are in the process of an input.
const (
	imageAt  = 0x400000
	textAt   = 0x401000
	textSize = 0x40000
	tableAt  = 0x500000 // of the first table; the others follow
	tableGap = 0x10000000
	stackAt  = 0x7ff000000000

	sectProgbits, sectSymtab, sectStrtab, sectNote = 1, 2, 3, 7
	flagWrite, flagAlloc, flagExec, flagCompressed = 1, 2, 4, 0x800
)

// text is code in which a call ends at every even address.
func text(size int) testkit.ELFSection {
	code := make([]byte, size)
	for i := 0; i < size; i += 2 {
		code[i], code[i+1] = 0xff, 0xd0 // call *%rax
	}
	return testkit.ELFSection{Name: ".text", Type: sectProgbits, Flags: flagAlloc | flagExec, Addr: textAt, Data: code, Align: 4096}
}

// bodySize is the size of a function of [bodies], and bodyCalls its calls.
const bodyCalls, bodySize = 1000, 2*bodyCalls + 6

// bodies is code of functions that have many calls each, and end as compilers write
// it. A frame takes 16 bytes.
func bodies(size int) testkit.ELFSection {
	s := text(size)
	for end := bodySize; end <= size; end += bodySize {
		copy(s.Data[end-6:], []byte{0x48, 0x83, 0xc4, 0x08, 0xc3, 0x90}) // add $8,%rsp; ret; nop
	}
	return s
}

// everyBody makes return addresses of calls of [bodies].
func everyBody(i int) uint64 {
	return uint64(i%(textSize/bodySize-1)*bodySize + 1000 + 2*(i/97%400))
}

// table is a section that the process has loaded, at a place of its own.
func table(name string, n int, data []byte) testkit.ELFSection {
	return testkit.ELFSection{Name: name, Type: sectProgbits, Flags: flagAlloc, Addr: tableAt + uint64(n)*tableGap, Data: data, Align: 16}
}

// plain is a section that is only in the file.
func plain(name string, data []byte) testkit.ELFSection {
	return testkit.ELFSection{Name: name, Type: sectProgbits, Data: data, Align: 1}
}

// elf returns a program of amd64 with some text and sections.
func elf(sections ...testkit.ELFSection) *testkit.ELF {
	return &testkit.ELF{
		Order: binary.LittleEndian, Type: 2, Machine: arch.EMX86_64, Base: imageAt,
		Sections: append([]testkit.ELFSection{text(textSize)}, sections...),
	}
}

// program writes the file of the program that [folder.process] says was running.
func (f *folder) program(sections ...testkit.ELFSection) { f.write("exe", elf(sections...).File()) }

// process describes a core. Its threads share a stack, unless more is said.
type process struct {
	threads int                // 1 if it is 0
	pc      func(i int) uint64 // of a thread; the start of the text if it is nil
	text    uint64             // bytes of the program's code; textSize if it is 0
	stack   []byte
	more    func(c *testkit.Core)
	files   []testkit.CoreFile // in addition to the program
}

// core returns the core of a process that ran the program of the folder.
func (f *folder) core(p process) []byte {
	c := testkit.NewCore(arch.AMD64).Process(1, "hostile", "hostile")
	for i := range max(p.threads, 1) {
		pc := uint64(textAt)
		if p.pc != nil {
			pc = p.pc(i)
		}
		c.Thread(i+1, 0, registers(pc))
	}
	end := textAt + cmp.Or(p.text, textSize)
	files := append([]testkit.CoreFile{{Lo: imageAt, Hi: end, Path: f.in("exe")}}, p.files...)
	c.Files(4096, files...)
	c.Segment(imageAt, end-imageAt, true, nil)
	for _, file := range p.files {
		c.Segment(file.Lo, file.Hi-file.Lo, true, nil)
	}
	if p.stack == nil {
		p.stack = make([]byte, 4096)
	}
	c.Segment(stackAt, uint64(len(p.stack)), false, p.stack)
	if p.more != nil {
		p.more(c)
	}
	return c.Done()
}

// bt writes a core and returns the arguments that print its stacks.
func (f *folder) bt(p process, flags ...string) []string {
	return append(append([]string{"bt"}, flags...), f.write("core", f.core(p)))
}

// handler is bt as a crash handler runs it: the core is the standard input.
func (f *folder) handler(p process) []string {
	f.stdin = f.write("core", f.core(p))
	return []string{"bt", "--max-time", "10s", "--max-size", "8G", "--format", "json", "-"}
}

func registers(pc uint64) *arch.Regs {
	r, a := &arch.Regs{}, arch.AMD64
	r.Set(a.PC, pc)
	r.Set(a.SP, stackAt)
	r.Set(a.FP, stackAt)
	return r
}

// frames returns a stack of n frames of 16 bytes. The return address of frame i is
// at ra(i) bytes from the start of the text.
func frames(n int, ra func(i int) uint64) []byte {
	b := make([]byte, 16*n+16)
	for i := range n {
		binary.LittleEndian.PutUint64(b[16*i+8:], textAt+ra(i))
	}
	return b
}

// everyCall makes return addresses of all calls of the text, one after the other, so
// that none is remembered for long.
func everyCall(i int) uint64 { return uint64(2 + 2*(i%(textSize/2-2))) }
