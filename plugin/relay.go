package plugin

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	gproto "google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/sfcore/sfcore/plugin/proto"
)

// relay is the service Plugin where each session has a process of its own. It
// understands Open and Close, and hands all other calls on.
type relay struct {
	run  func(ctx context.Context, in, out *os.File) error
	dial dialFunc
}

// pluginMethods is how the names of the service's methods begin.
var pluginMethods = "/" + proto.Plugin_ServiceDesc.ServiceName + "/"

// handle is a [grpc.StreamHandler] of all methods.
func (r *relay) handle(_ any, call grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(call)
	if !strings.HasPrefix(method, pluginMethods) {
		return status.Errorf(codes.Unimplemented, "there is no method %s", method)
	}
	if method == proto.Plugin_Open_FullMethodName {
		req := new(proto.OpenRequest)
		return answer(call, req, func() (gproto.Message, error) { return openSession(call.Context(), req, r.openIn) })
	}
	// Every other request has a session, under the same number. The rest of it is kept
	// as fields that this message does not know.
	req := new(proto.CloseRequest)
	if method == proto.Plugin_Close_FullMethodName {
		return answer(call, req, func() (gproto.Message, error) { return closeSession(call.Context(), req.GetSession()) })
	}
	if err := call.RecvMsg(req); err != nil {
		return err
	}
	sess, err := connectionOf(call.Context()).session(req.GetSession())
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

// openIn starts a process that opens the process of a request.
func (r *relay) openIn(sess *session, req *proto.OpenRequest) error {
	var host *grpc.ClientConn
	if h, ok := req.GetProcess().(*proto.OpenRequest_Host); ok {
		var err error
		if host, err = r.dial(h.Host, grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage))); err != nil {
			return status.Errorf(codes.Unavailable, "the host's connection %d: %v", h.Host, err)
		}
	}
	w, err := startWorker(r.run, host)
	if err != nil {
		return err
	}
	reply, err := proto.NewPluginClient(w.conn).Open(sess.ctx, req)
	if err != nil {
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
