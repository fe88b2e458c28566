package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// victimVariable has this program be a process that sfcore visits, and says which.
const victimVariable = "SFCORE_HOSTILE_VICTIM"

// victims are what processes do to whoever visits them. They say when they are ready.
var victims = map[string]func(){
	// Threads with names that want to be seen.
	"threads": func() {
		debug.SetMaxThreads(20000)
		ready := make(chan bool)
		const n = 8000
		for i := range n {
			go func() {
				runtime.LockOSThread()
				name := fmt.Sprintf("\x1b[2J\n)%d (%c", i%1000, "RDTZ"[i%4])
				_ = os.WriteFile(fmt.Sprintf("/proc/self/task/%d/comm", unix.Gettid()), []byte(name), 0)
				ready <- true
				select {}
			}()
		}
		for range n {
			<-ready
		}
	},
	// As many mapped files as a process may have, each of another name.
	"mappings": func() {
		for i := range 60000 {
			mapFile(fmt.Sprint("lib", i))
		}
	},
	// Files with names that are hard to tell from what the kernel says of them.
	"names": func() {
		for _, name := range visitedNames {
			mapFile(name)
			if strings.Contains(name, "gone") {
				_ = os.Remove(name)
			}
		}
	},
	// Files that are exchanged for pipes and devices after they were mapped.
	"exchanged": func() {
		for i := range 100 {
			name := fmt.Sprint("lib", i)
			mapFile(name)
			_ = os.Remove(name)
			switch i % 3 {
			case 0:
				_ = unix.Mkfifo(name, 0o600)
			case 1:
				_ = os.Symlink("/dev/zero", name)
			default:
				_ = os.Symlink("/etc/shadow", name)
			}
		}
	},
	// A process that never stays what it was: mappings, threads, other programs.
	"changing": func() {
		go func() {
			for {
				if b, err := unix.Mmap(-1, 0, 1<<20, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON); err == nil {
					_ = unix.Munmap(b)
				}
			}
		}()
		go func() {
			for {
				done := make(chan bool)
				go func() {
					runtime.LockOSThread() // and end with the thread
					close(done)
				}()
				<-done
			}
		}()
		go func() {
			time.Sleep(200 * time.Millisecond)
			self, err := os.Executable()
			if err == nil {
				_ = syscall.Exec(self, os.Args, os.Environ())
			}
		}()
	},
	// A stack of 2,000,000 frames.
	"deep": func() {
		debug.SetMaxStack(1 << 30)
		ready := make(chan bool)
		go func() {
			runtime.LockOSThread()
			descend(2000000, ready)
		}()
		<-ready
	},
}

//go:noinline
func descend(n int, ready chan bool) int {
	if n == 0 {
		ready <- true
		_ = unix.Pause()
		return 0
	}
	return descend(n-1, ready) + 1
}

var visitedNames = []string{
	"a\nb", "a (deleted)", "gone", "gone (deleted)", "\x1b[2J", "\\012", "[stack]", "[vdso]", "//anon", "memfd:x", strings.Repeat("n", 255), "\u202e", "7f0000000000-7f0000001000 r-xp 00000000 00:00 0",
}

// mapFile maps a page of a file as code.
func mapFile(name string) {
	f, err := os.Open(name)
	if err != nil {
		return
	}
	defer f.Close()
	_, _ = unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE) // it stays
}

// beVictim is what this program does if it is a victim. It never returns.
func beVictim(name string) {
	victims[name]()
	fmt.Println("ready")
	for {
		time.Sleep(time.Hour)
	}
}

// visit starts a victim in the folder, and returns the arguments that show its stacks.
func (f *folder) visit(victim string, flags ...string) []string {
	self, err := os.Executable()
	f.check(err)
	cmd := exec.Command(self)
	cmd.Dir = f.path
	cmd.Env = append(os.Environ(), victimVariable+"="+victim)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	f.check(err)
	if f.err == nil {
		f.check(cmd.Start())
	}
	if f.err != nil {
		return nil
	}
	f.ends = append(f.ends, func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		f.check(fmt.Errorf("the process to visit says %q: %w", line, err))
	}
	return append([]string{"bt", "-p", strconv.Itoa(cmd.Process.Pid)}, flags...)
}

// visited are processes that are alive, and know that they are looked at.
func visited() []input {
	live := func(victim string, fill func(f *folder), flags ...string) func(f *folder) []string {
		return func(f *folder) []string {
			fill(f)
			return f.visit(victim, flags...)
		}
	}
	nothing := func(f *folder) { f.write("x", []byte("x")) }
	library := func(names ...string) func(f *folder) {
		return func(f *folder) {
			for _, name := range names {
				f.write(name, withID("00000000000000000001"))
			}
		}
	}
	many := func(n int) func(f *folder) {
		return func(f *folder) {
			f.write("lib0", withID("00000000000000000001"))
			for i := 1; i < n; i++ {
				f.check(os.Link(f.in("lib0"), f.in(fmt.Sprint("lib", i))))
			}
		}
	}
	return []input{
		{"live-threads", "a process with 8,000 threads whose names want to be seen", false, live("threads", nothing)},
		{"live-mappings", "a process with 60,000 mapped files", false, live("mappings", many(60000))},
		{"live-names", "a process with mapped files of names that mean something else", true, live("names", library(visitedNames...), "--format", "json")},
		{"live-exchanged", "a process whose files are pipes, devices and secrets by now", true, live("exchanged", func(f *folder) {
			nothing(f)
			for i := range 100 {
				f.write(fmt.Sprint("lib", i), withID(fmt.Sprintf("%020d", i)))
			}
		}, "--format", "json")},
		{"live-changing", "a process whose mappings, threads and program change all the time", true, live("changing", nothing)},
		{"live-deep", "a process with a stack of 2,000,000 frames", false, live("deep", nothing)},
		{"live-info", "the files of a process with 20,000 of them", false, func(f *folder) []string {
			args := live("mappings", many(20000))(f)
			if len(args) > 0 {
				args[0] = "info"
			}
			return args
		}},
	}
}
