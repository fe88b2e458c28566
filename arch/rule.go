package arch

import (
	"errors"
	"fmt"
	"strings"
)

// Base says what a [Rule]'s offset is added to.
type Base uint8

const (
	// Undefined means that the value cannot be recovered. It is the zero Base.
	Undefined Base = iota
	// CFA is the canonical frame address of the frame being unwound.
	CFA
	// Register is the value of Rule.Reg in the frame being unwound.
	Register
	// Absolute is zero: Rule.Off is the value itself, or its address.
	Absolute
)

// Rule says how one value of the caller's frame is computed:
//
//	value = base + Off            Deref false
//	value = *(base + Off) + Add   Deref true; 8 bytes in target byte order
//
// "Same value" is Register + 0 of the register itself. The zero Rule is
// Undefined. An unknown base register makes the value unknown, never zero.
type Rule struct {
	// Off is in bytes; sums wrap around at 64 bits.
	Off   int64
	Base  Base
	Deref bool
	// Reg is the base register if Base is Register.
	Reg Reg
	// Add is added after the load, in bytes. Only the s390x back chain needs
	// it: the stored word is the caller's SP, which is CFA - 160.
	Add int16
}

// ErrUndefined is the error for an Undefined rule, which has no value.
var ErrUndefined = errors.New("the value cannot be recovered")

// UnknownRegister is the error for a rule that has no value because its base register
// is unknown.
type UnknownRegister Reg

func (r UnknownRegister) Error() string {
	return fmt.Sprintf("register %d is not known", uint8(r))
}

// Memory reads words of the process, in its byte order. memreader.Words is one.
type Memory interface {
	Uint64(addr uint64) (uint64, error)
}

// Eval computes the value by the formula above: regs and cfa are those of the
// frame being unwound, mem is the memory of the process. The error is
// [ErrUndefined], an [UnknownRegister], or that of mem. Eval does not allocate
// unless mem does.
func (r *Rule) Eval(regs *Regs, cfa uint64, mem Memory) (uint64, error) {
	var v uint64
	switch r.Base {
	case Undefined:
		return 0, ErrUndefined
	case CFA:
		v = cfa
	case Register:
		var known bool
		if v, known = regs.Get(r.Reg); !known {
			return 0, UnknownRegister(r.Reg)
		}
	case Absolute:
	}
	v += uint64(r.Off)
	if !r.Deref {
		return v, nil
	}
	w, err := mem.Uint64(v)
	if err != nil {
		return 0, err
	}
	return w + uint64(r.Add), nil
}

// RegRule is the rule for a register that has no field of its own in a [Row].
type RegRule struct {
	Reg  Reg
	Rule Rule
}

// Row says how to recover a caller's frame at one pc. Every SFrame version, call frame
// information, the frame-pointer convention and signal frames are all translated into
// this one form.
type Row struct {
	// CFA computes the canonical frame address.
	CFA Rule
	// RA computes the return address, which is the caller's pc. Undefined
	// means that this frame is the outermost one.
	RA Rule
	// FP computes the caller's frame pointer register.
	FP Rule
	// Extra are rules for further registers. A rule for SP here replaces
	// SP = CFA + Arch.SPFromCFA. The slice belongs to whoever made the row and
	// is valid until that maker is used again; it is not modified.
	Extra []RegRule
	// Signal is set when the frame being unwound is a signal trampoline: the
	// caller was interrupted at exactly the recovered pc.
	Signal bool
	// SignedRA is set when the return address carries an AArch64 pointer
	// authentication code in at least this row.
	SignedRA bool
	// CalleeSaved is set when registers without a rule keep their value if
	// the ABI says that the callee saves them. SFrame rows leave it unset: such
	// registers may have been saved in places that SFrame does not tell.
	CalleeSaved bool
	// Evaluated is set when the row depends on the registers and the memory of this
	// frame, because expressions were evaluated to make it. It does not hold for every
	// frame at this pc.
	Evaluated bool
	// Switch is set when the caller is on another stack, and the row's maker
	// has checked that SP there is within that stack.
	Switch bool
	// Uncertain is set when the maker could not check everything by which it made the
	// row.
	Uncertain bool
	// Followed says which instructions the row's maker followed, if that confirms the
	// row.
	Followed Path
	// Injected is set when the caller made no call, but a signal handler made it look
	// as if it had. The recovered pc is the interrupted one.
	Injected bool
}

// Path is a way through the instructions of a function.
type Path uint8

// The paths.
const (
	NoPath   Path = iota
	FromCall      // from the target of the call before the return address to the pc
	ToReturn      // from the pc, which is being executed, to a return, past no call
)

// Outermost reports whether the row marks the end of the stack.
func (r *Row) Outermost() bool { return r.RA.Base == Undefined }

// SameValue is the rule of a register that keeps its value.
func SameValue(r Reg) Rule { return Rule{Base: Register, Reg: r} }

// AtCFA is the rule of a value stored off bytes from the CFA.
func AtCFA(off int64) Rule { return Rule{Base: CFA, Off: off, Deref: true} }

// AtReg is the rule of a value stored off bytes from the value of r.
func AtReg(r Reg, off int64) Rule {
	return Rule{Base: Register, Reg: r, Off: off, Deref: true}
}

// RegOffset is the rule of a value off bytes from the value of r.
func RegOffset(r Reg, off int64) Rule {
	return Rule{Base: Register, Reg: r, Off: off}
}

// Format writes the rule in the notation of unwind tables: "u" for undefined,
// "sp+16", "c-8" relative to the CFA, "*(c-8)" for a value in memory.
func (r Rule) Format(a *Arch) string {
	var base string
	switch r.Base {
	case Undefined:
		return "u"
	case CFA:
		base = "c"
	case Register:
		base = a.RegName(r.Reg)
	case Absolute:
		base = fmt.Sprintf("%#x", uint64(r.Off))
	}
	if r.Base != Absolute && (r.Off != 0 || r.Base == CFA) {
		base += fmt.Sprintf("%+d", r.Off)
	}
	if !r.Deref {
		return base
	}
	base = "*(" + base + ")"
	if r.Add != 0 {
		base += fmt.Sprintf("%+d", r.Add)
	}
	return base
}

// Format writes the row on one line: "cfa=sp+16 ra=*(c-8) fp=*(c-16)".
func (r *Row) Format(a *Arch) string {
	var b strings.Builder
	fmt.Fprintf(&b, "cfa=%s ra=%s fp=%s", r.CFA.Format(a), r.RA.Format(a), r.FP.Format(a))
	for _, e := range r.Extra {
		fmt.Fprintf(&b, " %s=%s", a.RegName(e.Reg), e.Rule.Format(a))
	}
	if r.Signal {
		b.WriteString(" signal")
	}
	if r.SignedRA {
		b.WriteString(" signed-ra")
	}
	return b.String()
}
