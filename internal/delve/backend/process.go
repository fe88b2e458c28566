package backend

import (
	"fmt"
	"path/filepath"

	"github.com/go-delve/delve/pkg/dwarf/op"
	"github.com/go-delve/delve/pkg/proc"

	"github.com/sfcore/sfcore/internal/delve/wire"
)

// process is a stopped process in the form that delve needs. Methods that are not
// here are for processes that run, and are never called. Two of them have types that
// only delve can name, hence the nil interface.
type process struct {
	proc.ProcessInternal
	mem         *memory
	info        *proc.BinaryInfo
	entry       uint64
	threads     []*thread
	breakpoints proc.BreakpointMap
}

// newTarget makes a target of delve of a process.
func newTarget(s *wire.Setup, mem *memory) (*proc.Target, error) {
	p := &process{
		mem: mem, entry: s.Entry,
		// A process that is "attached" has delve ask no servers for debug files.
		info:        proc.NewBinaryInfo("linux", s.Arch, true),
		breakpoints: proc.NewBreakpointMap(),
	}
	for i := range s.Threads {
		t := &s.Threads[i]
		regs, err := decodeRegisters[s.Arch](t.Regs)
		if err != nil {
			return nil, fmt.Errorf("thread %d: %w", t.ID, err)
		}
		p.threads = append(p.threads, &thread{process: p, id: t.ID, regs: regs})
	}
	if len(p.threads) == 0 {
		return nil, fmt.Errorf("the process has no threads")
	}
	var dirs []string
	if s.Debug != "" {
		dirs = []string{filepath.Dir(s.Debug)}
	}
	_, add := proc.NewGroup(p, proc.NewTargetGroupConfig{DebugInfoDirs: dirs})
	return add(p, 0, p.threads[0], s.File, proc.StopAttached, "")
}

// BinInfo implements proc.Process, as do the following.
func (p *process) BinInfo() *proc.BinaryInfo            { return p.info }
func (p *process) EntryPoint() (uint64, error)          { return p.entry, nil }
func (p *process) Breakpoints() *proc.BreakpointMap     { return &p.breakpoints }
func (p *process) Memory() proc.MemoryReadWriter        { return p.mem }
func (p *process) Valid() (bool, error)                 { return true, nil }
func (*process) WriteBreakpoint(*proc.Breakpoint) error { return errReadOnly }

func (p *process) FindThread(id int) (proc.Thread, bool) {
	for _, t := range p.threads {
		if t.id == id {
			return t, true
		}
	}
	return nil, false
}

func (p *process) ThreadList() []proc.Thread {
	list := make([]proc.Thread, len(p.threads))
	for i, t := range p.threads {
		list[i] = t
	}
	return list
}

// ContinueOnce implements proc.ProcessGroup, as do the following.
func (*process) ContinueOnce(*proc.ContinueOnceContext) (proc.Thread, proc.StopReason, error) {
	return nil, proc.StopUnknown, errReadOnly
}
func (*process) StepInstruction(int) error { return errReadOnly }
func (*process) Detach(int, bool) error    { return nil }
func (*process) Close() error              { return nil }

// thread is a thread of a process.
type thread struct {
	process *process
	id      int
	regs    proc.Registers
	common  proc.CommonThread
	stopped proc.BreakpointState
}

// Breakpoint implements proc.Thread, as do the following.
func (t *thread) Breakpoint() *proc.BreakpointState    { return &t.stopped }
func (t *thread) ThreadID() int                        { return t.id }
func (t *thread) Registers() (proc.Registers, error)   { return t.regs, nil }
func (*thread) RestoreRegisters(proc.Registers) error  { return errReadOnly }
func (t *thread) BinInfo() *proc.BinaryInfo            { return t.process.info }
func (t *thread) ProcessMemory() proc.MemoryReadWriter { return t.process.mem }
func (*thread) SetCurrentBreakpoint(bool) error        { return nil }
func (*thread) SoftExc() bool                          { return false }
func (t *thread) Common() *proc.CommonThread           { return &t.common }
func (*thread) SetReg(uint64, *op.DwarfRegister) error { return errReadOnly }
