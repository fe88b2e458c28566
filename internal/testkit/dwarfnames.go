package testkit

// Numbers of the specification, which tests of what reads them must not share
// with it: tags [DWARF 5, table 7.3] by their names without DW_TAG, attributes
// [table 7.5] without DW_AT and with the form that they mostly have, and forms
// [table 7.6] without DW_FORM. Those of GNU begin with GNU.
var (
	dwarfTags = map[string]uint64{
		"array_type": 0x01, "class_type": 0x02, "enumeration_type": 0x04, "formal_parameter": 0x05, "lexical_block": 0x0b,
		"member": 0x0d, "pointer_type": 0x0f, "reference_type": 0x10, "compile_unit": 0x11, "structure_type": 0x13,
		"subroutine_type": 0x15, "typedef": 0x16, "union_type": 0x17, "unspecified_parameters": 0x18, "variant": 0x19,
		"inheritance": 0x1c, "inlined_subroutine": 0x1d, "module": 0x1e, "ptr_to_member_type": 0x1f, "subrange_type": 0x21,
		"base_type": 0x24, "catch_block": 0x25, "const_type": 0x26, "enumerator": 0x28, "template_type_parameter": 0x2f, "template_value_parameter": 0x30, "subprogram": 0x2e,
		"try_block": 0x32, "variant_part": 0x33, "variable": 0x34, "volatile_type": 0x35, "restrict_type": 0x37,
		"interface_type": 0x38, "namespace": 0x39, "unspecified_type": 0x3b, "partial_unit": 0x3c,
		"rvalue_reference_type": 0x42, "type_unit": 0x41, "atomic_type": 0x47, "call_site": 0x48,
		"call_site_parameter": 0x49, "skeleton_unit": 0x4a, "set_type": 0x20, "GNU_call_site": 0x4109,
		"GNU_call_site_parameter": 0x410a,
	}
	dwarfAttrs = map[string]struct {
		number uint64
		form   string
	}{
		"sibling": {0x01, "ref4"}, "location": {0x02, "exprloc"}, "name": {0x03, "string"}, "byte_size": {0x0b, "data1"},
		"bit_offset": {0x0c, "data1"}, "bit_size": {0x0d, "data1"}, "stmt_list": {0x10, "sec_offset"},
		"low_pc": {0x11, "addr"}, "high_pc": {0x12, "data8"}, "language": {0x13, "data1"}, "discr": {0x15, "ref4"},
		"discr_value": {0x16, "data1"}, "comp_dir": {0x1b, "string"}, "const_value": {0x1c, "data8"},
		"containing_type": {0x1d, "ref4"}, "upper_bound": {0x2f, "data1"}, "bit_stride": {0x2e, "data1"},
		"abstract_origin": {0x31, "ref4"}, "count": {0x37, "data1"}, "data_member_location": {0x38, "data1"},
		"declaration": {0x3c, "flag_present"}, "discr_list": {0x3d, "block1"}, "encoding": {0x3e, "data1"},
		"external": {0x3f, "flag_present"}, "frame_base": {0x40, "exprloc"}, "specification": {0x47, "ref4"},
		"type": {0x49, "ref4"}, "byte_stride": {0x51, "data1"}, "ranges": {0x55, "sec_offset"}, "call_column": {0x57, "data1"},
		"call_file": {0x58, "data1"}, "call_line": {0x59, "data1"}, "signature": {0x69, "ref_sig8"},
		"data_bit_offset": {0x6b, "data1"}, "linkage_name": {0x6e, "string"}, "str_offsets_base": {0x72, "sec_offset"},
		"addr_base": {0x73, "sec_offset"}, "rnglists_base": {0x74, "sec_offset"}, "dwo_name": {0x76, "string"},
		"call_all_calls": {0x7a, "flag_present"}, "call_all_tail_calls": {0x7c, "flag_present"}, "call_pc": {0x81, "addr"}, "call_tail_call": {0x82, "flag_present"}, "GNU_tail_call": {0x2115, "flag_present"}, "GNU_all_tail_call_sites": {0x2116, "flag_present"},
		"call_all_source_calls": {0x7b, "flag_present"}, "GNU_all_call_sites": {0x2117, "flag_present"}, "GNU_all_source_call_sites": {0x2118, "flag_present"},
		"call_return_pc": {0x7d, "addr"}, "call_value": {0x7e, "exprloc"}, "call_origin": {0x7f, "ref4"},
		"call_target": {0x83, "exprloc"}, "loclists_base": {0x8c, "sec_offset"}, "MIPS_linkage_name": {0x2007, "string"},
		"GNU_call_site_value": {0x2111, "exprloc"}, "GNU_call_site_target": {0x2113, "exprloc"},
		"GNU_dwo_name": {0x2130, "string"}, "GNU_dwo_id": {0x2131, "data8"}, "GNU_ranges_base": {0x2132, "sec_offset"},
		"GNU_addr_base": {0x2133, "sec_offset"}, "artificial": {0x34, "flag_present"},
	}
	dwarfForms = map[string]uint64{
		"addr": 0x01, "block2": 0x03, "block4": 0x04, "data2": 0x05, "data4": 0x06, "data8": 0x07, "string": 0x08,
		"block": 0x09, "block1": 0x0a, "data1": 0x0b, "flag": 0x0c, "sdata": 0x0d, "strp": 0x0e, "udata": 0x0f,
		"ref_addr": 0x10, "ref1": 0x11, "ref2": 0x12, "ref4": 0x13, "ref8": 0x14, "ref_udata": 0x15, "indirect": 0x16,
		"sec_offset": 0x17, "exprloc": 0x18, "flag_present": 0x19, "strx": 0x1a, "addrx": 0x1b, "ref_sup4": 0x1c,
		"strp_sup": 0x1d, "data16": 0x1e, "line_strp": 0x1f, "ref_sig8": 0x20, "implicit_const": 0x21, "loclistx": 0x22,
		"rnglistx": 0x23, "ref_sup8": 0x24, "strx1": 0x25, "strx2": 0x26, "strx3": 0x27, "strx4": 0x28, "addrx1": 0x29,
		"addrx2": 0x2a, "addrx3": 0x2b, "addrx4": 0x2c, "GNU_addr_index": 0x1f01, "GNU_str_index": 0x1f02,
		"GNU_ref_alt": 0x1f20, "GNU_strp_alt": 0x1f21,
	}
)
