package dap

import (
	"context"
	"io"
	"os"
	"path"
	"strings"

	"github.com/sfcore/sfcore/report"

	godap "github.com/google/go-dap"
)

// remoteFile is a source file that a debuginfod server may have.
type remoteFile struct{ buildID, file string }

// remotePlace is the first place that was shown in a remote file.
type remotePlace struct {
	remoteFile
	at missingPlace
}

// remoteSource returns a source to be fetched when it is looked at, or nil if
// files are not fetched or the frame's cannot be asked for.
func (s *session) remoteSource(r *report.Frame, lookupPC uint64) *godap.Source {
	if !s.spec.Options.Debuginfod || !path.IsAbs(r.File) || r.Module == "" || strings.Contains(r.Module, "/") {
		return nil
	}
	snap, f := s.snap, remoteFile{r.Module, r.File}
	index, known := snap.remoteIDs[f]
	if !known {
		index = len(snap.remote)
		snap.remote = append(snap.remote, remotePlace{f, missingPlace{r.File, r.Line, uint64(r.PC), lookupPC}})
		snap.remoteIDs[f] = index
	}
	return &godap.Source{
		Name: oneLine(path.Base(r.File)), Origin: "debuginfod",
		SourceReference: snap.refs.id(ref{kind: refRemote, item: index}),
	}
}

// maxSource bounds the bytes of a source file that is sent.
const maxSource = 4 << 20

// fetchSource fetches a source file, or returns a page that says why there is none. If
// the request is cancelled, the file goes on to the cache in the background.
func (s *session) fetchSource(ctx context.Context, f *remotePlace) (string, error) {
	type result struct {
		text string
		err  error
	}
	done := make(chan result, 1)
	t := s.snap.process
	go func() {
		name, err := t.FetchSource(f.buildID, f.file)
		if err != nil {
			done <- result{"", err}
			return
		}
		text, err := readStart(name)
		done <- result{text, err}
	}()
	select {
	case r := <-done:
		if r.err != nil {
			return s.missingPage(ctx, f.at, r.err), cancelledOr(ctx, nil)
		}
		return r.text, nil
	case <-ctx.Done():
		return "", errCancelled
	}
}

// readStart reads a file, up to maxSource bytes.
func readStart(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSource))
	return string(text), err
}
