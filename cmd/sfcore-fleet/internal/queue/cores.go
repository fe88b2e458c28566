package queue

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/message"
)

// CoreRequest asks a host for the core of a crash. The core itself never comes this way: the
// host uploads it.
type CoreRequest struct {
	Schema string `json:"schema"`
	ID     string `json:"id"`  // of the crash on its host
	URL    string `json:"url"` // to which the host puts the core, by HTTP
}

// CoreAnswer is what the host says, several times while it uploads.
type CoreAnswer struct {
	Schema string `json:"schema"`
	Error  string `json:"error,omitempty"` // it ends with this, or
	Done   bool   `json:"done,omitempty"`  // with this
	Sent   int64  `json:"sent"`            // bytes
	Size   int64  `json:"size"`            // bytes of the file, which is compressed
	SHA256 string `json:"sha256,omitempty"`
}

// FetchSchema names the version of both.
const FetchSchema = "sfcore.fetch/1"

const (
	// maxRequest bounds a request or an answer, in bytes. URLs that are signed have 1 KiB.
	maxRequest = 16 << 10
	// answerWait is how long a host may be silent.
	answerWait = 30 * time.Second
)

func fetchSubject(host string) string {
	return fmt.Sprintf("sfcore.v%d.fetch.%s", message.Version, host)
}

func fetchedSubject(host, number string) string {
	return fmt.Sprintf("sfcore.v%d.fetched.%s.%s", message.Version, host, number)
}

// ErrSilent is for a host that does not answer.
var ErrSilent = errors.New("the host does not answer: its agent is not running, has no connection, or was started without --cores-to")

// FetchCore asks a host for a core, and returns its last answer when it is uploaded. progress
// is told the others. The error is [ErrSilent], or what the host says.
func (q *Queue) FetchCore(ctx context.Context, host string, r CoreRequest, progress func(CoreAnswer)) (*CoreAnswer, error) {
	r.Schema = FetchSchema
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	// Only this host may publish there, and nobody else who asks for cores knows the number.
	reply := fetchedSubject(message.Token(host), rand.Text())
	answers, err := q.nc.SubscribeSync(reply)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answers.Unsubscribe() }()
	if err := q.nc.PublishRequest(fetchSubject(message.Token(host)), reply, text); err != nil {
		return nil, err
	}
	for {
		a, err := answer(ctx, answers)
		switch {
		case err != nil:
			return nil, err
		case a.Error != "":
			return nil, fmt.Errorf("%s: %s", host, message.Short(a.Error, maxReason))
		case a.Done:
			return a, nil
		}
		progress(*a)
	}
}

func answer(ctx context.Context, answers *nats.Subscription) (*CoreAnswer, error) {
	wait, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	m, err := answers.NextMsgWithContext(wait)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, context.DeadlineExceeded):
		return nil, ErrSilent
	case err != nil:
		return nil, err
	}
	a := new(CoreAnswer)
	if len(m.Data) > maxRequest || json.Unmarshal(m.Data, a) != nil || a.Schema != FetchSchema || a.Size < 0 || a.Sent < 0 {
		return nil, errors.New("the host answers with what is no answer (" + FetchSchema + "); its agent may be of another version")
	}
	return a, nil
}

// ServeCores has handle upload the cores for which this host is asked, one at a time, until ctx
// ends. handle says how far it is, and returns the last answer.
func (q *Queue) ServeCores(ctx context.Context, host string, handle func(ctx context.Context, r CoreRequest, say func(CoreAnswer)) CoreAnswer) error {
	const waiting = 64 // requests: who asks beyond that is told nothing
	requests := make(chan *nats.Msg, waiting)
	sub, err := q.nc.ChanSubscribe(fetchSubject(message.Token(host)), requests)
	if err != nil {
		return err
	}
	defer func() { _ = sub.Unsubscribe() }()
	place := make(chan struct{}, 1)
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		select {
		case <-ctx.Done():
			return nil
		case m := <-requests:
			if !strings.HasPrefix(m.Reply, fetchedSubject(message.Token(host), "")) {
				continue // an answer there would be something else
			}
			say := func(a CoreAnswer) {
				a.Schema = FetchSchema
				if text, err := json.Marshal(a); err == nil {
					_ = q.nc.Publish(m.Reply, text) // who has asked may be gone
				}
			}
			r := CoreRequest{}
			if len(m.Data) > maxRequest || json.Unmarshal(m.Data, &r) != nil || r.Schema != FetchSchema {
				say(CoreAnswer{Error: "this is no request for a core (" + FetchSchema + ")"})
				continue
			}
			select {
			case place <- struct{}{}:
				wg.Go(func() {
					defer func() { <-place }()
					say(handle(ctx, r, say))
				})
			default:
				say(CoreAnswer{Error: "the host is uploading another core; ask again later"})
			}
		}
	}
}
