package plugin

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/plugin/proto"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/report"
)

// Waits implements proto.PluginServer.
func (s *service) Waits(req *proto.WaitsRequest, out grpc.ServerStreamingServer[proto.Waiting]) error {
	sess, err := connectionOf(out.Context()).session(req.GetSession())
	if err != nil {
		return err
	}
	if err := sess.walks.take(out.Context(), sess.ctx); err != nil {
		return err
	}
	defer sess.walks.leave()
	var waiting report.Waiting
	if err := sess.with(func(p *process.Process) error {
		if sess.host != nil { // it does not tell the system calls of threads
			return nil
		}
		waits := process.NewWaits(p)
		for range process.Parallel(out.Context(), p, p.Threads(), func(w *process.Walker, th *core.Thread) struct{} {
			waits.Add(w.Describe(w.Walk(th), false), th)
			sess.walks.move()
			return struct{}{}
		}) {
		}
		if err := out.Context().Err(); err != nil {
			return status.FromContextError(err).Err()
		}
		waiting = waits.Waiting()
		return nil
	}); err != nil {
		return err
	}
	for i := range waiting.Waits {
		if err := out.Send(&proto.Waiting{What: &proto.Waiting_Wait{Wait: waitMessage(&waiting.Waits[i])}}); err != nil {
			return err
		}
	}
	for _, tids := range waiting.Deadlocks {
		if err := out.Send(&proto.Waiting{What: &proto.Waiting_Deadlock{Deadlock: &proto.Deadlock{Tids: tidMessages(tids)}}}); err != nil {
			return err
		}
	}
	return nil
}

func waitMessage(w *report.Wait) *proto.Wait {
	return &proto.Wait{
		Kind: string(w.Kind), Address: uint64(w.Address), Function: text(w.Function), Tids: tidMessages(w.Threads), TimedTids: tidMessages(w.Timed),
		Owner: int64(w.Owner), Inferred: w.Inferred, Evidence: text(w.Evidence),
	}
}

func tidMessages(tids []int) []int64 {
	var list []int64
	for _, tid := range tids {
		list = append(list, int64(tid))
	}
	return list
}

// waitReport is the inverse of waitMessage.
func waitReport(m *proto.Wait) report.Wait {
	return report.Wait{
		Kind: report.WaitKind(m.GetKind()), Address: report.Addr(m.GetAddress()), Function: m.GetFunction(), Threads: ids(m.GetTids()), Timed: ids(m.GetTimedTids()),
		Owner: int(m.GetOwner()), Inferred: m.GetInferred(), Evidence: m.GetEvidence(),
	}
}

func ids(tids []int64) []int {
	var list []int
	for _, tid := range tids {
		list = append(list, int(tid))
	}
	return list
}
