package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/report"
)

// maxDocument bounds a report that is read, in bytes: 10,000 threads of 50 frames take
// 150 MB.
const maxDocument = 1 << 30

// readReport reads a report that bt --format json printed. It returns nil if the file
// is something else.
func readReport(name string) (*report.Document, error) {
	f, err := elfx.OpenRegular(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return decodeReport(name, f)
}

func decodeReport(name string, f *os.File) (*report.Document, error) {
	in := bufio.NewReader(io.LimitReader(f, maxDocument))
	start, _ := in.Peek(64)
	if start = bytes.TrimLeft(start, " \t\r\n"); len(start) == 0 || start[0] != '{' {
		return nil, nil
	}
	var doc report.Document
	d := json.NewDecoder(in)
	if err := d.Decode(&doc); err != nil {
		return nil, fmt.Errorf("%s: not a report of bt --format json: at byte %d: %w", name, d.InputOffset(), err)
	}
	if doc.Schema != report.Schema {
		return nil, fmt.Errorf("%s: schema: this is %q; a report of bt --format json (%s) is needed", name, doc.Schema, report.Schema)
	}
	if d.More() {
		return nil, fmt.Errorf("%s: this has several reports; put each into a file of its own", name)
	}
	nameModules(&doc)
	return &doc, nil
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
