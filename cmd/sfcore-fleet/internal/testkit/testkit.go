// Package testkit has crashes and servers for tests of the fleet.
package testkit

import (
	"hash/crc32"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/sfcore/sfcore/internal/crash/store"
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/report/signature"
	"github.com/sfcore/sfcore/unwind"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/message"
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/queue"
)

// Secret is in every name of a crash that must not leave a host whose policy is addresses.
const Secret = "s3cret"

// At is when the first crash was.
var At = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// Build is the build-id of the program.
const Build = "00112233445566778899aabbccddeeff00112233"

// Document is the report of a crash whose stack has functions, in a module at 0x1000.
func Document(functions ...string) *report.Document {
	doc := &report.Document{
		Schema: report.Schema, Source: report.Source{Kind: "crash", Path: "/" + Secret, PID: 7},
		Process: report.Process{PID: 7, Arch: "amd64", Command: "server --password=" + Secret, Executable: "/opt/" + Secret, Signal: &report.Signal{
			Number: 11, Name: "SIGSEGV", Address: report.Known(0xdead), Meaning: "an access to " + Secret,
		}},
		Threads: []report.Thread{{TID: 7, Name: Secret, Crashed: true, Stop: report.Stop{Reason: unwind.Outermost, Detail: Secret}}},
		Modules: []report.Module{
			{Path: "/opt/" + Secret, File: "/opt/" + Secret, Debug: "/" + Secret, BuildID: Build, Base: 0x1000, End: 0x9000, Bias: 0, Match: report.MatchBuildID, Problems: []string{Secret}},
			{Path: "/lib/" + Secret + ".so", Base: 0x10000, End: 0x20000},
		},
		Problems: []string{Secret},
	}
	for i, name := range functions {
		pc := 0x1000 + uint64(crc32.ChecksumIEEE([]byte(name)))%0x7000
		doc.Threads[0].Frames = append(doc.Threads[0].Frames, report.Frame{
			Index: i, PC: report.Addr(pc), Trust: unwind.Full, Method: unwind.CFI, Module: Build, ModuleOffset: report.Known(pc), Function: name, LinkageName: name,
			File: "/src/" + Secret + ".c", Line: 3, Rule: Secret, Doubt: Secret, Skipped: Secret, Variables: []report.Variable{{Name: Secret, Value: Secret}},
		})
	}
	doc.Threads[0].Frames = append(doc.Threads[0].Frames, report.Frame{Index: len(functions), Module: "/lib/" + Secret + ".so", Trust: unwind.Full, ModuleOffset: report.Known(5), Function: Secret})
	return doc
}

// Crash is the nth crash of a host, in functions.
func Crash(n int, functions ...string) (*store.Record, *report.Document) {
	doc, at := Document(functions...), At.Add(time.Duration(n)*time.Second)
	s, err := signature.Of(doc, signature.Default())
	if err != nil {
		panic(err) // the report above has crashed
	}
	s.Frames = nil
	return &store.Record{
		Schema: store.Schema, ID: store.NewID(at, uint64(n)), Time: at, PID: 7, UID: os.Getuid(), GID: os.Getgid(), Program: "/opt/" + Secret, Build: Build, Signal: "SIGSEGV",
		Kind: s.Address, Number: 1, Signature: s, Kept: store.KeepReport, Threads: 1, Problems: []string{Secret},
		Place: store.Place{Unit: Secret + ".service", PodName: Secret, Namespace: Secret, ContainerName: Secret, Container: strings.Repeat("c", 64)},
	}, doc
}

// Message is the message of the nth crash of a host.
func Message(host string, n int, functions ...string) *message.Message {
	r, doc := Crash(n, functions...)
	return message.New(host, r, message.Names, doc, nil)
}

// Encode encodes a message.
func Encode(t testing.TB, m *message.Message) []byte {
	t.Helper()
	text, err := message.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// All is a role of tests, with all rights.
const All queue.Role = "test"

// Server starts a server of this process, with data in a directory, until the test ends.
func Server(t testing.TB, dir, listen string) *server.Server {
	t.Helper()
	options, err := queue.ServerOptions{Dir: dir, Listen: listen, MaxStore: queue.MinStore}.Options()
	if err != nil {
		t.Fatal(err)
	}
	public, err := queue.MakeSeed(queue.SeedFile(dir, All))
	if err != nil {
		t.Fatal(err)
	}
	options.Nkeys = append(options.Nkeys, &server.NkeyUser{Nkey: public})
	s, err := queue.Start(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	return s
}

// Connect connects to a server with the rights of a role.
func Connect(t testing.TB, s *server.Server, dir string, role queue.Role) *queue.Queue {
	t.Helper()
	q, err := queue.Connect(queue.Settings{Server: s, Seed: queue.SeedFile(dir, role), Name: t.Name(), Prefix: role.Prefix("")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	return q
}

// Queue is a server with its streams, and a connection with all rights.
func Queue(t testing.TB) (dir string, s *server.Server, q *queue.Queue) {
	t.Helper()
	dir = t.TempDir()
	s = Server(t, dir, "")
	q = Connect(t, s, dir, All)
	if err := q.Setup(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	return dir, s, q
}

// Eventually waits for something that comes soon.
func Eventually(t testing.TB, most time.Duration, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(most); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after %v: not %s", most, what)
		}
	}
}

// Seed signs with the nkey whose seed a file has.
func Seed(t testing.TB, name string) nats.Option {
	t.Helper()
	option, err := queue.SeedOption(name)
	if err != nil {
		t.Fatal(err)
	}
	return option
}
