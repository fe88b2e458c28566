package dap

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/sfcore/sfcore/report"

	godap "github.com/google/go-dap"
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
	total := snap.process.ModuleCount()
	start, end := min(args.StartModule, total), total
	if args.ModuleCount > 0 {
		end = min(start+args.ModuleCount, total)
	}
	body := struct {
		Modules      []module `json:"modules"`
		TotalModules int      `json:"totalModules"`
	}{[]module{}, total}
	progress := s.startProgress("Reading modules")
	defer progress.end()
	i := 0
	for m := range snap.process.Modules() {
		if ctx.Err() != nil {
			return nil, errCancelled
		}
		if i >= end {
			break
		}
		if i >= start {
			progress.update(int64(i-start), int64(end-start))
			body.Modules = append(body.Modules, describeModule(m))
		}
		i++
	}
	return &body, nil
}

// sendModules tells the client of all modules, which are new or changed, while
// it asks for stacks. fetches is whether the user wants missing files to be fetched.
func (s *session) sendModules(snap *snapshot, reason string, fetches bool) {
	var missing []report.Module
	for m := range snap.process.Modules() {
		if snap.ctx.Err() != nil {
			return
		}
		s.event("module", &struct {
			Reason string `json:"reason"`
			Module module `json:"module"`
		}{reason, describeModule(m)})
		for _, problem := range m.Problems {
			snap.problem(s.output, problem)
		}
		if m.Match == report.MatchMissing || m.Match == report.MatchMismatch {
			missing = append(missing, m)
		}
	}
	s.tellMissing(missing, snap.process.Image().Executable, fetches)
}

func describeModule(r report.Module) module {
	var m module
	m.Id, m.Name, m.Path = r.BuildID, oneLine(path.Base(r.Path)), oneLine(r.Path)
	if r.BuildID == "" {
		m.Id = m.Path
	}
	if r.File != "" {
		m.Path = oneLine(r.File)
	}
	m.Version = r.BuildID
	m.AddressRange = fmt.Sprintf("%#x-%#x", uint64(r.Base), uint64(r.End))
	m.SymbolFilePath = oneLine(r.Debug)
	m.SymbolStatus = symbolStatus(&r)
	m.Unwind, m.Match = unwindSource(&r), string(r.Match)
	return m
}

func symbolStatus(r *report.Module) string {
	switch {
	case r.Match == report.MatchMissing:
		return "file not found"
	case r.Match == report.MatchMismatch:
		return "file not found; the file of this name is of another build"
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
