package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sfcore/sfcore/core"
	protov2 "github.com/sfcore/sfcore/plugin/proto/v2"
	"github.com/sfcore/sfcore/process"
)

const coresDir = "../testdata/cores"

// testLinger makes plugins of killed hosts end while a test waits.
const testLinger = 300 * time.Millisecond

// TestMain is the plugin if a host started it as one, and a host if hostEnv is
// set.
func TestMain(m *testing.M) {
	if Started() {
		(&Server{Open: openTest, Linger: testLinger}).Serve(context.Background())
		return
	}
	if os.Getenv(hostEnv) != "" {
		hostToBeKilled()
		return
	}
	flag.Parse()
	if !canStart() {
		if err := flag.Set("test.skip", "^(Example|TestStart|TestReattach|TestKilled.*)$"); err != nil {
			panic(err)
		}
	}
	m.Run()
}

// canStart reports whether this test's program can be started as a process:
// where all of it runs in an emulator, as qemu-user, the kernel cannot.
func canStart() bool { return !testkit.Emulated() }

func openTest(ctx context.Context, p Spec) (*process.Process, error) {
	var img *core.Image
	var err error
	if p.Core != "" {
		img, err = core.Open(ctx, p.Core, core.Options{})
	} else {
		img, err = core.Attach(ctx, p.PID, core.AttachOptions{})
	}
	if err != nil {
		return nil, err
	}
	return process.New(img, p.Options), nil
}

// inProcess returns a client of a plugin in this process.
func inProcess(t testing.TB, open OpenFunc) *Client {
	t.Helper()
	return serve(t, &Server{Open: open}, newest)
}

// newest is the version of the protocol that hosts in Go speak with a plugin of this
// release.
const newest = 2

// inEach runs a test in each version of the protocol.
func inEach(t *testing.T, f func(t *testing.T, version int)) {
	for _, version := range protocolVersions {
		t.Run(fmt.Sprint("version-", version), func(t *testing.T) { f(t, version) })
	}
}

// serve returns a client of a server in this process, which speaks a version of the
// protocol.
func serve(t testing.TB, server *Server, version int) *Client {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	configs, done := make(chan *goplugin.ReattachConfig, 1), make(chan struct{})
	go server.serve(ctx, &goplugin.ServeTestConfig{Context: ctx, ReattachConfigCh: configs, CloseCh: done})
	config := <-configs
	config.ProtocolVersion = version
	c, err := connect(t.Context(), &goplugin.ClientConfig{Reattach: config})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		cancel()
		<-done
	})
	return c
}

func coreOf(name string) Spec {
	dir := filepath.Join(coresDir, name)
	return Spec{Core: filepath.Join(dir, "core.zst"), Options: process.Options{Paths: []string{filepath.Join(dir, "exe")}}}
}

