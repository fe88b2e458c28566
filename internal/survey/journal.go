package survey

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/sfcore/sfcore/internal/artifact"
)

// Entry is what came of one source.
type Entry struct {
	Path     string   `json:"path"`
	Size     int64    `json:"size"`
	Modified int64    `json:"modified"`
	Rows     []Row    `json:"rows,omitempty"`
	Skipped  int      `json:"skipped,omitempty"`
	Unread   []string `json:"unread,omitempty"`
}

// Journal is a file with a line for each source that is done, so that a survey that was
// interrupted goes on where it was. A nil Journal remembers nothing. Its methods may be
// called concurrently.
type Journal struct {
	mu    sync.Mutex
	file  *os.File
	known map[string]Entry
}

// journalSchema is the first line of a journal.
const journalSchema = `{"schema":"sfcore.sframe-survey-journal/1"}`

// maxLine bounds a line of a journal, in bytes: a package may hold 100,000 files.
const maxLine = 64 << 20

// OpenJournal opens a journal, or makes one. A last line that was cut off, as by a crash,
// is removed.
func OpenJournal(path string) (*Journal, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	j := &Journal{file: f, known: map[string]Entry{}}
	if err := j.read(); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return j, nil
}

func (j *Journal) read() error {
	in := bufio.NewReaderSize(j.file, 1<<20)
	end := int64(0)
	for n := 0; ; n++ {
		line, err := readLine(in)
		if errors.Is(err, io.EOF) { // without a newline: cut off
			break
		}
		if err != nil {
			return err
		}
		if n == 0 {
			if string(line) != journalSchema+"\n" {
				return errors.New("it is not a journal of a survey; name another file")
			}
		} else {
			var e Entry
			if err := json.Unmarshal(line, &e); err != nil {
				return fmt.Errorf("line %d: %w; remove the file to begin again", n+1, err)
			}
			for i := range e.Rows {
				if err := e.Rows[i].check(); err != nil {
					return fmt.Errorf("line %d: %w; remove the file to begin again", n+1, err)
				}
			}
			j.known[e.Path] = e
		}
		end += int64(len(line))
	}
	if end == 0 {
		if st, err := j.file.Stat(); err != nil || st.Size() > int64(len(journalSchema)) {
			return errors.New("it is not a journal of a survey; name another file")
		}
	}
	if err := j.file.Truncate(end); err != nil {
		return err
	}
	if _, err := j.file.Seek(end, io.SeekStart); err != nil {
		return err
	}
	if end == 0 {
		_, err := io.WriteString(j.file, journalSchema+"\n")
		return err
	}
	return nil
}

// readLine returns the next line with its newline.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line bytes.Buffer
	for {
		part, err := in.ReadSlice('\n')
		line.Write(part)
		switch {
		case err == nil:
			return line.Bytes(), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case line.Len() > maxLine:
			return nil, fmt.Errorf("a line is longer than %d MiB", maxLine>>20)
		}
	}
}

// Done returns what came of a source, if it has not changed since.
func (j *Journal) Done(s *artifact.Source) (Entry, bool) {
	if j == nil {
		return Entry{}, false
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	e, ok := j.known[s.Path]
	return e, ok && e.Size == s.Size && e.Modified == s.Modified
}

// Note adds what came of a source.
func (j *Journal) Note(e *Entry) error {
	if j == nil {
		return nil
	}
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	_, err = j.file.Write(append(line, '\n'))
	return err
}

// Close closes the journal.
func (j *Journal) Close() error {
	if j == nil {
		return nil
	}
	return j.file.Close()
}
