// Package sframe decodes the SFrame stack trace format, which says for every pc
// of a program where the caller's frame is.
//
// [Parse] reads a header, and [Section.Find] answers for one pc. The section is
// read in place, whatever its byte order; nothing is copied or converted.
// [Section.Tables], [Section.Funcs] and [Section.FREs] show what is written,
// [Section.Validate] reports what is wrong with it, and [Builder] writes
// sections. The package reads neither files nor the memory of processes. Any
// bytes lead to a value or to a [*FormatError], never to a panic.
//
// # The format on one page
//
// A section is one table or, because not every linker merges tables, several
// in a row, each aligned to 8 bytes:
//
//	header       magic, version, flags, ABI, sizes        28 bytes
//	FDEs         one per function, normally sorted        fixed size
//	FREs         rows of each function, by ascending pc   variable size
//
// A row consists of the offset of its first instruction from the start of the
// function, an info byte and up to 15 data words, all of one size, which say
// where the CFA, the return address and the frame pointer are. The versions
// differ in the positions of fields, in how a function's start is written, and
// in what the words can express:
//
//	version     FDE    start of the function      rows
//	CTF Frame   17 B   i32, as V1                 words are CFA, FP, RA
//	V1          17 B   i32, from section or FDE   words are CFA, RA, FP
//	V2          20 B   i32, from section or FDE   + size of PCMASK blocks
//	V2 errata 1 20 B   i32, from the field        + s390x, registers for RA and FP
//	V3          16 B   i64, from the field        + 5 bytes of attributes before the
//	                                              rows, flexible rows, signal frames
//
// References: [SFrame 3, 2.3] is section 2.3 of the specification of version 3
// (https://sourceware.org/binutils/docs/sframe-spec.html). [CTF Frame] is
// ctf-frame.h of the binutils patch of August 2022, which was never released.
package sframe
