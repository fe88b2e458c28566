package plugin

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sfcore/sfcore/report"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/plugin/proto"
	protov2 "github.com/sfcore/sfcore/plugin/proto/v2"
	"github.com/sfcore/sfcore/process"
)

// manyThreads is a process whose threads are found by frame pointers, each with
// so many frames.
func manyThreads(threads, frames int) *core.Image {
	const code, stacks, apart, frame = 0x400000, 0x7f0000000000, 1 << 20, 96
	text := make([]byte, 1<<20)
	for i := 0; i+16 <= len(text); i += 16 {
		copy(text[i+11:], "\xe8\x00\x00\x00\x00") // call: returns to a multiple of 16
	}
	img := &core.Image{Arch: arch.AMD64, PID: 1}
	segs := []memreader.Segment{{Addr: code, Size: uint64(len(text)), Data: text}}
	img.Mappings = []core.Mapping{{Lo: code, Hi: code + uint64(len(text)), Exec: true}}
	for i := range threads {
		base := uint64(stacks + i*apart)
		stack := make([]byte, (frames*frame+2*pageSize-1)&^(pageSize-1))
		for j := range frames {
			next := base + uint64((j+1)*frame)
			if j == frames-1 {
				next = 0
			}
			binary.LittleEndian.PutUint64(stack[j*frame:], next)
			binary.LittleEndian.PutUint64(stack[j*frame+8:], code+uint64(16*(j+1)+1600*(i%600)))
		}
		var regs arch.Regs
		regs.Set(img.Arch.PC, code+0x10)
		regs.Set(img.Arch.SP, base)
		regs.Set(img.Arch.FP, base)
		img.Threads = append(img.Threads, core.Thread{ID: i + 1, Regs: regs, Crashed: i == 0})
		img.Mappings = append(img.Mappings, core.Mapping{Lo: base, Hi: base + uint64(len(stack))})
		segs = append(segs, memreader.Segment{Addr: base, Size: uint64(len(stack)), Data: stack})
	}
	img.Mem = memreader.NewSpace(segs)
	return img
}

func TestOpenImage(t *testing.T) {
	t.Run("version-1", func(t *testing.T) { openImageTest(t, serve(t, &Server{Open: openTest}, 1)) })
	t.Run("version-2", func(t *testing.T) {
		if canStart() {
			openImageTest(t, start(t, StartOptions{})) // with TLS
			return
		}
		openImageTest(t, inProcess(t, openTest))
	})
}

