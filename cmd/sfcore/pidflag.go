package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// pidFlag is the id of a process, which may be given by its name.
type pidFlag int

// maxNamesakes bounds the ids that are told of processes with the same name.
const maxNamesakes = 10

// Set implements pflag.Value.
func (p *pidFlag) Set(text string) error {
	pid, err := strconv.Atoi(text)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		pid, err = pidOf("/proc", text)
	}
	if err == nil {
		*p = pidFlag(pid)
	}
	return err
}

// String implements pflag.Value.
func (p *pidFlag) String() string {
	if *p == 0 {
		return ""
	}
	return strconv.Itoa(int(*p))
}

// Type implements pflag.Value.
func (*pidFlag) Type() string { return "PID" }

// pidOf returns the id of the one process with a name, which may be cut off after 15
// bytes, as the kernel has it.
func pidOf(proc, name string) (int, error) {
	entries, err := os.ReadDir(proc)
	if err != nil {
		return 0, err
	}
	var pids []string
	for _, e := range entries {
		if e.Name() == strconv.Itoa(os.Getpid()) || strings.Trim(e.Name(), "0123456789") != "" {
			continue
		}
		comm, err := os.ReadFile(filepath.Join(proc, e.Name(), "comm"))
		if err == nil && strings.TrimSuffix(string(comm), "\n") == name[:min(len(name), shortName)] {
			pids = append(pids, e.Name())
		}
	}
	switch n := len(pids); {
	case n == 0:
		return 0, errors.New("no process is called so")
	case n > maxNamesakes:
		return 0, fmt.Errorf("%d processes are called so: %s and others", n, strings.Join(pids[:maxNamesakes], ", "))
	case n > 1:
		return 0, fmt.Errorf("%d processes are called so: %s", n, strings.Join(pids, ", "))
	}
	return strconv.Atoi(pids[0])
}
