package core

import (
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// quota is how much processor time a control group has in each period.
type quota struct {
	time, period time.Duration
}

// cgroupMounts are where control groups with the controller of processors are mounted, by
// what /proc/PID/cgroup calls the hierarchy: "" is version 2.
var cgroupMounts = map[string][]string{
	"":            {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"},
	"cpu":         {"/sys/fs/cgroup/cpu"},
	"cpu,cpuacct": {"/sys/fs/cgroup/cpu,cpuacct"},
	"cpuacct,cpu": {"/sys/fs/cgroup/cpuacct,cpu"},
}

// smallestQuota returns the smallest of the quotas that the system has set for a process
// whose /proc/PID/cgroup has this text [linux Documentation/admin-guide/cgroup-v2.rst, CPU;
// cgroup-v1/cgroups.rst]. root is "" but in tests.
func smallestQuota(root, cgroups string) (least quota, found bool) {
	for line := range strings.Lines(cgroups) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) < 3 {
			continue
		}
		for _, mount := range cgroupMounts[fields[1]] {
			for group := path.Clean("/" + fields[2]); ; group = path.Dir(group) {
				q, ok := readQuota(root + mount + group)
				if ok && (!found || q.time*least.period < least.time*q.period) {
					least, found = q, true
				}
				if group == "/" {
					break
				}
			}
		}
	}
	return least, found
}

// readQuota reads the quota of a control group, of either version.
func readQuota(dir string) (quota, bool) {
	text, err := os.ReadFile(dir + "/cpu.max")
	if err != nil {
		quota, _ := os.ReadFile(dir + "/cpu.cfs_quota_us")
		period, _ := os.ReadFile(dir + "/cpu.cfs_period_us")
		text = append(append(quota, ' '), period...)
	}
	fields := strings.Fields(string(text))
	if len(fields) != 2 {
		return quota{}, false
	}
	used, err := strconv.ParseUint(fields[0], 10, 32) // "max" and -1 are none
	period, err2 := strconv.ParseUint(fields[1], 10, 32)
	if err != nil || err2 != nil || period == 0 {
		return quota{}, false
	}
	return quota{time.Duration(used) * time.Microsecond, time.Duration(period) * time.Microsecond}, true
}

const (
	// Processor time that a visit takes while the process stands still: for each thread,
	// and besides.
	holdPerThread = 40 * time.Microsecond
	holdBesides   = time.Millisecond

	// refill is how many periods it takes until a quota is whole: one until the present
	// period ends, and one without which the kernel would not begin the next with our work.
	refill = 2

	// maxRefill bounds the wait for that.
	maxRefill = time.Second
)

// wait returns for how long to do nothing before a process with so many threads is stopped.
// The kernel stops a program that has used up its quota until the next period begins, and
// with it would stand whatever it holds. used is what was taken of the quota lately.
func (q quota) wait(used time.Duration, threads int) time.Duration {
	if used+holdBesides+time.Duration(threads)*holdPerThread <= q.time {
		return 0
	}
	return min(refill*q.period, maxRefill)
}

// awaitQuota waits until there is enough processor time for holding the process. The
// returned function is to be called when it is not held any more.
func (v *visit) awaitQuota() (done func()) {
	cgroups, _ := os.ReadFile("/proc/self/cgroup")
	q, limited := smallestQuota("", string(cgroups))
	if !limited {
		return func() {}
	}
	done = func() {}
	if q.time < 2*quotaSlice {
		done = onOneProcessor()
	}
	time.Sleep(q.wait(processorTime()-v.began, len(v.threads)))
	return done
}

// quotaSlice is how much of a quota a processor takes at once, as sched_cfs_bandwidth_slice_us
// mostly is: with less than two slices, a second processor may get nothing.
const quotaSlice = 5 * time.Millisecond

// onOne are the visits for which this program is on one processor, and where it may be
// without them.
var onOne struct {
	sync.Mutex
	visits int
	all    unix.CPUSet
}

// onOneProcessor keeps this program on one processor until the returned function is called.
func onOneProcessor() (restore func()) {
	onOne.Lock()
	defer onOne.Unlock()
	var one unix.CPUSet
	var cpu uint32
	_, _, e := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0)
	if e != 0 || onOne.visits == 0 && unix.SchedGetaffinity(0, &onOne.all) != nil {
		return func() {}
	}
	if onOne.visits++; onOne.visits == 1 {
		one.Set(int(cpu))
		setAffinity(&one)
	}
	return func() {
		onOne.Lock()
		defer onOne.Unlock()
		if onOne.visits--; onOne.visits == 0 {
			setAffinity(&onOne.all)
		}
	}
}

// setAffinity says on which processors the threads of this program may run. Those that
// begin later are as the one that makes them.
func setAffinity(set *unix.CPUSet) {
	entries, _ := os.ReadDir("/proc/self/task")
	for _, e := range entries {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			_ = unix.SchedSetaffinity(tid, set)
		}
	}
}

// processorTime is what this program has used.
func processorTime() time.Duration {
	var used unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
