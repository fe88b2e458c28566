package plugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	protov2 "github.com/sfcore/sfcore/plugin/proto/v2"
	"github.com/sfcore/sfcore/process"
)

// maxMethods bounds the methods of a request, each of which may be named twice.
const maxMethods = 16

// specOf returns what a valid request asks for, but for a process of the host's. Its work
// ends when ctx does.
func specOf(ctx context.Context, req *protov2.OpenRequest) Spec {
	o := process.Options{
		Exe: req.GetExecutable(), Sysroot: req.GetSysroot(), Paths: req.GetPaths(), DebugDirs: req.GetDebugDirs(),
		SFrameDirs: req.GetSframeDirs(), Debuginfod: req.GetDebuginfod(), CacheDir: req.GetCacheDir(), Methods: req.GetMethods(),
		DebuginfodServers: req.GetDebuginfodServers(), DebuginfodTimeout: req.GetDebuginfodTimeout().AsDuration(),
		MaxFrames: int(req.GetMaxFrames()), MaxTime: req.GetMaxTime().AsDuration(), MaxTotalTime: req.GetMaxTotalTime().AsDuration(),
		Context: ctx,
	}
	for _, s := range req.GetSourceMap() {
		o.SourceMap = append(o.SourceMap, process.Substitution{From: s.GetFrom(), To: s.GetTo()})
	}
	if o.MaxTime >= 0 {
		o.MaxTime = min(cmp.Or(o.MaxTime, maxWalk), maxWalk)
	}
	return Spec{
		Core: req.GetCore(), PID: int(req.GetPid()), Options: o, MaxCoreBytes: int64(req.GetMaxCoreBytes()),
		StackBudget: req.GetStackBudget(), StackTotal: req.GetStackTotal(), Memory: req.GetMemory(), FUSE: req.GetFuse(),
	}
}

// optionNames are the names of fields of requests for those of the options that can be
// wrong.
var optionNames = map[string]string{
	"Exe": "executable", "Sysroot": "sysroot", "Paths": "paths", "DebugDirs": "debug_dirs", "SFrameDirs": "sframe_dirs",
	"Methods": "methods", "MaxFrames": "max_frames", "MaxTime": "max_time", "MaxTotalTime": "max_total_time", "Debuginfod": "debuginfod",
	"DebuginfodTimeout": "debuginfod_timeout",
}

// optionText says what is wrong with an option, by the name of its field.
func optionText(err error) string {
	if wrong, ok := errors.AsType[*process.OptionError](err); ok {
		return optionNames[wrong.Option] + ": " + wrong.Err.Error()
	}
	return err.Error()
}

// openRequest is the inverse of specOf, or says what cannot be sent.
func openRequest(p *Spec) (*protov2.OpenRequest, error) {
	o := &p.Options
	switch {
	case o.Context != nil || o.Progress != nil || o.Searching != nil:
		return nil, errors.New("Options.Context, Options.Progress and Options.Searching cannot be sent to the plugin; leave them nil")
	case o.MaxFrames < 0 || o.MaxFrames > math.MaxUint32:
		return nil, fmt.Errorf("MaxFrames: %d is not within 0 to %d", o.MaxFrames, uint32(math.MaxUint32))
	case p.MaxCoreBytes < 0:
		return nil, fmt.Errorf("MaxCoreBytes: %d is negative", p.MaxCoreBytes)
	case p.PID < 0 || p.PID > math.MaxInt32:
		return nil, fmt.Errorf("PID: %d is not the id of a process", p.PID)
	}
	req := &protov2.OpenRequest{
		Executable: o.Exe, Sysroot: o.Sysroot, Paths: o.Paths, DebugDirs: o.DebugDirs, SframeDirs: o.SFrameDirs,
		Debuginfod: o.Debuginfod, DebuginfodServers: o.DebuginfodServers, DebuginfodTimeout: duration(o.DebuginfodTimeout),
		CacheDir: o.CacheDir, Methods: o.Methods, MaxFrames: uint32(o.MaxFrames), MaxTime: duration(o.MaxTime),
		MaxTotalTime: duration(o.MaxTotalTime), MaxCoreBytes: uint64(p.MaxCoreBytes),
		StackBudget: p.StackBudget, StackTotal: p.StackTotal, Memory: p.Memory, Fuse: p.FUSE,
	}
	for _, s := range o.SourceMap {
		req.SourceMap = append(req.SourceMap, &protov2.SourceSubstitution{From: s.From, To: s.To})
	}
	if p.Core != "" {
		req.Process = &protov2.OpenRequest_Core{Core: p.Core}
	} else {
		req.Process = &protov2.OpenRequest_Pid{Pid: int32(p.PID)}
	}
	return req, nil
}

