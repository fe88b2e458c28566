package queue

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/sfcore/sfcore/internal/crash/store"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/message"
)

// ServerOptions say how an embedded server runs.
type ServerOptions struct {
	Dir    string // has its data, and the keys of the roles
	Listen string // an address for other processes, "" for none
	// Cert and Key are files, for TLS.
	Cert, Key string
	// MaxStore bounds what it keeps, in bytes.
	MaxStore int64
}

// SeedFile returns where a server in a directory has the seed of a role.
func SeedFile(dir string, role Role) string {
	return filepath.Join(dir, "keys", string(role)+".seed")
}

// startTime is how long a server may take to start. It reads its streams then.
const startTime = 30 * time.Second

// Serve starts a server in this process, which ends by its method Shutdown. It makes keys for
// the roles if there are none. Nobody is let in without one, also from this machine.
func Serve(o ServerOptions) (*server.Server, error) {
	options, err := o.Options()
	if err != nil {
		return nil, err
	}
	return Start(options)
}

// Options are those of the server itself, as [Serve] has them.
func (o ServerOptions) Options() (*server.Options, error) {
	if o.MaxStore < MinStore {
		return nil, fmt.Errorf("the queue may have %d bytes on disk, and needs %d", o.MaxStore, MinStore)
	}
	options := &server.Options{
		ServerName: "sfcore-fleet", NoSigs: true, NoLog: true, JetStream: true, StoreDir: filepath.Join(o.Dir, "queue"),
		DontListen: o.Listen == "", MaxPayload: message.MaxSize + 4096, JetStreamMaxStore: o.MaxStore, JetStreamMaxMemory: 64 << 20,
		MaxConn: maxConnections, MaxControlLine: 4096, NoSystemAccount: true,
		// A host forgets what the server has acknowledged, so that must survive a power loss.
		SyncAlways: true,
	}
	if o.Listen != "" {
		host, port, err := net.SplitHostPort(o.Listen)
		if err != nil {
			return nil, err
		}
		number, err := strconv.Atoi(port)
		if err != nil {
			return nil, fmt.Errorf("%q: not a port", port)
		}
		options.Host, options.Port = host, number
		if number == 0 {
			options.Port = server.RANDOM_PORT
		}
	}
	if o.Cert != "" {
		config, err := server.GenTLSConfig(&server.TLSConfigOpts{CertFile: o.Cert, KeyFile: o.Key})
		if err != nil {
			return nil, err
		}
		options.TLSConfig, options.TLSTimeout = config, 5
	}
	for _, role := range Roles {
		public, err := MakeSeed(SeedFile(o.Dir, role))
		if err != nil {
			return nil, err
		}
		publish, subscribe := role.Rights("")
		options.Nkeys = append(options.Nkeys, &server.NkeyUser{Nkey: public, Permissions: &server.Permissions{
			Publish: &server.SubjectPermission{Allow: publish}, Subscribe: &server.SubjectPermission{Allow: subscribe},
		}})
	}
	return options, nil
}

// Start starts a server in this process.
func Start(options *server.Options) (*server.Server, error) {
	s, err := server.NewServer(options)
	if err != nil {
		return nil, err
	}
	s.Start()
	if !s.ReadyForConnections(startTime) {
		s.Shutdown()
		return nil, errors.New("the embedded NATS server did not start; another process may use its address or its directory " + options.StoreDir)
	}
	return s, nil
}

// maxConnections bounds the clients of an embedded server. More hosts want one of their own.
const maxConnections = 4096

// MakeSeed makes the seed of an nkey if a file has none, and returns the public key.
func MakeSeed(name string) (public string, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		if !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
		pair, err := nkeys.CreateUser()
		if err != nil {
			return "", err
		}
		if text, err = pair.Seed(); err != nil {
			return "", err
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return "", err
		}
		if err := store.WriteFile(name, append(text, '\n')); err != nil {
			return "", err
		}
	}
	pair, err := nkeys.ParseDecoratedNKey(text)
	if err != nil {
		return "", fmt.Errorf("%s: not the seed of an nkey: %w", name, err)
	}
	return pair.PublicKey()
}
