package plugin

import (
	"context"
	"errors"
	"io"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/plugin/proto"
)

// listPart is how many threads or mappings are sent in a message.
const listPart = 256

// hosting serves an image to the plugin: the host's side of hostConn.
type hosting struct {
	proto.UnimplementedHostServer
	img *core.Image
}

// Process implements proto.HostServer.
func (h *hosting) Process(context.Context, *proto.HostProcessRequest) (*proto.HostProcess, error) {
	img := h.img
	m := &proto.HostProcess{
		Arch: img.Arch.Name, BigEndian: img.Arch.BigEndian, Pid: int64(img.PID),
		Name: text(img.Name), Command: text(img.Command), Executable: text(img.Executable),
	}
	if s := img.Signal; s != nil {
		m.Signal = &proto.Signal{
			Number: int64(s.Number), Name: s.Name, Code: int64(s.Code), CodeName: s.CodeName, Thread: int64(s.Thread),
		}
		if s.HasAddress {
			m.Signal.Address = &s.Address
		}
		if s.HasSender {
			uid := int64(s.SenderUID)
			m.Signal.SenderPid, m.Signal.SenderUid = int64(s.SenderPID), &uid
		}
	}
	for _, a := range img.Auxv {
		m.Auxv = append(m.Auxv, &proto.Auxiliary{Type: a.Type, Value: a.Value})
	}
	return m, nil
}

// Threads implements proto.HostServer.
func (h *hosting) Threads(_ *proto.HostThreadsRequest, out grpc.ServerStreamingServer[proto.HostThreads]) error {
	for part := range slices.Chunk(h.img.Threads, listPart) {
		m := new(proto.HostThreads)
		for i := range part {
			th := &part[i]
			t := &proto.HostThread{
				Tid: int64(th.ID), Name: text(th.Name), Crashed: th.Crashed, PacMask: th.PACMask,
				Registers: registerMessages(h.img.Arch, &th.Regs),
			}
			if th.Err != nil {
				t.Error = text(th.Err.Error())
			}
			m.Threads = append(m.Threads, t)
		}
		if err := out.Send(m); err != nil {
			return err
		}
	}
	return nil
}

// Mappings implements proto.HostServer.
func (h *hosting) Mappings(_ *proto.HostMappingsRequest, out grpc.ServerStreamingServer[proto.HostMappings]) error {
	for part := range slices.Chunk(h.img.Mappings, listPart) {
		m := new(proto.HostMappings)
		for i := range part {
			mp := &part[i]
			m.Mappings = append(m.Mappings, &proto.HostMapping{
				Lo: mp.Lo, Hi: mp.Hi, Offset: mp.Off, Path: text(mp.Path), Executable: mp.Exec,
			})
		}
		if err := out.Send(m); err != nil {
			return err
		}
	}
	return nil
}

// ReadMemory implements proto.HostServer.
func (h *hosting) ReadMemory(stream grpc.BidiStreamingServer[proto.HostReadRequest, proto.HostReadReply]) error {
	for {
		req, err := stream.Recv()
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		reply, err := h.read(req)
		if err != nil {
			return err
		}
		if err := stream.Send(reply); err != nil {
			return err
		}
	}
}

func (h *hosting) read(req *proto.HostReadRequest) (*proto.HostReadReply, error) {
	if n := len(req.GetRanges()); n > maxRanges {
		return nil, status.Errorf(codes.InvalidArgument, "ranges are %d, more than %d", n, maxRanges)
	}
	reply := new(proto.HostReadReply)
	for i, r := range req.GetRanges() {
		if r.GetLength() > pageSize {
			return nil, status.Errorf(codes.InvalidArgument, "range %d: length is %d, more than %d", i, r.GetLength(), pageSize)
		}
		c := new(proto.HostChunk)
		var err error
		if gone := memreader.Guard(func() {
			c.Data, err = memreader.ReadFull(h.img.Mem, r.GetAddress(), int(r.GetLength()))
		}); gone != nil {
			c.Data, err = nil, gone
		}
		if fault := (*memreader.FaultError)(nil); err != nil && (!errors.As(err, &fault) || fault.Why != memreader.Unmapped) {
			c.Fault = text(err.Error())
		}
		reply.Chunks = append(reply.Chunks, c)
	}
	return reply, nil
}
