package arch

// SFrame is what the SFrame format says about an architecture in one byte order.
// The zero SFrame means that the format has no ABI for it.
type SFrame struct {
	// ABI is the number in sfh_abi_arch [SFrame 3, 2.2.1].
	ABI uint8
	// Since is the first version that defines the ABI: 0 for CTF Frame, the draft.
	Since uint8
	// FixedRA is the place of every return address, in bytes from the CFA. Toolchains
	// write it to sfh_cfa_fixed_ra_offset. It is 0 if rows tell the place.
	FixedRA int8
	// The offset of a CFA is CFAFactor times what is written, plus CFABase, in
	// bytes [SFrame 3, 3.3].
	CFAFactor, CFABase int64
	// RegWords is set if data words with an odd value name a register, in
	// versions that have such words [SFrame 2 errata 1, 3.3].
	RegWords bool
}
