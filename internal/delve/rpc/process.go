// Package rpc makes an image of the process that a running "dlv --headless"
// holds, through dlv's JSON-RPC API, version 2. It only reads: it neither stops
// nor releases the process, and changes nothing.
//
// Memory is read from dlv when it is needed. dlv itself unwinds nothing.
package rpc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
)

const (
	// maxThreads bounds the threads of a process: pid_max on 64-bit Linux is at
	// most 4 million, and no debugger stops that many.
	maxThreads = 1 << 18

	// maxRegisters bounds the registers that dlv lists for a thread; it lists about
	// 70.
	maxRegisters = 1 << 10

	// maxCommand bounds the command line that is kept, in bytes.
	maxCommand = 4096
)

// Some of the messages of dlv's API [delve, service/api/types.go and
// service/rpc2/server.go], as far as they are used.
type (
	none struct{}

	stateIn  struct{ NonBlocking bool }
	stateOut struct{ State state }
	state    struct {
		Pid                             int
		TargetCommandLine               string
		Running, Recording, CoreDumping bool
		Exited                          bool    `json:"exited"`
		CurrentThread                   *thread `json:"currentThread"`
		Threads                         []*thread
	}
	thread struct {
		ID int `json:"id"`
	}

	versionOut     struct{ DelveVersion, Backend string }
	multiclientOut struct{ IsMulticlient bool }

	registersIn  struct{ ThreadID int }
	registersOut struct{ Regs []register }
	register     struct {
		Name, Value string
		DwarfNumber int
	}

	breakpointsIn  struct{ All bool }
	breakpointsOut struct {
		Breakpoints []struct {
			Addrs         []uint64 `json:"addrs"`
			TotalHitCount uint64   `json:"totalHitCount"`
			WatchExpr     string
		}
	}

	librariesOut struct { // all but the program
		List []struct {
			Path    string
			Address uint64
		}
	}

	memoryIn struct {
		Address uint64
		Length  int
	}
	memoryOut struct{ Mem []byte }
)

// ErrRunning is returned by Open if the process is running.
var ErrRunning = errors.New("the process is running, and only dlv can stop it: halt it there, or let it reach a breakpoint")

// Open makes an image of the process that the dlv at an address, HOST:PORT or
// unix:PATH, has stopped. Start dlv with --accept-multiclient: otherwise this
// connection is its last, which is one of the image's Problems. If the process
// continues while the image is open, reading its memory fails from then on. Closing
// the image leaves dlv and the process unchanged.
func Open(ctx context.Context, addr string) (*core.Image, error) {
	c, err := dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	img, err := c.image(ctx)
	if err != nil {
		c.close()
		return nil, fmt.Errorf("dlv at %s: %w", addr, err)
	}
	img.Holder = "dlv at " + addr
	img.OnClose = c.close
	return img, nil
}

func (c *client) image(ctx context.Context) (*core.Image, error) {
	var multi multiclientOut
	var version versionOut
	var st stateOut
	calls := []*call{
		{method: "IsMulticlient", args: none{}, reply: &multi},
		{method: "GetVersion", args: none{}, reply: &version},
		{method: "State", args: stateIn{NonBlocking: true}, reply: &st},
	}
	if err := c.all(ctx, calls...); err != nil {
		return nil, err
	}
	s := &st.State
	switch {
	case s.Running:
		return nil, ErrRunning
	case s.Recording, s.CoreDumping:
		return nil, errors.New("dlv is busy with a recording or a dump of the process")
	case s.Exited:
		return nil, fmt.Errorf("process %d has ended", s.Pid)
	case version.Backend == "core":
		return nil, errors.New("dlv has a core file open, and shows wrong bytes for its libraries: give the core file to sfcore")
	}
	img := &core.Image{
		PID: s.Pid, Command: s.TargetCommandLine[:min(len(s.TargetCommandLine), maxCommand)],
		Executable: executable(s.Pid, s.TargetCommandLine),
	}
	if img.Executable != "" {
		img.Name = path.Base(img.Executable)
	}
	if !multi.IsMulticlient {
		img.Problems = append(img.Problems, errors.New(
			"dlv was started without --accept-multiclient: it ends when sfcore is done, and with it a process that it started"))
	}
	if err := c.fill(ctx, s, img); err != nil {
		return nil, err
	}
	return img, nil
}

