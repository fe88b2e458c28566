// Command crash has the kernel of this machine hand crashes to sfcore-crash, crashes
// programs, and compares what it keeps of each with the core of the same crash, which it
// keeps too. It prints tables in Markdown. It needs root, and puts the settings of the
// kernel back however it ends:
//
//	go run ./test/crash
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

func main() {
	rounds := flag.Int("rounds", 20, "crash processes of 1, 101 and 1,001 threads so many times each, to measure how long they are held")
	damages := flag.Int("damage", 200, "have a process read so many times by damaged streams")
	build := flag.String("build", "", "only build the programs, in `DIR`")
	built := flag.String("built", "", "run in `DIR`, where the programs are built")
	parts := flag.String("parts", "pipe,damage,watch,sockets", "run these `PARTS`; also: races, peers, systemd")
	peer := flag.String("peer", "", "also measure the program of this core_`PATTERN`: that of systemd-coredump")
	flag.Parse()
	if args := flag.Args(); len(args) == 4 && args[0] == damageWord {
		if err := handleDamaged(args[1:]); err != nil {
			os.Exit(1) // which nobody sees; the one that waits says it
		}
		return
	}
	var err error
	if *build != "" {
		err = (&bench{dir: *build}).build()
	} else {
		err = run(*built, strings.Split(*parts, ","), map[string]func(*bench) error{
			"pipe":    func(b *bench) error { return b.pipe(*rounds) },
			"damage":  func(b *bench) error { return b.damaged(*damages) },
			"races":   (*bench).races,
			"watch":   (*bench).watched,
			"sockets": (*bench).sockets,
			"peers":   func(b *bench) error { return b.peers(*rounds, *peer) },
			"systemd": (*bench).systemd,
		})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "crash:", err)
		os.Exit(1)
	}
}

// bench is where the programs and the store are.
type bench struct {
	dir   string
	store string
}

// maxWait is how long a crash may take until it is kept, also on an emulated machine.
const maxWait = 3 * time.Minute

// record is what the test needs of a record of a crash.
type record struct {
	ID, Kept, Signal string
	PID, UID         int
	Threads          int
	Held             int64
	Problems         []string
}

func run(built string, parts []string, all map[string]func(*bench) error) error {
	if os.Geteuid() != 0 {
		return errors.New("it needs root, to tell the kernel who handles crashes")
	}
	for _, part := range parts {
		if all[part] == nil {
			return fmt.Errorf("-parts: there is no %q", part)
		}
	}
	b := &bench{dir: built}
	if built == "" {
		dir, err := os.MkdirTemp("/tmp", "sfcrash") // core_pattern has room for 127 bytes
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		b.dir = dir
		if err := errors.Join(os.Chmod(dir, 0o755), b.build()); err != nil { //nolint:gosec // other users' programs run there
			return err
		}
	}
	b.store = filepath.Join(b.dir, "store")
	var failed error
	for _, part := range parts {
		if err := all[part](b); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", part, err))
		}
	}
	return failed
}

// pipe has the kernel start a handler for each crash. %F is given also to kernels that
// do not know it, which are those before 6.16.
func (b *bench) pipe(rounds int) error {
	done, err := setPattern(b.pipePattern(), 8)
	if err != nil {
		return err
	}
	return errors.Join(b.equal("|", "core"), b.equal("|", "small"), b.noCore(), b.arrives("|"), b.held(rounds), b.flood(), done())
}

// pipePattern is core_pattern for a handler of each crash.
func (b *bench) pipePattern() string {
	return fmt.Sprintf("|%s/sfcore-crash --config %s pipe %%P %%u %%g %%s %%d %%F", b.dir, b.config())
}

// sockets does the same by the sockets that kernels from 6.16 and 6.17 on connect to.
func (b *bench) sockets() error {
	if known, err := socketsKnown(); !known {
		return err
	}
	if err := b.configure("core", 1000); err != nil {
		return err
	}
	socket, stop, err := b.daemon()
	if err != nil {
		return err
	}
	defer stop()
	for _, mode := range []string{"@", "@@"} {
		done, err := setPattern(mode+socket, 8)
		if err != nil {
			return err
		}
		if err := errors.Join(b.equal(mode, "core"), b.noCore(), b.arrives(mode), done(), b.kept(mode)); err != nil {
			return fmt.Errorf("%s: %w", mode, err)
		}
	}
	return nil
}

