package sframe

import (
	"errors"
	"fmt"

	"github.com/sfcore/sfcore/arch"
)

// word is a data word before its size is known.
type word struct {
	v        int64
	unsigned bool
}

// size returns how many bytes the word needs: 1, 2 or 4; 0 if it needs more.
func (w word) size() int {
	for size := 1; size <= 4; size *= 2 {
		half := int64(1) << (8*size - 1)
		if w.unsigned && 0 <= w.v && w.v < 2*half || !w.unsigned && -half <= w.v && w.v < half {
			return size
		}
	}
	return 0
}

// row writes row i of f.
func (w *writer) row(f *FuncRows, i, width int, flex bool) error {
	r := &f.Rows[i]
	switch {
	case i > 0 && r.At <= f.Rows[i-1].At:
		return errors.New("rows do not ascend")
	case f.RepSize != 0 && r.At >= uint32(f.RepSize):
		return fmt.Errorf("the block has %d bytes", f.RepSize)
	case r.At > f.Size:
		return fmt.Errorf("the function has %d bytes", f.Size)
	case r.Row.SignedRA && (!w.arch.PAC || w.ver.freUnused&freMangledRA != 0):
		return errors.New("return addresses cannot be signed")
	}
	words, base, err := w.words(&r.Row, flex)
	if err != nil {
		return err
	}
	size := 1
	for _, v := range words {
		if v.size() == 0 {
			return fmt.Errorf("%d does not fit in 32 bits", v.v)
		}
		size = max(size, v.size())
	}
	info := base | byte(len(words))<<1 | byte(size/2)<<5
	if r.Row.SignedRA {
		info |= freMangledRA
	}
	w.putUint(width, uint64(r.At))
	w.fres = append(w.fres, info)
	for _, v := range words {
		w.putUint(size, uint64(v.v))
	}
	return nil
}

func (w *writer) putUint(size int, v uint64) {
	switch size {
	case 1:
		w.fres = append(w.fres, byte(v))
	case 2:
		w.fres = w.order.AppendUint16(w.fres, uint16(v))
	case 4:
		w.fres = w.order.AppendUint32(w.fres, uint32(v))
	}
}

// words returns the data words of a row and its base register bit.
func (w *writer) words(row *arch.Row, flex bool) (words []word, base byte, err error) {
	if row.Outermost() {
		if !w.ver.outermost {
			return nil, 0, fmt.Errorf("version %s has no outermost rows", w.Version)
		}
		return nil, 0, nil
	}
	for _, r := range []arch.Rule{row.CFA, row.RA, row.FP} {
		if r.Base != arch.CFA && r.Base != arch.Register || r.Add != 0 {
			return nil, 0, fmt.Errorf("rule %s is not of a kind that SFrame has", r.Format(w.arch))
		}
	}
	if row.CFA.Base != arch.Register {
		return nil, 0, errors.New("the CFA has no base register")
	}
	abi := &w.arch.SFrame
	cfa := row.CFA.Off - abi.CFABase
	if cfa%abi.CFAFactor != 0 {
		return nil, 0, fmt.Errorf("CFA offset %d is not aligned", row.CFA.Off)
	}
	cfa /= abi.CFAFactor
	if flex {
		words, err = w.flexible(row, cfa)
		return words, 0, err
	}
	if row.CFA.Reg == w.arch.SP {
		base = freBaseSP
	}
	words, ok := w.regular(row, cfa)
	if !ok {
		return nil, 0, fmt.Errorf("%s needs flexible rows, which version %s has not", row.Format(w.arch), w.Version)
	}
	return words, base, nil
}

// isRegular reports whether all rows of f can be written without FLEX.
func (w *writer) isRegular(f *FuncRows) bool {
	for i := range f.Rows {
		row := &f.Rows[i].Row
		if _, ok := w.regular(row, 0); !ok && !row.Outermost() {
			return false
		}
	}
	return true
}

// implied reports whether a rule is that of the header, or the default if neither
// the header nor the row gives one. same is the register that is unchanged.
func implied(r arch.Rule, fixed int8, same arch.Reg) bool {
	if fixed != 0 {
		return r == arch.AtCFA(int64(fixed))
	}
	return same != arch.NoReg && r == arch.SameValue(same)
}

// regular returns the words of a row of the default FDE type, or false if no such
// row means the same.
func (w *writer) regular(row *arch.Row, cfa int64) ([]word, bool) {
	if row.CFA.Deref || row.CFA.Reg != w.arch.SP && row.CFA.Reg != w.arch.FP {
		return nil, false
	}
	words := []word{{v: cfa}}
	ra, raOK := w.stored(row.RA, w.FixedRA, w.arch.LR)
	fp, fpOK := w.stored(row.FP, w.FixedFP, w.arch.FP)
	if !raOK || !fpOK || ra != nil && ra.v == 0 {
		return nil, false // a zero word is not an offset of RA but padding
	}
	if w.ver.fpBeforeRA {
		if ra != nil && fp == nil && w.FixedFP == 0 {
			return nil, false // nothing can stand for FP
		}
		ra, fp = fp, ra
	} else if ra == nil && fp != nil && w.FixedRA == 0 {
		ra = new(word)
	}
	for _, v := range []*word{ra, fp} {
		if v != nil {
			words = append(words, *v)
		}
	}
	return words, true
}

// stored returns the word for the location of a register, nil if none is needed, or
// false if no word can express it.
func (w *writer) stored(r arch.Rule, fixed int8, same arch.Reg) (*word, bool) {
	regWords := w.arch.SFrame.RegWords && w.ver.regWords
	switch {
	case implied(r, fixed, same):
		return nil, true
	case fixed != 0:
		return nil, false
	case r.Base == arch.CFA && r.Deref && !(regWords && r.Off&1 != 0):
		return &word{v: r.Off}, true
	case r.Base == arch.Register && !r.Deref && r.Off == 0 && regWords && isDWARF(w.arch, r.Reg):
		return &word{v: int64(r.Reg)<<1 | 1}, true
	}
	return nil, false
}

// flexible returns the words of a row of FDE type FLEX.
func (w *writer) flexible(row *arch.Row, cfa int64) ([]word, error) {
	rules := []struct {
		arch.Rule
		implied bool
	}{
		{Rule: row.CFA},
		{row.RA, implied(row.RA, w.FixedRA, w.arch.LR)},
		{row.FP, implied(row.FP, w.FixedFP, w.arch.FP)},
	}
	rules[0].Off = cfa
	for len(rules) > 1 && rules[len(rules)-1].implied {
		rules = rules[:len(rules)-1]
	}
	var words []word
	for _, r := range rules {
		if r.implied {
			words = append(words, word{})
			continue
		}
		control := int64(0)
		if r.Deref {
			control |= controlDeref
		}
		if r.Base == arch.Register {
			if !isDWARF(w.arch, r.Reg) {
				return nil, fmt.Errorf("%s has no DWARF number", w.arch.RegName(r.Reg))
			}
			control |= controlReg | int64(r.Reg)<<controlRegShift
		}
		if control == 0 {
			return nil, fmt.Errorf("%s cannot be told from an unchanged register", r.Format(w.arch))
		}
		words = append(words, word{v: control, unsigned: true}, word{v: r.Off})
	}
	return words, nil
}

// isDWARF reports whether a register has a DWARF number.
func isDWARF(a *arch.Arch, r arch.Reg) bool {
	_, ok := a.FromDWARF(uint64(r))
	return ok
}
