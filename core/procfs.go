package core

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/sfcore/sfcore/internal/elfx"
)

// This file decodes the text of /proc/PID files [linux
// Documentation/filesystems/proc.rst].

// procMapping is a line of /proc/PID/maps.
type procMapping struct {
	Mapping
	read, write, shared bool

	inode uint64 // 0 if no file is behind it
	dev   string
}

var errMapsLine = errors.New("not a line of /proc/PID/maps")

// parseMaps decodes /proc/PID/maps:
//
//	7f0000000000-7f0000001000 r-xp 00001000 08:01 1234   /usr/lib/libc.so.6
//
// The file is read in pieces, and a running process may change its mappings in
// between: a line that starts below the end of the line before is left out.
func parseMaps(text []byte) ([]procMapping, error) {
	maps := make([]procMapping, 0, bytes.Count(text, []byte("\n")))
	for number := 1; len(text) > 0; number++ {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		m, err := parseMapsLine(string(line))
		if err != nil {
			return maps, fmt.Errorf("/proc/PID/maps: line %d: %w", number, err)
		}
		if n := len(maps); n == 0 || m.Lo >= maps[n-1].Hi {
			maps = append(maps, m)
		}
		text = rest
	}
	return maps, nil
}

func parseMapsLine(line string) (procMapping, error) {
	var fields [5]string
	for i := range fields {
		fields[i], line, _ = strings.Cut(line, " ")
	}
	lo, hi, _ := strings.Cut(fields[0], "-")
	var m procMapping
	var errs [4]error
	m.Lo, errs[0] = strconv.ParseUint(lo, 16, 64)
	m.Hi, errs[1] = strconv.ParseUint(hi, 16, 64)
	m.Off, errs[2] = strconv.ParseUint(fields[2], 16, 64)
	m.inode, errs[3] = strconv.ParseUint(fields[4], 10, 64)
	if err := errors.Join(errs[:]...); err != nil || len(fields[1]) != 4 || m.Hi <= m.Lo {
		return m, errMapsLine
	}
	m.read, m.write, m.Exec = fields[1][0] == 'r', fields[1][1] == 'w', fields[1][2] == 'x'
	m.shared = fields[1][3] == 's'
	m.dev = fields[3]
	m.Path = unescapeNewline(strings.TrimLeft(line, " "))
	if m.inode != 0 {
		m.Path, m.Deleted = strings.CutSuffix(m.Path, deletedSuffix)
	}
	return m, nil
}

// flags are the permissions as a program header has them.
func (m *procMapping) flags() (flags uint32) {
	for _, p := range []struct {
		ok   bool
		flag uint32
	}{{m.read, elfx.ProgRead}, {m.write, elfx.ProgWrite}, {m.Exec, elfx.ProgExec}} {
		if p.ok {
			flags |= p.flag
		}
	}
	return flags
}

// unescapeNewline undoes the only escape in the paths of /proc/PID/maps
// [linux fs/proc/task_mmu.c: show_map_vma].
func unescapeNewline(path string) string { return strings.ReplaceAll(path, `\012`, "\n") }

// procStat has the fields of /proc/PID/stat and /proc/PID/task/TID/stat that are
// used.
type procStat struct {
	name  string
	state State
	// started is when the thread began, in clock ticks since the system did.
	started uint64
	worker  bool // one of the kernel's, of io_uring or vhost
	threads int  // how many the process has
}

// Flags of threads that are the kernel's, but belong to a process [linux
// include/linux/sched.h: PF_IO_WORKER, PF_USER_WORKER].
const workerFlags = 0x10 | 0x4000

// parseStat decodes /proc/PID/stat. The name is in parentheses and may hold
// any byte, parentheses too.
func parseStat(text []byte) (procStat, error) {
	var s procStat
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return s, errors.New("/proc/PID/stat: no name")
	}
	s.name = string(text[open+1 : end])
	fields := strings.Fields(string(text[end+1:])) // the first is field 3
	const starttime = 22 - 3
	if len(fields) <= starttime {
		return s, fmt.Errorf("/proc/PID/stat: %d fields", len(fields)+2)
	}
	s.state = parseState(fields[0])
	const flags = 9 - 3
	set, _ := strconv.ParseUint(fields[flags], 10, 64)
	s.worker = set&workerFlags != 0
	const threads = 20 - 3
	s.threads, _ = strconv.Atoi(fields[threads])
	var err error
	if s.started, err = strconv.ParseUint(fields[starttime], 10, 64); err != nil {
		return s, fmt.Errorf("/proc/PID/stat: starttime: %w", err)
	}
	return s, nil
}

// parseState decodes the letter of a state [proc.rst, table 1-2].
func parseState(letter string) State {
	switch letter {
	case "R":
		return Running
	case "S", "I":
		return Sleeping
	case "D":
		return Uninterruptible
	case "T":
		return Stopped
	case "t":
		return Traced
	case "Z":
		return Zombie
	case "X", "x":
		return Ended
	}
	return ""
}

// procStatus is /proc/PID/status: values by name.
type procStatus map[string]string

func parseStatus(text []byte) procStatus {
	s := procStatus{}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok {
			s[name] = strings.TrimSpace(value)
		}
	}
	return s
}

// number returns the number in a column of a value, counted from 0; 0 if there
// is none.
func (s procStatus) number(name string, column int) int {
	fields := strings.Fields(s[name])
	if column >= len(fields) {
		return 0
	}
	n, _ := strconv.Atoi(fields[column])
	return n
}

// innermost returns the id in the process's own pid namespace; 0 if the kernel
// does not say.
func (s procStatus) innermost() int {
	return s.number("NSpid", max(0, len(strings.Fields(s["NSpid"]))-1))
}

// capability reports whether the effective capabilities hold number n.
func (s procStatus) capability(n int) bool {
	set, err := strconv.ParseUint(s["CapEff"], 16, 64)
	return err == nil && set>>n&1 != 0
}

// procSyscall is what a thread that sleeps tells of itself.
type procSyscall struct {
	number int // of the system call; -1 if it is in none
	args   [6]uint64
	sp, pc uint64
}

// parseSyscall decodes /proc/PID/task/TID/syscall: the number of the system call,
// -1 outside of one, then its six arguments if it is in one, SP and pc. A thread
// that runs has the word "running" [proc(5)].
func parseSyscall(text []byte) (call procSyscall, ok bool) {
	fields := strings.Fields(string(text))
	if len(fields) != 3 && len(fields) != 9 {
		return call, false
	}
	number, err := strconv.Atoi(fields[0])
	call.number = number
	words := append([]*uint64{}, &call.sp, &call.pc)
	if len(fields) == 9 {
		words = append([]*uint64{&call.args[0], &call.args[1], &call.args[2], &call.args[3], &call.args[4], &call.args[5]}, words...)
	}
	for i, word := range words {
		if err == nil {
			*word, err = strconv.ParseUint(fields[i+1], 0, 64)
		}
	}
	return call, err == nil
}
