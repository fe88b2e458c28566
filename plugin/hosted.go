package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/plugin/proto"
	protov2 "github.com/sfcore/sfcore/plugin/proto/v2"
)

const (
	// hostTime is how long a host may take for an answer.
	hostTime = 10 * time.Second

	// hostListTime is how long a host may take for all threads, or all mappings, which
	// come in messages. A host of 262,144 threads takes some seconds.
	hostListTime = time.Minute

	// maxHostList bounds a host's threads and its mappings. The kernel allows
	// 65530 mappings unless an administrator raises the limit.
	maxHostList = 1 << 18

	// maxHostTexts bounds the names of all threads, and of all mappings, in bytes.
	maxHostTexts = 64 << 20

	// maxHostText bounds a host's names, in bytes: PATH_MAX [linux/limits.h].
	maxHostText = 4096

	// maxAuxv bounds the auxiliary vector, for which the kernel writes about 20
	// entries.
	maxAuxv = 256
)

// hostConn is the connection to a host that provides a process.
type hostConn struct {
	conn   *grpc.ClientConn
	rpc    proto.HostClient
	memory *hostMemory
}

// hostVersion makes the client of a host's service, in the version of the protocol that
// the host used to open the process.
type hostVersion func(*grpc.ClientConn) proto.HostClient

func firstHost(conn *grpc.ClientConn) proto.HostClient { return proto.NewHostClient(conn) }

// dialHost connects to the host's server. The connection lasts as long as ctx.
func dialHost(ctx context.Context, dial dialFunc, id uint32, version hostVersion) (*hostConn, error) {
	if dial == nil {
		return nil, fail(protov2.ErrorReason_ERROR_REASON_HOST_UNREACHABLE, codes.FailedPrecondition, "there is no broker on this connection")
	}
	conn, err := dial(id, grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)))
	if err != nil {
		return nil, unreachable(id, err)
	}
	h := &hostConn{conn: conn, rpc: version(conn)}
	h.memory, err = newHostMemory(ctx, h.rpc)
	if err != nil {
		h.close()
		return nil, hostError("ReadMemory", err)
	}
	return h, nil
}

// close releases the connection. Reads fail from then on.
func (h *hostConn) close() {
	if h.memory != nil {
		h.memory.close()
	}
	_ = h.conn.Close() // nothing to lose
}

// image asks the host for everything but memory.
func (h *hostConn) image(ctx context.Context) (*core.Image, error) {
	img, err := h.process(ctx)
	if err != nil {
		return nil, hostError("Process", err)
	}
	if err := h.threads(ctx, img); err != nil {
		return nil, hostError("Threads", err)
	}
	if err := h.mappings(ctx, img); err != nil {
		return nil, hostError("Mappings", err)
	}
	h.memory.know(img)
	img.Mem = h.memory
	return img, nil
}

func (h *hostConn) process(ctx context.Context) (*core.Image, error) {
	ctx, cancel := context.WithTimeout(ctx, hostTime)
	defer cancel()
	m, err := h.rpc.Process(ctx, &proto.HostProcessRequest{})
	if err != nil {
		return nil, err
	}
	a, err := archNamed(m.GetArch(), m.GetBigEndian())
	if err != nil {
		return nil, err
	}
	if n := len(m.GetAuxv()); n > maxAuxv {
		return nil, fmt.Errorf("auxv has %d entries, more than %d", n, maxAuxv)
	}
	for _, s := range []string{m.GetName(), m.GetCommand(), m.GetExecutable()} {
		if len(s) > maxHostText {
			return nil, fmt.Errorf("a name has %d bytes, more than %d", len(s), maxHostText)
		}
	}
	img := &core.Image{
		Arch: a, PID: int(m.GetPid()), Name: m.GetName(), Command: m.GetCommand(), Executable: m.GetExecutable(),
		Signal: hostSignal(m.GetSignal()),
	}
	for _, aux := range m.GetAuxv() {
		img.Auxv = append(img.Auxv, core.Aux{Type: aux.GetType(), Value: aux.GetValue()})
	}
	return img, nil
}

// archNamed returns the architecture that a report calls name.
func archNamed(name string, bigEndian bool) (*arch.Arch, error) {
	if a, ok := arch.Named(name, bigEndian); ok {
		return a, nil
	}
	var supported []string
	for a := range arch.All() {
		if a.BigEndian {
			supported = append(supported, a.Name+" with big_endian true")
		} else {
			supported = append(supported, a.Name)
		}
	}
	return nil, fmt.Errorf("arch %q with big_endian %v is not supported; use %s", name, bigEndian, strings.Join(supported, ", "))
}

