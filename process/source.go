package process

import (
	"errors"
	"fmt"
	"os"
	"path"

	"github.com/sfcore/sfcore/internal/debuginfod"
	"github.com/sfcore/sfcore/internal/elfx"
)

// SourceLine is a line of a source file.
type SourceLine struct {
	Number int // from 1
	Text   string
}

const (
	// maxSource bounds the part of a source file that is read, in bytes.
	maxSource = 64 << 20
	// maxSources bounds what is read of all source files, in bytes. A file is read
	// up to the line, and again from the last mark before it.
	maxSources = 1 << 30
	// maxSourceLine bounds the part of a line that is returned, in bytes.
	maxSourceLine = 512
)

// SourceLines returns a line of a source file, with up to around lines before and
// after it. Each line has up to 512 bytes. The result is nil if the file is not
// found, or if it ends before the line. file is the name in debug information.
// SourceLines looks for it by Options.SourceMap, then at its path, which for a live
// process is in the root of that process. Files of /proc, /sys and the like are not
// read. If files may be fetched, it then asks for it by the build-id of the module
// that was compiled from it.
func (p *Process) SourceLines(file, buildID string, line, around int) []SourceLine {
	if p.sourceRead.Load() > maxSources {
		p.modules.Note(fmt.Errorf("more than %d bytes of source files were read; further lines are not shown", maxSources))
		return nil
	}
	f := p.openSource(file, buildID)
	if f == nil {
		return nil
	}
	defer f.Close()
	first := max(1, line-around)
	marks := p.sourceMarks.of(f)
	in := readLines(f, marks.before(first))
	defer func() { p.sourceRead.Add(in.read()) }()
	in.skipTo(first, marks)
	var lines []SourceLine
	for in.at.line >= first && in.at.line <= line+around {
		n := in.at.line
		text, ok := in.next()
		if !ok {
			break
		}
		lines = append(lines, SourceLine{n, text})
	}
	if len(lines) == 0 || lines[len(lines)-1].Number < line {
		return nil
	}
	return lines
}

// SourceFile returns where the source file that debug information names is on this
// machine, without fetching it; "" if it is not there.
func SourceFile(p *Process, file string) string {
	files := p.modules.Resolver()
	for name := range files.Sources(file, p.opts.substitutions()) {
		if f, err := files.Open(name); err == nil {
			f.Close()
			return name
		}
	}
	return ""
}

func (p *Process) openSource(file, buildID string) *os.File {
	files := p.modules.Resolver()
	for name := range files.Sources(file, p.opts.substitutions()) {
		f, err := files.Open(name)
		if err == nil {
			return f
		}
		if errors.Is(err, elfx.ErrNotRegular) {
			p.modules.Note(fmt.Errorf("source lines are not shown: %w", err))
		}
	}
	if p.servers == nil || !path.IsAbs(file) {
		return nil
	}
	name, err := p.servers.Source(buildID, file)
	if err != nil {
		if !errors.Is(err, debuginfod.ErrNotFound) {
			p.modules.Note(fmt.Errorf("%s: %w", file, err))
		}
		return nil
	}
	f, err := elfx.OpenRegular(name)
	if err != nil {
		return nil
	}
	return f
}

var errNoServers = errors.New("files are not fetched from debuginfod servers")

// FetchSource fetches a source file from the servers of Options.Debuginfod, by
// the build-id of a module and the path in its debug information, and returns
// the name of the copy.
func (p *Process) FetchSource(buildID, file string) (string, error) {
	if p.servers == nil {
		return "", errNoServers
	}
	return p.servers.Source(buildID, file)
}
