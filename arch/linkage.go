package arch

import (
	"bytes"
	"encoding/binary"
)

// amd64Slot decodes
//
//	[endbr64] [mov $index, %r11d] [bnd] jmp *slot(%rip)
//
// as ld, lld and mold write it.
func amd64Slot(code []byte, addr uint64) (uint64, bool) {
	rest := bytes.TrimPrefix(code, []byte("\xf3\x0f\x1e\xfa"))
	if len(rest) > 6 && rest[0] == 0x41 && rest[1] == 0xbb {
		rest = rest[6:]
	}
	rest = bytes.TrimPrefix(rest, []byte{0xf2})
	if len(rest) < 6 || rest[0] != 0xff || rest[1] != 0x25 {
		return 0, false
	}
	next := addr + uint64(len(code)-len(rest)) + 6
	return next + sext(binary.LittleEndian.Uint32(rest[2:]), 32), true
}

// amd64CallSlot decodes "call *slot(%rip)". Its displacement may look like the end of
// another call.
func amd64CallSlot(code []byte, ra uint64) (uint64, bool) {
	n := len(code)
	if n < 6 || code[n-6] != 0xff || code[n-5] != 0x15 || amd64EndsInIndirectCall(code[n-5:]) {
		return 0, false
	}
	return ra + sext(binary.LittleEndian.Uint32(code[n-4:]), 32), true
}

// aarch64BTI is "bti c". Instructions are little-endian in either byte order
// [Arm ARM, B2.6.2].
const aarch64BTI = "\x5f\x24\x03\xd5"

// aarch64Slot decodes
//
//	[bti c]; adrp x16, page; ldr x17, [x16, #offset]; ... br x17
func aarch64Slot(code []byte, addr uint64) (uint64, bool) {
	rest := bytes.TrimPrefix(code, []byte(aarch64BTI))
	if len(rest) < 8 {
		return 0, false
	}
	adrp, load := binary.LittleEndian.Uint32(rest), binary.LittleEndian.Uint32(rest[4:])
	if adrp&0x9f00001f != 0x90000010 || load&0xffc003ff != 0xf9400211 {
		return 0, false
	}
	page := sext(adrp>>5, 19)<<2 | uint64(adrp>>29&3)
	addr += uint64(len(code) - len(rest))
	return addr&^0xfff + page<<12 + uint64(load>>10&0xfff)*8, true
}

// s390xSlot decodes "larl %r1, slot; lg %r1, 0(%r1); br %r1".
func s390xSlot(code []byte, addr uint64) (uint64, bool) {
	const jump = "\xe3\x10\x10\x00\x00\x04\x07\xf1"
	if len(code) < 14 || code[0] != 0xc0 || code[1] != 0x10 || string(code[6:14]) != jump {
		return 0, false
	}
	return addr + 2*sext(binary.BigEndian.Uint32(code[2:]), 32), true
}
