//go:build e2e && linux

package waits

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/report"
)

// Goroutines that wait for the same lock or channel are shown together, with debug
// information and without it.
func TestGoroutinesThatWait(t *testing.T) {
	for _, flags := range []string{"", "-s -w"} {
		t.Run("flags "+flags, func(t *testing.T) {
			cmd := exec.Command(build(t, "goroutines", "-ldflags="+flags))
			cmd.Stderr = os.Stderr
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() {
				in.Close()
				_ = cmd.Wait()
			}()
			at := map[string]string{} // names, by address
			for lines := bufio.NewScanner(out); len(at) < 5 && lines.Scan(); {
				name, addr, _ := strings.Cut(lines.Text(), " ")
				at[addr] = name
			}
			said, _ := exec.Command(sfcore, "goroutines", "-p", fmt.Sprint(cmd.Process.Pid), "--format", "json").Output()
			var r struct {
				Waits []report.GoroutineWait `json:"waits"`
			}
			if err := json.Unmarshal(said, &r); err != nil {
				t.Fatalf("%v in %q", err, said)
			}
			var got []string
			for _, w := range r.Waits {
				addr, _ := json.Marshal(w.Address)
				got = append(got, fmt.Sprintf("%d for the %s %s", len(w.Goroutines), w.Kind, at[strings.Trim(string(addr), `"`)]))
			}
			slices.Sort(got)
			want := []string{
				"1 for the channel empty", "2 for the channel full", "2 for the semaphore ", "3 for the mutex mutex",
				"4 for the rwlock rwlock", "5 for the channel crowded",
			}
			if !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
