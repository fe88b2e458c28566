package plugin

import (
	"context"
	"errors"
	"io"
	"os"

	"google.golang.org/grpc"
	gproto "google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/sfcore/sfcore/plugin/proto"
	protov2 "github.com/sfcore/sfcore/plugin/proto/v2"
)

// relay is both versions of the protocol where each session has a process of its own. It
// understands Open, Close and Capabilities, and hands all other calls on.
type relay struct {
	run  func(ctx context.Context, in, out *os.File) error
	dial dialFunc
}

// register serves the methods of both versions.
func (r *relay) register(to *grpc.Server) {
	for _, d := range []grpc.ServiceDesc{proto.Plugin_ServiceDesc, protov2.PluginService_ServiceDesc} {
		relayed := grpc.ServiceDesc{ServiceName: d.ServiceName, Metadata: d.Metadata}
		for _, m := range d.Methods {
			relayed.Streams = append(relayed.Streams, grpc.StreamDesc{StreamName: m.MethodName})
		}
		relayed.Streams = append(relayed.Streams, d.Streams...)
		for i := range relayed.Streams {
			s := &relayed.Streams[i]
			s.Handler, s.ServerStreams, s.ClientStreams = r.handle, true, true
		}
		to.RegisterService(&relayed, nil)
	}
}

// handle is a [grpc.StreamHandler] of all methods.
func (r *relay) handle(_ any, call grpc.ServerStream) error {
	ctx := call.Context()
	method, _ := grpc.MethodFromServerStream(call)
	switch method {
	case protov2.PluginService_Capabilities_FullMethodName:
		return answer(call, new(protov2.CapabilitiesRequest), func() (gproto.Message, error) { return capabilities(), nil })
	case proto.Plugin_Open_FullMethodName:
		req := new(proto.OpenRequest)
		return answer(call, req, func() (gproto.Message, error) {
			second := secondOpen(req)
			id, err := openSession(ctx, second, func(s *session) error { return r.openIn(s, second, method, req, new(proto.OpenReply)) })
			return &proto.OpenReply{Session: id}, err
		})
	case protov2.PluginService_Open_FullMethodName:
		req := new(protov2.OpenRequest)
		return answer(call, req, func() (gproto.Message, error) {
			if err := checkHostID(req); err != nil {
				return nil, err
			}
			id, err := openSession(ctx, req, func(s *session) error { return r.openIn(s, req, method, req, new(protov2.OpenResponse)) })
			return &protov2.OpenResponse{Session: id}, err
		})
	}
	// Every other request has a session, under the same number. The rest of it is kept
	// as fields that this message does not know.
	req := new(proto.CloseRequest)
	if method == proto.Plugin_Close_FullMethodName || method == protov2.PluginService_Close_FullMethodName {
		return answer(call, req, func() (gproto.Message, error) {
			return new(emptypb.Empty), closeSession(ctx, req.GetSession())
		})
	}
	if err := call.RecvMsg(req); err != nil {
		return err
	}
	sess, err := connectionOf(ctx).session(req.GetSession())
	if err != nil {
		return err
	}
	w := sess.served()
	if w == nil {
		return errClosed
	}
	req.Session = w.session
	return w.failure(forward(call, w.conn, req))
}

func answer(call grpc.ServerStream, req gproto.Message, f func() (gproto.Message, error)) error {
	if err := call.RecvMsg(req); err != nil {
		return err
	}
	reply, err := f()
	if err != nil {
		return err
	}
	return call.SendMsg(reply)
}

// opened is the answer to a request to open a process, of either version.
type opened interface {
	gproto.Message
	GetSession() uint64
}

// openIn starts a process that opens the process of a request, by a method of either
// version, whose request and answer it sends and receives.
func (r *relay) openIn(sess *session, second *protov2.OpenRequest, method string, req gproto.Message, reply opened) error {
	var host *grpc.ClientConn
	if h, ok := second.GetProcess().(*protov2.OpenRequest_Host); ok {
		var err error
		if host, err = r.dial(h.Host, grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage))); err != nil {
			return unreachable(h.Host, err)
		}
	}
	w, err := startWorker(r.run, host)
	if err != nil {
		return err
	}
	if err := w.conn.Invoke(sess.ctx, method, req, reply); err != nil {
		err = w.failure(err)
		w.close()
		return err
	}
	w.session = reply.GetSession()
	return sess.serveBy(w)
}

// serveBy makes w serve the session, which may have been closed by now.
func (s *session) serveBy(w *worker) error {
	s.use.Lock()
	s.worker = w
	s.use.Unlock()
	if s.ctx.Err() != nil {
		s.close()
		return errClosed
	}
	return nil
}

// served returns what serves the session; nil if it is closed or not yet open.
func (s *session) served() *worker {
	s.use.RLock()
	defer s.use.RUnlock()
	return s.worker
}

// forward hands a call on, and its answers back. first is the request if it was read
// already, and the only one.
func forward(call grpc.ServerStream, to *grpc.ClientConn, first gproto.Message) error {
	ctx, cancel := context.WithCancel(call.Context())
	defer cancel()
	method, _ := grpc.MethodFromServerStream(call)
	onward, err := to.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
	if err != nil {
		return err
	}
	if first != nil {
		if err := onward.SendMsg(first); err == nil { // otherwise RecvMsg says why
			_ = onward.CloseSend()
		}
	} else {
		go func() {
			if !errors.Is(pass(call, onward), io.EOF) {
				cancel()
			}
			_ = onward.CloseSend()
		}()
	}
	if err := pass(onward, call); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// pass hands on messages, whatever they are, until there are no more. The error is
// never nil.
func pass(from interface{ RecvMsg(m any) error }, to interface{ SendMsg(m any) error }) error {
	for {
		m := new(emptypb.Empty)
		err := from.RecvMsg(m)
		if err == nil {
			err = to.SendMsg(m)
		}
		if err != nil {
			return err
		}
	}
}
