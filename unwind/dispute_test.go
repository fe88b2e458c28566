package unwind

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/cfi"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/sframe"
)

const callRAX = "\xff\xd0"

// disputed returns a process of amd64 with a function of 32 bytes at codeAt that both
// tables describe. CFI has a CFA of SP+cfa and the usual return address. If it says
// where FP is, that is at CFA-fp.
func disputed(t *testing.T, version sframe.Version, row arch.Row, cfa, fp uint8) *process {
	t.Helper()
	p := newProcess(arch.AMD64)
	b := sframe.Builder{Version: version, ABI: sframe.AMD64LE, FixedRA: -8}
	b.Funcs = []sframe.FuncRows{{Start: codeAt, Size: 32, Rows: []sframe.RowAt{{At: 0, Row: row}}}}
	data, err := b.Append(nil, dataAt)
	if err != nil {
		t.Fatal(err)
	}
	s, err := sframe.Parse(data, dataAt, sframe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	program := []byte{0x0c, 7, cfa, 0x80 | 16, 1} // def_cfa rsp+cfa; offset ra, c-8
	if fp != 0 {
		program = append(program, 0x80|6, fp/8) // offset rbp
	}
	e := testkit.New(binary.LittleEndian)
	e.Diff(4, "CIE end", "CIE", 0).Mark("CIE").D32(0).D8(1, 0, 1, 0x78, 16).Raw(program).Align(4).Mark("CIE end")
	e.Diff(4, "FDE end", "FDE", 0).Mark("FDE").Diff(4, "FDE", "", 0).D64(codeAt, 32).Align(4).Mark("FDE end").D32(0)
	c, err := cfi.ParseEHFrame(p.arch, e.Done(), dataAt+0x800, nil, 0, cfi.Bases{})
	if err != nil {
		t.Fatal(err)
	}
	p.module = &Module{Lo: codeAt, Hi: codeAt + areaSize, SFrame: s, CFI: []*cfi.Section{c}}
	p.steps = []Stepper{NewSFrame(), NewCFI(), p.rows}
	return p
}

// Where .sframe and call frame information contradict each other, the better one is
// taken, and a frame that neither proves is not fully trusted.
func TestDispute(t *testing.T) {
	a := arch.AMD64
	rule := func(cfa int64, fp arch.Rule) arch.Row {
		return arch.Row{CFA: arch.RegOffset(a.SP, cfa), RA: arch.AtCFA(-8), FP: fp}
	}
	same := arch.SameValue(a.FP)
	const right, other = codeAt + 0x105, codeAt + 0x205
	tests := []struct {
		name    string
		row     arch.Row
		cfa, fp uint8
		stack   []uint64
		pc      uint64
		method  Method
		trust   Trust
		rbp     uint64
		skipped string
	}{
		{"they agree", rule(16, same), 16, 0, []uint64{1, right}, right, SFrame, Full, 0x77, ""},
		{"other rules, but the same values", rule(16, arch.AtCFA(-16)), 16, 0, []uint64{0x77, right}, right, SFrame, Full, 0x77, ""},
		{"a known habit", rule(16, arch.AtCFA(-16)), 16, 0, []uint64{1, right}, right, CFI, Full, 0x77, "fp-restore-ignored"},
		{"no known habit", rule(16, same), 16, 16, []uint64{1, right}, right, CFI, Checked, 1, "but call frame information says"},
		{"only the row of CFI leads to a call", rule(8, same), 16, 0, []uint64{dataAt, right}, right, CFI, Full, 0x77, "cfa=rsp+8"},
		{"only the row of SFrame leads to a call", rule(8, same), 16, 0, []uint64{right, dataAt}, right, SFrame, Checked, 0x77, "cfa=rsp+8"},
		{"both lead to calls", rule(8, same), 16, 0, []uint64{right, other}, other, CFI, Checked, 0x77, "cfa=rsp+8"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, exact := range []bool{true, false} {
				p := disputed(t, sframe.V2, tt.row, tt.cfa, tt.fp)
				p.code(right-2, callRAX)
				p.code(other-2, callRAX)
				p.rows[right-1], p.rows[other-1] = arch.Row{}, arch.Row{}
				p.poke(stackAt, tt.stack...)
				pc, sp := uint64(codeAt+0x10), uint64(stackAt)
				if !exact { // the frame in dispute has called another one
					p.rows[codeAt+0x400] = rule(8, same)
					p.code(codeAt+0x10-5, "\xe8\xeb\x03\x00\x00")
					p.mem.Segs[stackAt-areaSize] = make([]byte, areaSize)
					p.poke(stackAt-8, codeAt+0x10)
					pc, sp = codeAt+0x400, stackAt-8
				}
				u := p.unwinder()
				for range 2 { // the second time, what can be remembered is
					frames, stop := u.Unwind(nil, p.regs(map[arch.Reg]uint64{a.PC: pc, a.SP: sp, a.FP: 0x77}))
					if !exact && len(frames) > 0 {
						frames = frames[1:]
					}
					if len(frames) != 2 || stop.Reason != Outermost {
						t.Fatalf("got %d frames, %v", len(frames), stop)
					}
					f := &frames[1]
					if fp, _ := f.Regs.Get(a.FP); f.PC != tt.pc || f.Method != tt.method || f.Trust != tt.trust || fp != tt.rbp {
						t.Errorf("got %#x by %v, %v (%v), rbp %#x", f.PC, f.Method, f.Trust, f.Evidence, fp)
					}
					if skipped := frames[0].Skipped; (skipped == nil) != (tt.skipped == "") || skipped != nil && !strings.Contains(skipped.Error(), tt.skipped) {
						t.Errorf("got skipped %v, want %q", skipped, tt.skipped)
					}
				}
			}
		})
	}
}

