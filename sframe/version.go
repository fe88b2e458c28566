package sframe

import "strconv"

// Version is a version of the format.
type Version uint8

// The versions. V2 includes its errata; CTFFrame is the draft that became V1
// and has its number in the version field.
const (
	CTFFrame Version = iota
	V1
	V2
	V3
)

// String returns "1", "2", "3", or "CTF Frame".
func (v Version) String() string {
	if v == CTFFrame {
		return "CTF Frame"
	}
	return strconv.Itoa(int(v))
}

// Flags are the section-wide flags, sfp_flags [SFrame 2, 2.1.3].
type Flags uint8

// The flags.
const (
	// FDESorted says that functions are in the order of their starts.
	FDESorted Flags = 0x1
	// FramePointer says that all functions keep a frame pointer. V3 removed
	// it, and no tool is known to set it.
	FramePointer Flags = 0x2
	// FuncStartPCRel says that the start of a function is written relative to
	// the field it is written in [SFrame 2 errata 1, 2.1.3].
	FuncStartPCRel Flags = 0x4
)

// layout is all in which the versions differ.
type layout struct {
	headerSize int   // without the auxiliary header
	hasAux     bool  // sfh_auxhdr_len exists
	flags      Flags // that are defined

	fdeSize   int
	startSize int // 4 or 8, for an i32 or an i64
	// attrSize is the size of the attribute record before a function's rows,
	// which holds the fields that otherwise end the FDE.
	attrSize int
	// repSize and info2 are the offsets of fields from the info byte; 0 where
	// there is no such field.
	repSize, info2 int
	infoUnused     uint8 // bits of the info byte that must be 0
	freUnused      uint8 // bits of a row's info byte that must be 0
	firstFREType   uint8 // the FRE type with 1-byte offsets
	fpBeforeRA     bool  // the order of data words
	outermost      bool  // a row without words marks the outermost frame
	regWords       bool  // words with an odd value name a register, for ABIs with arch.SFrame.RegWords

	header headerNames
	fde    fdeNames
	fre    freNames
}

// The fields' names in the specification of a version.
type (
	headerNames struct {
		magic, version, flags, abi, fixedFP, fixedRA, auxLen, numFDEs, numFREs, freLen, fdeOff, freOff string
	}
	fdeNames struct{ start, size, dataOff, numFREs, info, info2, repSize, padding string }
	freNames struct{ start, info, words string }
)

var layouts = [...]layout{
	CTFFrame: { // [CTF Frame]
		headerSize: 27, flags: FDESorted | FramePointer,
		fdeSize: 17, startSize: 4, infoUnused: 0xe0, freUnused: 0x80, firstFREType: 1, fpBeforeRA: true,
		header: headerNames{
			"ctfp_magic", "ctfp_version", "ctfp_flags", "cth_frame_abi_arch",
			"cth_cfa_fixed_fp_offset", "cth_cfa_fixed_ra_offset", "",
			"cth_num_fdes", "cth_num_fres", "cth_fre_len", "cth_fdeoff", "cth_freoff",
		},
		fde: fdeNames{
			start: "ctf_func_start_address", size: "ctf_func_size", dataOff: "ctf_func_start_fre_off",
			numFREs: "ctf_func_num_fres", info: "ctf_func_info",
		},
		fre: freNames{"ctf_fre_start_address", "ctf_fre_info", "offsets"},
	},
	V1: { // pauth_key is not in the text, but in the header and the tools of binutils 2.40
		headerSize: 28, hasAux: true, flags: FDESorted | FramePointer,
		fdeSize: 17, startSize: 4, infoUnused: 0xc0,
		header: sfhNames, fde: sfdeNames, fre: sfreNames,
	},
	V2: { // with errata 1; rows without words came with errata 2
		headerSize: 28, hasAux: true, flags: FDESorted | FramePointer | FuncStartPCRel,
		fdeSize: 20, startSize: 4, repSize: 1, infoUnused: 0xc0, outermost: true, regWords: true,
		header: sfhNames, fde: sfdeNames, fre: sfreNames,
	},
	V3: {
		headerSize: 28, hasAux: true, flags: FDESorted | FuncStartPCRel,
		fdeSize: 16, startSize: 8, attrSize: 5, info2: 1, repSize: 2, infoUnused: 0x40, outermost: true,
		header: sfhNames, fre: sfreNames,
		fde: fdeNames{
			start: "sfdi_func_start_offset", size: "sfdi_func_size", dataOff: "sfdi_func_start_fre_off",
			numFREs: "sfda_func_num_fres", info: "sfda_func_info", info2: "sfda_func_info2", repSize: "sfda_func_rep_size",
		},
	},
}

var (
	sfhNames = headerNames{
		"sfp_magic", "sfp_version", "sfp_flags", "sfh_abi_arch",
		"sfh_cfa_fixed_fp_offset", "sfh_cfa_fixed_ra_offset", "sfh_auxhdr_len",
		"sfh_num_fdes", "sfh_num_fres", "sfh_fre_len", "sfh_fdeoff", "sfh_freoff",
	}
	sfdeNames = fdeNames{
		start: "sfde_func_start_address", size: "sfde_func_size", dataOff: "sfde_func_start_fre_off",
		numFREs: "sfde_func_num_fres", info: "sfde_func_info", repSize: "sfde_func_rep_size", padding: "sfde_func_padding2",
	}
	sfreNames = freNames{"sfre_start_address", "sfre_info", "data words"}
)
