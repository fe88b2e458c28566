//go:build ignore

// Both bugs close a channel twice in (*stream).stop: one stream has two owners, one is
// stopped by its error and by its end.
package main

import (
	"errors"
	"os"
	"runtime/debug"
	"strconv"
	"sync"
)

type stream struct {
	done chan struct{}
	err  error
}

//go:noinline
func (s *stream) stop() { close(s.done) }

type player struct {
	streams []*stream
}

func (p *player) stopAll() {
	for _, s := range p.streams {
		s.stop()
	}
}

func (p *player) share(with *player) { with.streams = append(with.streams, p.streams...) }

type session struct{ players [2]player }

func (s *session) end() {
	for i := range s.players {
		s.players[i].stopAll()
	}
}

func hangUp() {
	var s session
	s.players[0].streams = []*stream{{done: make(chan struct{})}}
	s.players[0].share(&s.players[1])
	s.end()
}

var errFull = errors.New("full")

func (s *stream) fail(err error) {
	s.err = err
	s.stop()
}

func (s *stream) copy(parts []string, to func(string) error) {
	defer s.stop()
	for _, part := range parts {
		if err := to(part); err != nil {
			s.fail(err)
			return
		}
	}
}

func upload(s *stream, parts ...string) {
	left := 2
	s.copy(parts, func(part string) error {
		if left--; left < 0 {
			return errFull
		}
		return nil
	})
}

func save() {
	s := &stream{done: make(chan struct{})}
	upload(s, "a", "b", "c")
	println(s.err.Error())
}

//go:noinline
func descend(depth int, f func()) int {
	if depth == 0 {
		f()
		return 0
	}
	return descend(depth-1, f) + 1
}

func main() {
	debug.SetTraceback("crash")
	job := hangUp
	if os.Args[1] == "2" {
		job = save
	}
	seed, _ := strconv.Atoi(os.Args[2])
	switch seed % 3 {
	case 0:
		job()
	case 1:
		var wg sync.WaitGroup
		wg.Go(job)
		wg.Wait()
	default:
		println(descend(1+seed/3%50, job))
	}
}
