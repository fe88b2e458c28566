// Goroutines has goroutines that wait for locks and channels.
package main

import (
	"fmt"
	"sync"
	"time"
)

var (
	mutex            sync.Mutex
	rwlock           sync.RWMutex
	group            sync.WaitGroup
	full             = make(chan int, 1)
	empty            = make(chan int)
	nothing          chan int
	crowded          = make(chan int)
	changed          = sync.NewCond(new(sync.Mutex))
	selected, others = make(chan int), make(chan int)
)

// start starts so many goroutines.
func start(n int, f func()) {
	for range n {
		go f()
	}
}

func main() {
	mutex.Lock()
	rwlock.RLock()
	group.Add(1)
	full <- 1
	start(3, func() { mutex.Lock() })
	start(1, func() { rwlock.Lock() })
	time.Sleep(300 * time.Millisecond)
	start(2, func() { rwlock.RLock() })
	start(1, func() { rwlock.Lock() })
	start(2, func() { group.Wait() })
	start(2, func() { full <- 2 })
	start(1, func() { <-empty })
	start(2, func() { <-nothing })
	start(5, func() { <-crowded })
	start(2, func() { changed.L.Lock(); changed.Wait() })
	start(2, func() {
		select {
		case <-selected:
		case <-others:
		}
	})
	time.Sleep(300 * time.Millisecond)
	fmt.Printf("mutex %p\nrwlock %p\nfull %p\nempty %p\ncrowded %p\n", &mutex, &rwlock, full, empty, crowded)
	_, _ = fmt.Scanln()
}
