package plugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/sfcore/sfcore/plugin/proto"
	"github.com/sfcore/sfcore/process"
)

// maxMethods bounds the methods of a request, each of which may be named twice.
const maxMethods = 16

// options returns the options of a request. Their work ends when ctx does.
func options(ctx context.Context, req *proto.OpenRequest) process.Options {
	o := process.Options{
		Exe: req.GetExecutable(), Sysroot: req.GetSysroot(), Paths: req.GetPaths(), DebugDirs: req.GetDebugDirs(),
		SFrameDirs: req.GetSframeDirs(), Debuginfod: req.GetDebuginfod(), CacheDir: req.GetCacheDir(), Methods: req.GetMethods(),
		MaxFrames: int(req.GetMaxFrames()), MaxTime: time.Duration(req.GetMaxTimeNs()),
		MaxTotalTime: time.Duration(req.GetMaxTotalTimeNs()), Context: ctx,
	}
	for _, s := range req.GetSourceMap() {
		o.SourceMap = append(o.SourceMap, process.Substitution{From: s.GetFrom(), To: s.GetTo()})
	}
	if o.MaxTime >= 0 {
		o.MaxTime = min(cmp.Or(o.MaxTime, maxWalk), maxWalk)
	}
	return o
}

// optionNames are the names of fields of requests for those of the options that can be
// wrong.
var optionNames = map[string]string{
	"Exe": "executable", "Sysroot": "sysroot", "Paths": "paths", "DebugDirs": "debug_dirs", "SFrameDirs": "sframe_dirs",
	"Methods": "methods", "MaxFrames": "max_frames", "MaxTime": "max_time", "MaxTotalTime": "max_total_time", "Debuginfod": "debuginfod",
}

// optionText says what is wrong with an option, by the name of its field.
func optionText(err error) string {
	if wrong, ok := errors.AsType[*process.OptionError](err); ok {
		return optionNames[wrong.Option] + ": " + wrong.Err.Error()
	}
	return err.Error()
}

// openRequest returns a request with options, or says which of them cannot be
// sent.
func openRequest(o *process.Options) (*proto.OpenRequest, error) {
	switch {
	case o.Context != nil || o.Progress != nil || o.Searching != nil:
		return nil, errors.New("Options.Context, Options.Progress and Options.Searching cannot be sent to the plugin; leave them nil")
	case o.DebuginfodServers != nil || o.DebuginfodTimeout != 0:
		return nil, errors.New("Options.DebuginfodServers and Options.DebuginfodTimeout cannot be sent to the plugin; set DEBUGINFOD_URLS and DEBUGINFOD_TIMEOUT in its environment")
	case o.MaxFrames < 0 || o.MaxFrames > math.MaxUint32:
		return nil, fmt.Errorf("MaxFrames: %d is not within 0 to %d", o.MaxFrames, uint32(math.MaxUint32))
	}
	req := &proto.OpenRequest{
		Executable: o.Exe, Sysroot: o.Sysroot, Paths: o.Paths, DebugDirs: o.DebugDirs, SframeDirs: o.SFrameDirs,
		Debuginfod: o.Debuginfod, CacheDir: o.CacheDir, Methods: o.Methods, MaxFrames: uint32(o.MaxFrames), MaxTimeNs: int64(o.MaxTime),
		MaxTotalTimeNs: int64(o.MaxTotalTime),
	}
	for _, s := range o.SourceMap {
		req.SourceMap = append(req.SourceMap, &proto.SourceSubstitution{From: s.From, To: s.To})
	}
	return req, nil
}
