package process

// GoProgram is the Go program in a process, as tools for Go want to know it.
type GoProgram struct {
	// File is a name by which this process can open the program, DebugFile its
	// separate file with debug information; "" if there is none.
	File, DebugFile string
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
	return GoProgram{File: m.Files.Open, DebugFile: m.DebugFile(), Entry: m.Image().Entry + m.Bias}, true
}