func openImageTest(t *testing.T, c *Client) {
	for _, name := range testCores {
		t.Run(name, func(t *testing.T) {
			p := coreOf(name)
			img, err := core.Open(t.Context(), p.Core, core.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer img.Close()
			s, err := c.OpenImage(t.Context(), img, p.Options)
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.Report(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			want := reportOf(t, p)
			want.Source = report.Source{Kind: "host", PID: want.Process.PID}
			want.Waiting = report.Waiting{}        // a host does not tell the system calls of threads
			got.Problems, want.Problems = nil, nil // those of the file stay with the host
			for _, r := range []*report.Document{got, want} {
				for i := range r.Threads {
					// What a fault is called depends on where memory is.
					r.Threads[i].Stop.Detail = ""
					for j := range r.Threads[i].Frames {
						r.Threads[i].Frames[j].Skipped = ""
					}
				}
			}
			compareJSON(t, got, want)
			if err := s.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// liar is a host that answers as it is told to; what it is not told of is as
// hosting answers.
type liar struct {
	hosting
	process  func() (*proto.HostProcess, error)
	threads  func(grpc.ServerStreamingServer[proto.HostThreads]) error
	mappings func(grpc.ServerStreamingServer[proto.HostMappings]) error
	read     func(*proto.HostReadRequest) (*proto.HostReadReply, error)
}

func (l *liar) Process(ctx context.Context, r *proto.HostProcessRequest) (*proto.HostProcess, error) {
	if l.process != nil {
		return l.process()
	}
	return l.hosting.Process(ctx, r)
}

func (l *liar) Threads(r *proto.HostThreadsRequest, out grpc.ServerStreamingServer[proto.HostThreads]) error {
	if l.threads != nil {
		return l.threads(out)
	}
	return l.hosting.Threads(r, out)
}

func (l *liar) Mappings(r *proto.HostMappingsRequest, out grpc.ServerStreamingServer[proto.HostMappings]) error {
	if l.mappings != nil {
		return l.mappings(out)
	}
	return l.hosting.Mappings(r, out)
}

func (l *liar) ReadMemory(stream grpc.BidiStreamingServer[proto.HostReadRequest, proto.HostReadReply]) error {
	if l.read == nil {
		return l.hosting.ReadMemory(stream)
	}
	for {
		req, err := stream.Recv()
		if err != nil {
			return err
		}
		reply, err := l.read(req)
		if err != nil {
			return err
		}
		if err := stream.Send(reply); err != nil {
			return err
		}
	}
}

// openLiar opens a process of a host that lies.
func openLiar(t testing.TB, c *Client, l *liar) (*Session, error) {
	t.Helper()
	l.img = manyThreads(3, 5)
	id := c.broker.NextId()
	go c.broker.AcceptAndServe(id, func(opts []grpc.ServerOption) *grpc.Server {
		s := grpc.NewServer(opts...)
		c.calls.serve(s, l)
		t.Cleanup(s.Stop)
		return s
	})
	return c.open(t.Context(), &protov2.OpenRequest{Process: &protov2.OpenRequest_Host{Host: id}})
}

func sendThreads(list ...*proto.HostThread) func(grpc.ServerStreamingServer[proto.HostThreads]) error {
	return func(out grpc.ServerStreamingServer[proto.HostThreads]) error {
		return out.Send(&proto.HostThreads{Threads: list})
	}
}

func sendMappings(list ...*proto.HostMapping) func(grpc.ServerStreamingServer[proto.HostMappings]) error {
	return func(out grpc.ServerStreamingServer[proto.HostMappings]) error {
		return out.Send(&proto.HostMappings{Mappings: list})
	}
}

// lies is the code of errors about hosts that lie. That of the first version, UNAVAILABLE,
// has clients call again.
var lies = map[int]codes.Code{1: codes.Unavailable, 2: codes.FailedPrecondition}

func TestLiarsAtOpen(t *testing.T) { inEach(t, liarsAtOpen) }

func liarsAtOpen(t *testing.T, version int) {
	c := serve(t, &Server{Open: openTest}, version)
	endless := func(out grpc.ServerStreamingServer[proto.HostThreads]) error {
		tid := int64(0)
		for {
			m := new(proto.HostThreads)
			for range 1024 {
				tid++
				m.Threads = append(m.Threads, &proto.HostThread{Tid: tid})
			}
			if err := out.Send(m); err != nil {
				return err
			}
		}
	}
	process := func(m *proto.HostProcess) func() (*proto.HostProcess, error) {
		return func() (*proto.HostProcess, error) { return m, nil }
	}
	register := &proto.Register{Name: "eax"}
	tests := []struct {
		name string
		l    liar
		want string
	}{
		{"error", liar{process: func() (*proto.HostProcess, error) { return nil, status.Error(codes.Internal, "no luck") }}, "the host's Process: no luck"},
		{"no architecture", liar{process: process(&proto.HostProcess{})}, `arch "" with big_endian false`},
		{"other byte order", liar{process: process(&proto.HostProcess{Arch: "amd64", BigEndian: true})}, `arch "amd64" with big_endian true`},
		{"auxv", liar{process: process(&proto.HostProcess{Arch: "amd64", Auxv: make([]*proto.Auxiliary, 257)})}, "auxv has 257 entries"},
		{"long name", liar{process: process(&proto.HostProcess{Arch: "amd64", Name: strings.Repeat("n", 5000)})}, "a name has 5000 bytes"},
		{"large message", liar{process: process(&proto.HostProcess{Arch: "amd64", Name: strings.Repeat("n", 5<<20)})}, "received message larger than max"},
		{"endless threads", liar{threads: endless}, "the host's Threads: more than 262144 entries"},
		{"no entries", liar{threads: sendThreads()}, "a message has no entries"},
		{"tid 0", liar{threads: sendThreads(&proto.HostThread{})}, "tid 0 is not"},
		{"two of a tid", liar{threads: sendThreads(&proto.HostThread{Tid: 1}, &proto.HostThread{Tid: 1})}, "two threads"},
		{"two crashed", liar{threads: sendThreads(&proto.HostThread{Tid: 1, Crashed: true}, &proto.HostThread{Tid: 2, Crashed: true})}, "tid 2: crashed is set"},
		{"register", liar{threads: sendThreads(&proto.HostThread{Tid: 1, Registers: []*proto.Register{register}})}, `tid 1: registers: amd64 has no register "eax"`},
		{"register twice", liar{threads: sendThreads(&proto.HostThread{Tid: 1, Registers: []*proto.Register{{Name: "rip"}, {Name: "rip"}}})}, `tid 1: registers: "rip" comes twice`},
		{"empty mapping", liar{mappings: sendMappings(&proto.HostMapping{Lo: 5, Hi: 5})}, "mapping 0x5-0x5 is empty"},
		{"mappings overlap", liar{mappings: sendMappings(&proto.HostMapping{Lo: 5, Hi: 9}, &proto.HostMapping{Lo: 8, Hi: 10})}, "begins before"},
		{"long path", liar{mappings: sendMappings(&proto.HostMapping{Lo: 5, Hi: 9, Path: strings.Repeat("/", 5000)})}, "path is longer"},
	}
	for i := range tests {
		tt := &tests[i]
		t.Run(tt.name, func(t *testing.T) {
			_, err := openLiar(t, c, &tt.l)
			if status.Code(err) != lies[version] || Reason(err) != protov2.ErrorReason_ERROR_REASON_HOST_FAILED || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, %v, want %v with %q", err, Reason(err), lies[version], tt.want)
			}
		})
	}
}

func TestLiarsAtReads(t *testing.T) { inEach(t, liarsAtReads) }

func liarsAtReads(t *testing.T, version int) {
	c := serve(t, &Server{Open: openTest}, version)
	tests := []struct {
		name string
		read func(*proto.HostReadRequest) (*proto.HostReadReply, error)
		want string
	}{
		{"error", func(*proto.HostReadRequest) (*proto.HostReadReply, error) {
			return nil, status.Error(codes.Internal, "no luck")
		}, "the host's ReadMemory: no luck"},
		{"no chunks", func(*proto.HostReadRequest) (*proto.HostReadReply, error) {
			return &proto.HostReadReply{}, nil
		}, "there are 0 chunks"},
		{"long chunk", func(r *proto.HostReadRequest) (*proto.HostReadReply, error) {
			m := new(proto.HostReadReply)
			for range r.GetRanges() {
				m.Chunks = append(m.Chunks, &proto.HostChunk{Data: make([]byte, 4097)})
			}
			return m, nil
		}, "chunk 0: data has 4097 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := openLiar(t, c, &liar{read: tt.read})
			if err != nil {
				t.Fatal(err)
			}
			stacks := 0
			for _, err = range s.Stacks(t.Context(), false) {
				if err == nil {
					stacks++
				}
			}
			if stacks != 3 || status.Code(err) != lies[version] || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %d stacks, %v, want 3 and %v with %q", stacks, err, lies[version], tt.want)
			}
		})
	}
}

// TestShortReads has a host give half of a page, which is a fault and no lie.
func TestShortReads(t *testing.T) {
	c := inProcess(t, openTest)
	s, err := openLiar(t, c, &liar{read: func(r *proto.HostReadRequest) (*proto.HostReadReply, error) {
		m := new(proto.HostReadReply)
		for range r.GetRanges() {
			m.Chunks = append(m.Chunks, &proto.HostChunk{Data: make([]byte, 2048), Fault: "half is enough"})
		}
		return m, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	n, err := s.ReadMemory(t.Context(), make([]byte, 4096), 0x400000)
	if n != 2048 || err == nil || !strings.Contains(err.Error(), `memory at 0x400800: the host says "half is enough"`) {
		t.Errorf("got %d, %v, want 2048 and what the host says", n, err)
	}
}

// TestReadsAreBatched counts calls: those of a stack come with those of others.
func TestReadsAreBatched(t *testing.T) {
	img := manyThreads(200, 25)
	var calls atomic.Int32
	l := &liar{hosting: hosting{img: img}}
	l.read = func(r *proto.HostReadRequest) (*proto.HostReadReply, error) {
		calls.Add(1)
		return l.hosting.read(r)
	}
	c := inProcess(t, openTest)
	id := c.broker.NextId()
	go c.broker.AcceptAndServe(id, func(opts []grpc.ServerOption) *grpc.Server {
		s := grpc.NewServer(opts...)
		c.calls.serve(s, l)
		t.Cleanup(s.Stop)
		return s
	})
	s, err := c.open(t.Context(), &protov2.OpenRequest{Process: &protov2.OpenRequest_Host{Host: id}})
	if err != nil {
		t.Fatal(err)
	}
	for th, err := range s.Stacks(t.Context(), false) {
		if err != nil || len(th.Frames) != 26 {
			t.Fatalf("thread %d: got %d frames, %v, want 26", th.TID, len(th.Frames), err)
		}
	}
	// 200 stacks of 5 pages, 256 a call; and 80 pages of code, 4 a call.
	if n := calls.Load(); n > 40 {
		t.Errorf("got %d calls, want at most 40", n)
	}
}

// TestHostHangs has a host that never answers.
func TestHostHangs(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for hostTime")
	}
	c := inProcess(t, openTest)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	s, err := openLiar(t, c, &liar{read: func(*proto.HostReadRequest) (*proto.HostReadReply, error) {
		<-release
		return nil, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	for _, err = range s.Stacks(t.Context(), false) {
	}
	if took := time.Since(begin); !strings.Contains(fmt.Sprint(err), "no answer within 10s") || took > 2*hostTime {
		t.Errorf("got %v after %v, want no answer within 10s", err, took)
	}
}

// BenchmarkStacks walks 1,000 threads of 25 frames in this process, by a plugin that reads
// memory from it, and by one that has read it already.
func BenchmarkStacks(b *testing.B) {
	img := manyThreads(1000, 25)
	b.Run("direct", func(b *testing.B) {
		for b.Loop() {
			t := process.New(img, process.Options{})
			if _, err := t.Report(b.Context(), t.Threads()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("plugin", func(b *testing.B) {
		c := start(b, StartOptions{})
		for b.Loop() {
			s, err := c.OpenImage(b.Context(), img, process.Options{})
			if err != nil {
				b.Fatal(err)
			}
			r, err := s.Report(b.Context())
			if err != nil || len(r.Threads) != 1000 || len(r.Threads[999].Frames) != 26 {
				b.Fatal(err)
			}
			if err := s.Close(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("again", func(b *testing.B) {
		// The instructions of this code take longer to follow than all else here.
		opts := process.Options{Methods: []string{"fp"}}
		s, err := start(b, StartOptions{}).OpenImage(b.Context(), img, opts)
		if err != nil {
			b.Fatal(err)
		}
		walk := func() {
			n := 0
			for th, err := range s.Stacks(b.Context(), false) {
				if n += len(th.Frames); err != nil {
					b.Fatal(err)
				}
			}
			if n != 26_000 {
				b.Fatalf("got %d frames", n)
			}
		}
		walk()
		for b.Loop() {
			walk()
		}
	})
}
