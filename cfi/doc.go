// Package cfi reads call frame information: the tables in .eh_frame and
// .debug_frame that say, for any pc, how to recover the caller's registers.
//
// A [Section] is the bytes of one module. A [Machine] finds the entry that
// covers a pc, through the binary search table in .eh_frame_hdr if there is
// one. It runs the entry's program up to that pc, evaluates its expressions,
// and returns an [arch.Row], the form that all unwind methods share:
//
//	s, err := cfi.ParseEHFrame(arch.AMD64, frame, frameAddr, hdr, hdrAddr, cfi.Bases{})
//	...
//	found, err := machine.Find(s, pc, &regs, mem, &row)
//
// The package decodes nothing before it is needed, and copies nothing. For
// tools, [Section.FDEs] and [Machine.Rows] list everything in symbolic form.
//
// The package does not apply rules to registers, does not follow exception
// tables (.gcc_except_table), and reads only 64-bit programs.
//
// Sources, cited in brackets: [DWARF 5] section 6.4 and 7.24; [LSB 5.0, 10.6]
// for .eh_frame and .eh_frame_hdr; [AADWARF64] for pointer authentication;
// libgcc's unwind-dw2.c where practice differs from them.
package cfi
