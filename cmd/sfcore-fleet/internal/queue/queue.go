// Package queue carries messages from hosts to workers by NATS JetStream: a stream of those
// that wait, one of those that no worker could take, and a bucket of the signatures that are
// known. It adds no protocol of its own.
package queue

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/message"
)

// Names on the server. docs/fleet.md lists them, for those who give rights.
const (
	Stream     = "sfcore"
	DeadStream = "sfcore-dead"
	Bucket     = "sfcore-known"

	deadPrefix = "sfcore-dead."
)

// Limits of what the server keeps. An operator may change those of a stream that is there.
const (
	// maxWaiting bounds what waits, in bytes: 500,000 crashes of 2 KiB. A full stream takes
	// nothing, and hosts keep what they have.
	maxWaiting = 1 << 30
	maxDead    = 256 << 20
	// MaxAge is for how long a message waits, or is dead, before it is removed.
	MaxAge = 30 * 24 * time.Hour
	// maxKnown bounds the signatures that are known, in bytes, and KnownFor is how long one
	// is: then hosts send a whole crash again.
	maxKnown = 64 << 20
	KnownFor = 7 * 24 * time.Hour
	// duplicates is for how long the server knows ids. What comes later again is known by the
	// database.
	duplicates = 2 * time.Minute
	// MinStore is what a server must be allowed to keep, for all of this.
	MinStore = maxWaiting + maxDead + maxKnown
	// ackWait is for how long a worker may be silent about a message.
	ackWait = 30 * time.Second
	// maxPending is how many messages all workers may have at once.
	maxPending = 4096
)

// Settings say where a server is, and how to be let in.
type Settings struct {
	URL  string // of one server or several, with commas between them
	Seed string // a file with the seed of an nkey, "" for none
	CA   string // a file with certificates of authorities, "" for those of the system
	// Cert and Key are files that prove who connects, "" for none.
	Cert, Key string
	// Server is one of this process; then URL is not used.
	Server *server.Server
	// Name is what the server calls this client.
	Name string
	// Prefix is before the subjects of answers. A role has one of its own, so that a server
	// can keep others from listening to them.
	Prefix string
	// Wait is how long publishing waits for a server, 0 for the usual time.
	Wait time.Duration
}

// Queue is a connection to a server.
type Queue struct {
	nc *nats.Conn
	js jetstream.JetStream
}

// Connect connects to a server, and goes on connecting until Close. It returns while there
// is no server yet.
func Connect(s Settings) (*Queue, error) {
	options := []nats.Option{
		nats.Name(s.Name), nats.MaxReconnects(-1), nats.RetryOnFailedConnect(true), nats.ReconnectWait(500 * time.Millisecond),
		nats.ReconnectBufSize(-1), // or what was published while offline would count as sent
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
	}
	if s.Prefix != "" {
		options = append(options, nats.CustomInboxPrefix(s.Prefix))
	}
	if s.Seed != "" {
		option, err := SeedOption(s.Seed)
		if err != nil {
			return nil, err
		}
		options = append(options, option)
	}
	if s.CA != "" {
		options = append(options, nats.RootCAs(s.CA))
	}
	if s.Cert != "" {
		options = append(options, nats.ClientCert(s.Cert, s.Key))
	}
	if s.CA != "" || s.Cert != "" {
		options = append(options, nats.Secure(&tls.Config{MinVersion: tls.VersionTLS12}))
	}
	if s.Server != nil {
		options = append(options, nats.InProcessServer(s.Server))
	}
	nc, err := nats.Connect(s.URL, options...)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", s.URL, err)
	}
	wait := s.Wait
	if wait == 0 {
		wait = 5 * time.Second
	}
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(wait))
	if err != nil {
		nc.Close()
		return nil, err
	}
	return &Queue{nc: nc, js: js}, nil
}

// SeedOption signs with the nkey whose seed a file has.
func SeedOption(name string) (nats.Option, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	pair, err := nkeys.ParseDecoratedNKey(text)
	if err != nil {
		return nil, fmt.Errorf("%s: not the seed of an nkey: %w", name, err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return nats.Nkey(public, pair.Sign), nil
}

// Close closes the connection.
func (q *Queue) Close() { q.nc.Close() }

// Connected reports whether there is a server now.
func (q *Queue) Connected() bool { return q.nc.IsConnected() }

// Setup makes the streams and the bucket if there are none; those that are there stay as they
// are. With several servers each keeps so many copies.
func (q *Queue) Setup(ctx context.Context, copies int) error {
	streams := []jetstream.StreamConfig{{
		Name: Stream, Description: "Crashes that wait for a worker, by version, kind and host",
		Subjects:  []string{"sfcore.*." + message.KindCrash + ".*", "sfcore.*." + message.KindCount + ".*"},
		Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew, MaxBytes: maxWaiting, MaxAge: MaxAge,
		MaxMsgSize: message.MaxSize + 4096, // headers
		Duplicates: duplicates, Storage: jetstream.FileStorage, Replicas: copies, AllowDirect: true,
	}, {
		Name: DeadStream, Description: "Messages that no worker could take, with the reason",
		Subjects:  []string{deadPrefix + ">"},
		Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardOld, MaxBytes: maxDead, MaxAge: MaxAge,
		Duplicates: duplicates, Storage: jetstream.FileStorage, Replicas: copies, AllowDirect: true,
	}}
	for _, config := range streams {
		if _, err := q.js.CreateStream(ctx, config); err != nil && !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return fmt.Errorf("making stream %s: %w", config.Name, err)
		}
	}
	_, err := q.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
		Bucket: Bucket, Description: "Kinds of crashes of which a whole one is stored", TTL: KnownFor, MaxBytes: maxKnown, Replicas: copies,
	})
	if err != nil && !errors.Is(err, jetstream.ErrBucketExists) {
		return fmt.Errorf("making bucket %s: %w", Bucket, err)
	}
	return nil
}

// ErrLarge is for a message that is larger than the server ever takes.
var ErrLarge = errors.New("the server takes no message of this size")

// exceedsMost is what the server says of a message that is larger than the stream takes
// [nats-server, JSStreamMessageExceedsMaximumErr].
const exceedsMost jetstream.ErrorCode = 10054

// Publish has a server keep a message of a subject. When it returns nil, the server has it.
// Of two with one id soon after another the server keeps one. The error is [ErrLarge], or
// may be over later.
func (q *Queue) Publish(ctx context.Context, subject, id string, data []byte) error {
	_, err := q.js.PublishMsg(ctx, &nats.Msg{Subject: subject, Data: data, Header: nats.Header{}}, jetstream.WithMsgID(id))
	if api, ok := errors.AsType[*jetstream.APIError](err); errors.Is(err, nats.ErrMaxPayload) || ok && api.ErrorCode == exceedsMost {
		return fmt.Errorf("%w: %w", ErrLarge, err)
	}
	return err
}

// Waiting returns how many messages wait for workers, those of other versions among them, and
// how many are dead. A message that is done waits until it is cleared.
func (q *Queue) Waiting(ctx context.Context) (waiting, dead uint64, err error) {
	for stream, to := range map[string]*uint64{Stream: &waiting, DeadStream: &dead} {
		s, err := q.js.Stream(ctx, stream)
		if err != nil {
			return 0, 0, err
		}
		*to = s.CachedInfo().State.Msgs
	}
	return waiting, dead, nil
}
