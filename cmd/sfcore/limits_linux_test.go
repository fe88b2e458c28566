package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/dap/daptest"
	"github.com/sfcore/sfcore/internal/limit"
	"github.com/sfcore/sfcore/internal/testkit"
)

func init() { others["sfcore"] = main }

// deepCore is a core whose threads share a stack of 262,144 frames, linked by frame
// pointers. Its report takes hundreds of MiB and some seconds.
func deepCore(t *testing.T) string {
	t.Helper()
	const text, stack = 0x400000, 0x7f0000000000
	data := make([]byte, 16<<18)
	for i := 0; i+16 <= len(data); i += 16 {
		binary.LittleEndian.PutUint64(data[i:], stack+uint64(i)+16)
		binary.LittleEndian.PutUint64(data[i+8:], text+16)
	}
	c := testkit.NewCore(arch.AMD64).Process(1, "deep", "deep")
	for i := range 100 {
		r := &arch.Regs{}
		r.Set(arch.AMD64.PC, text+16)
		r.Set(arch.AMD64.SP, stack)
		r.Set(arch.AMD64.FP, stack)
		c.Thread(i+1, 0, r)
	}
	c.Segment(text, 0x1000, true, bytes.Repeat([]byte{0xff, 0xd0}, 0x800)) // call *%rax
	c.Segment(stack, uint64(len(data)), false, data)
	name := filepath.Join(t.TempDir(), "core")
	if err := os.WriteFile(name, c.Done(), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// crowdedCore is a core of so many threads that to open it takes 100 MiB.
func crowdedCore(t *testing.T) string {
	t.Helper()
	c := testkit.NewCore(arch.AMD64).Process(1, "crowd", "crowd")
	for i := range 80_000 {
		c.Thread(i+1, 0, &arch.Regs{})
	}
	name := filepath.Join(t.TempDir(), "core")
	if err := os.WriteFile(name, c.Done(), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// wordyProgram is a program of so many FDEs that to make .sframe of them takes 100 MiB.
func wordyProgram(t *testing.T) string {
	t.Helper()
	const at = 0x400000
	le := binary.LittleEndian
	cie := testkit.New(le).D32(0).D8(1).Str("").ULEB(1).SLEB(-8).D8(16).Raw([]byte{0x0c, 7, 16, 0x80 | 16, 1}).Align(4).Done()
	data := append(le.AppendUint32(nil, uint32(len(cie))), cie...)
	for i := range uint64(400_000) {
		data = le.AppendUint32(data, 20)
		data = le.AppendUint32(data, uint32(len(data)))
		data = le.AppendUint64(le.AppendUint64(data, at+16*i), 16)
	}
	f := &testkit.ELF{Order: le, Type: 2, Machine: arch.EMX86_64, Base: at, Sections: []testkit.ELFSection{
		{Name: ".text", Type: 1, Flags: 6, Addr: at, Data: make([]byte, 0x1000), Align: 16},
		{Name: ".eh_frame", Type: 1, Flags: 2, Addr: at << 4, Data: append(data, 0, 0, 0, 0), Align: 8},
		{Name: ".note.gnu.build-id", Type: 7, Flags: 2, Addr: at << 5, Data: testkit.New(le).D32(4, 8, 3).Str("GNU").Zero(8).Done(), Align: 4},
	}}
	name := filepath.Join(t.TempDir(), "wordy")
	if err := os.WriteFile(name, f.File(), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// limited runs sfcore, and returns what it printed to standard error and the most
// anonymous memory that the run was seen to take.
func limited(t *testing.T, args ...string) (stderr string, code int, memory uint64) {
	t.Helper()
	testkit.NeedRestart(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), beAnother+"=sfcore")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan bool)
	go func() {
		_ = cmd.Wait()
		close(done)
	}()
	var run *limit.Usage
	for look := time.NewTicker(time.Millisecond); ; {
		select {
		case <-done:
			look.Stop()
			return errs.String(), cmd.ProcessState.ExitCode(), memory
		case <-look.C:
			if run == nil {
				if pid := childOf(cmd.Process.Pid); pid != 0 {
					run, _ = limit.Of(pid)
				}
				continue
			}
			memory = max(memory, run.Memory())
		}
	}
}

// childOf returns the child of a process; 0 if it has none.
func childOf(parent int) (pid int) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
	for _, task := range tasks { // it is the child of the thread that started it
		list, _ := os.ReadFile(task)
		if n, _ := fmt.Sscan(string(list), &pid); n == 1 {
			return pid
		}
	}
	return 0
}

// A run ends at the limit of memory, or of time, and says so.
func TestRunIsLimited(t *testing.T) {
	name := deepCore(t)
	const most = 160 << 20
	stderr, code, memory := limited(t, "bt", "--unwind", "fp", "--format", "jsonl", "--max-memory", "160M", name)
	if code != exitFailed || !strings.Contains(stderr, "stopped: the run takes 160.0 MiB of memory") || memory > 2*most {
		t.Errorf("got exit status %d with %d MiB, %q", code, memory>>20, stderr)
	}
	stderr, code, _ = limited(t, "bt", "--unwind", "fp", "--format", "jsonl", "--max-total-time", "500ms", name)
	if code == exitComplete {
		t.Errorf("got exit status %d, %q", code, stderr)
	}
}

// A run within its limits is as any other, with the same exit status.
func TestRunWithinLimits(t *testing.T) {
	testkit.NeedRestart(t)
	for _, name := range []string{"amd64-v3-null-1", "amd64-v3-threads"} {
		args := append([]string{"bt"}, caseArgs(t, name)...)
		want, _, wantCode := sfcore(args...)
		cmd := exec.CommandContext(t.Context(), os.Args[0], append(args, "--max-memory", "1G", "--max-total-time", "1m")...)
		cmd.Env = append(os.Environ(), beAnother+"=sfcore")
		got, err := cmd.Output()
		if cmd.ProcessState == nil {
			t.Fatal(err)
		}
		if string(got) != want || cmd.ProcessState.ExitCode() != wantCode {
			t.Errorf("%s: got exit status %d, want %d, with limits %s", name, cmd.ProcessState.ExitCode(), wantCode, got)
		}
	}
}

// Every command that opens a file has both limits, and every server has that of
// memory.
func TestLimitsOfAllCommands(t *testing.T) {
	var paths [][]string
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		for _, c := range cmd.Commands() {
			// crash limits its reader itself; version and cache read no file of a stranger.
			if !slices.Contains([]string{"help", "completion", "crash", "version", "cache"}, c.Name()) {
				check(c)
			}
		}
		if !cmd.Runnable() || cmd.HasSubCommands() {
			return
		}
		if cmd.Flags().Lookup("max-memory") == nil || cmd.Flags().Lookup("max-total-time") == nil {
			t.Errorf("%s has not all limits", cmd.CommandPath())
		}
		paths = append(paths, strings.Fields(cmd.CommandPath())[1:])
	}
	check(newRootCommand())
	if len(paths) != 18 {
		t.Errorf("got the commands %v, want 18", paths)
	}
	for _, path := range paths {
		for _, flag := range [][]string{{"--max-memory", "1K"}, {"--max-total-time", "-1s"}} {
			if _, stderr, code := sfcore(slices.Concat(path, flag, operands[path[len(path)-1]])...); code != exitFailed || !strings.Contains(stderr, flag[0]) {
				t.Errorf("%v: got exit status %d, %q", path, code, stderr)
			}
		}
	}
}

// operands are what commands need beside flags.
var operands = map[string][]string{
	"bt": {"core"}, "info": {"core"}, "goroutines": {"core"}, "sig": {"core"}, "diff": {"core", "core"}, "dump": {"core"}, "check": {"core"}, "compare": {"core"}, "coverage": {"core"},
	"synth": {"core", "-o", "none"}, "shrink": {"core", "-o", "small"}, "report-bug": {"core", "-o", "none.zip"}, "print": {"core", "x"}, "gate": {"core"}, "survey": {"core"}, "perf": {"core"},
}

// Every command that is not a server ends at each of its limits.
func TestEveryCommandEnds(t *testing.T) {
	crowd := crowdedCore(t)
	for name := range operands {
		t.Run(name, func(t *testing.T) {
			args := []string{name, crowd}
			switch name {
			case "bt", "info", "goroutines", "sig":
			case "diff":
				args = append(args, crowd)
			case "report-bug":
				args = append(args, "--yes", "-o", filepath.Join(t.TempDir(), "report.zip"))
			case "shrink":
				args = append(args, "-o", filepath.Join(t.TempDir(), "small"))
			case "synth":
				args = []string{"sframe", name, wordyProgram(t), "-o", t.TempDir()}
			case "print":
				args = append(args, "x")
			case "gate", "survey":
				args = []string{"sframe", name, wordyProgram(t)}
			default:
				args = append([]string{"sframe"}, args...)
			}
			// perf finds nothing to read here; gate and survey need less for this program.
			stderr, code, _ := limited(t, append(args, "--max-memory", "40M")...)
			if !slices.Contains([]string{"perf", "gate", "survey"}, name) && (code != exitFailed || !strings.Contains(stderr, "stopped: the run takes 40.0 MiB of memory")) {
				t.Errorf("got exit status %d, %q", code, stderr)
			}
			stderr, code, _ = limited(t, append(args, "--max-total-time", "1ms")...)
			if code != exitFailed || !strings.Contains(stderr, "stopped: the run takes 1ms") {
				t.Errorf("got exit status %d, %q", code, stderr)
			}
		})
	}
}

// runDAP starts the debug adapter of this program.
func runDAP(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	testkit.NeedRestart(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], append([]string{"dap"}, args...)...)
	cmd.Env, cmd.WaitDelay = append(os.Environ(), beAnother+"=sfcore"), time.Second
	t.Cleanup(func() {
		if cmd.Process != nil { // it was started
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return cmd
}

// launch begins a session and opens a core.
func launch(c *daptest.Client, core string) error {
	return cmp.Or(c.Do("initialize", map[string]any{"adapterID": "sfcore"}, nil), c.Do("launch", map[string]any{"coreFile": core}, nil))
}

// A process that takes too much in an editor ends its session, with an answer to the
// editor.
func TestAdapterIsLimited(t *testing.T) {
	for _, tt := range []struct {
		name, flag, core, want string
	}{
		{"opening", "--max-memory=40M", crowdedCore(t), "the session takes 40.0 MiB of memory, which is what --max-memory allows"},
		{"processor time", "--max-total-time=100ms", deepCore(t), "the session takes 100ms of processor time, which is what --max-total-time allows"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd := runDAP(t, tt.flag)
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
			c := daptest.New(out, in)
			err = launch(c, tt.core)
			for i := 0; err == nil && i < 1000; i++ {
				err = c.Do("stackTrace", map[string]any{"threadId": i%100 + 1}, nil)
			}
			if refused := (*daptest.Refusal)(nil); !errors.As(err, &refused) || refused.Message != tt.want {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if err := cmp.Or(c.Event("terminated", nil), c.Do("disconnect", nil, nil)); err != nil {
				t.Error(err)
			}
			<-c.Ended()
			if err := cmd.Wait(); err != nil {
				t.Errorf("the adapter ended with %v", err)
			}
		})
	}
}

// Other sessions of a server go on.
func TestListeningAdapterSurvives(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "socket")
	cmd := runDAP(t, "--max-memory=40M", "--listen=unix:"+socket)
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, _ := bufio.NewReader(errs).ReadString('\n'); !strings.Contains(line, "listening") {
		t.Fatalf("got %q", line)
	}
	session := func() *daptest.Client {
		conn, err := net.Dial("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return daptest.New(conn, conn)
	}
	good, crowd := caseArgs(t, "amd64-v3-threads"), crowdedCore(t)
	before, greedy, after := session(), session(), session()
	if err := launch(before, good[len(good)-1]); err != nil {
		t.Fatal(err)
	}
	if err := launch(greedy, crowd); err == nil || !strings.Contains(err.Error(), "--max-memory") {
		t.Errorf("got %v, want the limit of memory", err)
	}
	if err := cmp.Or(launch(after, good[len(good)-1]), before.Do("threads", nil, nil)); err != nil {
		t.Error(err)
	}
}
