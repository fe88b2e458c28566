// Package value finds the values of variables. It evaluates the locations that
// debug information gives them, with the registers and the memory of a frame,
// and writes the value according to its type.
//
// If a value depends on something unknown, the result is an error that says why;
// the package never guesses. It reads memory only through memreader, and values
// only when they are needed.
package value

import (
	"errors"
	"fmt"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/internal/dwarf/expr"
	"github.com/sfcore/sfcore/internal/dwarf/info"
	"github.com/sfcore/sfcore/memreader"
)

// Frame is a frame with variables. Addresses are run-time addresses. A Frame is not
// safe for concurrent use, nor are its Scopes and Objects, which refer to it.
type Frame struct {
	Arch *arch.Arch
	Mem  memreader.Reader
	// Data is the debug information of the module that contains PC. Bias is the
	// load bias of the module.
	Data *info.Data
	Bias uint64
	// PC is the lookup pc; see unwind.Frame.LookupPC.
	PC   uint64
	Regs *arch.Regs
	// CFA is the canonical frame address, 0 if unknown.
	CFA uint64
	// Wide returns the bytes of a register, by its DWARF number, that has no slot in
	// Regs, in the order of memory; nil if they are unknown.
	Wide func(reg uint64) []byte
	// Return is the return address of the frame, and Caller the frame at that
	// address; nil if the frame was not called.
	Return uint64
	Caller func() *Frame
	// Name names code for pointers to functions; "" if it has no name.
	Name func(addr uint64) string
	// Steps counts what package container has read to find the elements of objects of the
	// frame: words, or what takes as long. Nodes are the types of nodes that it has found.
	Steps int
	Nodes map[string]*info.Type
}

// ErrOptimizedOut says that a variable has no value because, according to the debug
// information, it does not exist at this place in the code. Errors of [Object]
// match it and [ErrNotRecovered] with errors.Is.
var ErrOptimizedOut = errors.New("optimised out")

// ErrNotRecovered says that a value is unknown because it is in, or depends on, a
// register that was not recovered.
var ErrNotRecovered = errors.New("not recovered")

// Scope is a function at a frame: the one that holds the code, or one that was
// inlined.
type Scope struct {
	info.Scope
	frame *Frame

	// The frame base, once it was computed.
	base     uint64
	baseErr  error
	baseDone bool
}

// Scopes returns the functions at a frame, the innermost inlined one first. An
// error says what is damaged; what is known is still returned.
func (f *Frame) Scopes() ([]Scope, error) {
	scopes, err := f.Data.Scopes(f.PC - f.Bias)
	list := make([]Scope, len(scopes))
	for i := range scopes {
		list[i] = f.In(&scopes[i])
	}
	return list, err
}

// In returns a function that debug information has at the frame's code, to read
// variables of it. It is one of what Data.Scopes returned for that code.
func (f *Frame) In(s *info.Scope) Scope { return Scope{Scope: *s, frame: f} }

// Object returns the value of a variable of the scope.
func (s *Scope) Object(v *info.Variable) Object {
	return s.object(v, newTrail())
}

func (s *Scope) object(v *info.Variable, tr trail) Object {
	o := Object{Name: v.Name, Type: v.Type, scope: s}
	switch {
	case v.Type == nil:
		o.err = errNoType
	case v.IsConst && v.Const.Data != nil:
		o.at.pieces = []expr.Piece{{Kind: expr.Bytes, Data: v.Const.Data}}
	case v.IsConst:
		o.at.pieces = []expr.Piece{{Kind: expr.Value, Value: v.Const.Int}}
	case !v.Where.Known():
		o.err = ErrOptimizedOut
	default:
		o.at.pieces, o.err = s.locate(&v.Where, nil, tr)
	}
	if v.Type != nil {
		o.at.size = o.sizeOf(v.Type)
	}
	return o
}

var errNoType = errors.New("the debug information lacks its type")

// locate evaluates a location. object is the address that is initially on the
// stack, and that DW_OP_push_object_address pushes; nil if there is none.
func (s *Scope) locate(e *info.Expr, object *uint64, tr trail) ([]expr.Piece, error) {
	c := s.context(e, object, tr)
	var m expr.Machine
	pieces, err := m.Locate(&c, e.Code, nil)
	return pieces, reason(err)
}

const (
	// maxCallers bounds the frames through which one value is followed, from a
	// function to its caller.
	maxCallers = 8
	// maxAsked bounds how many values of callers one value may need: each
	// operation of an expression could need one.
	maxAsked = 64
)

// trail is the path of a value through callers.
type trail struct {
	depth int
	asked *int
}

func newTrail() trail { return trail{asked: new(int)} }

func (tr trail) up() trail { return trail{tr.depth + 1, tr.asked} }

