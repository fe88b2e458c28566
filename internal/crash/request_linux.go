package crash

import (
	"encoding/binary"
	"fmt"
	"io"
)

// Requests of the kernel on a socket that core_pattern names by "@@" [linux
// include/uapi/linux/coredump.h]: it sends what it can do, gets what it is to do, and
// says whether it does that. No kernel that was released by November 2026 has records
// and memory types.
const (
	ackKernel  = 1 << 0 // the kernel writes the dump to the socket
	ackReject  = 1 << 2 // there is no dump
	ackWait    = 1 << 3 // the process stays until the socket is closed
	ackRecords = 1 << 4 // the dump comes in records: see dumpRecords
	ackSparse  = 1 << 5 // records say where there are holes
	ackTypes   = 1 << 6 // the answer says which memory is dumped

	// typeHeaders is the type of memory that has the build-ids: first pages of files.
	typeHeaders = 1 << 4

	requestSize = 16 // struct coredump_req of Linux 6.17: size, size_ack, mask
	ackSize     = 16 // struct coredump_ack: size, spare, mask
	// The same with memory_types and memory_types_mask, and with memory_types.
	requestSize1 = 32
	ackSize1     = 24
	// maxRequest bounds a request of kernels to come, in bytes.
	maxRequest = 4096
)

// marks are what the kernel says to an answer.
var marks = map[uint32]string{
	1: "the answer is too short", 2: "the answer is too long",
	3: "the answer asks for what was not offered", 4: "the answer asks for what contradicts itself",
}

// request is what the kernel offers.
type request struct {
	ack  uint32 // the longest answer that it takes
	mask uint64
	// types are the types of memory that the process has selected, of allTypes. Both are
	// 0 if the request has none.
	types, allTypes uint64
}

// An Answer says what of a dump is wanted.
type Answer struct {
	// Reject says that there is to be no dump.
	Reject bool
	// Memory says that the dump may be kept as a core. Otherwise registers are enough.
	Memory bool
}

// A Stream says in which form a dump comes.
type Stream struct {
	Records bool // see dumpRecords
	Bare    bool // it has no memory
}

// readRequest reads a request, whose first field is its size. What is behind the fields
// that are known is left out.
func readRequest(in io.Reader) (*request, error) {
	b := make([]byte, requestSize)
	if _, err := io.ReadFull(in, b); err != nil {
		return nil, fmt.Errorf("reading the request of the kernel: %w", err)
	}
	size := binary.NativeEndian.Uint32(b)
	if size < requestSize || size > maxRequest {
		return nil, fmt.Errorf("the request of the kernel has a size of %d bytes", size)
	}
	more := make([]byte, size-requestSize)
	if _, err := io.ReadFull(in, more); err != nil {
		return nil, fmt.Errorf("reading the request of the kernel: %w", err)
	}
	r := &request{ack: binary.NativeEndian.Uint32(b[4:]), mask: binary.NativeEndian.Uint64(b[8:])}
	if size >= requestSize1 {
		r.types, r.allTypes = binary.NativeEndian.Uint64(more), binary.NativeEndian.Uint64(more[8:])
	}
	if r.ack < ackSize {
		return nil, fmt.Errorf("the kernel takes answers of %d bytes only", r.ack)
	}
	return r, nil
}

// answer answers a request. Nothing is asked for that was not offered.
func (r *request) answer(conn io.ReadWriter, want Answer) (Stream, error) {
	needed, more := uint64(ackKernel), uint64(ackWait)
	if want.Reject {
		needed, more = ackReject, 0
	}
	if missing := needed &^ r.mask; missing != 0 {
		return Stream{}, fmt.Errorf("the kernel does not offer what is needed (%#x of %#x)", missing, r.mask)
	}
	b := make([]byte, ackSize)
	if !want.Reject && r.mask&ackRecords != 0 {
		more |= ackRecords | ackSparse
	}
	if !want.Reject && r.mask&ackTypes != 0 && r.ack >= ackSize1 && r.allTypes != 0 {
		more |= ackTypes
		types := uint64(0)
		if want.Memory {
			types = (r.types | typeHeaders) & r.allTypes
		}
		b = binary.NativeEndian.AppendUint64(b, types)
	}
	mask := needed | more&r.mask
	binary.NativeEndian.PutUint32(b, uint32(len(b)))
	binary.NativeEndian.PutUint64(b[8:], mask)
	stream := Stream{Records: mask&ackRecords != 0, Bare: mask&ackTypes != 0 && !want.Memory}
	return stream, send(conn, b)
}

// send sends an answer, and reads what the kernel says to it.
func send(conn io.ReadWriter, b []byte) error {
	if _, err := conn.Write(b); err != nil {
		return fmt.Errorf("answering the kernel: %w", err)
	}
	mark := make([]byte, 4)
	if _, err := io.ReadFull(conn, mark); err != nil {
		return fmt.Errorf("reading what the kernel says to the answer: %w", err)
	}
	if n := binary.NativeEndian.Uint32(mark); n != 0 {
		why := marks[n]
		if why == "" {
			why = fmt.Sprint("mark ", n)
		}
		return fmt.Errorf("the kernel refuses the answer: %s", why)
	}
	return nil
}
