package process

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"sort"
	"sync"
	"time"
)

// place is a byte of a file, and the number of the line that it is in.
type place struct {
	line int   // from 1
	off  int64 // in bytes
}

// lineReader reads lines of a file, from a place on.
type lineReader struct {
	r    *bufio.Reader
	at   place
	from int64
}

// block is how much of a file is looked at in one go, in bytes.
const block = 64 << 10

// readLines reads no further than maxSource.
func readLines(f io.ReaderAt, at place) *lineReader {
	return &lineReader{bufio.NewReaderSize(io.NewSectionReader(f, at.off, maxSource-at.off), block), at, at.off}
}

// skipTo goes to the start of a line, or to the end of the file, and adds marks.
func (l *lineReader) skipTo(line int, marks *fileMarks) {
	newline := []byte("\n")
	for l.at.line < line {
		b, _ := l.r.Peek(block)
		if len(b) == 0 {
			return
		}
		if n := bytes.Count(b, newline); l.at.line+n < line {
			l.at.line += n
		} else {
			end := 0
			for ; l.at.line < line; l.at.line++ {
				end += bytes.IndexByte(b[end:], '\n') + 1
			}
			b = b[:end]
		}
		n, _ := l.r.Discard(len(b)) // which are in the buffer
		l.at.off += int64(n)
		marks.add(l.at)
	}
}

// next returns the beginning of the line whose start has been reached, up to
// maxSourceLine bytes; not ok at the end of the file.
func (l *lineReader) next() (text string, ok bool) {
	part, err := l.r.ReadSlice('\n')
	if len(part) == 0 {
		return "", false
	}
	start := part
	if err == nil {
		start = bytes.TrimSuffix(part[:len(part)-1], []byte("\r"))
	}
	text = string(start[:min(len(start), maxSourceLine)])
	l.at.off += int64(len(part))
	for errors.Is(err, bufio.ErrBufferFull) {
		part, err = l.r.ReadSlice('\n')
		l.at.off += int64(len(part))
	}
	l.at.line++
	return text, true
}

// read returns how many bytes were read of the file.
func (l *lineReader) read() int64 { return l.at.off - l.from + int64(l.r.Buffered()) }

// maxMarked bounds the files of which places are remembered, 1024 of each.
const maxMarked = 256

// sourceMarks remember places in source files, so that a file is not read from its
// start for every line. It is safe for concurrent use.
type sourceMarks struct {
	mu    sync.Mutex
	files map[string]*fileMarks
}

// fileMarks are those of a file.
type fileMarks struct {
	all    *sourceMarks
	size   int64
	time   time.Time
	places []place // ascending, and at least a block apart
}

// of returns the marks of a file. There are none if it has changed.
func (s *sourceMarks) of(f *os.File) *fileMarks {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &fileMarks{all: s}
	if st, err := f.Stat(); err == nil {
		m.size, m.time = st.Size(), st.ModTime()
	}
	if old := s.files[f.Name()]; old != nil && old.size == m.size && old.time.Equal(m.time) {
		return old
	}
	if s.files == nil || len(s.files) >= maxMarked {
		s.files = map[string]*fileMarks{}
	}
	s.files[f.Name()] = m
	return m
}

// before returns the last place that is known in lines before one, or else the start of
// the file.
func (m *fileMarks) before(line int) place {
	m.all.mu.Lock()
	defer m.all.mu.Unlock()
	if i := sort.Search(len(m.places), func(i int) bool { return m.places[i].line >= line }); i > 0 {
		return m.places[i-1]
	}
	return place{line: 1}
}

func (m *fileMarks) add(at place) {
	m.all.mu.Lock()
	defer m.all.mu.Unlock()
	last := place{}
	if n := len(m.places); n > 0 {
		last = m.places[n-1]
	}
	if at.off >= last.off+block {
		m.places = append(m.places, at)
	}
}
