package foreign

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// A problem directory of abrt has a file for each element [libreport
// src/include/problem_data.h, abrt src/hooks/abrt-hook-ccpp.c].

// abrtDirs are where abrt keeps its directories; the second is of older versions.
var abrtDirs = []string{"/var/spool/abrt", "/var/tmp/abrt"}

// abrtCores are the names of cores.
var abrtCores = []string{"coredump", "coredump.zst", "coredump.lz4", "coredump.xz", "coredump.gz"}

// abrtTexts are the elements that are read.
var abrtTexts = []string{"analyzer", "type", "executable", "pid", "global_pid", "uid", "time", "reason", "cgroup"}

// errOtherProblem is for problems that are no crashes of programs.
var errOtherProblem = errors.New("not a crash of a program (analyzer, type)")

// killedBy finds the signal in the element "reason".
var killedBy = expression(`(?i)signal (\d{1,2})|(SIG[A-Z0-9]{2,9})`)

// parseAbrt takes over what the elements say.
func parseAbrt(elements map[string]string, c *Crash) error {
	get := func(name string) string { return strings.TrimSpace(elements[name]) }
	if get("analyzer") != "CCpp" && get("type") != "CCpp" && get("analyzer") != "abrt-ccpp" {
		return errOtherProblem
	}
	c.Program, c.Cgroup = get("executable"), elements["cgroup"]
	setID(&c.PID, get("pid"))
	setID(&c.PID, get("global_pid")) // outside of its namespaces
	setID(&c.UID, get("uid"))
	if n, err := strconv.ParseInt(get("time"), 10, 64); err == nil && n > 0 && n < 1<<40 {
		c.Time = time.Unix(n, 0)
	}
	if m := killedBy().FindStringSubmatch(get("reason")); m == nil {
	} else if m[1] != "" {
		setSignal(c, m[1])
	} else {
		c.Signal = strings.ToUpper(m[2])
	}
	return nil
}
