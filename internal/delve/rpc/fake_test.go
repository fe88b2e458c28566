package rpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/process"
)

// fake is a dlv --headless that holds the process of a core.
type fake struct {
	process *process.Process
	mu      sync.Mutex
	calls   map[string]int
	// answer, if set, is asked first; nil and no error is no answer of its own.
	answer func(method string, args json.RawMessage) (any, error)
}

const coresDir = "../../../testdata/cores"

func openCore(t testing.TB, name string) *process.Process {
	t.Helper()
	dir := filepath.Join(coresDir, name)
	img, err := core.Open(t.Context(), filepath.Join(dir, "core.zst"), core.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tgt := process.New(img, optionsFor(name))
	t.Cleanup(func() { tgt.Close() })
	return tgt
}

func optionsFor(name string) process.Options {
	return process.Options{Paths: []string{filepath.Join(coresDir, name, "exe")}}
}

// listen serves the fake, and returns its address.
func (f *fake) listen(t testing.TB) string {
	t.Helper()
	f.calls = map[string]int{}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	t.Cleanup(func() {
		_ = l.Close()
		serving.Wait()
	})
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer func() { _ = conn.Close() }()
				f.serve(conn)
			})
		}
	})
	return l.Addr().String()
}

func (f *fake) serve(conn net.Conn) {
	dec, enc := json.NewDecoder(conn), json.NewEncoder(conn)
	for {
		var req struct {
			Method string
			Params [1]json.RawMessage
			ID     uint64
		}
		if dec.Decode(&req) != nil {
			return
		}
		method := strings.TrimPrefix(req.Method, "RPCServer.")
		f.mu.Lock()
		f.calls[method]++
		result, err := f.reply(method, req.Params[0])
		f.mu.Unlock()
		answer := map[string]any{"id": req.ID, "result": result, "error": nil}
		if err != nil {
			answer["result"], answer["error"] = nil, err.Error()
		}
		if errors.Is(err, errHangUp) || enc.Encode(answer) != nil {
			return
		}
	}
}

var errHangUp = errors.New("hang up")

func (f *fake) reply(method string, args json.RawMessage) (any, error) {
	if f.answer != nil {
		if result, err := f.answer(method, args); result != nil || err != nil {
			return result, err
		}
	}
	img := f.process.Image()
	switch method {
	case "IsMulticlient":
		return multiclientOut{true}, nil
	case "GetVersion":
		return versionOut{"1.27.2", "native"}, nil
	case "State":
		s := state{Pid: img.PID, TargetCommandLine: img.Executable, CurrentThread: &thread{img.Threads[0].ID}}
		for i := range img.Threads {
			s.Threads = append(s.Threads, &thread{img.Threads[i].ID})
		}
		return stateOut{s}, nil
	case "ListBreakpoints":
		return breakpointsOut{}, nil
	case "ListDynamicLibraries":
		var out librariesOut
		entry, _ := f.process.Image().Auxv.Get(core.ATEntry)
		for m := range f.process.Modules() {
			if main := entry-uint64(m.Base) < uint64(m.End-m.Base); !main && m.Path[0] == '/' {
				out.List = append(out.List, struct {
					Path    string
					Address uint64
				}{m.Path, uint64(m.Bias)})
			}
		}
		return out, nil
	case "ListRegisters":
		var in registersIn
		if err := json.Unmarshal(args, &in); err != nil {
			return nil, err
		}
		for i := range img.Threads {
			if img.Threads[i].ID == in.ThreadID {
				return registersOut{delveRegisters(img.Arch, &img.Threads[i].Regs)}, nil
			}
		}
		return nil, fmt.Errorf("couldn't find thread %d", in.ThreadID)
	case "ExamineMemory":
		var in memoryIn
		if err := json.Unmarshal(args, &in); err != nil {
			return nil, err
		}
		if in.Length > 1<<16 {
			return nil, errors.New("len must be less than or equal to 65536")
		}
		return f.memory(in)
	}
	return nil, fmt.Errorf("unknown method: %s", method)
}

// memory reads all of a range or nothing. Pages are mapped as a whole.
func (f *fake) memory(in memoryIn) (any, error) {
	mem, err := memreader.ReadFull(f.process.Memory(), in.Address, in.Length)
	if err != nil && (len(mem) == 0 || in.Length > pageSize) {
		return nil, err
	}
	return memoryOut{append(mem, make([]byte, in.Length-len(mem))...)}, nil
}

// delveRegisters names registers as delve does.
func delveRegisters(a *arch.Arch, regs *arch.Regs) []register {
	list := []register{{"Fs_base", "0x00000000004c23c0", 58}, {"Rflags", "0x246\t[PF ZF IF IOPL=0]", 49}}
	for reg, v := range regs.All() {
		name := strings.ToUpper(a.RegName(reg)[:1]) + a.RegName(reg)[1:]
		list = append(list, register{name, fmt.Sprintf("%#016x", v), int(reg)})
	}
	return list
}
