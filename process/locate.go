package process

import (
	"fmt"

	"github.com/sfcore/sfcore/internal/symbol"
	"github.com/sfcore/sfcore/unwind"
)

// Location is what is known about the code at an address. It is the zero value if
// no module contains the address.
type Location struct {
	// Module is the build-id of the module, or its path if it has no build-id.
	// ModuleName is the last element of the path, and ModulePath is the path of the
	// module's file in the process.
	Module, ModuleName, ModulePath string
	// ModuleOffset is the link-time address.
	ModuleOffset uint64
	// Tables are the module's unwind tables; nil if its file is not an ELF image.
	Tables *unwind.Module
	// Functions are the inlined functions, the innermost first, and then the
	// function that contains the code. It is empty if the code has no name.
	Functions []Function
}

// Function is a function, and the line in it to which an address belongs. Unknown
// fields are "" or 0.
type Function struct {
	Name        string // demangled
	LinkageName string // the name in the symbol table, if it differs from Name
	Offset      uint64 // from the start of the function, which must not be inlined
	File        string
	Line        int // from 1
	Column      int // from 1, in bytes
	Inlined     bool
}

// Locate names the code at pc, a lookup pc. If it finds defects of tables, it adds
// them to [Process.Problems].
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

// Function returns the function that contains the code. It returns nil if the
// function has no name.
func (l *Location) Function() *Function {
	if n := len(l.Functions); n > 0 && l.Functions[n-1].Name != "" {
		return &l.Functions[n-1]
	}
	return nil
}

// Address returns the address of a function or variable, and whether any module
// has it. name is the name as the symbol table spells it (mangled). Address looks
// at all modules, the program first, and opens their files.
func (p *Process) Address(name string) (addr uint64, ok bool) { return p.modules.Address(name) }

// codeName names the code at an address. It returns "" if the address is not in a
// function with a name.
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
