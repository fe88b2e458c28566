package plugin

import (
	"encoding/json"
	"io"
	"strings"
	"sync"
	"time"
)

const (
	// maxSaid bounds what is kept of a plugin's standard error, in bytes. A sentence
	// about a wrong start, or the first line of a panic, is at its beginning.
	maxSaid = 4096

	// maxSentence bounds the sentence that is made of it.
	maxSentence = 512

	// saidTime is how long a plugin that did not start may take to end its last words.
	saidTime = time.Second
)

// said is a plugin's standard error. It keeps the beginning.
type said struct {
	io.ReadCloser
	mu    sync.Mutex
	begin []byte
	ended chan struct{}
	once  sync.Once
}

func newSaid(r io.ReadCloser) *said { return &said{ReadCloser: r, ended: make(chan struct{})} }

// Read implements io.Reader.
func (s *said) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	s.mu.Lock()
	s.begin = append(s.begin, p[:min(n, maxSaid-len(s.begin))]...)
	s.mu.Unlock()
	if err != nil {
		s.once.Do(func() { close(s.ended) })
	}
	return n, err
}

// sentence returns the first thing that the plugin said; "" if it said nothing.
func (s *said) sentence() string {
	select {
	case <-s.ended:
	case <-time.After(saidTime):
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for line := range strings.Lines(string(s.begin)) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		var entry struct {
			Message string `json:"@message"`
			Error   string `json:"error"`
		}
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Message != "" {
			if line = entry.Message; entry.Error != "" {
				line += ": " + entry.Error
			}
		}
		return text(line[:min(len(line), maxSentence)])
	}
	return ""
}
