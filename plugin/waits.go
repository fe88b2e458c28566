package plugin

import (
	"github.com/sfcore/sfcore/plugin/proto"
	"github.com/sfcore/sfcore/report"
)

func waitMessage(w *report.Wait) *proto.Wait {
	return &proto.Wait{
		Kind: string(w.Kind), Address: uint64(w.Address), Function: text(w.Function), Tids: tidMessages(w.Threads), TimedTids: tidMessages(w.Timed),
		Owner: int64(w.Owner), Inferred: w.Inferred, Evidence: text(w.Evidence), Name: text(w.Name),
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
		Owner: int(m.GetOwner()), Inferred: m.GetInferred(), Evidence: m.GetEvidence(), Name: m.GetName(),
	}
}

func ids(tids []int64) []int {
	var list []int
	for _, tid := range tids {
		list = append(list, int(tid))
	}
	return list
}
