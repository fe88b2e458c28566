package main

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// A stack is what another debugger says of a thread, the innermost frame first,
// without frames that have no stack frame of their own.
type stack struct {
	frames []frame
	// outermost is set if the debugger says that the last frame has no caller,
	// rather than that it found none.
	outermost bool
}

type frame struct {
	pc   uint64
	name string
}

// pc returns the pc of a frame, or 0 behind the last one.
func (s stack) pc(i int) uint64 {
	if i < len(s.frames) {
		return s.frames[i].pc
	}
	return 0
}

// at describes a frame.
func (s stack) at(i int) string {
	if i < len(s.frames) {
		return strings.TrimSpace(fmt.Sprintf("%#x %s", s.frames[i].pc, s.frames[i].name))
	}
	return "the end"
}

// readGDB reads what frames.py prints: stacks by thread id. Inlined frames and
// tail calls are left out, and a caller at address 0, which gdb shows for a
// return address that was never written.
func readGDB(r io.Reader) (map[int]stack, error) {
	stacks := map[int]stack{}
	tid, at := 0, stack{}
	err := lines(r, func(line string) error {
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case word == "thread":
			at = stack{}
			_, err := fmt.Sscan(rest, &tid)
			return err
		case tid == 0: // gdb's own messages come before
			return nil
		case word == "end":
			for n := len(at.frames); n > 1 && at.frames[n-1].pc == 0; n-- {
				at.frames = at.frames[:n-1]
			}
			at.outermost = rest == "outermost"
			stacks[tid] = at
			return nil
		case !strings.HasPrefix(word, "0x"):
			return nil
		}
		pc, err := strconv.ParseUint(word, 0, 64)
		if kind, name, _ := strings.Cut(rest, " "); kind != "inlined" && kind != "tailcall" {
			at.frames = append(at.frames, frame{pc, name})
		}
		return err
	})
	return stacks, err
}

// readEU reads the output of eu-stack: stacks by thread id.
func readEU(r io.Reader) (map[int]stack, error) {
	stacks := map[int]stack{}
	tid := 0
	err := lines(r, func(line string) error {
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case word == "TID":
			_, err := fmt.Sscanf(rest, "%d:", &tid)
			stacks[tid] = stack{}
			return err
		case tid == 0 || !strings.HasPrefix(word, "#"):
			return nil
		}
		word, name, _ := strings.Cut(strings.TrimSpace(rest), " ")
		pc, err := strconv.ParseUint(word, 0, 64)
		if err == nil && pc != 0 {
			s := stacks[tid]
			s.frames = append(s.frames, frame{pc, name})
			stacks[tid] = s
		}
		return err
	})
	return stacks, err
}

func lines(r io.Reader, each func(string) error) error {
	in := bufio.NewScanner(r)
	in.Buffer(nil, 1<<20)
	for n := 1; in.Scan(); n++ {
		if err := each(in.Text()); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	return in.Err()
}
