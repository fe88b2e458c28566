// Command mixed is in C, four frames deep below Go: it says "ready" and waits
// there, or crashes if told to.
package main

/*
#include <unistd.h>

static int crash;
volatile int depth;

__attribute__((noipa)) static int leaf(int n) {
	depth = n;
	if (crash)
		*(volatile int *)8 = n;
	if (write(1, "ready\n", 6) < 0)
		return 0;
	for (;;)
		pause();
	return depth + 1;
}
__attribute__((noipa)) static int third(int n) { return leaf(n + 1) * 3; }
__attribute__((noipa)) static int second(int n) { return third(n + 1) * 5; }
__attribute__((noipa)) static int first(int n, int c) {
	crash = c;
	return second(n + 1) * 7;
}
*/
import "C"

import "os"

//go:noinline
func inner(n int, crash bool) int {
	c := 0
	if crash {
		c = 1
	}
	return int(C.first(C.int(n), C.int(c))) + n
}

//go:noinline
func outer(n int, crash bool) int { return inner(n+1, crash) * 2 }

func main() { os.Exit(outer(1, len(os.Args) > 1 && os.Args[1] == "crash")) }
