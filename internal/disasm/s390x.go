package disasm

import (
	"encoding/binary"

	"github.com/sfcore/sfcore/arch"
)

// s390Form is the common effect of some instructions of s390x, in terms of the
// fields of the encoding.
type s390Form uint8

const (
	s390Unknown   s390Form = iota // leads nowhere
	s390None                      // changes no register that is followed
	s390R1                        // R1 may change
	s390Pair                      // R1 and the register behind it may change
	s390Pairs                     // ... and R2 or R3 and the one behind that
	s390Range                     // the registers from R1 to R3 change
	s390E1                        // these are for formats with R1 and R2 in the fourth byte
	s390EPair                     // ...
	s390EPairs                    // ...
	s390ToFloat                   // R2 goes to a place that is not followed, from where it may come back
	s390FromFloat                 // R1 comes from there
	s390Copy                      // R1 becomes R2
	s390Address                   // R1 becomes the address
	s390Add                       // an immediate is added to R1
	s390Subtract                  // ... or subtracted
	s390Add3                      // R1 becomes R3 and an immediate
	s390Store                     // R1 is stored
	s390Load                      // R1 is loaded
	s390StoreAll                  // the registers from R1 to R3 are stored
	s390LoadAll                   // ... or loaded
	s390Goto                      // goes to R2 if the mask R1 says so
	s390GotoAt                    // goes to the address if the mask R1 says so
	s390Branch                    // goes elsewhere if the mask R1 says so
	s390Compare                   // goes elsewhere or not
	s390Count                     // goes elsewhere or not, R1 changes
	s390Call                      // R1 is where it returns to
	s390CallBy                    // ... if R2 is not 0
	s390System                    // calls the system
)

