package plugin

import (
	"errors"
	"time"

	gproto "google.golang.org/protobuf/proto"

	"github.com/sfcore/sfcore/plugin/proto"
	protov2 "github.com/sfcore/sfcore/plugin/proto/v2"
)

// secondOpen returns a request of the first version in the types of the second.
func secondOpen(req *proto.OpenRequest) *protov2.OpenRequest {
	m := &protov2.OpenRequest{
		Executable: req.GetExecutable(), Sysroot: req.GetSysroot(), Paths: req.GetPaths(), MaxFrames: req.GetMaxFrames(),
		DebugDirs: req.GetDebugDirs(), SframeDirs: req.GetSframeDirs(), Debuginfod: req.GetDebuginfod(), CacheDir: req.GetCacheDir(),
		Methods: req.GetMethods(), MaxTime: duration(time.Duration(req.GetMaxTimeNs())), MaxTotalTime: duration(time.Duration(req.GetMaxTotalTimeNs())),
	}
	switch p := req.GetProcess().(type) {
	case *proto.OpenRequest_Core:
		m.Process = &protov2.OpenRequest_Core{Core: p.Core}
	case *proto.OpenRequest_Pid:
		m.Process = &protov2.OpenRequest_Pid{Pid: p.Pid}
	case *proto.OpenRequest_Host:
		m.Process = &protov2.OpenRequest_Host{Host: p.Host}
	}
	for _, s := range req.GetSourceMap() {
		m.SourceMap = append(m.SourceMap, &protov2.SourceSubstitution{From: s.GetFrom(), To: s.GetTo()})
	}
	return m
}

// errFirst is for what only the second version has.
var errFirst = errors.New("the plugin is older than this library: it knows neither RawVariables nor MaxCoreBytes, StackBudget, StackTotal, Memory, FUSE, DebuginfodServers and DebuginfodTimeout")

// firstOpen is the inverse of secondOpen. What the first version cannot say is an error.
func firstOpen(req *protov2.OpenRequest) (*proto.OpenRequest, error) {
	m := &proto.OpenRequest{
		Executable: req.GetExecutable(), Sysroot: req.GetSysroot(), Paths: req.GetPaths(), MaxFrames: req.GetMaxFrames(),
		DebugDirs: req.GetDebugDirs(), SframeDirs: req.GetSframeDirs(), Debuginfod: req.GetDebuginfod(), CacheDir: req.GetCacheDir(),
		Methods: req.GetMethods(), MaxTimeNs: int64(req.GetMaxTime().AsDuration()), MaxTotalTimeNs: int64(req.GetMaxTotalTime().AsDuration()),
	}
	switch p := req.GetProcess().(type) {
	case *protov2.OpenRequest_Core:
		m.Process = &proto.OpenRequest_Core{Core: p.Core}
	case *protov2.OpenRequest_Pid:
		m.Process = &proto.OpenRequest_Pid{Pid: p.Pid}
	case *protov2.OpenRequest_Host:
		m.Process = &proto.OpenRequest_Host{Host: p.Host}
	}
	for _, s := range req.GetSourceMap() {
		m.SourceMap = append(m.SourceMap, &proto.SourceSubstitution{From: s.GetFrom(), To: s.GetTo()})
	}
	if !gproto.Equal(secondOpen(m), req) {
		return nil, errFirst
	}
	return m, nil
}
