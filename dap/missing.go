package dap

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/sfcore/sfcore/report"

	godap "github.com/google/go-dap"
)

// missingPlace is where a frame is that has no source on this machine.
type missingPlace struct {
	file     string // as recorded; "" if there is no debug information
	line     int
	pc       uint64
	lookupPC uint64
}

// maxMissingLine bounds the empty lines before the text of a page.
const maxMissingLine = 1 << 20

// missingSource returns a page in place of the source of a frame. An editor shows it at
// the line of the frame, so the page says there what is missing.
func (s *session) missingSource(r *report.Frame, lookupPC uint64) (*godap.Source, int) {
	snap, at := s.snap, missingPlace{r.File, r.Line, uint64(r.PC), lookupPC}
	index, known := snap.missingIDs[at]
	if !known {
		index = len(snap.missing)
		snap.missing = append(snap.missing, at)
		snap.missingIDs[at] = index
	}
	src := &godap.Source{SourceReference: snap.refs.id(ref{kind: refMissing, item: index})}
	if at.file == "" {
		src.Name, src.Origin = "what is missing", "the file of this code is not on this machine"
		return src, 1
	}
	src.Name, src.Origin = oneLine(path.Base(at.file)), oneLine(at.file)+" is not on this machine"
	return src, max(1, at.line)
}

// missingPage says what is missing, where it was looked for, and what to do; and shows
// the code. fetched is why no server gave it, nil if none was asked for it.
func (s *session) missingPage(ctx context.Context, at missingPlace, fetched error) string {
	var b strings.Builder
	m := s.snap.moduleAt(ctx, at.lookupPC)
	switch {
	case at.file != "":
		b.WriteString(strings.Repeat("\n", min(max(0, at.line-1), maxMissingLine)))
		s.writeMissingSource(ctx, &b, at, m, fetched)
	case m != nil && m.File == "" && m.Match != report.MatchMemory:
		s.writeMissingModule(&b, at, m)
	case m != nil:
		fmt.Fprintf(&b, "%#x is in %s, which has no code there.\n", at.pc, oneLine(m.Path))
	case !s.snap.mapped(at.pc):
		fmt.Fprintf(&b, "Nothing is mapped at %#x: this is not the address of code.\n", at.pc)
	default:
		fmt.Fprintf(&b, "%#x is in memory that holds no code, or whose code the core file does not have.\n", at.pc)
	}
	if l := s.snap.lineAt(s.snap.words(), at.lookupPC); l.why == nil && s.snap.executable(at.lookupPC) {
		b.WriteString("\n" + s.snap.around(at.pc))
	}
	return b.String()
}

