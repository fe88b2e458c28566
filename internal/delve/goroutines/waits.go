package goroutines

import (
	"github.com/sfcore/sfcore/internal/delve/wire"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind/gostack"
)

// maxWaitFrames bounds the innermost frames in which the function is searched that
// waits.
const maxWaitFrames = 8

// Where the semaphores are in sync.Mutex and sync.RWMutex, in bytes [src/sync/mutex.go,
// rwmutex.go], by the reason for which a goroutine waits.
var locks = map[string]struct {
	kind report.WaitKind
	at   uint64
}{
	"sync.Mutex.Lock":    {report.WaitMutex, 4},
	"sync.RWMutex.Lock":  {report.WaitRWLock, 8},
	"sync.RWMutex.RLock": {report.WaitRWLock, 12},
}

// waitsFor returns what a goroutine waits for whose structure is at an address; nil if
// its stack does not tell.
func (w *walker) waitsFor(s *process.Stack, g *wire.Goroutine, at uint64) *report.WaitsFor {
	if g.Status != "waiting" || at == 0 {
		return nil
	}
	img := w.process.Image()
	mem := w.process.Memory()
	for i := range s.Frames[:min(len(s.Frames), maxWaitFrames)] {
		f := &s.Frames[i]
		fn, _ := w.process.GoFunction(f.LookupPC())
		sp, ok := f.Regs.Get(img.Arch.SP)
		if !ok || f.CFA == 0 {
			continue
		}
		switch string(fn.Name()) {
		case "runtime.semacquire1":
			addr, ok := gostack.Semaphore(img.Arch, mem, at, sp, f.CFA)
			if !ok {
				return nil
			}
			if lock, known := locks[g.WaitReason]; known {
				return &report.WaitsFor{Kind: lock.kind, Address: report.Addr(addr - lock.at)}
			}
			return &report.WaitsFor{Kind: report.WaitSemaphore, Address: report.Addr(addr)}
		case "runtime.chansend", "runtime.chanrecv":
			if addr, ok := gostack.Channel(img.Arch, mem, at, sp, f.CFA); ok {
				return &report.WaitsFor{Kind: report.WaitChannel, Address: report.Addr(addr)}
			}
			return nil
		}
	}
	return nil
}