// socketsKnown reports whether the kernel knows both kinds of sockets, and says if not.
func socketsKnown() (bool, error) {
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return false, err
	}
	var major, minor int
	if _, err := fmt.Sscanf(string(release), "%d.%d", &major, &minor); err != nil {
		return false, fmt.Errorf("the release of the kernel, %q: %w", release, err)
	}
	if major < 6 || major == 6 && minor < 17 {
		fmt.Printf("\nSockets are left out: this is Linux %d.%d, and they are from 6.17 on.\n", major, minor)
		return false, nil
	}
	return true, nil
}

// daemon starts a daemon that listens at a socket.
func (b *bench) daemon() (socket string, stop func(), err error) {
	socket = filepath.Join(b.dir, "socket")
	daemon := exec.Command(b.dir+"/sfcore-crash", "--config", b.config(), "daemon", "--socket", socket)
	daemon.Stderr = os.Stderr
	if err := daemon.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = daemon.Process.Kill()
		_ = daemon.Wait()
	}
	if !until(10*time.Second, func() bool { _, err := os.Stat(socket); return err == nil }) {
		stop()
		return "", nil, errors.New("the daemon does not listen")
	}
	return socket, stop, nil
}

// until waits until something is true, and reports whether it is.
func until(most time.Duration, is func() bool) bool {
	for end := time.Now().Add(most); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// config is the name of the configuration.
func (b *bench) config() string { return filepath.Join(b.dir, "c.toml") }

// configure decides what the next crashes keep.
func (b *bench) configure(keep string, crashes int) error {
	text := fmt.Sprintf("store = %q\nkeep = 100000\ntime = \"60s\"\n[rate]\ncrashes = %d\nper = \"1h\"\n[[rule]]\nkeep = %q\n", b.store, crashes, keep)
	return errors.Join(os.RemoveAll(b.store), os.WriteFile(b.config(), []byte(text), 0o600))
}

// build builds sfcore and the programs that crash. What has no compiler here is left
// out, and said.
func (b *bench) build() error {
	for _, c := range [][]string{
		{"go", "build", "-trimpath", "-o", b.dir, "./cmd/sfcore", "./cmd/sfcore-crash", "./test/crash"},
		{"cc", "-g", "-O1", "-o", b.dir + "/threads", "test/crash/programs/threads.c", "-lpthread"},
		{"cc", "-g", "-O1", "-o", b.dir + "/exec", "test/crash/programs/exec.c", "-lpthread"},
		{"c++", "-g", "-O1", "-o", b.dir + "/throw", "test/crash/programs/throw.cc", "-lpthread"},
		{"go", "build", "-trimpath", "-o", b.dir + "/gopanic", "test/crash/programs/panic.go"},
		{"rustc", "-g", "-C", "opt-level=1", "-o", b.dir + "/rustpanic", "test/crash/programs/panic.rs"},
	} {
		if _, err := exec.LookPath(c[0]); err != nil {
			fmt.Printf("left out, because there is no %s: %s\n", c[0], filepath.Base(c[len(c)-1]))
			continue
		}
		cmd := exec.Command(c[0], c[1:]...)
		if c[0] == "go" {
			cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", strings.Join(c, " "), err, out)
		}
	}
	return nil
}

// crash runs a program until it has crashed, and returns its process id.
func (b *bench) crash(shell string, args ...string) (int, error) {
	pid, _, err := b.crashTo(nil, shell, args...)
	return pid, err
}

// crashTo is crash with a standard output. It also returns when the program was gone.
func (b *bench) crashTo(out *os.File, shell string, args ...string) (pid int, gone time.Duration, err error) {
	if shell == "" {
		shell = "true"
	}
	args[0] = filepath.Join(b.dir, args[0])
	script := "ulimit -c unlimited; " + shell + `; exec "$@"`
	cmd := exec.Command("env", append([]string{"-i", "GOTRACEBACK=crash", "sh", "-c", script, "sh"}, args...)...)
	cmd.Dir, cmd.Stdout = "/", out
	if out == nil {
		cmd.Stdout = nil // not an interface that holds nil
	}
	err = cmd.Run()
	gone = now()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() < 0 {
		return cmd.Process.Pid, gone, nil
	}
	return 0, 0, fmt.Errorf("%v did not crash: %w", args, err)
}

// wait waits for the record of a process.
func (b *bench) wait(pid int) (*record, error) { return b.waitFor(pid, maxWait) }

func (b *bench) waitFor(pid int, most time.Duration) (*record, error) {
	for end := time.Now().Add(most); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		names, err := filepath.Glob(filepath.Join(b.store, fmt.Sprintf("*-%d.json", pid)))
		if err != nil {
			return nil, err
		}
		if len(names) != 1 {
			continue
		}
		text, err := os.ReadFile(names[0])
		if err != nil {
			return nil, err
		}
		r := new(record)
		return r, json.Unmarshal(text, r)
	}
	return nil, fmt.Errorf("process %d: no record was kept", pid)
}

