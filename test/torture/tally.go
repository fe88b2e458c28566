package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// tally counts runs by how they ended.
type tally struct {
	Runs, Refused, Empty, Walked, Whole int
	Bad                                 int
	// The slowest run, and the one that allocated most.
	Time      time.Duration
	TimeRun   int
	Memory    uint64
	MemoryRun int
}

const tallyMark = "tally "

// line is the tally as a child process writes it, one line.
func (t *tally) line() string {
	b, _ := json.Marshal(t) // of numbers
	return tallyMark + string(b)
}

// parse adds a line, unless it is something else.
func (t *tally) parse(line string) bool {
	var part tally
	text, ok := strings.CutPrefix(line, tallyMark)
	if !ok || json.Unmarshal([]byte(text), &part) != nil {
		return false
	}
	t.add(&part)
	return true
}

func (t *tally) add(o *tally) {
	t.Runs += o.Runs
	t.Refused += o.Refused
	t.Empty += o.Empty
	t.Walked += o.Walked
	t.Whole += o.Whole
	t.Bad += o.Bad
	if o.Time > t.Time {
		t.Time, t.TimeRun = o.Time, o.TimeRun
	}
	if o.Memory > t.Memory {
		t.Memory, t.MemoryRun = o.Memory, o.MemoryRun
	}
}

func (t *tally) String() string {
	return fmt.Sprintf("%d finished (%d refused, %d without frames, %d with), %d stacks whole in cut cores, slowest %v (run %d), most memory %.1f MiB (run %d), %d bad",
		t.Runs, t.Refused, t.Empty, t.Walked, t.Whole, t.Time.Round(time.Millisecond), t.TimeRun, float64(t.Memory)/(1<<20), t.MemoryRun, t.Bad)
}