// s390Forms are the known instructions, by ranges of operation codes; the first
// range applies [Principles of Operation, B]. The second byte is 0 if the operation
// code has only one byte. EX and EXRL are taken for operations on memory, for which
// compilers use them.
var s390Forms = []struct {
	first, last uint16
	form        s390Form
}{
	{0x0400, 0x0400, s390None},   // SPM
	{0x0500, 0x0500, s390CallBy}, // BALR
	{0x0600, 0x0600, s390R1},     // BCTR
	{0x0700, 0x0700, s390Goto},   // BCR
	{0x0a00, 0x0a00, s390System}, // SVC
	{0x0d00, 0x0d00, s390CallBy}, // BASR
	{0x0e00, 0x0f00, s390Pairs},  // MVCL, CLCL
	{0x1500, 0x1500, s390None},   // CLR
	{0x1900, 0x1900, s390None},   // CR
	{0x1c00, 0x1d00, s390Pair},   // MR, DR
	{0x1000, 0x1f00, s390R1},     // other operations on 32 bits
	{0x2000, 0x3f00, s390None},   // floating point

	{0x4000, 0x4000, s390None},      // STH
	{0x4100, 0x4100, s390Address},   // LA
	{0x4200, 0x4200, s390None},      // STC
	{0x4400, 0x4400, s390None},      // EX
	{0x4500, 0x4500, s390Call},      // BAL
	{0x4700, 0x4700, s390GotoAt},    // BC
	{0x4d00, 0x4d00, s390Call},      // BAS
	{0x5000, 0x5000, s390None},      // ST
	{0x5c00, 0x5d00, s390Pair},      // M, D
	{0x4300, 0x5f00, s390R1},        // other operations on 32 bits
	{0x7100, 0x7100, s390R1},        // MS
	{0x6000, 0x7f00, s390None},      // floating point
	{0x8400, 0x8500, s390Count},     // BRXH, BRXLE
	{0x8600, 0x8b00, s390R1},        // BXH, BXLE, shifts
	{0x8c00, 0x8f00, s390Pair},      // shifts of two registers
	{0x9000, 0x9700, s390None},      // STM, TM, MVI and such
	{0x9800, 0x9800, s390Range},     // LM
	{0x9a00, 0x9b00, s390None},      // LAM, STAM
	{0xa500, 0xa50f, s390R1},        // LLILL and such
	{0xa704, 0xa704, s390Branch},    // BRC
	{0xa705, 0xa705, s390Call},      // BRAS
	{0xa706, 0xa707, s390Count},     // BRCT, BRCTG
	{0xa70b, 0xa70b, s390Add},       // AGHI
	{0xa708, 0xa70d, s390R1},        // LHI, LGHI, AHI, MHI, MGHI
	{0xa700, 0xa70f, s390None},      // TMLL, CHI, CGHI and such
	{0xa800, 0xa900, s390Pairs},     // MVCLE, CLCLE
	{0xb222, 0xb222, s390E1},        // IPM
	{0xb241, 0xb241, s390EPairs},    // CKSM
	{0xb24d, 0xb24f, s390E1},        // CPYA, SAR, EAR
	{0xb252, 0xb252, s390E1},        // MSR
	{0xb255, 0xb25e, s390EPairs},    // MVST, SRST and such
	{0xb299, 0xb29d, s390None},      // SRNM, STFPC, LFPC
	{0xb2a5, 0xb2a7, s390EPairs},    // TRE, CU21, CU12
	{0xb341, 0xb34b, s390E1},        // CFDTR and such
	{0xb398, 0xb39e, s390E1},        // CFEBR and such
	{0xb3a8, 0xb3ae, s390E1},        // CGEBR and such
	{0xb3b8, 0xb3ba, s390E1},        // CFER and such
	{0xb3c8, 0xb3ca, s390E1},        // CGER and such
	{0xb3c1, 0xb3c1, s390ToFloat},   // LDGR
	{0xb3cd, 0xb3cd, s390FromFloat}, // LGDR
	{0xb3e1, 0xb3ef, s390E1},        // CGDTR and such
	{0xb300, 0xb3ff, s390None},      // other floating point
	{0xb904, 0xb904, s390Copy},      // LGR
	{0xb90d, 0xb90d, s390EPair},     // DSGR
	{0xb91d, 0xb91d, s390EPair},     // DSGFR
	{0xb920, 0xb921, s390None},      // CGR, CLGR
	{0xb928, 0xb92f, s390EPairs},    // KM, KMC and such
	{0xb930, 0xb931, s390None},      // CGFR, CLGFR
	{0xb938, 0xb93f, s390EPairs},    // KIMD, KMAC and such
	{0xb986, 0xb987, s390EPair},     // MLGR, DLGR
	{0xb990, 0xb993, s390EPairs},    // TRTT and such
	{0xb996, 0xb997, s390EPair},     // MLR, DLR
	{0xb9b0, 0xb9bf, s390EPairs},    // CU14 and such
	{0xb9ec, 0xb9ec, s390EPair},     // MGRK
	{0xb900, 0xb9ff, s390E1},        // other operations on 64 bits
	{0xba00, 0xba00, s390R1},        // CS
	{0xbb00, 0xbb00, s390Pair},      // CDS
	{0xbd00, 0xbe00, s390None},      // CLM, STCM
	{0xbf00, 0xbf00, s390R1},        // ICM

	{0xc004, 0xc004, s390Branch},   // BRCL
	{0xc005, 0xc005, s390Call},     // BRASL
	{0xc000, 0xc00f, s390R1},       // LARL, LGFI and such
	{0xc204, 0xc204, s390Subtract}, // SLGFI
	{0xc208, 0xc208, s390Add},      // AGFI
	{0xc20a, 0xc20a, s390Add},      // ALGFI
	{0xc20c, 0xc20f, s390None},     // CGFI and such
	{0xc200, 0xc20b, s390R1},       // AFI and such
	{0xc400, 0xc40f, s390R1},       // LGRL and such
	{0xc600, 0xc60f, s390None},     // EXRL, CGRL and such
	{0xc800, 0xc80f, s390Pair},     // LPD and such
	{0xcc06, 0xcc06, s390Count},    // BRCTH
	{0xcc08, 0xcc0f, s390R1},       // AIH and such
	{0xd000, 0xdf00, s390None},     // MVC and such
	{0xe304, 0xe304, s390Load},     // LG
	{0xe302, 0xe302, s390Load},     // LTG
	{0xe30d, 0xe30d, s390Pair},     // DSG
	{0xe31d, 0xe31d, s390Pair},     // DSGF
	{0xe320, 0xe321, s390None},     // CG, CLG
	{0xe324, 0xe324, s390Store},    // STG
	{0xe347, 0xe347, s390GotoAt},   // BIC
	{0xe350, 0xe350, s390None},     // STY
	{0xe35c, 0xe35c, s390Pair},     // MFY
	{0xe371, 0xe371, s390Address},  // LAY
	{0xe384, 0xe387, s390Pair},     // MG, ML, DLG
	{0xe38f, 0xe38f, s390Pair},     // LPQ
	{0xe396, 0xe397, s390Pair},     // ML, DL
	{0xe300, 0xe3ff, s390R1},       // other loads, stores and operations
	{0xe500, 0xe500, s390None},     // MVGHI and such
	{0xe600, 0xe6ff, s390R1},       // packed decimal
	{0xe721, 0xe721, s390R1},       // VLGV
	{0xe700, 0xe7ff, s390None},     // other vectors
	{0xe800, 0xea00, s390None},     // MVCIN, PKA, UNPKA
	{0xeb04, 0xeb04, s390LoadAll},  // LMG
	{0xeb24, 0xeb24, s390StoreAll}, // STMG
	{0xeb26, 0xeb26, s390None},     // STMH
	{0xeb31, 0xeb31, s390Pair},     // CDSY
	{0xeb3e, 0xeb3e, s390Pair},     // CDSG
	{0xeb51, 0xeb57, s390None},     // TMY, MVIY and such
	{0xeb6a, 0xeb7e, s390None},     // ASI, AGSI and such
	{0xeb8e, 0xeb8f, s390Pairs},    // MVCLU, CLCLU
	{0xeb90, 0xeb90, s390None},     // STMY
	{0xeb96, 0xeb98, s390Range},    // LMH, LMY
	{0xeb00, 0xebff, s390R1},       // shifts and others
	{0xec44, 0xec45, s390Count},    // BRXHG, BRXLG
	{0xec64, 0xec65, s390Compare},  // CGRJ, CLGRJ
	{0xec76, 0xec77, s390Compare},  // CRJ, CLRJ
	{0xec7c, 0xec7f, s390Compare},  // CGIJ and such
	{0xecd9, 0xecd9, s390Add3},     // AGHIK
	{0xec00, 0xecff, s390R1},       // RISBG and others
	{0xed00, 0xedff, s390None},     // floating point
	{0xf000, 0xff00, s390None},     // SRP and such
}

