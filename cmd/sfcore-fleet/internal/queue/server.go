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

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/message"
)

// Role is what a client may do.
type Role string

// The roles. Each has an nkey of its own on an embedded server.
const (
	RoleSubmit Role = "submit" // send crashes
	RoleAgent  Role = "agent"  // and learn which kinds are known
	RoleWorker Role = "worker" // all
)

// Prefix is before the subjects of answers to a role.
func (r Role) Prefix() string { return "_INBOX_" + string(r) }

// permissions are what a role needs, and no more. docs/fleet.md has them for other servers.
func (r Role) permissions() *server.Permissions {
	inbox := []string{r.Prefix() + ".>"}
	send := []string{"sfcore.*." + message.KindCrash + ".*", "sfcore.*." + message.KindCount + ".*"}
	switch r {
	case RoleSubmit:
		return &server.Permissions{Publish: allow(send...), Subscribe: allow(inbox...)}
	case RoleAgent:
		known := "KV_" + Bucket
		send = append(send, "$JS.API.STREAM.INFO."+known, "$JS.API.CONSUMER.CREATE."+known+".>", "$JS.API.CONSUMER.DELETE."+known+".>", "$JS.FC.>")
		return &server.Permissions{Publish: allow(send...), Subscribe: allow(inbox...)}
	case RoleWorker:
	}
	return nil
}

func allow(subjects ...string) *server.SubjectPermission {
	return &server.SubjectPermission{Allow: subjects}
}

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
	for _, role := range []Role{RoleSubmit, RoleAgent, RoleWorker} {
		public, err := seed(SeedFile(o.Dir, role))
		if err != nil {
			return nil, err
		}
		options.Nkeys = append(options.Nkeys, &server.NkeyUser{Nkey: public, Permissions: role.permissions()})
	}
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

// seed makes the seed of an nkey if there is none, and returns the public key.
func seed(name string) (public string, err error) {
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
		if err := os.WriteFile(name, append(text, '\n'), 0o600); err != nil {
			return "", err
		}
	}
	pair, err := nkeys.ParseDecoratedNKey(text)
	if err != nil {
		return "", fmt.Errorf("%s: not the seed of an nkey: %w", name, err)
	}
	return pair.PublicKey()
}
