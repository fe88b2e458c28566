package report

import "github.com/sfcore/sfcore/unwind"

// Thread is a thread and its stack.
type Thread struct {
	TID     int    `json:"tid"`
	NSTID   int    `json:"nsTid,omitempty"` // the id in the process's pid namespace, if that differs from ours
	Name    string `json:"name,omitempty"`
	State   string `json:"state,omitempty"` // for a live process only
	Crashed bool   `json:"crashed,omitempty"`
	// Scene is where the thread stopped. It is filled in only on request.
	Scene  *Scene  `json:"scene,omitempty"`
	Frames []Frame `json:"frames"`
	Stop   Stop    `json:"stop"`
}

// Frame is a frame. Inlined frames precede the physical frame that they belong to,
// and repeat its addresses.
type Frame struct {
	Index  int           `json:"index"` // from 0; inlined frames count
	PC     Addr          `json:"pc"`
	SP     OptAddr       `json:"sp,omitzero"`
	CFA    OptAddr       `json:"cfa,omitzero"`
	Method unwind.Method `json:"method"`
	Trust  unwind.Trust  `json:"trust"`
	// Evidence is what speaks for and against the frame. It is filled in only with
	// the workings.
	Evidence unwind.Evidence `json:"evidence,omitempty"`
	// Exact is set if PC is the address of the instruction that was being executed.
	// It is unset if PC is a return address, or the address after an instruction that
	// trapped.
	Exact          bool    `json:"exact,omitempty"`
	Module         string  `json:"module,omitempty"`      // build-id, or path if there is no build-id
	ModuleOffset   OptAddr `json:"moduleOffset,omitzero"` // PC as a link-time address
	Function       string  `json:"function,omitempty"`    // demangled
	LinkageName    string  `json:"linkageName,omitempty"`
	FunctionOffset OptAddr `json:"functionOffset,omitzero"`
	File           string  `json:"file,omitempty"`
	Line           int     `json:"line,omitempty"`   // from 1
	Column         int     `json:"column,omitempty"` // from 1, in bytes
	Inlined        bool    `json:"inlined,omitempty"`
	SignalFrame    bool    `json:"signalFrame,omitempty"`
	// Rule has the rules by which the caller was found, for CFA, RA and FP.
	Rule string `json:"rule,omitempty"`
	// Doubt says why the frame does not have full trust. It is filled in with
	// Evidence.
	Doubt string `json:"doubt,omitempty"`
	// Skipped says why better methods did not find the caller.
	Skipped string `json:"skipped,omitempty"`
	// Source are the source lines around Line. They are filled in only on request.
	Source []SourceLine `json:"source,omitempty"`
	// Variables are the arguments and then the local variables. They are filled in
	// only on request.
	Variables []Variable `json:"variables,omitempty"`

	// ModuleName is the last element of the module's path, for display.
	ModuleName string `json:"-"`
}

// Stop says why a stack ends.
type Stop struct {
	Reason unwind.Reason `json:"reason"`
	Detail string        `json:"detail,omitempty"`
}

// Complete reports whether the stack was followed to its end without a guess, which may
// have left out frames. The stack of a thread that has ended, or that works for the
// kernel, is empty, and so complete.
func (t *Thread) Complete() bool {
	if t.State == "zombie" || t.State == "kernel-worker" {
		return true
	}
	n := len(t.Frames)
	return t.Stop.Reason == unwind.Outermost && n > 0 && t.Frames[n-1].Trust != unwind.Guess
}
