package crash

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Records of a dump [linux include/uapi/linux/coredump.h of the kernels to come: struct
// coredump_record_header: size, type, flags, offset, len].
const (
	recordSize = 32

	recordData = 0 // that much of the dump follows
	recordEnd  = 1 // the dump is whole
	recordZero = 2 // that many zeros are not sent
)

// dumpRecords reads the dump from the records in which the kernel sends it. It ends
// with io.EOF only if the kernel says that it has written all.
type dumpRecords struct {
	io.Closer
	in     io.Reader
	offset uint64 // in the dump
	left   uint64 // of the record
	zero   bool
	ended  bool
}

func newDumpRecords(in io.ReadCloser) *dumpRecords { return &dumpRecords{Closer: in, in: in} }

// errCut is for a dump whose end is missing.
var errCut = errors.New("the kernel has not written all of the dump")

// Read implements io.Reader.
func (d *dumpRecords) Read(p []byte) (n int, err error) {
	for d.left == 0 && !d.ended {
		if err := d.next(); err != nil {
			return 0, err
		}
	}
	if d.ended {
		return 0, io.EOF
	}
	p = p[:min(uint64(len(p)), d.left)]
	if d.zero {
		clear(p)
		n = len(p)
	} else if n, err = d.in.Read(p); errors.Is(err, io.EOF) {
		err = errCut
	}
	d.left -= uint64(n)
	d.offset += uint64(n)
	return n, err
}

// next reads the header of the next record. What is behind the fields that are known is
// left out.
func (d *dumpRecords) next() error {
	b := make([]byte, recordSize)
	if _, err := io.ReadFull(d.in, b); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errCut
	} else if err != nil {
		return err
	}
	size, kind := binary.NativeEndian.Uint32(b), binary.NativeEndian.Uint32(b[4:])
	flags, offset, length := binary.NativeEndian.Uint64(b[8:]), binary.NativeEndian.Uint64(b[16:]), binary.NativeEndian.Uint64(b[24:])
	switch {
	case size < recordSize || size > maxRequest:
		return fmt.Errorf("a record of the dump at offset %#x has a header of %d bytes", d.offset, size)
	case flags != 0:
		return fmt.Errorf("a record of the dump at offset %#x has flags that are not known, %#x", d.offset, flags)
	case offset != d.offset:
		return fmt.Errorf("a record of the dump at offset %#x says that it is at %#x", d.offset, offset)
	case kind == recordEnd && length == 0:
		d.ended = true
	case kind != recordData && kind != recordZero:
		return fmt.Errorf("a record of the dump at offset %#x has type %d and %d bytes", d.offset, kind, length)
	}
	if _, err := io.CopyN(io.Discard, d.in, int64(size-recordSize)); err != nil {
		return errCut
	}
	d.left, d.zero = length, kind == recordZero
	return nil
}