// reportOf is the report without a plugin.
func reportOf(t testing.TB, p Spec) *report.Document {
	t.Helper()
	tgt, err := openTest(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	defer tgt.Close()
	r, err := tgt.Report(t.Context(), tgt.Threads())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func compareJSON(t *testing.T, got, want any) {
	t.Helper()
	g, err := json.MarshalIndent(got, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	w, err := json.MarshalIndent(want, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if string(g) != string(w) {
		t.Errorf("got %s\nwant %s", g, w)
	}
}

var testCores = []string{"amd64-v3-threads", "amd64-v2-sig-alt", "aarch64-v3pac-deep", "aarch64be-v3-threads", "s390x-v3-deep", "amd64-v3-corrupt-1"}

func TestReport(t *testing.T) { inEach(t, reportTest) }

func reportTest(t *testing.T, version int) {
	c := serve(t, &Server{Open: openTest}, version)
	for _, name := range testCores {
		t.Run(name, func(t *testing.T) {
			s, err := c.Open(t.Context(), coreOf(name))
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.Report(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			compareJSON(t, got, reportOf(t, coreOf(name)))
			if err := s.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSession(t *testing.T) { inEach(t, sessionTest) }

func sessionTest(t *testing.T, version int) {
	c := serve(t, &Server{Open: openTest}, version)
	s, err := c.Open(t.Context(), coreOf("amd64-v3-threads"))
	if err != nil {
		t.Fatal(err)
	}
	threads, err := s.Threads(t.Context())
	if err != nil || len(threads) != 10 || !threads[0].Crashed {
		t.Fatalf("got %v, %v, want 10 threads, the first crashed", threads, err)
	}
	tid := threads[3].TID
	var stack report.Thread
	for stack, err = range s.Stacks(t.Context(), false, tid) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if stack.TID != tid || len(stack.Frames) < 4 || stack.Stop.Reason != unwind.Outermost {
		t.Fatalf("got %+v, want the whole stack of thread %d", stack, tid)
	}
	regs, err := s.Registers(t.Context(), tid)
	if err != nil || regs["rip"] != uint64(stack.Frames[0].PC) || regs["rsp"] != uint64(stack.Frames[0].SP.Addr) {
		t.Errorf("got %#x, %v, want rip and rsp of %+v", regs, err, stack.Frames[0])
	}

	// The return address of frame 0 is below its CFA.
	word := make([]byte, 8)
	n, err := s.ReadMemory(t.Context(), word, uint64(stack.Frames[0].CFA.Addr)-8)
	ra := uint64(0)
	for i, b := range word {
		ra |= uint64(b) << (8 * i)
	}
	if n != 8 || err != nil || ra != uint64(stack.Frames[1].PC) {
		t.Errorf("got %d bytes, %#x, %v, want 8, %#x", n, ra, err, stack.Frames[1].PC)
	}
	if n, err := s.ReadMemory(t.Context(), word, 16); n != 0 || err == nil {
		t.Errorf("at 16 got %d bytes, %v, want an error", n, err)
	}

	names, err := s.Locate(t.Context(), uint64(stack.Frames[1].PC)-1, 16)
	if err != nil || len(names) != 2 || names[0].GetFunctions()[0].GetName() != stack.Frames[1].Function || names[1].GetModule() != "" {
		t.Errorf("got %v, %v, want %s and nothing", names, err, stack.Frames[1].Function)
	}
	funcs, err := s.SFrame(t.Context(), uint64(stack.Frames[0].PC))
	if err != nil || len(funcs) == 0 || len(funcs[0].GetRows()) == 0 || funcs[0].GetVersion() != 3 {
		t.Errorf("got %v, %v, want functions with rows of version 3", funcs, err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := s.Process(t.Context()); status.Code(err) != codes.NotFound {
		t.Errorf("after Close got %v, want NotFound", err)
	}
}

func TestOpenErrors(t *testing.T) { inEach(t, openErrorsTest) }

func openErrorsTest(t *testing.T, version int) {
	denied := serve(t, &Server{Open: func(_ context.Context, p Spec) (*process.Process, error) {
		if p.PID == 1 {
			return nil, core.ErrDenied
		}
		return nil, core.ErrNoProcess
	}}, version)
	opened := serve(t, &Server{Open: openTest}, version)
	noFile := codes.FailedPrecondition
	if version > 1 {
		noFile = codes.NotFound
	}
	known := coreOf("amd64-v3-deep").Core
	tests := []struct {
		name   string
		c      *Client
		p      Spec
		want   codes.Code
		reason protov2.ErrorReason
	}{
		{"nothing", opened, Spec{}, codes.InvalidArgument, protov2.ErrorReason_ERROR_REASON_INVALID_REQUEST},
		{"standard input", opened, Spec{Core: "-"}, codes.InvalidArgument, protov2.ErrorReason_ERROR_REASON_INVALID_REQUEST},
		{"no file", opened, Spec{Core: "nowhere/core"}, noFile, protov2.ErrorReason_ERROR_REASON_FILE_NOT_FOUND},
		{"no core", opened, Spec{Core: "plugin_test.go"}, codes.FailedPrecondition, protov2.ErrorReason_ERROR_REASON_FILE_UNUSABLE},
		{"paths", opened, Spec{Core: "x", Options: process.Options{Paths: make([]string, maxPaths+1)}}, codes.InvalidArgument, protov2.ErrorReason_ERROR_REASON_INVALID_REQUEST},
		{"no executable", opened, Spec{Core: known, Options: process.Options{Exe: "nowhere"}}, codes.InvalidArgument, protov2.ErrorReason_ERROR_REASON_INVALID_REQUEST},
		{"no sysroot", opened, Spec{Core: known, Options: process.Options{Sysroot: "nowhere"}}, codes.InvalidArgument, protov2.ErrorReason_ERROR_REASON_INVALID_REQUEST},
		{"no path", opened, Spec{Core: known, Options: process.Options{Paths: []string{"nowhere"}}}, codes.InvalidArgument, protov2.ErrorReason_ERROR_REASON_INVALID_REQUEST},
		{"debug directory that is a file", opened, Spec{Core: known, Options: process.Options{DebugDirs: []string{"plugin_test.go"}}}, codes.InvalidArgument, protov2.ErrorReason_ERROR_REASON_INVALID_REQUEST},
		{"negative time", opened, Spec{Core: known, Options: process.Options{MaxTime: -1}}, codes.InvalidArgument, protov2.ErrorReason_ERROR_REASON_INVALID_REQUEST},
		{"unknown method", opened, Spec{Core: known, Options: process.Options{Methods: []string{"magic"}}}, codes.InvalidArgument, protov2.ErrorReason_ERROR_REASON_INVALID_REQUEST},
		{"denied", denied, Spec{PID: 1}, codes.PermissionDenied, protov2.ErrorReason_ERROR_REASON_DENIED},
		{"no process", denied, Spec{PID: 2}, codes.NotFound, protov2.ErrorReason_ERROR_REASON_PROCESS_NOT_FOUND},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := tt.c.Open(t.Context(), tt.p); status.Code(err) != tt.want || Reason(err) != tt.reason {
				t.Errorf("got %v, %v, want %v, %v", err, Reason(err), tt.want, tt.reason)
			}
		})
	}
}

func TestTooManySessions(t *testing.T) {
	c := inProcess(t, openTest)
	for range maxSessions {
		if _, err := c.Open(t.Context(), coreOf("amd64-v3-deep")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Open(t.Context(), coreOf("amd64-v3-deep")); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("got %v, want ResourceExhausted", err)
	}
}

// TestCancel leaves the loop over stacks, and expects the session to go on.
func TestCancel(t *testing.T) {
	c := inProcess(t, openTest)
	s, err := c.OpenImage(t.Context(), manyThreads(500, 25), process.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range s.Stacks(t.Context(), false) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range s.Stacks(ctx, false) {
		if status.Code(err) != codes.Canceled && !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want Canceled", err)
		}
	}
	if threads, err := s.Threads(t.Context()); len(threads) != 500 || err != nil {
		t.Errorf("got %d threads, %v, want 500", len(threads), err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// start starts the plugin as a process: this test's program.
func start(t testing.TB, opts StartOptions) *Client {
	t.Helper()
	c, err := Start(t.Context(), exec.Command(os.Args[0]), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestStart(t *testing.T) {
	c := start(t, StartOptions{})
	p := coreOf("amd64-v3-threads")
	s, err := c.Open(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Report(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	compareJSON(t, got, reportOf(t, p))
	c.Close()
	if !c.Exited() {
		t.Error("the plugin has not ended")
	}
	if _, err := s.Threads(t.Context()); err == nil {
		t.Error("a session outlives its connection")
	}
}

func TestStartErrors(t *testing.T) {
	if _, err := Start(t.Context(), exec.Command("nowhere/sfcore"), StartOptions{}); err == nil {
		t.Error("no error for a program that does not exist")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Start(ctx, exec.Command("sleep", "1"), StartOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func TestReattach(t *testing.T) {
	first := start(t, StartOptions{Reattachable: true})
	s, err := first.Open(t.Context(), coreOf("amd64-v3-deep"))
	if err != nil {
		t.Fatal(err)
	}
	second, err := Reattach(t.Context(), first.ReattachConfig())
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := second.calls.(secondCalls); !ok {
		t.Errorf("got %T for a plugin that speaks the second version", second.calls)
	}
	theirs := &Session{calls: second.calls, id: s.id}
	if _, err := theirs.Threads(t.Context()); status.Code(err) != codes.NotFound {
		t.Errorf("a session of another connection: got %v, want NotFound", err)
	}
	if _, err := second.Open(t.Context(), coreOf("amd64-v3-deep")); err != nil {
		t.Error(err)
	}
	if _, err := second.OpenImage(t.Context(), manyThreads(1, 1), process.Options{}); err == nil {
		t.Error("no error for an image of a host that reattached")
	}
	if _, err := s.Threads(t.Context()); err != nil {
		t.Errorf("the first connection: %v", err)
	}
}
