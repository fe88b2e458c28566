package process

import (
	"errors"
	"iter"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/symbol"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/unwind/gostack"
	"github.com/sfcore/sfcore/unwind/pclntab"
)

// GoProgram is the Go program in a process, as tools for Go want to know it.
type GoProgram struct {
	// File is a name by which this process can open the program, DebugFile its
	// separate file with debug information; "" if there is none.
	File, DebugFile string
	// HasDebug is set if it has debug information, in either file.
	HasDebug bool
	// Entry is the address of its entry point in memory.
	Entry uint64
}

// GoProgram returns the module that has the Go runtime, the main program before
// libraries. ok is false if there is none whose file was found. It opens the files
// of all modules.
func (p *Process) GoProgram() (program GoProgram, ok bool) {
	m := p.modules.WithGo()
	if m == nil {
		return GoProgram{}, false
	}
	return GoProgram{File: m.Files.Open, DebugFile: m.DebugFile(), HasDebug: m.Source() != nil, Entry: m.Image().Entry + m.Bias}, true
}

// IsGo reports whether the program itself, and not a library, has the Go runtime. Unlike
// [Process.GoProgram] it opens no other file.
func IsGo(p *Process) bool { return p.modules.MainHasGo() }

// GoFunction returns the Go function that is at an address, by Go's own tables: those
// of the program, or of a library or plugin written in Go.
func (p *Process) GoFunction(addr uint64) (pclntab.Func, bool) {
	m := p.modules.At(addr)
	if m == nil || m.Tables.Go == nil {
		return pclntab.Func{}, false
	}
	return m.Tables.Go.Find(addr)
}

// ErrNoGo is returned by Goroutines for a process without a Go program.
var ErrNoGo = errors.New("no Go program was found in this process")

// Goroutines returns the goroutines of the Go program, in the order in which the
// runtime has them. It needs neither symbols nor debug information. For errors see
// [gostack.Program.Goroutines]; besides, there is ErrNoGo.
func (p *Process) Goroutines() (iter.Seq[gostack.Goroutine], error) {
	m := p.modules.WithGo()
	if m == nil {
		return nil, ErrNoGo
	}
	program := gostack.Program{
		Arch: p.img.Arch, Mem: p.Memory(), Find: p.GoFunction, Version: symbol.GoVersion(m.Image()), Data: writable(m.Image().Progs, m.Bias),
	}
	return program.Goroutines()
}

// writable returns the memory of a program's variables.
func writable(progs []elfx.Prog, bias uint64) (data []memreader.Segment) {
	for i := range progs {
		if s := &progs[i]; s.Type == elfx.ProgLoad && s.Flags&elfx.ProgWrite != 0 {
			data = append(data, memreader.Segment{Addr: s.Vaddr + bias, Size: s.Memsz})
		}
	}
	return data
}