// The system calls that end a thread or process, where the instruction names
// them [linux arch/s390/kernel/syscalls/syscall.tbl].
const (
	s390Exit      = 1
	s390ExitGroup = 248
)

func flowS390X(a *arch.Arch, code []byte, pc uint64) Flow {
	f := unchanged(a)
	f.s390x(a, code, pc)
	return f
}

func (f *Flow) s390x(a *arch.Arch, code []byte, pc uint64) {
	if len(code) == 0 {
		return
	}
	size := s390Size(code[0])
	if len(code) < size {
		return
	}
	op := s390Operation(code[:size])
	for i := range s390Forms {
		if k := &s390Forms[i]; k.first <= op && op <= k.last {
			f.Next, f.Size = Through, size
			f.s390xForm(a, code[:size], pc, k.form)
			return
		}
	}
}

// s390Size returns the size of an instruction by its first byte [Principles of
// Operation, 5: Instruction Length].
func s390Size(first byte) int {
	switch first >> 6 {
	case 0:
		return 2
	case 1, 2:
		return 4
	}
	return 6
}

// s390Operation returns the operation code. A code of one byte is followed by 0.
func s390Operation(code []byte) uint16 {
	op := uint16(code[0]) << 8
	switch code[0] {
	case 0xb2, 0xb3, 0xb9:
		op |= uint16(code[1])
	case 0xa5, 0xa7, 0xc0, 0xc2, 0xc4, 0xc6, 0xc8, 0xcc:
		op |= uint16(code[1] & 15)
	case 0xe3, 0xe6, 0xe7, 0xeb, 0xec, 0xed:
		op |= uint16(code[5])
	}
	return op
}

