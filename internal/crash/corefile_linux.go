package crash

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"time"
)

// CoreFile is a core that the kernel, or another program, wrote to a file.
type CoreFile struct {
	// ID is under which the crash is kept: see [NewFileID].
	ID   string
	File *os.File
	// Path is the name of the file, for people. It may have any bytes.
	Path string
	Size int64
	// UID and GID are the owner, to whom the report belongs.
	UID, GID int
	// Time is when it was written last.
	Time time.Time
}

// HandleCore is [Handler.Handle] for a core file. It returns nil if the crash was over
// budget, and only counted. Handler.Dump is not used.
func (h *Handler) HandleCore(ctx context.Context, c *CoreFile, reader ReaderOptions) (*Record, error) {
	h.begun = time.Now()
	when := c.Time
	if when.After(h.begun) || when.Before(time.Unix(0, 0)) {
		when = h.begun // whoever owns the file sets its time
	}
	h.rec = &Record{Schema: Schema, ID: c.ID, Time: when.UTC(), UID: c.UID, GID: c.GID, File: c.Path}
	h.store = openStore(h.Config)
	err := h.read(ctx, &source{
		args:  reader.args(c.Path, c.UID, c.GID, h.Config.Time.Duration),
		file:  c.File,
		core:  func() io.Reader { return io.NewSectionReader(c.File, 0, c.Size) },
		size:  c.Size,
		letGo: func() {},
		asks:  true,
	})
	return h.rec, err
}

// ReaderOptions say where the reader of a core file searches for programs and libraries.
type ReaderOptions struct {
	Paths   []string // as [process.Options] has them
	Sysroot string
}

// args are the arguments of the program that reads a core file.
func (o *ReaderOptions) args(name string, uid, gid int, most time.Duration) []string {
	args := []string{"read-core", "--sysroot=" + o.Sysroot}
	for _, p := range o.Paths {
		args = append(args, "--path="+p)
	}
	return append(args, "--", name, strconv.Itoa(uid), strconv.Itoa(gid), most.String())
}

// NewFileID returns an id for a core file: the moment, and the inode.
func NewFileID(now time.Time, ino uint64) string { return newID(now, ino) }

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
	need := int64(phoff + phnum*coreProg)
	if need > size {
		return need, nil
	}
	batch := make([]byte, coreBatch*coreProg)
	for at, end := int64(phoff), need; at < end; {
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
