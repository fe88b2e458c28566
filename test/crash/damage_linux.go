package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/sfcore/sfcore/core"
)

// damageWord makes this program a handler of a crash: it holds the process, and has
// readers read it by damaged copies of the head of its dump.
const damageWord = "damage"

// outcome is what came of damaged streams.
type outcome struct {
	Runs, Reports, Errors int
	Slowest               time.Duration
	Bad                   []string // crashes, hangs, and messages that say nothing
}

// maxRead is how long a reader may take.
const maxRead = 2 * time.Second

// damaged has the kernel start this program for a crash, and returns what came of it.
func (b *bench) damaged(runs int) error {
	if err := b.configure("report", 1000); err != nil {
		return err
	}
	done, err := setPattern(fmt.Sprintf("|%s/crash %s %s %d %%P", b.dir, damageWord, b.dir, runs), 8)
	if err != nil {
		return err
	}
	defer func() { _ = done() }()
	if _, err := b.crash("", "threads", "segv", "3", "20"); err != nil {
		return err
	}
	o := new(outcome)
	for end := time.Now().Add(time.Duration(runs)*maxRead + time.Minute); ; time.Sleep(100 * time.Millisecond) {
		text, err := os.ReadFile(filepath.Join(b.dir, "outcome"))
		if err == nil {
			if err := json.Unmarshal(text, o); err != nil {
				return err
			}
			break
		}
		if time.Now().After(end) {
			return errors.New("the damaged streams came to no end")
		}
	}
	fmt.Printf("\n%d damaged streams: %d reports, %d errors, %d bad; the slowest took %v.\n", o.Runs, o.Reports, o.Errors, len(o.Bad), o.Slowest.Round(time.Millisecond))
	if len(o.Bad) > 0 || o.Runs != runs {
		return fmt.Errorf("damaged streams: %q", o.Bad[:min(3, len(o.Bad))])
	}
	return nil
}

// handleDamaged is the handler: its arguments are the directory, the number of runs, and
// the process.
func handleDamaged(args []string) error {
	dir, pid := args[0], args[2]
	runs, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	var head bytes.Buffer
	if _, _, err := core.CopyDumpHead(&head, os.Stdin); err != nil {
		return err
	}
	o, rng := new(outcome), rand.New(rand.NewPCG(1, 2)) //nolint:gosec // to be repeated
	for range runs {
		o.Runs++
		if bad := o.read(dir, pid, damage(rng, head.Bytes())); bad != "" {
			o.Bad = append(o.Bad, bad)
		}
	}
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	part := filepath.Join(dir, "outcome.part")
	return errors.Join(os.WriteFile(part, text, 0o600), os.Rename(part, filepath.Join(dir, "outcome")))
}

// read has a reader read the process by a head, and returns what is wrong with it.
func (o *outcome) read(dir, pid string, head []byte) (bad string) {
	name := filepath.Join(dir, "head")
	if err := os.WriteFile(name, head, 0o600); err != nil {
		return err.Error()
	}
	f, err := os.Open(name)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = f.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), 2*maxRead)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "sfcore-crash"), "read", pid, "65534", "65534", maxRead.String())
	var said bytes.Buffer
	cmd.Env, cmd.Stdin, cmd.Stderr = []string{}, f, &said
	begun := time.Now()
	out, err := cmd.Output()
	took := time.Since(begun)
	o.Slowest = max(o.Slowest, took)
	switch text := said.String(); {
	case took > maxRead:
		return fmt.Sprintf("it took %v: %s", took, text)
	case err == nil && bytes.Count(out, []byte("\n")) >= 4:
		o.Reports++
		return ""
	case cmd.ProcessState.ExitCode() == 2 && bytes.HasPrefix(said.Bytes(), []byte("sfcore: ")) && bytes.Count(said.Bytes(), []byte("\n")) == 1:
		o.Errors++
		return ""
	default:
		return fmt.Sprintf("%v: %.300s", err, text)
	}
}

// interesting are values at which arithmetic goes wrong.
var interesting = []uint64{0, 1, 7, 8, 0x7f, 0xff, 0x1000, 1 << 31, 1<<32 - 1, 1 << 32, 1 << 47, 1 << 62, 1<<63 - 1, 1 << 63, 1<<64 - 1}

// damage returns a damaged copy of the head of a dump.
func damage(rng *rand.Rand, head []byte) []byte {
	b := bytes.Clone(head)
	for range 1 + rng.IntN(8) {
		at := rng.IntN(len(b) - 8)
		if rng.IntN(2) == 0 {
			at = rng.IntN(min(len(b)-8, 1024)) // where headers and the first notes are
		}
		switch rng.IntN(5) {
		case 0:
			b[at] ^= 1 << rng.IntN(8)
		case 1:
			binary.LittleEndian.PutUint64(b[at&^3:], interesting[rng.IntN(len(interesting))])
		case 2:
			binary.LittleEndian.PutUint32(b[at&^3:], uint32(interesting[rng.IntN(len(interesting))]))
		case 3:
			n := rng.IntN(min(len(b)-at, 256))
			copy(b[at:at+n], b[rng.IntN(len(b)-n):])
		case 4:
			if rng.IntN(8) == 0 {
				b = b[:max(at, 200)]
			}
		}
	}
	return b
}