func (f *Flow) s390xForm(a *arch.Arch, code []byte, pc uint64, form s390Form) {
	r1, r2 := arch.Reg(code[1]>>4), arch.Reg(code[1]&15)
	all := uint8(r2-r1)&15 + 1 // registers from R1 to R3, which is where R2 is
	switch form {
	case s390None:
	case s390R1:
		f.clear(a, r1)
	case s390Pair:
		f.clear(a, r1, r1+1)
	case s390Pairs:
		f.clear(a, r1, r1+1, r2, r2+1)
	case s390E1:
		f.clear(a, arch.Reg(code[3]>>4))
	case s390EPair:
		f.clear(a, arch.Reg(code[3]>>4), arch.Reg(code[3]>>4)+1)
	case s390EPairs:
		f.clear(a, arch.Reg(code[3]>>4), arch.Reg(code[3]>>4)+1, arch.Reg(code[3]&15), arch.Reg(code[3]&15)+1)
	case s390Range:
		for i := range all {
			f.clear(a, (r1+arch.Reg(i))&15)
		}
	case s390ToFloat:
		f.move(Move{First: arch.Reg(code[3] & 15), Num: 1, Load: true})
	case s390FromFloat:
		f.load(a, arch.Reg(code[3]>>4), 1, arch.Rule{})
	case s390Copy:
		r1 = arch.Reg(code[3] >> 4)
		f.set(a, r1, stackRule(a, arch.Reg(code[3]&15), 0))
		f.Leaves = r1 == a.SP && f.SP.Base == arch.Undefined
	case s390Address:
		f.set(a, r1, s390Rule(a, code, r2))
	case s390Add:
		f.set(a, r1, stackRule(a, r1, s390Immediate(code)))
	case s390Subtract:
		f.set(a, r1, stackRule(a, r1, -int64(uint32(s390Immediate(code)))))
	case s390Add3:
		f.set(a, r1, stackRule(a, r2, sext(uint32(binary.BigEndian.Uint16(code[2:])), 16)))
	case s390Store:
		f.store(r1, 1, s390Rule(a, code, r2))
	case s390Load:
		f.load(a, r1, 1, s390Rule(a, code, r2))
	case s390StoreAll:
		if r1 <= r2 {
			f.store(r1, all, s390Rule(a, code, 0))
		}
	case s390LoadAll:
		if r1 <= r2 {
			f.load(a, r1, all, s390Rule(a, code, 0))
		} else {
			f.s390xForm(a, code, pc, s390Range)
		}
	default:
		f.s390xJump(a, code, pc, form)
	}
}

// s390xJump is for the instructions that go elsewhere.
func (f *Flow) s390xJump(a *arch.Arch, code []byte, pc uint64, form s390Form) {
	const always = 15 // of masks
	r1, r2 := arch.Reg(code[1]>>4), arch.Reg(code[1]&15)
	f.Target = pc + 2*uint64(s390Immediate(code))
	switch form {
	case s390Goto:
		f.Target = 0
		if r1 == always && r2 != 0 { // otherwise it may continue, or does nothing
			f.Next = Nowhere
			if r2 == a.LR {
				f.Next = Return
			}
		}
	case s390GotoAt:
		f.Target = 0
		if r1 == always {
			f.Next = Nowhere
		}
	case s390Branch:
		switch r1 {
		case 0:
			f.Target = 0
		case always:
			f.Next = Jump
		default:
			f.Next = Branch
		}
	case s390Compare:
		f.Next = Branch
	case s390Count:
		f.Next = Branch
		f.clear(a, r1)
	case s390CallBy:
		f.Target = 0
		if r2 != 0 {
			f.Next = Call
		}
		f.clear(a, r1)
	case s390Call:
		f.Next = Call
		switch {
		case code[0]>>4 == 4:
			f.Target = 0
		case r1 != a.LR && code[0] == 0xa7: // BRAS may be a jump over data, where R1 is then
			f.Next = Branch
		}
		f.clear(a, r1)
	case s390System:
		f.Target, f.Next = 0, System
		if n := code[1]; n == s390Exit || n == s390ExitGroup {
			f.Next = Exit
		}
	default:
		f.Target, f.Next, f.Size = 0, Nowhere, 0
	}
}

// clear notes that registers have unknown values.
func (f *Flow) clear(a *arch.Arch, regs ...arch.Reg) {
	for _, reg := range regs {
		f.set(a, reg&15, arch.Rule{})
	}
}

// s390Rule returns the rule for the address in an instruction with an index
// register, 0 if none: B2 and D2, of 12 bits or 20.
func s390Rule(a *arch.Arch, code []byte, index arch.Reg) arch.Rule {
	base := arch.Reg(code[2] >> 4)
	off := int64(binary.BigEndian.Uint16(code[2:]) & 0xfff)
	if len(code) == 6 {
		off |= int64(int8(code[4])) << 12
	}
	if base == 0 {
		base, index = index, 0
	}
	if base == 0 || index != 0 {
		return arch.Rule{}
	}
	return stackRule(a, base, off)
}

// s390Immediate returns the signed number behind the operation code: of 32 bits
// in formats that have it in the second byte, of 16 in others.
func s390Immediate(code []byte) int64 {
	if len(code) == 6 && code[0] != 0xec {
		return sext(binary.BigEndian.Uint32(code[2:]), 32)
	}
	if len(code) < 4 {
		return 0
	}
	return sext(uint32(binary.BigEndian.Uint16(code[2:])), 16)
}
