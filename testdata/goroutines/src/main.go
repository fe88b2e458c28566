// Command goroutines crashes while its goroutines are in every state that they
// are met in. See ../README.md.
package main

import (
	"runtime"
	"sync"
	"syscall"
	"time"
)

// job is what the workers wait for, and what variables are looked at with.
type job struct {
	name  string
	size  int
	parts []uint16
	tags  map[string]bool
	next  *job
	out   writer
}

type writer interface{ write(s string) }

type file struct{ fd int }

func (f *file) write(s string) { _, _ = syscall.Write(f.fd, []byte(s)) }

var (
	mu      sync.Mutex
	ready   sync.WaitGroup
	spinned uint64
)

//go:noinline
func receive(c chan *job) *job { return <-c }

//go:noinline
func worker(id int, jobs chan *job) {
	ready.Done()
	for {
		j := receive(jobs)
		println(id, j.name)
	}
}

//go:noinline
func send(c chan int, v int) {
	ready.Done()
	c <- v
}

//go:noinline
func choose(a, b chan int) int {
	ready.Done()
	select {
	case v := <-a:
		return v
	case b <- 1:
		return 1
	}
}

//go:noinline
func sleep(d time.Duration) {
	ready.Done()
	time.Sleep(d)
}

//go:noinline
func lock() {
	ready.Done()
	mu.Lock()
	mu.Unlock()
}

//go:noinline
func read(fd int) {
	ready.Done()
	var b [16]byte
	n, err := syscall.Read(fd, b[:])
	println(n, err != nil)
}

//go:noinline
func spin(n uint64) {
	ready.Done()
	for {
		spinned += n
	}
}

//go:noinline
func locked(c chan int) {
	runtime.LockOSThread()
	ready.Done()
	<-c
}

//go:noinline
func process(j *job, c chan int) {
	ready.Done()
	first := *j
	n := <-c
	println(first.name, n, j.size, len(j.tags), len(first.parts), first.next == nil)
	j.out.write("done")
}

// total is inlined into crash.
func total(j *job) int {
	sum := j.size
	for _, p := range j.parts {
		sum += int(p)
	}
	return sum + j.next.size
}

//go:noinline
func crash(j *job, depth int) int {
	if depth > 0 {
		return crash(j, depth-1) + 1
	}
	return total(j)
}

func main() {
	var pipe [2]int
	if err := syscall.Pipe(pipe[:]); err != nil {
		panic(err)
	}
	jobs, numbers, others, never := make(chan *job), make(chan int), make(chan int), make(chan int)
	mu.Lock()
	ready.Add(20 + 8)
	for i := range 20 {
		go worker(i, jobs)
	}
	go send(numbers, 42)
	go choose(others, others)
	go sleep(time.Hour)
	go lock()
	go read(pipe[0])
	go spin(3)
	go locked(never)
	j := &job{
		name: "first", size: -7, parts: []uint16{1, 2, 3}, tags: map[string]bool{"urgent": true}, out: &file{2},
	}
	go process(j, never)
	ready.Wait()
	time.Sleep(200 * time.Millisecond)
	println(crash(j, 2))
	runtime.KeepAlive(j)
}