// moduleAt returns the module that contains an address; nil if none does.
func (s *snapshot) moduleAt(ctx context.Context, addr uint64) *report.Module {
	if s.process.Locate(addr).Module == "" {
		return nil
	}
	for m := range s.process.Modules() {
		if uint64(m.Base) <= addr && addr < uint64(m.End) {
			return &m
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil
}

func (s *session) writeMissingSource(ctx context.Context, b *strings.Builder, at missingPlace, m *report.Module, fetched error) {
	file := oneLine(at.file)
	fmt.Fprintf(b, "%s:%d is here, but the source file is not on this machine.\n", oneLine(path.Base(at.file)), at.line)
	if m != nil {
		fmt.Fprintf(b, "It was compiled into %s (build-id %s).\n", oneLine(m.Path), orNone(m.BuildID))
	}
	b.WriteString("\nIt was looked for:\n")
	if mapped := s.config.localSource(at.file); mapped != at.file {
		fmt.Fprintf(b, "  at %s, by \"sourceMap\"\n", oneLine(mapped))
	} else if path.IsAbs(at.file) {
		fmt.Fprintf(b, "  at %s, its recorded path\n", file)
	} else {
		fmt.Fprintf(b, "  by the end of its recorded path, %s\n", file)
	}
	for _, dir := range s.snap.sources.dirs {
		fmt.Fprintf(b, "  in the directory %s, by the end of its path\n", oneLine(dir))
	}
	s.writeServers(b, fetched)
	if alike := s.snap.sources.find(ctx, at.file); len(alike) > 1 {
		b.WriteString("\nThe paths of these files end alike, so that none of them was taken:\n")
		for _, name := range alike[:min(len(alike), maxAlike)] {
			fmt.Fprintf(b, "  %s\n", oneLine(name))
		}
	}
	b.WriteString("\nWhat to do, one of these, in the launch configuration:\n")
	fmt.Fprintf(b, "  \"sourceMap\": {%q: \"the directory where the sources are now\"}\n", oneLine(path.Dir(at.file)))
	b.WriteString("  \"sourcePaths\": [\"a directory that has the file somewhere below it\"]\n")
	if !s.config.Debuginfod.on {
		b.WriteString("  \"debuginfod\": true, to fetch it from a server, which learns the build-id\n")
	}
}

// maxAlike bounds the files that a page names because their paths end alike.
const maxAlike = 20

func (s *session) writeMissingModule(b *strings.Builder, at missingPlace, m *report.Module) {
	fmt.Fprintf(b, "%#x is in %s, and this file is not on this machine.\n", at.pc, oneLine(path.Base(m.Path)))
	fmt.Fprintf(b, "Without it there are no names and lines, and the stack may end early.\n\n  path:     %s\n  build-id: %s\n", oneLine(m.Path), orNone(m.BuildID))
	if m.Match == report.MatchMismatch {
		b.WriteString("\nThere are files of this name here, but of other builds:\n")
		for _, problem := range m.Problems {
			fmt.Fprintf(b, "  %s\n", oneLine(problem))
		}
	}
	o := &s.spec.Options
	b.WriteString("\nIt was looked for:\n")
	if o.Sysroot != "" {
		fmt.Fprintf(b, "  at its path below %s, the \"sysroot\"\n", oneLine(o.Sysroot))
	} else {
		b.WriteString("  at its path\n")
	}
	if len(o.Paths) == 0 {
		b.WriteString("  in no other directory, since \"paths\" is empty\n")
	}
	for _, dir := range o.Paths {
		fmt.Fprintf(b, "  below %s, one of \"paths\"\n", oneLine(dir))
	}
	s.writeServers(b, nil)
	b.WriteString("\nWhat to do: copy the file from the machine where the process ran, and\n")
	b.WriteString("  type \"path DIRECTORY\" in the debug console, with the directory of the copy,\n")
	b.WriteString("  or add the directory to \"paths\" in the launch configuration.\n")
	if !s.config.Debuginfod.on {
		b.WriteString("  Or set \"debuginfod\": true to fetch it from a server, which learns the build-id.\n")
	}
}

// writeServers says whether servers were asked, and what they said if it is known.
func (s *session) writeServers(b *strings.Builder, answer error) {
	switch {
	case answer != nil:
		fmt.Fprintf(b, "  on servers: %s\n", oneLine(answer.Error()))
	case s.spec.Options.Debuginfod:
		b.WriteString("  on the servers of debuginfod, which do not have it or did not answer\n")
	case s.config.Debuginfod.on:
		b.WriteString("  on no server, since DEBUGINFOD_URLS names none in the environment of sfcore\n")
	default:
		b.WriteString("  on no server, since \"debuginfod\" is off\n")
	}
}

func orNone(buildID string) string {
	if buildID == "" {
		return "none"
	}
	return buildID
}

// sourceDirs are the directories in which sources are looked for by the end of their
// paths.
func (c *config) sourceDirs() []string {
	dirs := c.resolveAll(c.SourcePaths)
	if c.SourcePath != "" {
		dirs = append(dirs, c.resolve(c.SourcePath))
	}
	if len(dirs) == 0 && c.SourcePaths == nil && filepath.IsAbs(c.Cwd) {
		dirs = []string{c.Cwd}
	}
	return dirs
}
