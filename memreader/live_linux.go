package memreader

import (
	"errors"
	"strconv"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Live is the memory of a live process. It belongs to the program that ran
// when it was opened: after an exec the memory is [Gone].
type Live struct {
	pid  int
	mem  int         // /proc/PID/mem, which keeps hold of the address space
	slow atomic.Bool // process_vm_readv is not available
}

// OpenLive opens the memory of process pid. It needs the right to trace the
// process, but does not stop it. The error is the system's.
func OpenLive(pid int) (*Live, error) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/mem", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return &Live{pid: pid, mem: fd}, nil
}

// ByFile makes all reads go through the file of the memory. The file keeps hold of the
// process; ReadAll otherwise names it by its id, which may become another's.
func (p *Live) ByFile() { p.slow.Store(true) }

// Close ends the use of the memory.
func (p *Live) Close() error { return unix.Close(p.mem) }

// nowhere is an address at which no program has memory, as far up as pread goes.
const nowhere = 1<<63 - 1<<16

// Alive reports whether the process still runs the program that it ran when its
// memory was opened. It waits, as a reader of memory does, for the lock of the
// mappings, but can be killed meanwhile.
func (p *Live) Alive() bool {
	for {
		n, err := unix.Pread(p.mem, make([]byte, 1), nowhere)
		if !errors.Is(err, unix.EINTR) {
			return n != 0 || err != nil
		}
	}
}

// ReadMem implements [Reader]. It also reads memory that the process itself could
// not read, such as pages without permissions.
func (p *Live) ReadMem(b []byte, addr uint64) (int, error) {
	n := 0
	for n < len(b) {
		at := addr + uint64(n)
		k, err := unix.Pread(p.mem, b[n:], int64(at))
		switch {
		case k > 0:
			n += k
		case errors.Is(err, unix.EINTR):
		case err == nil: // end of file: no address space any more
			return n, &FaultError{Addr: at, Why: Gone}
		case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
			return n, &FaultError{Addr: at, Why: Denied}
		default:
			return n, &FaultError{Addr: at, Why: Unmapped}
		}
	}
	return n, nil
}

const (
	// maxBatch is how many pieces one system call copies; the kernel allows
	// 1,024 [linux include/uapi/linux/uio.h: UIO_MAXIOV].
	maxBatch = 512

	// maxBatchBytes ends a batch early, so that whoever waits for a long copy
	// sees its progress: about a millisecond.
	maxBatchBytes = 4 << 20
)

// ReadAll makes all copies, many with one system call. If progress is not nil, it
// is called with the number of complete copies; ReadAll ends when it returns
// false.
func (p *Live) ReadAll(copies []Copy, progress func(done int) (more bool)) {
	most := min(len(copies), maxBatch)
	local, remote := make([]unix.Iovec, 0, most), make([]unix.RemoteIovec, 0, most)
	for done := 0; done < len(copies); {
		local, remote = local[:0], remote[:0]
		size := 0
		for _, c := range copies[done:] {
			if len(local) == maxBatch || size > 0 && size+len(c.Data) > maxBatchBytes {
				break
			}
			v := unix.Iovec{}
			if v.SetLen(len(c.Data)); len(c.Data) > 0 {
				v.Base = &c.Data[0]
			}
			local = append(local, v)
			remote = append(remote, unix.RemoteIovec{Base: uintptr(c.Addr), Len: len(c.Data)})
			size += len(c.Data)
		}
		done += p.finish(copies[done:done+len(local)], p.readv(local, remote))
		if progress != nil && !progress(done) {
			return
		}
	}
}

// readv returns how many bytes process_vm_readv copies, 0 for an error.
func (p *Live) readv(local []unix.Iovec, remote []unix.RemoteIovec) int {
	if p.slow.Load() {
		return 0
	}
	n, err := unix.ProcessVMReadv(p.pid, local, remote, 0)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		p.slow.Store(true)
	}
	return max(n, 0)
}

// finish accounts for n bytes that a batch has copied. The piece at which it
// ended is completed by ReadMem, which knows why it ended. finish returns the
// number of complete pieces, at least one.
func (p *Live) finish(batch []Copy, n int) int {
	for i := range batch {
		c := &batch[i]
		c.N = min(n, len(c.Data))
		n -= c.N
		if c.N < len(c.Data) {
			var k int
			k, c.Err = p.ReadMem(c.Data[c.N:], c.Addr+uint64(c.N))
			c.N += k
			return i + 1
		}
	}
	return len(batch)
}
