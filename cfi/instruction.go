package cfi

import "fmt"

// instruction is a call frame instruction. The top two bits of the first three hold
// the opcode, the others an operand [DWARF 5, 7.24].
type instruction uint8

const (
	cfaAdvanceLoc instruction = 0x40
	cfaOffset     instruction = 0x80
	cfaRestore    instruction = 0xc0
	cfaPrimary    instruction = 0xc0 // mask

	cfaNop              instruction = 0x00
	cfaSetLoc           instruction = 0x01
	cfaAdvanceLoc1      instruction = 0x02
	cfaAdvanceLoc2      instruction = 0x03
	cfaAdvanceLoc4      instruction = 0x04
	cfaOffsetExtended   instruction = 0x05
	cfaRestoreExtended  instruction = 0x06
	cfaUndefined        instruction = 0x07
	cfaSameValue        instruction = 0x08
	cfaRegister         instruction = 0x09
	cfaRememberState    instruction = 0x0a
	cfaRestoreState     instruction = 0x0b
	cfaDefCFA           instruction = 0x0c
	cfaDefCFARegister   instruction = 0x0d
	cfaDefCFAOffset     instruction = 0x0e
	cfaDefCFAExpression instruction = 0x0f
	cfaExpression       instruction = 0x10
	cfaOffsetExtendedSF instruction = 0x11
	cfaDefCFASF         instruction = 0x12
	cfaDefCFAOffsetSF   instruction = 0x13
	cfaValOffset        instruction = 0x14
	cfaValOffsetSF      instruction = 0x15
	cfaValExpression    instruction = 0x16

	cfaMIPSAdvanceLoc8         instruction = 0x1d
	cfaNegateRAStateWithPC     instruction = 0x2c
	cfaNegateRAState           instruction = 0x2d // GNU_window_save of SPARC
	cfaGNUArgsSize             instruction = 0x2e
	cfaGNUNegativeOffsetExtend instruction = 0x2f
)

// moves reports whether the instruction changes the location, which begins a
// new row.
func (o instruction) moves() bool {
	return o&cfaPrimary == cfaAdvanceLoc || o >= cfaSetLoc && o <= cfaAdvanceLoc4 || o == cfaMIPSAdvanceLoc8
}

var instructionNames = [...]string{
	cfaNop: "nop", cfaSetLoc: "set_loc",
	cfaAdvanceLoc1: "advance_loc1", cfaAdvanceLoc2: "advance_loc2", cfaAdvanceLoc4: "advance_loc4",
	cfaOffsetExtended: "offset_extended", cfaRestoreExtended: "restore_extended",
	cfaUndefined: "undefined", cfaSameValue: "same_value", cfaRegister: "register",
	cfaRememberState: "remember_state", cfaRestoreState: "restore_state",
	cfaDefCFA: "def_cfa", cfaDefCFARegister: "def_cfa_register", cfaDefCFAOffset: "def_cfa_offset",
	cfaDefCFAExpression: "def_cfa_expression", cfaExpression: "expression",
	cfaOffsetExtendedSF: "offset_extended_sf", cfaDefCFASF: "def_cfa_sf", cfaDefCFAOffsetSF: "def_cfa_offset_sf",
	cfaValOffset: "val_offset", cfaValOffsetSF: "val_offset_sf", cfaValExpression: "val_expression",
	cfaMIPSAdvanceLoc8:     "MIPS_advance_loc8",
	cfaNegateRAStateWithPC: "AARCH64_negate_ra_state_with_pc", cfaNegateRAState: "AARCH64_negate_ra_state",
	cfaGNUArgsSize: "GNU_args_size", cfaGNUNegativeOffsetExtend: "GNU_negative_offset_extended",
}

func (o instruction) String() string {
	switch o & cfaPrimary {
	case cfaAdvanceLoc:
		return "DW_CFA_advance_loc"
	case cfaOffset:
		return "DW_CFA_offset"
	case cfaRestore:
		return "DW_CFA_restore"
	default:
		if int(o) < len(instructionNames) && instructionNames[o] != "" {
			return "DW_CFA_" + instructionNames[o]
		}
		return fmt.Sprintf("DW_CFA opcode %#02x", uint8(o))
	}
}
