package queue_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/queue"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/testkit"
)

// certificate makes a certificate for this machine that is its own authority.
func certificate(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	pair, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "fleet"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &pair.PublicKey, pair)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(pair)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for name, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

// node starts a server as its configuration says, which includes the accounts.
func node(t *testing.T, dir, config string) *server.Server {
	t.Helper()
	file := filepath.Join(dir, fmt.Sprintf("node-%d.conf", freePort(t)))
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	options, err := server.ProcessConfigFile(file)
	if err != nil {
		t.Fatal(err)
	}
	options.NoSigs, options.NoLog = true, true
	s, err := queue.Start(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	return s
}

// accounts makes the keys of two hosts.
func accounts(t *testing.T, dir string) {
	t.Helper()
	text, err := queue.Accounts(dir, []string{"web1", "db.example.org", "web1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, queue.AccountsFile), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if again, err := queue.Accounts(dir, []string{"db.example.org", "web1"}); again != text || err != nil {
		t.Errorf("again: got %s, %v", again, err)
	}
	for _, host := range []string{"Web1", `x", ">`, ""} {
		if _, err := queue.Accounts(t.TempDir(), []string{host}); err == nil {
			t.Errorf("%q is a host", host)
		}
	}
}

// A server with the accounts that sfcore-fleet keys makes speaks TLS, lets each role do what it
// must, and an agent send as its host only.
func TestAccounts(t *testing.T) {
	dir := t.TempDir()
	cert, key := certificate(t, dir)
	accounts(t, dir)
	s := node(t, dir, fmt.Sprintf(`listen: "127.0.0.1:-1"
jetstream {store_dir: %q}
tls {cert_file: %q, key_file: %q}
include %q
`, filepath.Join(dir, "js"), cert, key, queue.AccountsFile))
	url := "tls://" + s.Addr().String()
	connect := func(role queue.Role, host, ca string) *queue.Queue {
		t.Helper()
		file := filepath.Join(dir, string(role)+".seed")
		if host != "" {
			file = filepath.Join(dir, string(role)+"-"+host+".seed")
		}
		q, err := queue.Connect(queue.Settings{URL: url, Seed: file, CA: ca, Prefix: role.Prefix(host), Wait: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(q.Close)
		return q
	}
	if err := connect(queue.RoleWorker, "", cert).Setup(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if q := connect(queue.RoleWorker, "", ""); q.Connected() {
		t.Error("a server was believed whose certificate nobody has signed")
	}
	for _, role := range []queue.Role{queue.RoleWorker, queue.RoleOperator, queue.RoleFetch, queue.RoleSubmit} {
		testRole(t, url, filepath.Join(dir, string(role)+".seed"), role, "", nats.RootCAs(cert))
	}
	testRole(t, url, filepath.Join(dir, "agent-web1.seed"), queue.RoleAgent, "web1", nats.RootCAs(cert))
	web1, db := connect(queue.RoleAgent, "web1", cert), connect(queue.RoleAgent, "db.example.org", cert)
	if err := web1.Publish(t.Context(), "sfcore.v1.crash.web1", "1", []byte("x")); err != nil {
		t.Error(err)
	}
	if err := db.Publish(t.Context(), "sfcore.v1.crash.db_example_org", "2", []byte("x")); err != nil {
		t.Error(err)
	}
	if err := db.Publish(t.Context(), "sfcore.v1.crash.web1", "3", []byte("x")); err == nil {
		t.Error("a host has sent as another")
	}
	if err := web1.Publish(t.Context(), "sfcore.v1.count.db_example_org", "4", []byte("x")); err == nil {
		t.Error("a host has sent as another")
	}
}

// Of three servers that keep each message one is killed, the one that leads: crashes go on, and
// each message that was acknowledged is there.
func TestCluster(t *testing.T) {
	dir := t.TempDir()
	accounts(t, dir)
	var ports, clients []int
	routes := ""
	for range 3 {
		clients, ports = append(clients, freePort(t)), append(ports, freePort(t))
		routes += fmt.Sprintf("\"nats://127.0.0.1:%d\", ", ports[len(ports)-1])
	}
	var nodes []*server.Server
	var urls []string
	for i := range 3 {
		// Servers of a cluster wait for each other, so none may wait to be ready alone.
		nodes = append(nodes, node(t, dir, fmt.Sprintf(`server_name: n%d
listen: "127.0.0.1:%d"
jetstream {store_dir: %q}
cluster {name: fleet, listen: "127.0.0.1:%d", routes: [%s]}
include %q
`, i, clients[i], filepath.Join(dir, fmt.Sprint("js", i)), ports[i], routes, queue.AccountsFile)))
		urls = append(urls, fmt.Sprintf("nats://127.0.0.1:%d", clients[i]))
	}
	connect := func(role queue.Role, file string, prefix string) *queue.Queue {
		q, err := queue.Connect(queue.Settings{URL: strings.Join(urls, ","), Seed: filepath.Join(dir, file), Prefix: prefix, Wait: 2 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(q.Close)
		return q
	}
	w := connect(queue.RoleWorker, "worker.seed", queue.RoleWorker.Prefix(""))
	testkit.Eventually(t, 60*time.Second, "the streams are made", func() bool { return w.Setup(t.Context(), 3) == nil })
	a := connect(queue.RoleAgent, "agent-web1.seed", queue.RoleAgent.Prefix("web1"))
	publish := func(n int) {
		t.Helper()
		testkit.Eventually(t, 60*time.Second, "acknowledged", func() bool { // as the spool of an agent does
			return a.Publish(t.Context(), "sfcore.v1.crash.web1", fmt.Sprint("id", n), []byte(fmt.Sprint(n))) == nil
		})
	}
	for n := range 50 {
		publish(n)
	}
	for i, s := range nodes {
		if s.JetStreamIsStreamLeader(queue.Account, queue.Stream) {
			s.Shutdown()
			t.Logf("server %d leads, and was killed", i)
			break
		} else if i == 2 {
			t.Fatal("no server leads")
		}
	}
	for n := 50; n < 100; n++ {
		publish(n)
	}
	var c *queue.Consumer
	testkit.Eventually(t, 60*time.Second, "consumed", func() (is bool) {
		var err error
		c, err = w.Consume(t.Context())
		return err == nil
	})
	seen := map[string]int{}
	for end := time.Now().Add(60 * time.Second); len(seen) < 100 && time.Now().Before(end); {
		got, err := c.Fetch(t.Context(), 100, time.Second)
		if err != nil {
			continue // another leads now
		}
		for _, d := range got {
			seen[string(d.Data)]++
			if err := d.Done(); err != nil {
				t.Log(err)
			}
		}
	}
	if len(seen) != 100 {
		t.Errorf("got %d of 100 messages", len(seen))
	}
}
