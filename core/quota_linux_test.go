package core

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The smallest quota counts, of the program's control group and of those around it.
func TestSmallestQuota(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		name    string
		cgroups string
		files   map[string]string
		want    quota
		found   bool
	}{
		{"none", "", nil, quota{}, false},
		{"no limit", "0::/a\n", map[string]string{"a/cpu.max": "max 100000\n"}, quota{}, false},
		{"version 2", "0::/a\n", map[string]string{"a/cpu.max": "5000 100000\n"}, quota{5 * ms, 100 * ms}, true},
		{"in a namespace of its own", "0::/\n", map[string]string{"cpu.max": "5000 100000\n"}, quota{5 * ms, 100 * ms}, true},
		{"an outer group", "0::/a/b/c\n", map[string]string{"a/b/c/cpu.max": "max 100000\n", "a/cpu.max": "20000 50000\n"}, quota{20 * ms, 50 * ms}, true},
		{"the outer has less", "0::/a/b\n", map[string]string{"a/b/cpu.max": "20000 50000\n", "a/cpu.max": "30000 100000\n"}, quota{30 * ms, 100 * ms}, true},
		{"the inner has less", "0::/a/b\n", map[string]string{"a/b/cpu.max": "20000 100000\n", "a/cpu.max": "30000 100000\n"}, quota{20 * ms, 100 * ms}, true},
		{"version 1", "3:cpuset:/x\n1:cpu:/a\n0::/\n", map[string]string{"cpu/a/cpu.cfs_quota_us": "5000\n", "cpu/a/cpu.cfs_period_us": "100000\n"}, quota{5 * ms, 100 * ms}, true},
		{"version 1 without a limit", "1:cpu:/a\n", map[string]string{"cpu/a/cpu.cfs_quota_us": "-1\n", "cpu/a/cpu.cfs_period_us": "100000\n"}, quota{}, false},
		{"two controllers", "4:cpu,cpuacct:/a\n", map[string]string{"cpu,cpuacct/a/cpu.cfs_quota_us": "7000\n", "cpu,cpuacct/a/cpu.cfs_period_us": "100000\n"}, quota{7 * ms, 100 * ms}, true},
		{"above the mount", "0::/../../a\n", map[string]string{"a/cpu.max": "5000 100000\n"}, quota{5 * ms, 100 * ms}, true},
		{"damaged", "0::/a\n0\n", map[string]string{"a/cpu.max": "5000 0\n", "cpu.max": "5000\n"}, quota{}, false},
	} {
		root := t.TempDir()
		for name, text := range tt.files {
			file := filepath.Join(root, "sys/fs/cgroup", name)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, found := smallestQuota(root, tt.cgroups); got != tt.want || found != tt.found {
			t.Errorf("%s: got %v, %v, want %v, %v", tt.name, got, found, tt.want, tt.found)
		}
	}
}

// A visit waits only if holding the process could take more than is left.
func TestQuotaWait(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		quota   quota
		used    time.Duration
		threads int
		want    time.Duration
	}{
		{quota{50 * ms, 100 * ms}, 3 * ms, 100, 0},
		{quota{8 * ms, 100 * ms}, 3 * ms, 100, 0},
		{quota{8 * ms, 100 * ms}, 3*ms + 1, 100, 200 * ms},
		{quota{8 * ms, 100 * ms}, 3 * ms, 101, 200 * ms},
		{quota{8 * ms, 100 * ms}, 0, 1000, 200 * ms},
		{quota{8 * ms, 900 * ms}, 0, 1000, time.Second},
	} {
		if got := tt.quota.wait(tt.used, tt.threads); got != tt.want {
			t.Errorf("%v, %v used, %d threads: got %v, want %v", tt.quota, tt.used, tt.threads, got, tt.want)
		}
	}
	if processorTime() <= 0 {
		t.Error("this program has used no processor time")
	}
}

// Visits at the same time leave the program where it was: the second begins while it is on
// one processor, and the first ends before it.
func TestProcessorsAreRestored(t *testing.T) {
	var before unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil || before.Count() < 2 {
		t.Skipf("this program may be on %d processors, %v", before.Count(), err)
	}
	now := func() int {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		var set unix.CPUSet
		_ = unix.SchedGetaffinity(0, &set)
		return set.Count()
	}
	procs := runtime.GOMAXPROCS(2)
	defer runtime.GOMAXPROCS(procs)
	first, more := onOneProcessor(), moreProcs()
	second, evenMore := onOneProcessor(), moreProcs()
	if n := now(); n != 1 || runtime.GOMAXPROCS(0) != visitors {
		t.Errorf("got %d processors, and %d for Go", n, runtime.GOMAXPROCS(0))
	}
	first()
	more()
	if n := now(); n != 1 || runtime.GOMAXPROCS(0) != visitors {
		t.Errorf("after the first: got %d processors, and %d for Go", n, runtime.GOMAXPROCS(0))
	}
	second()
	evenMore()
	if n := now(); n != before.Count() || runtime.GOMAXPROCS(0) != 2 {
		t.Errorf("after both: got %d processors, want %d, and %d for Go", n, before.Count(), runtime.GOMAXPROCS(0))
	}
}