func hostSignal(m *proto.Signal) *core.Signal {
	if m == nil {
		return nil
	}
	return &core.Signal{
		Number: int(m.GetNumber()), Name: core.SignalName(int(m.GetNumber())), Thread: int(m.GetThread()),
		Code: int(m.GetCode()), CodeName: m.GetCodeName(), Address: m.GetAddress(), HasAddress: m.Address != nil,
		SenderPID: int(m.GetSenderPid()), SenderUID: int(m.GetSenderUid()), HasSender: m.SenderUid != nil,
	}
}

func (h *hostConn) threads(ctx context.Context, img *core.Image) error {
	seen, crashed, texts := make(map[int64]bool), false, 0
	take := func(m *proto.HostThread) error {
		texts += len(m.GetName()) + len(m.GetError())
		switch tid := m.GetTid(); {
		case tid <= 0 || int64(int(tid)) != tid:
			return fmt.Errorf("tid %d is not the id of a thread", tid)
		case seen[tid]:
			return fmt.Errorf("tid %d: there are two threads with this id", tid)
		case m.GetCrashed() && crashed:
			return fmt.Errorf("tid %d: crashed is set for another thread too", tid)
		case len(m.GetName()) > maxHostText || len(m.GetError()) > maxHostText:
			return fmt.Errorf("tid %d: name or error is longer than %d bytes", tid, maxHostText)
		case texts > maxHostTexts:
			return fmt.Errorf("tid %d: more than %d bytes of names", tid, maxHostTexts)
		}
		seen[m.GetTid()], crashed = true, crashed || m.GetCrashed()
		th := core.Thread{ID: int(m.GetTid()), Name: m.GetName(), Crashed: m.GetCrashed(), PACMask: m.GetPacMask()}
		if m.GetError() != "" {
			th.Err = errors.New(m.GetError())
		}
		if err := registers(img.Arch, m.GetRegisters(), &th.Regs); err != nil {
			return fmt.Errorf("tid %d: %w", m.GetTid(), err)
		}
		img.Threads = append(img.Threads, th)
		return nil
	}
	return receive(ctx, func(ctx context.Context) (func() ([]*proto.HostThread, error), error) {
		stream, err := h.rpc.Threads(ctx, &proto.HostThreadsRequest{})
		return func() ([]*proto.HostThread, error) {
			m, err := stream.Recv()
			return m.GetThreads(), err
		}, err
	}, take)
}

func (h *hostConn) mappings(ctx context.Context, img *core.Image) error {
	last, texts := uint64(0), 0
	take := func(m *proto.HostMapping) error {
		texts += len(m.GetPath())
		switch {
		case m.GetLo() >= m.GetHi():
			return fmt.Errorf("mapping %#x-%#x is empty", m.GetLo(), m.GetHi())
		case m.GetLo() < last:
			return fmt.Errorf("mapping %#x-%#x begins before the end of the last one, %#x", m.GetLo(), m.GetHi(), last)
		case len(m.GetPath()) > maxHostText:
			return fmt.Errorf("mapping %#x: path is longer than %d bytes", m.GetLo(), maxHostText)
		case texts > maxHostTexts:
			return fmt.Errorf("mapping %#x: more than %d bytes of paths", m.GetLo(), maxHostTexts)
		}
		last = m.GetHi()
		img.Mappings = append(img.Mappings, core.Mapping{
			Lo: m.GetLo(), Hi: m.GetHi(), Off: m.GetOffset(), Path: m.GetPath(), Exec: m.GetExecutable(),
		})
		return nil
	}
	return receive(ctx, func(ctx context.Context) (func() ([]*proto.HostMapping, error), error) {
		stream, err := h.rpc.Mappings(ctx, &proto.HostMappingsRequest{})
		return func() ([]*proto.HostMapping, error) {
			m, err := stream.Recv()
			return m.GetMappings(), err
		}, err
	}, take)
}

// receive takes the entries of a host's list, which comes in messages. It gives up
// if a message takes too long or is empty, or if there are too many entries.
func receive[T any](ctx context.Context, call func(context.Context) (func() ([]T, error), error), take func(T) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(hostTime, func() { cancel(errHostTime) })
	defer timer.Stop()
	defer time.AfterFunc(hostListTime, func() { cancel(errHostList) }).Stop()
	next, err := call(ctx)
	total := 0
	for err == nil {
		timer.Reset(hostTime)
		var list []T
		list, err = next()
		switch total += len(list); {
		case err != nil:
			continue
		case len(list) == 0:
			return errors.New("a message has no entries")
		case total > maxHostList:
			return fmt.Errorf("more than %d entries", maxHostList)
		}
		for entry := range slices.Values(list) {
			if err := take(entry); err != nil {
				return err
			}
		}
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(err, io.EOF):
		return nil
	case errors.Is(cause, errHostTime), errors.Is(cause, errHostList):
		return cause
	}
	return err
}

var (
	errHostTime = fmt.Errorf("no answer within %v", hostTime)
	errHostList = fmt.Errorf("the list does not end within %v", hostListTime)
)
