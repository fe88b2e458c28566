package main

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/crash/store"
	"github.com/sfcore/sfcore/internal/elfx"
)

// foundCore is a core that somebody has kept, or a report.
type foundCore struct {
	file    string // "" for the journal
	program string // a path, or the name alone
	pid     int
	time    time.Time
	keeper  string // who kept it
	why     string // why it cannot be read, "" if it can
	// unpack writes the core to a file, if it is within another; nil if it is not.
	unpack func(ctx context.Context, out *os.File, most int64) error
}

// kernel keeps the cores that no handler takes.
const kernel = "the kernel"

// String says which crash it is.
func (f *foundCore) String() string {
	text := cmp.Or(plain(f.program), "a program")
	if f.pid != 0 {
		text += fmt.Sprintf(" (pid %d)", f.pid)
	}
	return text + ", " + f.time.Local().Format("2006-01-02 15:04:05") + ", kept by " + f.keeper + " in " + f.where()
}

func (f *foundCore) where() string { return cmp.Or(plain(f.file), "the journal") }

// crashRoot is the root of the system whose stores are looked at; another one in tests.
var crashRoot = "/"

// newest puts the newest crash in the place of what was left out on the command line: the
// core, or that of a program, which stands alone. It says on standard error what it found.
// The caller calls done when it has read the core, of up to most bytes.
func newest(ctx context.Context, stderr io.Writer, args []string, most int64) (all []string, done func(), err error) {
	done = func() {}
	program := ""
	switch {
	case len(args) > 1 || len(args) == 1 && !isProgram(args[0]):
		return args, done, nil
	case len(args) == 1:
		program = args[0]
	}
	kept, looked := keptCores(ctx, crashRoot)
	last := lastOf(kept, program)
	what := "no core was named, and no crash"
	if program != "" {
		what = fmt.Sprintf("%s is an executable and not a core, and no crash of it", program)
	}
	if last == nil {
		return nil, done, fmt.Errorf("%s was found that you may read; looked at %s", what, strings.Join(looked, ", "))
	}
	if last.why != "" {
		return nil, done, fmt.Errorf("the newest crash is of %s: %s", last, last.why)
	}
	fmt.Fprintf(stderr, "sfcore: the newest crash is of %s\n", last)
	file := last.file
	if last.unpack != nil {
		if file, err = unpacked(ctx, last, most); err != nil {
			return nil, done, fmt.Errorf("taking the core out of %s: %w", last.where(), err)
		}
		done = func() { _ = os.Remove(file) }
	}
	if program == "" || strings.HasSuffix(file, ".jsonl.zst") {
		return []string{file}, done, nil
	}
	return []string{file, program}, done, nil
}

// unpacked takes a core out of the file in which it is kept, to a temporary one.
func unpacked(ctx context.Context, f *foundCore, most int64) (name string, err error) {
	out, err := os.CreateTemp(core.SpoolDir(), "sfcore-*")
	if err != nil {
		return "", err
	}
	if err = errors.Join(f.unpack(ctx, out, most), out.Close()); err != nil {
		return "", errors.Join(err, os.Remove(out.Name()))
	}
	return out.Name(), nil
}

// lastOf returns the newest crash of a program, or of any if that is ""; nil for none.
func lastOf(all []foundCore, program string) (last *foundCore) {
	for i := range all {
		f := &all[i]
		if f.why != "" && f.program == "" && f.keeper == kernel { // what only has the name of a core
			continue
		}
		if (last == nil || f.time.After(last.time)) && (program == "" || f.of(program)) {
			last = f
		}
	}
	return last
}

// isProgram reports whether a file is a program or a library.
func isProgram(name string) bool {
	f, err := elfx.OpenRegular(name)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 18) // up to e_type
	if _, err := io.ReadFull(f, head); err != nil || string(head[:len(elfx.Magic)]) != elfx.Magic {
		return false
	}
	var order binary.ByteOrder = binary.LittleEndian
	if head[5] == 2 { // ELFDATA2MSB
		order = binary.BigEndian
	}
	typ := order.Uint16(head[16:])
	return typ == elfx.TypeExec || typ == elfx.TypeDyn
}

// shortName is how long the names are that the kernel has for programs [linux
// include/linux/sched.h: TASK_COMM_LEN].
const shortName = 15

// of reports whether the crash is of a program.
func (f *foundCore) of(program string) bool {
	if !strings.Contains(f.program, "/") {
		base := filepath.Base(program)
		return f.program != "" && (f.program == base || len(f.program) == shortName && strings.HasPrefix(base, f.program))
	}
	return f.program == program || f.program == resolved(program)
}

// resolved is the path of a file without links.
func resolved(name string) string {
	path, err := filepath.Abs(name)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return name
	}
	return path
}

// ownCrashes lists what the store of sfcore has, and where that is.
func ownCrashes() (found []foundCore, dir string) {
	dir = cmp.Or(os.Getenv(storeVariable), store.Dir)
	if _, err := os.Stat(dir); err != nil {
		return nil, dir
	}
	s, err := store.Open(dir, store.Limits{})
	if err != nil {
		return nil, dir
	}
	records, _, err := s.Records()
	if err != nil && !errors.Is(err, store.ErrLarge) {
		return nil, dir
	}
	for i := range records {
		r := &records[i]
		if file := cmp.Or(s.Report(r.ID), s.Core(r.ID)); file != "" {
			found = append(found, foundCore{file: file, program: r.Program, pid: r.PID, time: r.Time, keeper: "sfcore"})
		}
	}
	return found, dir
}
