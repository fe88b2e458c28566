package plugin

import (
	"context"
	"io"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	gproto "google.golang.org/protobuf/proto"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/plugin/proto"
	protov2 "github.com/sfcore/sfcore/plugin/proto/v2"
	"github.com/sfcore/sfcore/process"
)

// anyHost is a host whose answers are any bytes.
type anyHost struct {
	process, threads, mappings, memory []byte
	lie                                bool // memory is the message, whatever was asked for
	second                             bool // process is of the second version of the protocol
}

// answers is a stream of one message, which does not end if there is no more.
type answers[M any] struct {
	grpc.ClientStream
	next func() (*M, error)
}

func (a *answers[M]) Recv() (*M, error) { return a.next() }

func once[M any](data []byte, m *M) *answers[M] {
	given := false
	return &answers[M]{next: func() (*M, error) {
		if given {
			return nil, io.EOF
		}
		given = true
		return m, gproto.Unmarshal(data, any(m).(gproto.Message))
	}}
}

func (h *anyHost) Process(context.Context, *proto.HostProcessRequest, ...grpc.CallOption) (*proto.HostProcess, error) {
	if h.second {
		m := new(protov2.HostServiceProcessResponse)
		err := gproto.Unmarshal(h.process, m)
		return firstProcess(m), err
	}
	m := new(proto.HostProcess)
	return m, gproto.Unmarshal(h.process, m)
}

func (h *anyHost) Threads(context.Context, *proto.HostThreadsRequest, ...grpc.CallOption) (grpc.ServerStreamingClient[proto.HostThreads], error) {
	return once(h.threads, new(proto.HostThreads)), nil
}

func (h *anyHost) Mappings(context.Context, *proto.HostMappingsRequest, ...grpc.CallOption) (grpc.ServerStreamingClient[proto.HostMappings], error) {
	return once(h.mappings, new(proto.HostMappings)), nil
}

func (h *anyHost) ReadMemory(context.Context, ...grpc.CallOption) (grpc.BidiStreamingClient[proto.HostReadRequest, proto.HostReadReply], error) {
	return &reads{host: h}, nil
}

type reads struct {
	grpc.ClientStream
	host *anyHost
	req  *proto.HostReadRequest
}

func (r *reads) Send(req *proto.HostReadRequest) error {
	r.req = req
	return nil
}

// Recv answers with the message, or with pages that repeat the bytes.
func (r *reads) Recv() (*proto.HostReadReply, error) {
	m := new(proto.HostReadReply)
	if r.host.lie {
		return m, gproto.Unmarshal(r.host.memory, m)
	}
	for _, rng := range r.req.GetRanges() {
		c := new(proto.HostChunk)
		for at := rng.GetAddress(); len(r.host.memory) > 0 && len(c.GetData()) < int(rng.GetLength()); at++ {
			c.Data = append(c.Data, r.host.memory[at%uint64(len(r.host.memory))])
		}
		m.Chunks = append(m.Chunks, c)
	}
	return m, nil
}

// FuzzHostAnswers has a host answer anything, in the first version of the protocol: the
// plugin gets an image, whose stacks end, or an error that blames the host.
func FuzzHostAnswers(f *testing.F) {
	addAnswers(f, func(p *proto.HostProcess) gproto.Message { return p })
	root := f.TempDir()
	f.Fuzz(answered(root, false))
}

// FuzzSecondHostAnswers does so in the second version.
func FuzzSecondHostAnswers(f *testing.F) {
	addAnswers(f, func(p *proto.HostProcess) gproto.Message { return secondProcess(p) })
	root := f.TempDir()
	f.Fuzz(answered(root, true))
}

// addAnswers gives the answers of a host that keeps the rules.
func addAnswers(f *testing.F, head func(*proto.HostProcess) gproto.Message) {
	img := manyThreads(2, 3)
	truth := &hosting{img: img}
	process, err := truth.Process(f.Context(), nil)
	if err != nil {
		f.Fatal(err)
	}
	threads, mappings := new(proto.HostThreads), new(proto.HostMappings)
	for i := range img.Threads {
		th := &img.Threads[i]
		threads.Threads = append(threads.Threads, &proto.HostThread{Tid: int64(th.ID), Registers: registerMessages(img.Arch, &th.Regs)})
	}
	for _, m := range img.Mappings {
		mappings.Mappings = append(mappings.Mappings, &proto.HostMapping{Lo: m.Lo, Hi: m.Hi, Executable: m.Exec})
	}
	var seeds [][]byte
	for _, m := range []gproto.Message{head(process), threads, mappings, &proto.HostReadReply{Chunks: []*proto.HostChunk{{Data: []byte("x")}}}} {
		data, err := gproto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		seeds = append(seeds, data)
	}
	f.Add(seeds[0], seeds[1], seeds[2], seeds[3], true)
	f.Add(seeds[0], seeds[1], seeds[2], []byte("\xe8\x00\x00\x00\x00\x00\x00\x40\x00\x00\x00\x00\x00\x00\x7f\x00"), false)
}

func answered(root string, second bool) func(*testing.T, []byte, []byte, []byte, []byte, bool) {
	return func(t *testing.T, process, threads, mappings, memory []byte, lie bool) {
		rpc := &anyHost{process, threads, mappings, memory, lie, second}
		mem, err := newHostMemory(t.Context(), rpc)
		if err != nil {
			t.Fatal(err)
		}
		defer mem.close()
		img, err := (&hostConn{rpc: rpc, memory: mem}).image(t.Context())
		if (err == nil) != (img != nil) || err != nil && status.Code(err) != codes.Unavailable {
			t.Fatalf("got %v, %v", img, err)
		}
		if img != nil {
			walkAll(t, img, root)
		}
	}
}

// walkAll walks all stacks, which are at most as long as was asked for.
func walkAll(t *testing.T, img *core.Image, root string) {
	t.Helper()
	const limit = 8
	tgt := process.New(img, process.Options{Sysroot: root, MaxFrames: limit, MaxTime: maxWalk})
	defer tgt.Close()
	for _, th := range tgt.Threads() {
		if s, err := tgt.Stack(th.ID); err != nil || len(s.Frames) > limit {
			t.Errorf("thread %d: got %d frames, %v", th.ID, len(s.Frames), err)
		}
	}
}