// equal compares reports with the cores of the same crashes, whole or small ones, in a
// mode of core_pattern.
func (b *bench) equal(mode, keep string) error {
	if err := b.configure(keep, 1000); err != nil {
		return err
	}
	fmt.Printf("\n| `%s`, %s | threads | frames | size of the core, compressed | held | differences |\n|---|---|---|---|---|---|\n", strings.ReplaceAll(mode, "|", "\\|"), keep)
	var failed error
	said := map[string]bool{}
	defer func() {
		for _, problem := range slices.Sorted(maps.Keys(said)) {
			fmt.Printf("\nThe reports say: %s.\n", problem)
		}
	}()
	for _, args := range [][]string{
		{"threads", "segv", "0", "5"},
		{"threads", "abort", "3", "20"},
		{"threads", "overflow", "3", "5"},
		{"threads", "null", "3", "5"},
		{"threads", "handler", "3", "5"},
		{"threads", "segv", "100", "50"},
		{"threads", "abort", "1000", "50"},
		{"throw", "throw", "2"},
		{"throw", "abort", "2"},
		{"gopanic", "panic", "20"},
		{"rustpanic", "panic", "3"},
	} {
		name := strings.Join(args, " ")
		if _, err := os.Stat(filepath.Join(b.dir, args[0])); err != nil {
			continue
		}
		pid, err := b.crash("", args...)
		if err != nil {
			return err
		}
		r, err := b.wait(pid)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		base := filepath.Join(b.store, r.ID)
		crash, err := read(b.dir+"/sfcore", base+".jsonl.zst")
		if err != nil {
			return fmt.Errorf("%s: %v: %w", name, r.Problems, err)
		}
		core, err := read(b.dir+"/sfcore", base+".core.zst")
		if err != nil {
			return fmt.Errorf("%s: %v: %w", name, r.Problems, err)
		}
		for _, problem := range crash.Problems {
			if !slices.Contains(core.Problems, problem) {
				said[problem] = true
			}
		}
		differences, frames := compare(crash, core)
		size := int64(0)
		if st, err := os.Stat(base + ".core.zst"); err == nil {
			size = st.Size()
		}
		fmt.Printf("| `%s` | %d | %d | %d KiB | %.1f ms | %d |\n", name, len(crash.Threads), frames, size>>10, float64(r.Held)/1e6, len(differences))
		if len(r.Problems) > 0 {
			differences = append(differences, r.Problems...)
		}
		if len(differences) > 0 {
			failed = errors.Join(failed, fmt.Errorf("%s: %s", name, strings.Join(differences[:min(5, len(differences))], "\n  ")))
		}
	}
	return failed
}

