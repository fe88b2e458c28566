package document

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"github.com/klauspost/compress/zstd"

	"github.com/sfcore/sfcore/internal/elfx"
	"github.com/sfcore/sfcore/internal/limit"
	"github.com/sfcore/sfcore/report"
)

// ReadOne reads the one report of a file. It returns nil if the file is something
// else.
func ReadOne(name string) (*report.Document, error) {
	docs, err := Read(name, NewBudget())
	return only(name, docs, err)
}

// ReadOneFile is ReadOne for a regular file that is open and belongs to the caller.
func ReadOneFile(f *os.File) (*report.Document, error) {
	docs, err := readFile(f, NewBudget())
	return only(f.Name(), docs, err)
}

func only(name string, docs []*report.Document, err error) (*report.Document, error) {
	switch {
	case err != nil || len(docs) == 0:
		return nil, err
	case len(docs) > 1:
		return nil, fmt.Errorf("%s: this has %d reports; put each into a file of its own", name, len(docs))
	}
	return docs[0], nil
}

// Read reads the reports that bt --format json and jsonl printed to a file, as far as
// left allows, and takes them off left. The file may be compressed by zstd. Of a report
// of lines that is cut off, the lines are returned, with a problem, and with [ErrBound]
// what comes before the bound. Read returns none if the file is something else.
func Read(name string, left *Budget) ([]*report.Document, error) {
	f, err := elfx.OpenRegular(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readFile(f, left)
}

// ReadBytes is Read for the bytes of a file, which name is in errors.
func ReadBytes(name string, text []byte, left *Budget) ([]*report.Document, error) {
	return readFrom(name, bytes.NewReader(text), int64(len(text)), left)
}

func readFile(f *os.File, left *Budget) ([]*report.Document, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return readFrom(f.Name(), f, info.Size(), left)
}

func readFrom(name string, f io.ReadSeeker, size int64, left *Budget) ([]*report.Document, error) {
	stream, closeStream, err := decompressed(f)
	if err != nil {
		return nil, nil //nolint:nilerr // whoever reads the file as something else says what is wrong
	}
	defer closeStream()
	bounded := &boundedReader{r: stream, left: left}
	in := bufio.NewReader(bounded) // small, since most files are no reports
	left.begin(size, stream != io.Reader(f))
	start, _ := in.Peek(64)
	if start = bytes.TrimLeft(start, " \t\r\n"); len(start) == 0 || start[0] != '{' {
		return nil, nil
	}
	limit.CollectFrom(enoughMemory)
	docs := decoder{json: json.NewDecoder(in)}
	for {
		switch err := docs.next(); {
		case errors.Is(err, ErrBound):
			docs.end("")
			if last := len(docs.all) - 1; last >= 0 {
				docs.all[last].Problems = append(docs.all[last].Problems, err.Error())
			}
			return docs.all, fmt.Errorf("%s: %w", name, err)
		case errors.Is(err, io.EOF):
			docs.end("the report is cut off: stacks, modules and problems may be missing")
			return docs.all, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
}

// enoughMemory is where the collector stops being patient, in bytes.
const enoughMemory = 384 << 20

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

	skipped int // tokens of members that are not known
	shared  int // frames of threads that a report has put together
}

// maxShared bounds frames that threads share, as if each had its own: 100,000 threads with
// 80 frames. Who reads a report looks at the frames of each thread.
const maxShared = 1 << 23

// maxSkipped bounds tokens of members that are not known: a million take 0.2 s.
const maxSkipped = 1 << 22

// part is a document or a line.
type part struct {
	report.Document
	Thread *Thread `json:"thread"`
}

// next decodes the next document or line. After the last it returns [io.EOF].
func (d *decoder) next() error {
	var p part
	switch err := d.decode(&p); {
	case errors.Is(err, io.ErrUnexpectedEOF) && d.more:
		return io.EOF
	case errors.Is(err, io.EOF):
		return err
	case errors.Is(err, ErrBound):
		if p.Schema == report.Schema && p.Threads != nil {
			d.end("")
			d.add(&p.Document, true)
		}
		return err
	case err != nil:
		return fmt.Errorf("not a report of bt --format json: at byte %d: %w", d.json.InputOffset(), err)
	}
	switch {
	case p.Schema == report.Schema:
		d.end("the report is cut off: stacks, modules and problems may be missing")
		d.add(&p.Document, p.Threads == nil && p.Modules == nil)
	case p.Schema != "" || !d.more:
		return fmt.Errorf("schema: this is %q; a report of bt --format json (%s) is needed", p.Schema, report.Schema)
	case p.Thread != nil:
		last := d.all[len(d.all)-1]
		return d.addThread(&last.Threads, p.Thread)
	default:
		d.more = false
		last := d.all[len(d.all)-1]
		last.Modules, last.Problems, last.Waiting = p.Modules, p.Problems, p.Waiting
		nameModules(last)
	}
	return nil
}

// add adds a report. If more is set, lines of it may follow.
func (d *decoder) add(r *report.Document, more bool) {
	d.all, d.more = append(d.all, r), more
	nameModules(r)
}

// decode decodes an object, of whose lists one element is in memory as text at a time.
func (d *decoder) decode(p *part) error {
	begin, err := d.json.Token()
	if err != nil {
		return err
	}
	if begin != json.Delim('{') {
		return errors.New("this is no object")
	}
	for d.json.More() {
		key, err := d.json.Token()
		if err == nil {
			switch name, _ := key.(string); name {
			case "threads":
				err = decodeEach(d.json, &p.Threads, d.addThread)
			case "modules":
				err = decodeList(d.json, &p.Modules)
			case "problems":
				err = decodeList(d.json, &p.Problems)
			case "waits":
				err = decodeList(d.json, &p.Waits)
			case "deadlocks":
				err = decodeList(d.json, &p.Deadlocks)
			case "schema":
				err = d.json.Decode(&p.Schema)
			case "source":
				err = d.json.Decode(&p.Source)
			case "process":
				err = d.json.Decode(&p.Process)
			case "thread":
				err = d.json.Decode(&p.Thread)
			default:
				err = d.skip()
			}
		}
		if err != nil {
			return noEOF(err)
		}
	}
	_, err = d.json.Token()
	return noEOF(err)
}

// addThread adds a thread to a list, and those that have the same stack.
func (d *decoder) addThread(list *[]report.Thread, th *Thread) error {
	if th.Thread == nil {
		th.Thread = &report.Thread{}
	}
	if len(th.TIDs) < 2 {
		*list = append(*list, *th.Thread)
		return nil
	}
	for _, tid := range th.TIDs {
		if d.shared += len(th.Frames) + 1; d.shared > maxShared {
			return fmt.Errorf("the reports have too many threads with the same stacks: %w", ErrBound)
		}
		one := *th.Thread
		one.TID = tid
		*list = append(*list, one)
	}
	return nil
}

// decodeList decodes a list, or null.
func decodeList[T any](in *json.Decoder, list *[]T) error {
	return decodeEach(in, list, func(list *[]T, next *T) error {
		*list = append(*list, *next)
		return nil
	})
}

// decodeEach decodes a list, or null, whose elements add adds to another one.
func decodeEach[T, E any](in *json.Decoder, list *[]E, add func(*[]E, *T) error) error {
	switch begin, err := in.Token(); {
	case err != nil || begin == nil:
		return err
	case begin != json.Delim('['):
		return fmt.Errorf("this is %v instead of a list", begin)
	}
	*list = []E{}
	for in.More() {
		var next T
		if err := in.Decode(&next); err != nil {
			return err
		}
		if err := add(list, &next); err != nil {
			return err
		}
	}
	_, err := in.Token()
	return err
}

// skip skips a value.
func (d *decoder) skip() error {
	for depth := 0; ; {
		token, err := d.json.Token()
		if err != nil {
			return err
		}
		if d.skipped++; d.skipped > maxSkipped {
			return fmt.Errorf("the reports have too much that is not known: %w", ErrBound)
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}

// noEOF is err as it is inside of a value.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// end ends the last report. Its last line tells of its modules. without says why that is
// missing.
func (d *decoder) end(without string) {
	if d.more && without != "" {
		last := d.all[len(d.all)-1]
		last.Problems = append(last.Problems, without)
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
