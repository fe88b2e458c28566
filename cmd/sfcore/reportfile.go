package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/limit"
	"github.com/sfcore/sfcore/report"
)

// maxDocument bounds the reports that are read, in bytes: 10,000 threads of 50 frames take
// 150 MB.
const maxDocument = 1 << 30

// readReport reads the one report of a file. It returns nil if the file is something
// else.
func readReport(name string) (*report.Document, error) {
	left := int64(maxDocument)
	docs, err := readReports(name, &left)
	switch {
	case err != nil || len(docs) == 0:
		return nil, err
	case len(docs) > 1:
		return nil, fmt.Errorf("%s: this has %d reports; put each into a file of its own", name, len(docs))
	}
	return docs[0], nil
}

// readReports reads the reports that bt --format json and jsonl printed to a file, of up
// to left bytes, and takes their size off left. It returns none if the file is something
// else.
func readReports(name string, left *int64) ([]*report.Document, error) {
	f, err := elfx.OpenRegular(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	limited := &io.LimitedReader{R: f, N: *left}
	in := bufio.NewReader(limited)
	start, _ := in.Peek(64)
	if start = bytes.TrimLeft(start, " \t\r\n"); len(start) == 0 || start[0] != '{' {
		return nil, nil
	}
	defer func() { *left = limited.N }()
	docs := reportDecoder{json: json.NewDecoder(in)}
	for {
		switch err := docs.next(); {
		case errors.Is(err, io.EOF):
			return docs.all, nil
		case err != nil && limited.N <= 0:
			return nil, fmt.Errorf("%s: the reports have more than %v", name, limit.Size(maxDocument))
		case err != nil:
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
}

// reportDecoder decodes reports, one after another, each as a document or as lines.
type reportDecoder struct {
	json *json.Decoder
	all  []*report.Document
	more bool // lines of the last report may follow
}

// next decodes the next document or line. After the last it returns [io.EOF].
func (d *reportDecoder) next() error {
	var part struct {
		report.Document
		Thread *report.Thread `json:"thread"`
	}
	if err := d.json.Decode(&part); errors.Is(err, io.EOF) {
		return err
	} else if err != nil {
		return fmt.Errorf("not a report of bt --format json: at byte %d: %w", d.json.InputOffset(), err)
	}
	switch {
	case part.Schema == report.Schema:
		d.more = part.Threads == nil && part.Modules == nil
		d.all = append(d.all, &part.Document)
		nameModules(&part.Document)
	case part.Schema != "" || !d.more:
		return fmt.Errorf("schema: this is %q; a report of bt --format json (%s) is needed", part.Schema, report.Schema)
	case part.Thread != nil:
		last := d.all[len(d.all)-1]
		last.Threads = append(last.Threads, *part.Thread)
	default:
		d.more = false
		last := d.all[len(d.all)-1]
		last.Modules, last.Problems, last.Waiting = part.Modules, part.Problems, part.Waiting
		nameModules(last)
	}
	return nil
}

// nameModules fills in the names of modules, which documents do not have in frames.
func nameModules(r *report.Document) {
	names := map[string]string{}
	for i := range r.Modules {
		m := &r.Modules[i]
		names[cmp.Or(m.BuildID, m.Path)] = path.Base(m.Path)
	}
	for i := range r.Threads {
		for j := range r.Threads[i].Frames {
			f := &r.Threads[i].Frames[j]
			f.ModuleName = names[f.Module]
		}
	}
}