func (s *Scope) context(e *info.Expr, object *uint64, tr trail) expr.Context {
	f := s.frame
	d := &expr.Debug{
		CFA: f.cfa, Wide: f.Wide, Address: e.Address, OffsetSize: e.OffsetSize(),
		FrameBase: func() (uint64, error) { return s.frameBase(tr) },
		Type: func(off uint64) (expr.Type, bool) {
			t, ok := e.Type(off)
			if !ok {
				return expr.Type{}, false
			}
			return expr.Type{Size: t.Size, Encoding: expr.Encoding(t.Encoding)}, true
		},
		Entry: func(code []byte) (uint64, error) { return s.atEntry(code, tr) },
	}
	if object != nil {
		d.Object, d.HasObject = *object, true
	}
	return expr.Context{
		Arch: f.Arch, Regs: f.Regs, Bias: f.Bias, Debug: d,
		Mem: &memreader.Words{R: f.Mem, BigEndian: f.Arch.BigEndian},
	}
}

func (f *Frame) cfa() (uint64, error) {
	if f.CFA == 0 {
		return 0, fmt.Errorf("%w: the frame's address is unknown", ErrNotRecovered)
	}
	return f.CFA, nil
}

// frameBase returns the address that DW_OP_fbreg counts from.
func (s *Scope) frameBase(tr trail) (uint64, error) {
	if !s.baseDone {
		s.baseDone = true
		s.base, s.baseErr = s.computeBase(tr)
	}
	return s.base, s.baseErr
}

func (s *Scope) computeBase(tr trail) (uint64, error) {
	if !s.FrameBase.Known() {
		return 0, errNoFrameBase
	}
	c := s.context(&s.FrameBase, nil, tr)
	c.Debug.FrameBase = nil // it is not in terms of itself
	var m expr.Machine
	pieces, err := m.Locate(&c, s.FrameBase.Code, nil)
	if err != nil {
		return 0, err
	}
	if len(pieces) != 1 {
		return 0, errNoFrameBase
	}
	switch p := &pieces[0]; p.Kind {
	case expr.Memory:
		return p.Addr, nil
	case expr.Value:
		return p.Value, nil
	case expr.Register:
		reg, ok := s.frame.Arch.FromDWARF(p.Reg)
		if v, known := s.frame.Regs.Get(reg); ok && known {
			return v, nil
		}
		return 0, &expr.RegisterError{Reg: p.Reg}
	case expr.Unknown:
		return 0, p.Err
	default:
		return 0, errNoFrameBase
	}
}

var errNoFrameBase = errors.New("the function's frame base is unknown")

// atEntry returns the value that the caller passed in a register when it called the
// function.
func (s *Scope) atEntry(code []byte, tr trail) (uint64, error) {
	f := s.frame
	var caller *Frame
	if *tr.asked++; f.Caller != nil && tr.depth < maxCallers && *tr.asked <= maxAsked {
		caller = f.Caller()
	}
	if caller == nil || caller.Data == nil {
		return 0, errNoCaller
	}
	site, err := caller.Data.CallSite(f.Return - caller.Bias)
	if err != nil {
		return 0, err
	}
	scopes, err := caller.Scopes()
	if site == nil || len(scopes) == 0 {
		return 0, errors.Join(errNoCaller, err)
	}
	outer := &scopes[len(scopes)-1]
	if !outer.calls(site, s, tr.up()) {
		return 0, errNoCaller
	}
	want, ok := expr.RegisterOf(code)
	for i := range site.Params {
		p := &site.Params[i]
		if reg, isReg := expr.RegisterOf(p.Where); ok && isReg && reg == want {
			return outer.value(&p.Value, tr.up())
		}
	}
	return 0, errNoCaller
}

var errNoCaller = fmt.Errorf("%w: the arguments of the call are unknown", ErrNotRecovered)

// calls reports whether a call in s certainly went to the function of callee. If it
// went to another function that jumped to callee, the arguments differ.
func (s *Scope) calls(site *info.CallSite, callee *Scope, tr trail) bool {
	if site.Func != "" {
		scopes, _ := callee.frame.Scopes()
		return len(scopes) > 0 && scopes[len(scopes)-1].Func == site.Func
	}
	if !site.Target.Known() || callee.Entry == 0 {
		return false
	}
	target, err := s.value(&site.Target, tr)
	return err == nil && target == callee.Entry+callee.frame.Bias
}

// value computes an expression that gives a value.
func (s *Scope) value(e *info.Expr, tr trail) (uint64, error) {
	c := s.context(e, nil, tr)
	var m expr.Machine
	return m.Value(&c, e.Code)
}

// reason turns an error into one of the reasons that are shown.
func reason(err error) error {
	if unknown := (*expr.RegisterError)(nil); errors.As(err, &unknown) && !errors.Is(err, ErrNotRecovered) {
		return fmt.Errorf("%w: %w", ErrNotRecovered, err)
	}
	return err
}
