package target

import (
	"bufio"
	"errors"
	"io"
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
	// maxSource bounds how far into a source file is read, in bytes.
	maxSource = 64 << 20
	// maxSourceLine bounds the bytes of a line that are returned.
	maxSourceLine = 512
)

// SourceLines returns the lines of a source file, as debug information names
// it, that are at most around lines from a line, each up to 512 bytes; none if the
// file is not found or is shorter. It is looked for by Options.SourceMap, at its
// path, and if files may be fetched by the build-id of the module it was compiled
// to.
func (t *Target) SourceLines(file, buildID string, line, around int) []SourceLine {
	f := t.openSource(file, buildID)
	if f == nil {
		return nil
	}
	defer f.Close()
	var lines []SourceLine
	in := bufio.NewReaderSize(io.LimitReader(f, maxSource), 64<<10)
	for n := 1; n <= line+around; n++ {
		text, more, err := in.ReadLine()
		if err != nil {
			break
		}
		if n >= line-around {
			lines = append(lines, SourceLine{n, string(text[:min(len(text), maxSourceLine)])})
		}
		for more && err == nil {
			_, more, err = in.ReadLine()
		}
	}
	if len(lines) == 0 || lines[len(lines)-1].Number < line {
		return nil
	}
	return lines
}

func (t *Target) openSource(file, buildID string) *os.File {
	if t.files == nil { // a file by itself
		return nil
	}
	for name := range t.files.Sources(file, t.opts.SourceMap) {
		if f, err := elfx.OpenRegular(name); err == nil {
			return f
		}
	}
	if t.opts.Debuginfod == nil || buildID == "" || !path.IsAbs(file) {
		return nil
	}
	name, err := t.opts.Debuginfod.Source(buildID, file)
	if err != nil {
		if !errors.Is(err, debuginfod.ErrNotFound) {
			t.problem("%s: %w", file, err)
		}
		return nil
	}
	f, err := elfx.OpenRegular(name)
	if err != nil {
		return nil
	}
	return f
}
