package plugin

import (
	"context"
	"fmt"
	"iter"

	protov2 "github.com/sfcore/sfcore/plugin/proto/v2"
	"github.com/sfcore/sfcore/report"
)

// Group is a stack and the threads that have it.
type Group struct {
	// TIDs are the ids of the threads.
	TIDs []int
	// Thread is the first of them with the stack. Its name is "" if they have several.
	Thread report.Thread
}

// Groups walks all stacks and yields those that differ, as [process.Group] orders them.
// With workings, frames also say how their callers were found. An error is yielded last.
func (s *Session) Groups(ctx context.Context, workings bool) iter.Seq2[Group, error] {
	return func(yield func(Group, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stream, err := s.second.Groups(ctx, &protov2.GroupsRequest{Session: s.id, Workings: workings})
		var g Group
		begun := false
		for last, err := range received(stream, err, func(m *protov2.GroupsResponse) (bool, error) {
			return m.GetStop() != nil, g.join(m, begun)
		}) {
			if err != nil {
				yield(Group{}, err)
				return
			}
			if begun = !last; last && !yield(g, nil) {
				return
			}
		}
	}
}

// join adds a message to a group, or begins one.
func (g *Group) join(m *protov2.GroupsResponse, begun bool) error {
	switch {
	case begun && len(m.GetTids()) > 0, !begun && len(m.GetTids()) == 0:
		return fmt.Errorf("a part of group %d came among the parts of another one", m.GetGroup())
	case !begun:
		*g = Group{TIDs: ids(m.GetTids()), Thread: report.Thread{
			TID: int(m.GetTids()[0]), Name: m.GetName(), State: threadStates.text(m.GetState()), Crashed: m.GetCrashed(),
			Frames: []report.Frame{},
		}}
	case len(g.Thread.Frames) > maxStack:
		return fmt.Errorf("the stack of group %d has more than %d frames", m.GetGroup(), maxStack)
	}
	frames, err := framesFrom(m.GetFrames())
	if err != nil {
		return err
	}
	g.Thread.Frames = append(g.Thread.Frames, frames...)
	g.Thread.Stop, err = stopFrom(m.GetStop())
	return err
}
