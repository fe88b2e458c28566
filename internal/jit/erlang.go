package jit

import (
	"encoding/binary"
	"errors"
)

// Erlang's records [OTP erts/etc/unix/jit-reader.c]:
//
//	struct debug_info { uint32_t header; union { struct emulator_info emu; struct erlang_module_info mod; }; };
//	struct emulator_info { int frame_layout; const void *normal_exit; };
//	struct erlang_module_info { uint64_t base_address; uint32_t range_count, code_size; uint16_t name_length; char name[]; };
//	struct range_info { uint32_t start_offset, end_offset, line_count; uint16_t name_length; char name[]; };
//	struct line_info { uint32_t start_offset, line_number; uint16_t file_length; char file[]; };
//
// A structure is followed by as many bytes as its name has, although the name begins
// before the end of the structure.
const (
	erlangEmulator = 0
	erlangModule   = 1

	erlangInfoSize  = 32
	erlangRangeSize = 16
	erlangLineSize  = 12
)

// ErrNotErlang is returned by Erlang for data of another kind.
var ErrNotErlang = errors.New("these are no records of Erlang")

// Erlang reads the functions of an Erlang module, or none from the record about the
// emulator itself. That data is of this kind shows in the sizes, which must add up to
// all of it. Only the first 1048576 functions are kept, and as many lines. order is
// that of the process.
func Erlang(data []byte, order binary.ByteOrder) ([]Run[Func], error) {
	if len(data) < erlangInfoSize {
		return nil, ErrNotErlang
	}
	switch order.Uint32(data) {
	case erlangEmulator:
		if len(data) != erlangInfoSize || order.Uint32(data[8:]) > 1 {
			return nil, ErrNotErlang
		}
		return nil, nil
	case erlangModule:
	default:
		return nil, ErrNotErlang
	}
	e := erlang{order: order, data: data}
	base, ranges, size := order.Uint64(data[8:]), order.Uint32(data[16:]), uint64(order.Uint32(data[20:]))
	if !e.skip(erlangInfoSize, order.Uint16(data[24:])) {
		return nil, ErrNotErlang
	}
	var funcs []Run[Func]
	lines := 0
	for ; ranges > 0; ranges-- {
		b, name, ok := e.next(erlangRangeSize, 12)
		if !ok {
			return nil, ErrNotErlang
		}
		lo, hi := uint64(order.Uint32(b)), uint64(order.Uint32(b[4:]))
		f := Func{Name: name}
		for n := order.Uint32(b[8:]); n > 0; n-- {
			b, file, ok := e.next(erlangLineSize, 8)
			if !ok {
				return nil, ErrNotErlang
			}
			if lines++; lines > maxLines {
				continue
			}
			f.Lines = append(f.Lines, Line{Addr: base + uint64(order.Uint32(b)), File: file, Line: int(order.Uint32(b[4:]))})
		}
		if lo >= hi || hi > size || base+hi < base || len(funcs) == maxFuncs {
			continue
		}
		sortLines(f.Lines)
		funcs = append(funcs, Run[Func]{Lo: base + lo, Hi: base + hi, Of: f})
	}
	if len(e.data) != 0 {
		return nil, ErrNotErlang
	}
	return funcs, nil
}

type erlang struct {
	data  []byte
	order binary.ByteOrder
}

// next returns a structure of the given size, and its name. The length of the name is
// at an offset in the structure, and the name is behind that.
func (e *erlang) next(size, lengthAt int) (b []byte, name string, ok bool) {
	if len(e.data) < size {
		return nil, "", false
	}
	b = e.data
	length := e.order.Uint16(b[lengthAt:])
	if !e.skip(size, length) {
		return nil, "", false
	}
	return b, erlangName(b[lengthAt+2:], length), true
}

// skip goes past a structure and as many bytes as its name has.
func (e *erlang) skip(size int, name uint16) bool {
	if len(e.data) < size+int(name) {
		return false
	}
	e.data = e.data[size+int(name):]
	return true
}

// erlangName returns a name without the zero that ends it.
func erlangName(b []byte, length uint16) string {
	n := max(0, int(length)-1)
	return shorten(string(b[:min(n, len(b), maxName)]))
}
