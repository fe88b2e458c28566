//go:build ignore

// Command panic crashes as Go programs do with GOTRACEBACK=crash, or by a null pointer.
package main

import (
	"os"
	"strconv"
	"time"
)

type node struct{ next *node }

//go:noinline
func follow(n *node, left int) *node {
	if left == 0 {
		return n.next.next
	}
	return follow(n, left-1)
}

func main() {
	threads, _ := strconv.Atoi(os.Args[2])
	for range threads {
		go func() { time.Sleep(time.Hour) }()
	}
	time.Sleep(5 * time.Millisecond)
	follow(&node{}, 5)
}