// fill gets everything else: threads, and then memory, which shows whether the
// process stood still in between.
func (c *client) fill(ctx context.Context, s *state, img *core.Image) error {
	var all, own breakpointsOut
	var libraries librariesOut
	if err := c.all(ctx,
		&call{method: "ListBreakpoints", args: breakpointsIn{All: true}, reply: &all},
		&call{method: "ListBreakpoints", args: breakpointsIn{}, reply: &own},
		&call{method: "ListDynamicLibraries", args: none{}, reply: &libraries},
	); err != nil {
		return err
	}
	if err := c.threads(ctx, s, img); err != nil {
		return err
	}
	mem, err := newMemory(c, img, &all, own.hits())
	if err != nil {
		return err
	}
	img.Mem = mem
	if err := mem.readStacks(ctx); err != nil {
		return err
	}
	var list []core.Loaded
	for _, l := range libraries.List {
		list = append(list, core.Loaded{Path: l.Path, Bias: l.Address})
	}
	img.FindLoaded(list)
	return mem.failure()
}

// hits is how often breakpoints were hit.
func (b *breakpointsOut) hits() uint64 {
	n := uint64(0)
	for i := range b.Breakpoints {
		n += b.Breakpoints[i].TotalHitCount
	}
	return n
}

// all makes calls that must succeed.
func (c *client) all(ctx context.Context, calls ...*call) error {
	if err := c.do(ctx, calls...); err != nil {
		return err
	}
	for _, call := range calls {
		if call.err != nil {
			return fmt.Errorf("%s: %w", call.method, call.err)
		}
	}
	return nil
}

// executable returns the path of a program from the command line or, on dlv's own
// machine, from /proc. It is a claim, like the paths in a core file.
func executable(pid int, command string) string {
	name, _, _ := strings.Cut(command, " ")
	if path.IsAbs(name) {
		return name
	}
	exe, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe")
	if err != nil || path.Base(exe) != path.Base(name) {
		return ""
	}
	return exe
}

// threads gets the registers of all threads: the one that dlv shows first.
func (c *client) threads(ctx context.Context, s *state, img *core.Image) error {
	if len(s.Threads) > maxThreads {
		return fmt.Errorf("dlv lists %d threads, more than %d", len(s.Threads), maxThreads)
	}
	var ids []int
	for _, th := range s.Threads {
		if th == nil || th.ID <= 0 {
			return errors.New("dlv lists a thread without an id")
		}
		ids = append(ids, th.ID)
	}
	slices.SortFunc(ids, func(a, b int) int { return cmp.Or(cmp.Compare(s.order(a), s.order(b)), cmp.Compare(a, b)) })
	if same := len(ids) - len(slices.Compact(slices.Clone(ids))); same > 0 {
		return fmt.Errorf("dlv lists %d threads twice", same)
	}
	replies, calls := make([]registersOut, len(ids)), make([]*call, len(ids))
	for i, id := range ids {
		calls[i] = &call{method: "ListRegisters", args: registersIn{id}, reply: &replies[i]}
	}
	if err := c.do(ctx, calls...); err != nil {
		return err
	}
	img.Threads = make([]core.Thread, len(ids))
	for i := range img.Threads {
		th := &img.Threads[i]
		th.ID = ids[i]
		if th.Err = calls[i].err; th.Err != nil {
			continue
		}
		if img.Arch == nil {
			img.Arch = archOf(replies[i].Regs)
		}
		if err := setRegisters(img.Arch, &th.Regs, replies[i].Regs); err != nil {
			return fmt.Errorf("thread %d: %w", th.ID, err)
		}
	}
	if img.Arch == nil {
		return errors.New("dlv shows no registers of an architecture that both sfcore and delve support")
	}
	return nil
}

// order says whether a thread comes first.
func (s *state) order(tid int) int {
	if s.CurrentThread != nil && s.CurrentThread.ID == tid {
		return 0
	}
	return 1
}

// archOf finds the architecture by the name of the register that holds return
// addresses: delve calls it Rip or X30. It is nil if no register is one of an
// architecture that both sfcore and delve know.
func archOf(regs []register) *arch.Arch {
	for i := range regs {
		for a := range arch.All() {
			if a.Delve != "" && strings.EqualFold(regs[i].Name, a.Regs[a.RA()]) {
				return a
			}
		}
	}
	return nil
}

// setRegisters takes the registers that have slots. delve counts them as DWARF
// does, and PC of arm64 as sfcore does.
func setRegisters(a *arch.Arch, regs *arch.Regs, list []register) error {
	if len(list) > maxRegisters {
		return fmt.Errorf("%d registers are more than %d", len(list), maxRegisters)
	}
	for i := range list {
		n := list[i].DwarfNumber
		if a == nil || n < 0 || n >= arch.NumRegs || a.Regs[n] == "" {
			continue
		}
		v, err := strconv.ParseUint(list[i].Value, 0, 64)
		if err != nil {
			return fmt.Errorf("%s is %q, not a number", a.Regs[n], cut(list[i].Value))
		}
		regs.Set(arch.Reg(n), v)
	}
	return nil
}
