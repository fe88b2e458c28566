package process

import (
	"fmt"

	"github.com/sfcore/sfcore/internal/symbol"
	"github.com/sfcore/sfcore/unwind"
)

// Location is what is known of the code at an address. It is the zero value if no
// module contains that.
type Location struct {
	// Module is the build-id of the module, or its path where there is none, and
	// ModulePath the path of its file in the process.
	Module, ModuleName, ModulePath string
	// ModuleOffset is the link-time address.
	ModuleOffset uint64
	// Tables are the module's unwind tables; nil if its file is no ELF image.
	Tables *unwind.Module
	// Functions are the inlined functions, the innermost first, and then the one
	// that holds the code; none if it has no name.
	Functions []Function
}

// Function is a function and the line of it that an address belongs to. What is
// unknown is "" or 0.
type Function struct {
	Name        string // demangled
	LinkageName string // as in the symbol table, if that is another
	Offset      uint64 // from the start of the function, which must not be inlined
	File        string
	Line        int // from 1
	Column      int // from 1, in bytes
	Inlined     bool
}

// Locate names the code at pc, a lookup pc. Defects of tables that this shows are
// in [Process.Problems].
func (p *Process) Locate(pc uint64) Location {
	m := p.modules.At(pc)
	if m == nil {
		return Location{}
	}
	l := Location{Module: m.ID(), ModuleName: m.Name(), ModulePath: m.Path, ModuleOffset: pc - m.Bias}
	if !m.Files.Foreign {
		l.Tables = &m.Tables
	}
	for _, s := range p.modules.Locate(pc, nil) {
		l.Functions = append(l.Functions, function(&s))
	}
	return l
}

func function(s *symbol.Location) Function {
	f := Function{
		Name: symbol.Demangle(s.Func), Offset: s.Offset, File: s.File, Line: s.Line, Column: s.Column, Inlined: s.Inlined,
	}
	if f.Name != s.Func {
		f.LinkageName = s.Func
	}
	return f
}

// Function returns the function that holds the code; nil if it has no name.
func (l *Location) Function() *Function {
	if n := len(l.Functions); n > 0 && l.Functions[n-1].Name != "" {
		return &l.Functions[n-1]
	}
	return nil
}

// Address returns where the function or variable with a name is, as the symbol
// table spells it (mangled), and whether any module has it. It looks at all
// modules, the program first, and opens their files.
func (p *Process) Address(name string) (addr uint64, ok bool) { return p.modules.Address(name) }

// codeName names the code at an address, which need not be in a function.
func (p *Process) codeName(addr uint64) string {
	l := p.Locate(addr)
	f := l.Function()
	switch {
	case f == nil:
		return ""
	case f.Offset != 0:
		return fmt.Sprintf("%s+%#x", f.Name, f.Offset)
	}
	return f.Name
}
