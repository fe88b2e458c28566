package crash

import (
	"encoding/binary"
	"fmt"
	"io"
)

// Requests of the kernel on a socket that core_pattern names by "@@" [linux
// include/uapi/linux/coredump.h]: it sends what it can do, gets what it is to do, and
// says whether it does that.
const (
	ackKernel = 1 << 0 // the kernel writes the dump to the socket
	ackReject = 1 << 2 // there is no dump
	ackWait   = 1 << 3 // the process stays until the socket is closed

	requestSize = 16 // struct coredump_req of Linux 6.17: size, size_ack, mask
	ackSize     = 16 // struct coredump_ack: size, spare, mask
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
	if _, err := io.CopyN(io.Discard, in, int64(size-requestSize)); err != nil {
		return nil, fmt.Errorf("reading the request of the kernel: %w", err)
	}
	r := &request{ack: binary.NativeEndian.Uint32(b[4:]), mask: binary.NativeEndian.Uint64(b[8:])}
	if r.ack < ackSize {
		return nil, fmt.Errorf("the kernel takes answers of %d bytes only", r.ack)
	}
	return r, nil
}

// answer answers a request: to write the dump, or not. Nothing is asked for that was not
// offered.
func (r *request) answer(conn io.ReadWriter, reject bool) error {
	want := uint64(ackKernel | ackWait)
	if reject {
		want = ackReject
	}
	if missing := want &^ (r.mask | ackWait); missing != 0 {
		return fmt.Errorf("the kernel does not offer what is needed (%#x of %#x)", missing, r.mask)
	}
	b := make([]byte, ackSize)
	binary.NativeEndian.PutUint32(b, ackSize)
	binary.NativeEndian.PutUint64(b[8:], want&r.mask)
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
