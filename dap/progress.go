package dap

import (
	"time"

	godap "github.com/google/go-dap"
)

const (
	// progressAfter is how long something may take before it is shown.
	progressAfter = 300 * time.Millisecond

	// progressEvery is the time between two updates.
	progressEvery = 100 * time.Millisecond
)

// progress tells the client how far the current request is, if that takes
// long. Its events offer to cancel the request. It is not safe for concurrent
// use.
type progress struct {
	session *session
	title   string
	id      string // "" before it is shown
	begun   time.Time
	shown   time.Time
}

func (s *session) startProgress(title string) *progress {
	return &progress{session: s, title: title, begun: time.Now()}
}

// update reports that done units of total are done; total is 0 if unknown.
func (p *progress) update(done, total int64) {
	now := time.Now()
	if !p.session.client.SupportsProgressReporting || now.Sub(p.begun) < progressAfter || now.Sub(p.shown) < progressEvery {
		return
	}
	percentage := 0
	if total > 0 {
		percentage = int(min(100, 100*float64(done)/float64(total)))
	}
	p.shown = now
	if p.id != "" {
		p.session.event("progressUpdate", &godap.ProgressUpdateEventBody{ProgressId: p.id, Percentage: percentage})
		return
	}
	id, seq := p.session.queue.reports()
	p.id = id
	p.session.event("progressStart", &godap.ProgressStartEventBody{
		ProgressId: p.id, Title: p.title, RequestId: seq, Cancellable: true, Percentage: percentage,
	})
}

// end takes the progress off the screen, if it is there.
func (p *progress) end() {
	if p.id != "" {
		p.session.event("progressEnd", &godap.ProgressEndEventBody{ProgressId: p.id})
	}
}
