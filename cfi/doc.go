// Package cfi reads call frame information: the tables in .eh_frame and
// .debug_frame by which a caller's registers are recovered at any pc.
//
// A [Section] is the bytes of one module. A [Machine] finds the entry that
// covers a pc, through the binary search table in .eh_frame_hdr where there is
// one, runs its program up to that pc, evaluates its expressions, and gives
// the result as an [arch.Row], the form that all unwind methods share:
//
//	s, err := cfi.ParseEHFrame(arch.AMD64, frame, frameAddr, hdr, hdrAddr, cfi.Bases{})
//	...
//	found, err := machine.Find(s, pc, &regs, mem, &row)
//
// Nothing is decoded before it is asked for, and nothing is expanded. For
// tools, [Section.FDEs] and [Machine.Rows] list everything in symbolic form.
//
// The package applies no rules to registers, follows no exception tables
// (.gcc_except_table), and reads 64-bit programs only.
//
// Sources, cited in brackets: [DWARF 5] section 6.4 and 7.24; [LSB 5.0, 10.6]
// for .eh_frame and .eh_frame_hdr; [AADWARF64] for pointer authentication;
// libgcc's unwind-dw2.c where practice differs from them.
package cfi
