package perfdata

import (
	"math/bits"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/memreader"
)

// Fields of samples, PERF_SAMPLE_*.
const (
	sampleIP         = 1 << 0
	sampleTID        = 1 << 1
	sampleTime       = 1 << 2
	sampleAddr       = 1 << 3
	sampleRead       = 1 << 4
	sampleCallchain  = 1 << 5
	sampleID         = 1 << 6
	sampleCPU        = 1 << 7
	samplePeriod     = 1 << 8
	sampleStreamID   = 1 << 9
	sampleRaw        = 1 << 10
	sampleBranch     = 1 << 11
	sampleRegs       = 1 << 12
	sampleStack      = 1 << 13
	sampleIdentifier = 1 << 16

	readTimes   = 1<<0 | 1<<1 // PERF_FORMAT_TOTAL_TIME_*
	readID      = 1 << 2
	readGroup   = 1 << 3
	readLost    = 1 << 4
	branchIndex = 1 << 17 // PERF_SAMPLE_BRANCH_HW_INDEX

	sampleIDAll = 18 // the bit of sample_id_all
)

func (r *reader) sample(b *body, off uint64) {
	a := r.attr[0]
	if a.sampleType&sampleIdentifier != 0 {
		if len(b.b) >= 8 {
			if known := r.byID[r.Order.Uint64(b.b)]; known != nil {
				a = known
			}
		}
		b.u64()
	}
	has := func(field uint64) bool { return a.sampleType&field != 0 }
	if has(sampleIP) {
		b.u64()
	}
	var pid, tid uint32
	if has(sampleTID) {
		pid, tid = b.u32(), b.u32()
	}
	for _, field := range []uint64{sampleTime, sampleAddr, sampleID, sampleStreamID, sampleCPU, samplePeriod} {
		if has(field) {
			b.u64()
		}
	}
	if has(sampleRead) {
		b.read(a.readFormat)
	}
	if has(sampleCallchain) {
		b.array(8)
	}
	if has(sampleRaw) {
		b.take(uint64(b.u32()))
	}
	if has(sampleBranch) {
		n := b.u64()
		if a.branchType&branchIndex != 0 {
			b.u64()
		}
		b.take(times(n, 24))
	}
	s := Sample{TID: int(tid), event: a}
	if !has(sampleRegs) || !s.registers(b, a.regs) {
		r.Without++
		return
	}
	if has(sampleStack) {
		size := b.u64()
		s.Stack = b.take(size)
		if size > 0 {
			s.Stack = s.Stack[:min(b.u64(), uint64(len(s.Stack)))] // what is there
		}
	}
	var known bool
	regs := r.Regs(&s)
	if s.SP, known = regs.Get(r.Arch.SP); !known || b.short {
		r.Without++
		return
	}
	if len(r.Samples) == maxSamples {
		r.problem(off, "there are more than %d samples; this one is ignored", maxSamples)
		return
	}
	s.Space = r.space(pid)
	s.mapped = len(s.Space.Mappings)
	r.Samples = append(r.Samples, s)
}

// times returns n*size, or more than any record has.
func times(n, size uint64) uint64 {
	if hi, lo := bits.Mul64(n, size); hi == 0 {
		return lo
	}
	return 1 << 63
}

func (b *body) array(size uint64) { b.take(times(b.u64(), size)) }

// read skips the values of counters.
func (b *body) read(format uint64) {
	each := uint64(8)
	for _, bit := range []uint64{readID, readLost} {
		if format&bit != 0 {
			each += 8
		}
	}
	n := uint64(1)
	if format&readGroup != 0 {
		n = b.u64()
	}
	b.take(8 * uint64(bits.OnesCount64(format&readTimes)))
	b.take(times(n, each))
}

// registers finds the registers of user space; false if there are none.
func (s *Sample) registers(b *body, mask uint64) bool {
	const abi64 = 2
	abi := b.u64()
	if abi != 0 {
		s.regs = b.take(8 * uint64(bits.OnesCount64(mask)))
	}
	return abi == abi64 && !b.short
}

// Regs returns the registers of a sample.
func (f *File) Regs(s *Sample) (regs arch.Regs) {
	n := 0
	for i := range 64 {
		if s.event.regs>>i&1 == 0 {
			continue
		}
		if i < len(f.Arch.Perf.Regs) {
			regs.Set(f.Arch.Perf.Regs[i], f.Order.Uint64(s.regs[8*n:]))
		}
		n++
	}
	return regs
}

// Memory returns the stack of a sample.
func (s *Sample) Memory() memreader.Reader {
	return memreader.NewSpace([]memreader.Segment{{Addr: s.SP, Size: uint64(len(s.Stack)), Data: s.Stack}})
}
