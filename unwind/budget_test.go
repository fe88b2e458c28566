package unwind_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/unwind"
)

// costly is a stepper whose rows cost so many steps.
type costly int

func (costly) Method() unwind.Method { return unwind.CFI }

func (c costly) Row(cur *unwind.Cursor, row *arch.Row) (bool, error) {
	cur.Spend(int(c))
	*row = arch.Row{CFA: arch.RegOffset(arch.AMD64.SP, 16), RA: arch.AtCFA(-8), Evaluated: true}
	return true, nil
}

// deep makes an Unwinder for a stack of n frames of 16 bytes, and its registers.
func deep(n int, cost costly) (*unwind.Unwinder, *arch.Regs) {
	const text, stack = 0x401000, 0x7ff000000000
	data := make([]byte, 16*n)
	for i := range n {
		binary.LittleEndian.PutUint64(data[16*i+8:], text+2)
	}
	u := &unwind.Unwinder{
		Arch: arch.AMD64,
		Mem: memreader.NewSpace([]memreader.Segment{
			{Addr: text, Size: 16, Data: bytes.Repeat([]byte{0xff, 0xd0}, 8)}, // call *%rax
			{Addr: stack, Size: uint64(len(data)), Data: data},
		}),
		Find: func(addr uint64) unwind.Place {
			if addr-text < 16 {
				return unwind.Place{Lo: text, Hi: text + 16, Executable: true, Module: &unwind.Module{}}
			}
			return unwind.Place{}
		},
		Steppers: []unwind.Stepper{cost},
	}
	regs := &arch.Regs{}
	regs.Set(arch.AMD64.PC, text)
	regs.Set(arch.AMD64.SP, stack)
	return u, regs
}

// The work of a walk is bounded, whatever its frames cost.
func TestWorkOfWalk(t *testing.T) {
	tests := []struct {
		cost, frames int
		want         string // "" if the walk meets no bound
	}{
		{1, 2000, ""},
		{1 << 20, 200, ""},
		{1 << 20, 1000, "after 268435456 steps in unwind tables"},
	}
	for _, tt := range tests {
		u, regs := deep(tt.frames, costly(tt.cost))
		frames, stop := u.Unwind(nil, regs)
		switch {
		case tt.want == "" && stop.Reason == unwind.Limit:
			t.Errorf("%+v: got %v", tt, stop.Detail)
		case tt.want != "" && (stop.Reason != unwind.Limit || !strings.Contains(stop.Detail.Error(), tt.want)):
			t.Errorf("%+v: got %v, %v", tt, stop.Reason, stop.Detail)
		case tt.want != "" && (len(frames) < 250 || len(frames) > 260):
			t.Errorf("%+v: got %d frames", tt, len(frames))
		}
	}
}

// A budget bounds all walks that share it, those of other Unwinders too. A walk that
// it ends still has its innermost frame.
func TestBudget(t *testing.T) {
	for _, tt := range []struct {
		name   string
		budget *unwind.Budget
		want   string
	}{
		{"steps", &unwind.Budget{Steps: 20 << 20}, "all stacks together took more than 20971520 steps"},
		{"time", &unwind.Budget{Time: time.Nanosecond}, "all stacks together took more than 1ns"},
		{"neither", &unwind.Budget{}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			last := ""
			for range 4 {
				u, regs := deep(10, 1<<20)
				u.Budget = tt.budget
				frames, stop := u.Unwind(nil, regs)
				if last = ""; stop.Reason == unwind.Limit {
					last = fmt.Sprint(stop.Detail)
				}
				if len(frames) == 0 {
					t.Error("got no frame")
				}
			}
			if tt.want == "" && last != "" || !strings.Contains(last, tt.want) {
				t.Errorf("got %q, want %q", last, tt.want)
			}
		})
	}
}

// The clock is looked at by the work that was done, not by frames.
func TestMaxTimeByWork(t *testing.T) {
	u, regs := deep(100, 1<<19)
	u.MaxTime = time.Nanosecond
	frames, stop := u.Unwind(nil, regs)
	if stop.Reason != unwind.Limit || len(frames) > 3 {
		t.Errorf("got %d frames, %v", len(frames), stop)
	}
}
