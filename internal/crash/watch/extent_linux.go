package watch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// errNoCore is for files that are no cores that sfcore reads.
var errNoCore = errors.New("not a 64-bit ELF core file")

const (
	coreHeader = 64 // bytes of an ELF header
	coreProg   = 56 // of a program header
	coreBatch  = 1024
	// maxCoreProgs is how many program headers are looked at. The kernel allows 65,530
	// mappings unless it is told otherwise.
	maxCoreProgs = 1 << 20
)

// extent returns how many bytes a core file has, by its program headers, once it is
// complete [gABI 5.1]. It may be more than size, which is how many there are.
func extent(f io.ReaderAt, size int64) (int64, error) {
	head := make([]byte, coreHeader)
	if n, err := f.ReadAt(head, 0); n < len(head) {
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if magic := min(n, 4); string(head[:magic]) == "\x7fELF"[:magic] {
			return coreHeader, nil // it may come
		}
		return 0, errNoCore
	}
	var order binary.ByteOrder = binary.LittleEndian
	if head[5] == 2 {
		order = binary.BigEndian
	}
	if string(head[:4]) != "\x7fELF" || head[4] != 2 || order.Uint16(head[16:]) != 4 || order.Uint16(head[54:]) != coreProg {
		return 0, errNoCore
	}
	phoff, phnum := order.Uint64(head[32:]), uint64(order.Uint16(head[56:]))
	if phnum == 0xffff { // PN_XNUM: section header 0 has the number in sh_info
		shoff := order.Uint64(head[40:])
		if shoff > math.MaxInt64-coreHeader {
			return math.MaxInt64, nil
		}
		info := make([]byte, 4)
		if n, _ := f.ReadAt(info, int64(shoff)+44); n < len(info) {
			return int64(shoff) + coreHeader, nil
		}
		phnum = uint64(order.Uint32(info))
	}
	if phoff > math.MaxInt64/2 || phnum > maxCoreProgs {
		return math.MaxInt64, nil
	}
	end := int64(phoff + phnum*coreProg)
	need := max(coreHeader, end)
	if need > size {
		return need, nil
	}
	batch := make([]byte, coreBatch*coreProg)
	for at := int64(phoff); at < end; {
		part := batch[:min(int64(len(batch)), end-at)]
		if n, err := f.ReadAt(part, at); n < len(part) {
			return 0, fmt.Errorf("reading program headers: %w", err)
		}
		for ; len(part) > 0; part, at = part[coreProg:], at+coreProg {
			off, filesz := order.Uint64(part[8:]), order.Uint64(part[32:])
			if off > math.MaxInt64 || filesz > math.MaxInt64-off {
				return math.MaxInt64, nil
			}
			if filesz > 0 {
				need = max(need, int64(off+filesz))
			}
		}
	}
	return need, nil
}
