package dap

import (
	"context"
	"path"
	"sync"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/process"
)

// snapshot is a stopped process as the client knows it, with the numbers that the
// client was given. It is used by one request at a time.
type snapshot struct {
	process *process.Process
	ctx     context.Context // ends with the snapshot
	stop    context.CancelFunc
	refs    handles
	// expressions are those that references stand for.
	expressions []string

	threads []*core.Thread
	byID    map[int]*core.Thread
	ids     map[*core.Thread]int

	heads *goHeads // nil before somebody asks; empty if the configuration wants none

	grouped [][]*core.Thread // by equal stacks; nil before somebody asks

	stacks map[int]*stack // by thread id; see maxStacks
	recent []int          // their ids, the one longest unused first
	files  fileCache

	outlines outlines

	remote    []remotePlace
	remoteIDs map[remoteFile]int // their indexes

	sayLock sync.Mutex
	said    map[string]bool // problems that the client knows of

	sources    *workspace
	missing    []missingPlace
	missingIDs map[missingPlace]int // their indexes
}

func newSnapshot(ctx context.Context, stop context.CancelFunc, t *process.Process, base int, sources *workspace) *snapshot {
	s := &snapshot{
		sources: sources, missingIDs: map[missingPlace]int{}, said: map[string]bool{},
		process: t, ctx: ctx, stop: stop, remoteIDs: map[remoteFile]int{}, refs: handles{base: base, ids: map[ref]int{}}, threads: t.Threads(),
		byID: map[int]*core.Thread{}, ids: map[*core.Thread]int{}, stacks: map[int]*stack{}, files: fileCache{},
	}
	for _, th := range s.threads {
		s.byID[th.ID] = th
	}
	// The protocol wants positive ids, each once. A damaged core may not have
	// them.
	numbered := len(s.byID) < len(s.threads)
	for id := range s.byID {
		numbered = numbered || id <= 0 || id >= firstGoroutine
	}
	if numbered {
		clear(s.byID)
		for i, th := range s.threads {
			s.byID[i+1] = th
		}
	}
	for id, th := range s.byID {
		s.ids[th] = id
	}
	return s
}

// selected returns the id of the thread to show first; 0 if there are none.
func (s *snapshot) selected() int {
	if len(s.threads) == 0 {
		return 0
	}
	return s.ids[s.threads[0]]
}

// name is what to call the process.
func (s *snapshot) name() string {
	img := s.process.Image()
	switch {
	case img.Executable != "":
		return oneLine(path.Base(img.Executable))
	case img.Name != "":
		return oneLine(img.Name)
	}
	return "process"
}

// words returns a reader of the process's memory.
func (s *snapshot) words() *memreader.Words {
	return &memreader.Words{R: s.process.Memory(), BigEndian: s.process.Image().Arch.BigEndian}
}

// symbol returns the name of the function that contains addr, and where it
// begins; "" if it has no name.
func (s *snapshot) symbol(addr uint64) (string, uint64) {
	at := s.process.Locate(addr)
	f := at.Function()
	if f == nil {
		return "", 0
	}
	return f.Name, addr - f.Offset
}
