package dap

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/sfcore/sfcore/report"

	godap "github.com/google/go-dap"

	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/target"
)

// module adds the columns that are sfcore's own.
type module struct {
	godap.Module
	Unwind string `json:"unwind"`
	Match  string `json:"match"`
}

func (s *session) moduleList(ctx context.Context, args *godap.ModulesArguments) (any, error) {
	snap, err := s.stopped()
	if err != nil {
		return nil, err
	}
	if args.StartModule < 0 || args.ModuleCount < 0 {
		return nil, newError(idArguments, "startModule and moduleCount must not be negative")
	}
	all := snap.target.Modules()
	some := all[min(args.StartModule, len(all)):]
	if args.ModuleCount > 0 {
		some = some[:min(args.ModuleCount, len(some))]
	}
	body := struct {
		Modules      []module `json:"modules"`
		TotalModules int      `json:"totalModules"`
	}{[]module{}, len(all)}
	progress := s.startProgress("Reading modules")
	defer progress.end()
	for i, m := range some {
		if ctx.Err() != nil {
			return nil, errCancelled
		}
		progress.update(int64(i), int64(len(some)))
		body.Modules = append(body.Modules, describeModule(snap.target.ReportModule(m)))
	}
	return &body, nil
}

// sendModules tells the client of all modules, which are new or changed, while
// it asks for stacks.
func (s *session) sendModules(snap *snapshot, reason string) {
	for _, m := range snap.target.Modules() {
		if snap.ctx.Err() != nil {
			return
		}
		var report report.Module
		if memreader.Guard(func() { report = snap.target.ReportModule(m) }) != nil {
			continue // the file shrank; who asks for the module is told
		}
		s.event("module", &struct {
			Reason string `json:"reason"`
			Module module `json:"module"`
		}{reason, describeModule(report)})
		for _, problem := range report.Problems {
			s.output("important", "%s", oneLine(problem))
		}
	}
}

func describeModule(r report.Module) module {
	var m module
	m.Id, m.Name, m.Path = r.BuildID, path.Base(r.Path), r.Path
	if r.BuildID == "" {
		m.Id = r.Path
	}
	if r.File != "" {
		m.Path = r.File
	}
	m.Version = r.BuildID
	m.AddressRange = fmt.Sprintf("%#x-%#x", uint64(r.Base), uint64(r.End))
	m.SymbolFilePath = r.Debug
	m.SymbolStatus = symbolStatus(&r)
	m.Unwind, m.Match = unwindSource(&r), r.Match
	return m
}

func symbolStatus(r *report.Module) string {
	switch {
	case r.Match == string(target.MatchMissing):
		return "file not found"
	case r.Match == string(target.MatchMismatch):
		return "file not found; one of this name is of another build"
	case r.Symbols == "none":
		return "no symbols"
	}
	return "symbols from " + r.Symbols
}

func unwindSource(r *report.Module) string {
	var sources []string
	if r.SFrame != nil {
		text := fmt.Sprintf("sframe v%d (%d functions)", r.SFrame.Version, r.SFrame.Functions)
		if r.SFrame.Problem != "" {
			text += ", damaged: " + oneLine(r.SFrame.Problem)
		}
		sources = append(sources, text)
	}
	if r.CFI {
		sources = append(sources, "cfi")
	}
	if len(sources) == 0 {
		return "none"
	}
	return strings.Join(sources, ", ")
}
