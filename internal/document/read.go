package document

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/klauspost/compress/zstd"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/limit"
	"github.com/sfcore/sfcore/report"
)

// MaxSize bounds the reports that are read, in bytes: 10,000 threads of 50 frames take
// 150 MB.
const MaxSize = 1 << 30

// ReadOne reads the one report of a file. It returns nil if the file is something
// else.
func ReadOne(name string) (*report.Document, error) {
	left := int64(MaxSize)
	docs, err := Read(name, &left)
	switch {
	case err != nil || len(docs) == 0:
		return nil, err
	case len(docs) > 1:
		return nil, fmt.Errorf("%s: this has %d reports; put each into a file of its own", name, len(docs))
	}
	return docs[0], nil
}

// Read reads the reports that bt --format json and jsonl printed to a file, of up
// to left bytes, and takes their size off left. The file may be compressed by zstd. Of
// a report of lines that is cut off, the lines are returned, with a problem. Read
// returns none if the file is something else.
func Read(name string, left *int64) ([]*report.Document, error) {
	f, err := elfx.OpenRegular(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	stream, closeStream, err := decompressed(f)
	if err != nil {
		return nil, nil //nolint:nilerr // whoever reads the file as something else says what is wrong
	}
	defer closeStream()
	limited := &io.LimitedReader{R: stream, N: *left}
	in := bufio.NewReader(limited)
	start, _ := in.Peek(64)
	if start = bytes.TrimLeft(start, " \t\r\n"); len(start) == 0 || start[0] != '{' {
		return nil, nil
	}
	defer func() { *left = limited.N }()
	docs := decoder{json: json.NewDecoder(in)}
	for {
		switch err := docs.next(); {
		case err != nil && limited.N <= 0 && (docs.more || !errors.Is(err, io.EOF)):
			return nil, fmt.Errorf("%s: the reports have more than %v", name, limit.Size(MaxSize))
		case errors.Is(err, io.EOF):
			docs.end()
			return docs.all, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
}

// maxWindow bounds the memory of the decompressor, in bytes. Those that sfcore
// compresses need a sixteenth of it.
const maxWindow = 128 << 20

// decompressed returns what is in a file, which may be compressed by zstd.
func decompressed(f io.ReadSeeker) (io.Reader, func(), error) {
	const magic = "\x28\xb5\x2f\xfd" // [RFC 8878, 3.1.1]
	head := make([]byte, len(magic))
	n, _ := io.ReadFull(f, head)
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, nil, err
	}
	if string(head[:n]) != magic {
		return f, func() {}, nil
	}
	d, err := zstd.NewReader(f, zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, nil, err
	}
	return d, d.Close, nil
}

// decoder decodes reports, one after another, each as a document or as lines.
type decoder struct {
	json *json.Decoder
	all  []*report.Document
	more bool // lines of the last report may follow
}

// next decodes the next document or line. After the last it returns [io.EOF].
func (d *decoder) next() error {
	var part struct {
		report.Document
		Thread *report.Thread `json:"thread"`
	}
	switch err := d.json.Decode(&part); {
	case errors.Is(err, io.ErrUnexpectedEOF) && d.more:
		return io.EOF
	case errors.Is(err, io.EOF):
		return err
	case err != nil:
		return fmt.Errorf("not a report of bt --format json: at byte %d: %w", d.json.InputOffset(), err)
	}
	switch {
	case part.Schema == report.Schema:
		d.end()
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

// end ends the last report. Its last line tells of its modules.
func (d *decoder) end() {
	if d.more {
		last := d.all[len(d.all)-1]
		last.Problems = append(last.Problems, "the report is cut off: stacks, modules and problems may be missing")
	}
	d.more = false
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