// Versions before V3 cannot mark the outermost frame. Call frame information can.
func TestDisputeOutermost(t *testing.T) {
	a := arch.AMD64
	p := disputed(t, sframe.V2, arch.Row{CFA: arch.RegOffset(a.SP, 8), RA: arch.AtCFA(-8), FP: arch.SameValue(a.FP)}, 8, 0)
	e := testkit.New(binary.LittleEndian)
	e.Diff(4, "CIE end", "CIE", 0).Mark("CIE").D32(0).D8(1, 0, 1, 0x78, 16, 0x0c, 7, 8, 7, 16).Align(4).Mark("CIE end") // undefined ra
	e.Diff(4, "FDE end", "FDE", 0).Mark("FDE").Diff(4, "FDE", "", 0).D64(codeAt, 32).Align(4).Mark("FDE end").D32(0)
	c, err := cfi.ParseEHFrame(a, e.Done(), dataAt+0x800, nil, 0, cfi.Bases{})
	if err != nil {
		t.Fatal(err)
	}
	p.module.CFI = []*cfi.Section{c}
	p.poke(stackAt, p.code(codeAt+0x100, callRAX)) // as argc might look
	frames, stop := p.unwinder().Unwind(nil, p.regs(map[arch.Reg]uint64{a.PC: codeAt + 0x10, a.SP: stackAt}))
	if len(frames) != 1 || !stop.Complete() {
		t.Errorf("got %d frames, %v", len(frames), stop)
	}
}

// If the table that was believed leads to a frame without a caller, the other one is
// tried. If that is no better, the first result stays.
func TestDisputeReopened(t *testing.T) {
	a := arch.AMD64
	errNothing := errors.New("nothing describes")
	for _, better := range []bool{true, false} {
		p := disputed(t, sframe.V2, arch.Row{CFA: arch.RegOffset(a.SP, 8), RA: arch.AtCFA(-8), FP: arch.SameValue(a.FP)}, 16, 0)
		bySFrame, byCFI := p.code(codeAt+0x100, callRAX), p.code(codeAt+0x200, callRAX)
		if better {
			p.rows[bySFrame-1] = arch.Row{}
		}
		p.poke(stackAt, bySFrame, byCFI)
		want, method := byCFI, CFI
		if better {
			want, method = bySFrame, SFrame
		}
		frames, stop := p.unwinder().Unwind(nil, p.regs(map[arch.Reg]uint64{a.PC: codeAt + 0x10, a.SP: stackAt}))
		if len(frames) != 2 || frames[1].PC != want || frames[1].Method != method || frames[1].Trust != Checked || stop.Complete() != better {
			t.Errorf("%v: got %d frames, %v: %+v", better, len(frames), stop, frames[1])
		}
		if !better && !strings.Contains(stop.String(), errNothing.Error()) {
			t.Errorf("got %v", stop)
		}
	}
}
