package page

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/sfcore/sfcore/internal/crash/index"
	"github.com/sfcore/sfcore/internal/crash/store"
	"github.com/sfcore/sfcore/internal/document"
	"github.com/sfcore/sfcore/internal/limit"
	"github.com/sfcore/sfcore/report"
)

// Files is a store as a source, of which an index tells.
func Files(s *store.Store, ix *index.Index) Source {
	return Source{
		Index: ix,
		Get: func(_ context.Context, id string, most int64) (*store.Record, error) {
			r, _, err := s.Get(id, most)
			return r, err
		},
		Find: func(_ context.Context, id string) (*store.Record, error) { return s.Find(id) },
		Report: func(_ context.Context, id string, left *document.Budget) (*report.Document, error) {
			return readFile(s.Report(id), id, left)
		},
	}
}

func readFile(name, id string, left *document.Budget) (*report.Document, error) {
	if name == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	st, err := os.Lstat(name)
	switch {
	case err != nil:
		return nil, fs.ErrNotExist
	case st.Size() > MaxReport:
		return nil, fmt.Errorf("the report has %v, and a page reads %v; sfcore crash show %s shows it", limit.Size(st.Size()), limit.Size(MaxReport), id)
	}
	docs, err := document.Read(name, left)
	switch {
	case len(docs) > 0:
		return docs[0], nil
	case errors.Is(err, fs.ErrPermission):
		return nil, errors.New("the report belongs to another user")
	case err != nil:
		return nil, fmt.Errorf("the report cannot be read: %w", err)
	}
	return nil, errors.New("the report cannot be read: it is none")
}
