// heap has a heap of 256 MiB that was there before its 200 goroutines, each of which
// is in three calls of descend. It prints "ready".
package main

import (
	"fmt"
	"os"
)

var heap [][]byte

//go:noinline
func descend(n int, c chan int) int {
	if n <= 1 {
		return <-c
	}
	return descend(n-1, c) + 1
}

func main() {
	for range 256 {
		b := make([]byte, 1<<20)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		heap = append(heap, b)
	}
	c := make(chan int)
	for range 200 {
		go descend(3, c)
	}
	fmt.Println("ready")
	_, _ = os.Stdin.Read(make([]byte, 1))
	fmt.Fprintln(os.Stderr, len(heap))
}
