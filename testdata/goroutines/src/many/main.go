// Command many crashes while its goroutines are in many states. It is built by
// every version of Go that sfcore knows, so it is written for the oldest.
package main

import (
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
)

var (
	mu    sync.Mutex
	rw    sync.RWMutex
	cond  = sync.NewCond(&sync.Mutex{})
	group sync.WaitGroup
	spins uint64
)

// wait is inlined into its callers.
func wait(c chan int) int { return <-c + 1 }

//go:noinline
func deep(n int, c chan int) int {
	if n == 0 {
		return wait(c)
	}
	return deep(n-1, c) + n
}

//go:noinline
func generic[T any](x T, c chan T) { c <- x }

//go:noinline
func spin(n uint64) {
	for {
		spins += n
	}
}

//go:noinline
func recovered() {
	defer func() {
		_ = recover()
		select {}
	}()
	var p *int
	*p = 1
}

type waiter interface{ wait(c chan int) }

type byValue struct{ c chan int }

func (b byValue) wait(c chan int) { <-b.c }

//go:noinline
func through(w waiter) { w.wait(nil) }

func many(pipe int) {
	c := make(chan int)
	mu.Lock()
	rw.Lock()
	group.Add(1)
	for i := 0; i < 10; i++ {
		n := i
		go deep(n, c)
	}
	go generic("s", make(chan string))
	go generic(1.5, make(chan float64))
	go func() { mu.Lock() }()
	go func() { rw.RLock() }()
	go func() { group.Wait() }()
	go func() { cond.L.Lock(); cond.Wait() }()
	go func() { time.Sleep(time.Hour) }()
	go func() { var never chan int; <-never }()
	go func() { var never chan int; never <- 1 }()
	go func() {
		select {
		case <-c:
		case <-time.After(time.Hour):
		}
	}()
	go func() { runtime.LockOSThread(); <-c }()
	go func() {
		var b [1]byte
		_, _ = syscall.Read(pipe, b[:])
	}()
	go recovered()
	go through(&byValue{c})
	go func() { wait(c) }()
	go spin(3)
	r, _, _ := os.Pipe()
	go func() { var b [1]byte; _, _ = r.Read(b[:]) }()
	go func() {
		for {
			runtime.Gosched()
		}
	}()
}

//go:noinline
func crash(p *int, depth int) int {
	if depth > 0 {
		return crash(p, depth-1) + 1
	}
	return *p
}

func main() {
	var pipe [2]int
	if err := syscall.Pipe(pipe[:]); err != nil {
		panic(err)
	}
	many(pipe[0])
	time.Sleep(300 * time.Millisecond)
	println(crash(nil, 2))
}
