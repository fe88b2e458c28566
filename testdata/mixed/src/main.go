// Mixed is a program whose threads have stacks of Go and C code. It crashes in
// C that Go called.
package main

/*
#include <pthread.h>
#include <unistd.h>

extern void goDown(int);
extern void goPark(void);

static volatile int sink;

// A negative depth crashes, 0 waits; others go through Go again.
__attribute__((noinline)) static void c4(int depth) {
	if (depth < 0)
		*(volatile int *)0 = 1;
	else if (depth > 0)
		goDown(depth - 1);
	else
		for (;;)
			pause();
	sink++;
}
__attribute__((noinline)) static void c3(int depth) { c4(depth); sink++; }
__attribute__((noinline)) static void c2(int depth) { c3(depth); sink++; }
__attribute__((noinline)) static void c1(int depth) { c2(depth); sink++; }

static void *thread(void *p) { goPark(); sink++; return p; }
static void startThread(void) { pthread_t t; pthread_create(&t, 0, thread, 0); }
*/
import "C"

import (
	"runtime"
	"time"
)

//export goDown
func goDown(depth C.int) { middle(depth) }

//go:noinline
func middle(depth C.int) { C.c1(depth); runtime.KeepAlive(depth) }

//export goPark
func goPark() { park() }

//go:noinline
func park() { <-make(chan int) }

//go:noinline
func spin() {
	for i := 0; ; i++ {
		counts[i&15]++
	}
}

var counts [16]int

func main() {
	go func() { C.c1(2) }()                        // Go, C, Go, C, Go, C
	go func() { runtime.LockOSThread(); park() }() // a thread that waits for its goroutine
	go spin()                                      // interrupted in Go
	C.startThread()                                // C calls Go, which waits
	time.Sleep(200 * time.Millisecond)
	C.c1(-1)
}
