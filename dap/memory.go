package dap

import (
	"context"
	"encoding/base64"
	"strconv"
	"strings"

	godap "github.com/google/go-dap"

	"github.com/sfcore/sfcore/memreader"
)

// maxRead bounds a readMemory: in base64 it fits into a message of go-dap.
const maxRead = 2 << 20

func (s *session) readMemory(ctx context.Context, args *godap.ReadMemoryArguments) (any, error) {
	snap, err := s.stopped()
	if err != nil {
		return nil, err
	}
	addr, err := parseReference(args.MemoryReference, args.Offset)
	if err != nil {
		return nil, err
	}
	if args.Count < 0 || args.Count > maxRead {
		return nil, newError(idArguments, "count: %d bytes cannot be read at once; the limit is %d", args.Count, maxRead)
	}
	body := &godap.ReadMemoryResponseBody{Address: address(addr)}
	data := readAvailable(snap.process.Memory(), addr, args.Count)
	body.Data = base64.StdEncoding.EncodeToString(data)
	body.UnreadableBytes = args.Count - len(data)
	if len(data) == 0 && args.Count > 0 {
		body.UnreadableBytes = snap.unreadable(ctx, addr, args.Count)
	}
	return body, nil
}

// readAvailable reads up to count bytes that are readable from addr on. Memory
// does not wrap around at its end.
func readAvailable(mem memreader.Reader, addr uint64, count int) []byte {
	if last := ^addr; uint64(count)-1 > last && count > 0 {
		count = int(last) + 1
	}
	data, _ := memreader.ReadFull(mem, addr, count)
	return data
}

// pageSize is the granularity in which memory is looked for. No architecture
// has smaller pages.
const pageSize = 4096

// unreadable returns how many of count bytes from addr on cannot be read, up to
// the first byte that can: clients continue from there.
func (s *snapshot) unreadable(ctx context.Context, addr uint64, count int) int {
	var b [1]byte
	for n := 1; n < count && ctx.Err() == nil; {
		if k, _ := s.process.Memory().ReadMem(b[:], addr+uint64(n)); k == 1 {
			return n
		}
		n += pageSize - int((addr+uint64(n))%pageSize)
	}
	return count
}

// parseReference makes an address of a memory reference, which is a number,
// and an offset.
func parseReference(text string, offset int) (uint64, error) {
	v, err := strconv.ParseUint(strings.TrimSpace(text), 0, 64)
	if err != nil {
		return 0, newError(idMemory, "%q is not an address, such as 0x7fff0010", text)
	}
	addr := v + uint64(offset)
	if (offset > 0) != (addr > v) && offset != 0 {
		return 0, newError(idMemory, "%#x%+d is not an address", v, offset)
	}
	return addr, nil
}