// noCore crashes processes that dump nothing but registers: less than a pipe holds.
func (b *bench) noCore() error {
	if err := b.configure("report", 1000); err != nil {
		return err
	}
	pid, err := b.crash("echo 0 >/proc/self/coredump_filter", "threads", "segv", "3", "20")
	if err != nil {
		return err
	}
	r, err := b.wait(pid)
	if err != nil {
		return err
	}
	doc, err := read(b.dir+"/sfcore", filepath.Join(b.store, r.ID+".jsonl.zst"))
	if err != nil {
		return err
	}
	for i := range doc.Threads {
		if th := &doc.Threads[i]; th.Stop.Reason.String() != "outermost" || len(th.Frames) < 3 {
			return fmt.Errorf("with coredump_filter 0: thread %d has %d frames and ends with %v", th.TID, len(th.Frames), th.Stop.Reason)
		}
	}
	fmt.Printf("\nWith coredump_filter 0, %d threads have their stacks.\n", len(doc.Threads))
	return nil
}

// held measures how long processes are held, and what is written for each.
func (b *bench) held(rounds int) error {
	fmt.Printf("\n| threads x frames | held: median | 99th percentile | most | bytes written for each |\n|---|---|---|---|---|\n")
	for _, size := range [][2]string{{"0", "50"}, {"100", "50"}, {"1000", "50"}} {
		if err := b.configure("report", 100000); err != nil {
			return err
		}
		var times []int64
		for range rounds {
			pid, err := b.crash("", "threads", "segv", size[0], size[1])
			if err != nil {
				return err
			}
			r, err := b.wait(pid)
			if err != nil {
				return err
			}
			if len(r.Problems) > 0 {
				return fmt.Errorf("%s: %v", r.ID, r.Problems)
			}
			times = append(times, r.Held)
		}
		slices.Sort(times)
		at := func(percent int) string {
			return time.Duration(times[min(len(times)-1, len(times)*percent/100)]).Round(100 * time.Microsecond).String()
		}
		fmt.Printf("| %s x %s | %s | %s | %s | %d |\n", size[0], size[1], at(50), at(99), at(100), b.written()/int64(rounds))
	}
	return nil
}

// written is how many bytes of crashes are in the store.
func (b *bench) written() (total int64) {
	names, _ := filepath.Glob(b.store + "/*-*")
	for _, name := range names {
		if st, err := os.Stat(name); err == nil {
			total += st.Size()
		}
	}
	return total
}

// flood has 8 programs crash 25 times each at once: each crash is a report, or counted.
func (b *bench) flood() error {
	const programs, crashes, budget = 8, 25, 10
	if err := b.configure("report", budget); err != nil {
		return err
	}
	begun := time.Now()
	var wait sync.WaitGroup
	errs := make(chan error, programs*crashes)
	for n := range programs {
		name := fmt.Sprint("flood", n)
		if err := os.Link(b.dir+"/threads", filepath.Join(b.dir, name)); err != nil {
			return err
		}
		wait.Go(func() {
			for range crashes {
				_, err := b.crash("", name, "segv", "3", "10")
				errs <- err
			}
		})
	}
	wait.Wait()
	took := time.Since(begun)
	for range programs * crashes {
		if err := <-errs; err != nil {
			return err
		}
	}
	var counts struct {
		Kinds         map[string]struct{ Count int }
		Refused, Lost int
	}
	sum := 0
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end) && sum < programs*crashes; time.Sleep(50 * time.Millisecond) {
		text, err := os.ReadFile(filepath.Join(b.store, "counts"))
		if err != nil {
			continue
		}
		if err := json.Unmarshal(text, &counts); err != nil {
			return err
		}
		sum = counts.Refused
		for _, k := range counts.Kinds {
			sum += k.Count
		}
	}
	reports, _ := filepath.Glob(b.store + "/*.jsonl.zst")
	fmt.Printf("\n%d crashes of %d programs in %v: %d reports, %d counted over a budget of %d, %d lost.\n",
		programs*crashes, programs, took.Round(time.Millisecond), len(reports), counts.Refused, budget, counts.Lost)
	if sum != programs*crashes || len(reports)+counts.Refused+counts.Lost < programs*crashes {
		return fmt.Errorf("%d crashes were counted, want %d", sum, programs*crashes)
	}
	return nil
}
