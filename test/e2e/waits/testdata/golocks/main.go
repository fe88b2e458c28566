// Golocks has threads that wait on one word, and goroutines that wait for a lock. Go
// records no owner of either.
package main

import (
	"fmt"
	"runtime"
	"sync"
	"syscall"
	"unsafe"
)

var word uint32

func main() {
	var lock sync.Mutex
	lock.Lock()
	for i := range 5 {
		go func() {
			runtime.LockOSThread()
			fmt.Printf("waiter%d %d\n", i, syscall.Gettid())
			const wait = 128 // FUTEX_WAIT_PRIVATE
			_, _, _ = syscall.Syscall6(syscall.SYS_FUTEX, uintptr(unsafe.Pointer(&word)), wait, 0, 0, 0, 0)
		}()
		go lock.Lock()
	}
	_, _ = fmt.Scanln()
}