// duration returns a message of a duration; nil for 0.
func duration(d time.Duration) *durationpb.Duration {
	if d == 0 {
		return nil
	}
	return durationpb.New(d)
}

// checkOpen says what is wrong with a request on its own.
func checkOpen(req *protov2.OpenRequest) error {
	switch p := req.GetProcess().(type) {
	case *protov2.OpenRequest_Core:
		if p.Core == "" || p.Core == "-" {
			return invalid("core is %q, not the path of a file", p.Core)
		}
	case *protov2.OpenRequest_Pid:
		if p.Pid <= 0 {
			return invalid("pid is %d, not the id of a process", p.Pid)
		}
	case *protov2.OpenRequest_Host:
	default:
		return invalid("the request has none of core, pid and host")
	}
	if err := checkFor(req); err != nil {
		return err
	}
	for name, n := range map[string]int{
		"paths": len(req.GetPaths()), "debug_dirs": len(req.GetDebugDirs()), "sframe_dirs": len(req.GetSframeDirs()),
		"source_map": len(req.GetSourceMap()), "debuginfod_servers": len(req.GetDebuginfodServers()),
	} {
		if n > maxPaths {
			return invalid("%s are %d, more than %d", name, n, maxPaths)
		}
	}
	if n := len(req.GetMethods()); n > maxMethods {
		return invalid("methods are %d, more than %d", n, maxMethods)
	}
	for name, d := range map[string]*durationpb.Duration{
		"max_time": req.GetMaxTime(), "max_total_time": req.GetMaxTotalTime(), "debuginfod_timeout": req.GetDebuginfodTimeout(),
	} {
		if err := d.CheckValid(); d != nil && err != nil {
			return invalid("%s: %v", name, err)
		}
	}
	return nil
}

// checkHostID refuses the id that go-plugin never gives. Version 1 has always taken it.
func checkHostID(req *protov2.OpenRequest) error {
	if p, ok := req.GetProcess().(*protov2.OpenRequest_Host); ok && p.Host == 0 {
		return invalid("host is 0, not the id of a connection")
	}
	return nil
}

// checkFor refuses what would be ignored, because it is for processes of another kind.
func checkFor(req *protov2.OpenRequest) error {
	_, live := req.GetProcess().(*protov2.OpenRequest_Pid)
	_, core := req.GetProcess().(*protov2.OpenRequest_Core)
	switch {
	case req.GetMaxCoreBytes() > math.MaxInt64:
		return invalid("max_core_bytes is %d, more than %d", req.GetMaxCoreBytes(), uint64(math.MaxInt64))
	case !core && req.GetMaxCoreBytes() != 0:
		return invalid("max_core_bytes is for core files")
	case !live && slices.Max([]uint64{req.GetStackBudget(), req.GetStackTotal(), req.GetMemory()}) != 0, !live && req.GetFuse():
		return invalid("stack_budget, stack_total, memory and fuse are for running processes")
	case !req.GetDebuginfod() && (len(req.GetDebuginfodServers()) > 0 || req.GetDebuginfodTimeout() != nil):
		return invalid("debuginfod_servers and debuginfod_timeout need debuginfod")
	}
	return nil
}
