package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/sfcore/sfcore/internal/testkit"
)

// wait says when interrupts are handled, waits for one, and then for another.
func wait() {
	ctx, _ := interruptible()
	time.Sleep(10 * patience)
	fmt.Println("ready")
	<-ctx.Done()
	time.Sleep(patience)
	fmt.Println("cancelled")
	time.Sleep(time.Minute)
}

func TestInterrupts(t *testing.T) {
	testkit.NeedRestart(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), beAnother+"=wait")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewScanner(out)
	for _, want := range []string{"ready", "cancelled"} {
		if !said.Scan() || said.Text() != want {
			t.Fatalf("got %q, %v, want %q", said.Text(), said.Err(), want)
		}
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGINT {
		t.Errorf("got %v after two interrupts", err)
	}
}
