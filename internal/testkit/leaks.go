package testkit

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"
)

// roundsEnv sets how often Leaks calls its function: 10000 finds a leak that occurs
// once in a thousand times.
const roundsEnv = "SFCORE_LEAK_ROUNDS"

// runtimeMappings is how many mappings more Go's runtime may make for its heap
// and stacks.
const runtimeMappings = 20

// Leaks calls round that many times, or as often as SFCORE_LEAK_ROUNDS says, and
// fails if file descriptors, goroutines or mappings are left over. The test is
// skipped where /proc does not say.
func Leaks(t testing.TB, rounds int, round func(n int)) {
	t.Helper()
	if n, err := strconv.Atoi(os.Getenv(roundsEnv)); err == nil && n > 0 {
		rounds = n
	}
	if testing.Short() || runtime.GOARCH != "amd64" { // an emulator is slow
		rounds = min(rounds, 50)
	}
	for n := range 20 { // memory and threads of the runtime settle
		round(n)
	}
	before := held(t)
	for n := range rounds {
		round(n)
	}
	var after resources
	for range 100 { // goroutines take a moment to end
		if after = held(t); after.goroutines <= before.goroutines && after.files <= before.files {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if after.files > before.files || after.goroutines > before.goroutines || after.mappings > before.mappings+runtimeMappings {
		t.Errorf("got %+v after %d rounds, %+v before", after, rounds, before)
	}
	t.Logf("%+v before, %+v after %d rounds", before, after, rounds)
}

// resources are what a process holds.
type resources struct{ files, mappings, goroutines int }

func held(t testing.TB) (r resources) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip(err)
	}
	return resources{len(fds), bytes.Count(maps, []byte("\n")), runtime.NumGoroutine()}
}
