package main

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
)

func TestReadGDB(t *testing.T) {
	const text = `warning: Can't open file anon_inode:[io_uring] during file-backed mapping note processing
[New LWP 21]
#0  0x00007f01 in poll () from /lib/libc.so.6
thread 21
0x7f01 normal poll
0x401136 inlined wait
0x401136 normal loop(int, char*)
0x401200 tailcall jump
0x401250 signal <signal handler called>
0x401300 normal ??
0x0 normal ??
end no reason
thread 22
0x7f02 normal ??
end outermost
thread 23
0x0 normal ??
0x401400 normal main
end Cannot access memory at address 0x8
thread 24
0x0 normal ??
end no reason
`
	want := map[int]stack{
		21: {frames: []frame{{0x7f01, "poll"}, {0x401136, "loop(int, char*)"}, {0x401250, "<signal handler called>"}, {0x401300, "??"}}},
		22: {frames: []frame{{0x7f02, "??"}}, outermost: true},
		23: {frames: []frame{{0, "??"}, {0x401400, "main"}}}, // a call to address 0
		24: {frames: []frame{{0, "??"}}},
	}
	got, err := readGDB(strings.NewReader(text))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	for _, text := range []string{"thread x\n", "thread 1\n0xg normal main\n"} {
		if got, err := readGDB(strings.NewReader(text)); err == nil {
			t.Errorf("%q: got %+v, want an error", text, got)
		}
	}
}

func TestReadEU(t *testing.T) {
	const text = `PID 19 - core
TID 19:
#0  0x00007efffe5e3960 v8::internal::Build(int)
#1  0x00007eff9e29a476
TID 31:
#0  0x00007f0000000001 poll
#1  0x0000000000000000
`
	want := map[int]stack{
		19: {frames: []frame{{0x7efffe5e3960, "v8::internal::Build(int)"}, {0x7eff9e29a476, ""}}},
		31: {frames: []frame{{0x7f0000000001, "poll"}}},
	}
	got, err := readEU(strings.NewReader(text))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	for _, text := range []string{"TID x:\n", "TID 1:\n#0  main\n"} {
		if got, err := readEU(strings.NewReader(text)); err == nil {
			t.Errorf("%q: got %+v, want an error", text, got)
		}
	}
}

func TestCompare(t *testing.T) {
	mine := []report.Frame{
		{PC: 1, Trust: unwind.Full}, {PC: 2, Trust: unwind.Full}, {PC: 3, Trust: unwind.Checked}, {PC: 4, Trust: unwind.Guess},
	}
	tests := []struct {
		name   string
		frames int
		stop   unwind.Reason
		other  []uint64
		ends   bool // the other debugger says that its last frame is outermost
		want   verdict
	}{
		{"the same", 4, unwind.Outermost, []uint64{1, 2, 3, 4}, true, verdict{equal: 4}},
		{"another frame", 4, unwind.Outermost, []uint64{1, 9, 3, 4}, false, verdict{1, true, unwind.Full}},
		{"another frame than a checked one", 4, unwind.Outermost, []uint64{1, 2, 9}, false, verdict{2, true, unwind.Checked}},
		{"another frame than a guess", 4, unwind.Outermost, []uint64{1, 2, 3, 9}, false, verdict{3, true, unwind.Guess}},
		{"a frame less, which it calls outermost", 2, unwind.Outermost, []uint64{1}, true, verdict{1, true, unwind.Full}},
		{"a frame less, as it gave up", 2, unwind.Outermost, []uint64{1}, false, verdict{equal: 1}},
		{"more frames than an end", 2, unwind.Outermost, []uint64{1, 2, 3}, false, verdict{2, true, unwind.Full}},
		{"more frames than a stack that could not be followed", 2, unwind.BadCFA, []uint64{1, 2, 3}, false, verdict{equal: 2}},
		{"nothing", 0, unwind.Outermost, []uint64{1}, true, verdict{}},
	}
	for _, tt := range tests {
		other := stack{outermost: tt.ends}
		for _, pc := range tt.other {
			other.frames = append(other.frames, frame{pc: pc})
		}
		if got := compare(mine[:tt.frames], tt.stop, other); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// A thread that differs is listed unless the third debugger has what sfcore has.
func TestOpinion(t *testing.T) {
	mine := []report.Frame{{PC: 1, Trust: unwind.Full}, {PC: 2, Trust: unwind.Checked, Function: "f"}}
	stackOf := func(pcs ...uint64) stack {
		var s stack
		for _, pc := range pcs {
			s.frames = append(s.frames, frame{pc: pc})
		}
		return s
	}
	tests := []struct {
		name         string
		other, third stack
		against      trusts
		backed       trusts
		cases        int
	}{
		{"nobody differs", stackOf(1, 2), stackOf(1, 2), trusts{}, trusts{}, 0},
		{"the third agrees", stackOf(1, 9), stackOf(1, 2), trusts{unwind.Checked: 1}, trusts{unwind.Checked: 1}, 0},
		{"the third has another frame", stackOf(1, 9), stackOf(1, 8), trusts{unwind.Checked: 1}, trusts{}, 1},
		{"the third agrees on the end", stackOf(1, 2, 9), stackOf(1, 2), trusts{unwind.Checked: 1}, trusts{unwind.Checked: 1}, 0},
		{"the third ended before", stackOf(1, 2, 9), stackOf(1), trusts{unwind.Checked: 1}, trusts{}, 1},
		{"the third has nothing", stackOf(9), stack{}, trusts{unwind.Full: 1}, trusts{}, 1},
		{"no other stack", stack{}, stackOf(1, 2), trusts{}, trusts{}, 0},
	}
	for _, tt := range tests {
		var o opinion
		o.add("here", mine, unwind.Outermost, tt.other, tt.third)
		if o.against != tt.against || o.backed != tt.backed || len(o.cases) != tt.cases {
			t.Errorf("%s: got %v, %v, %q; want %v, %v and %d cases", tt.name, o.against, o.backed, o.cases, tt.against, tt.backed, tt.cases)
		}
	}
}

// A directory as the script leaves it gives the figures that can be counted by
// hand: gdb contradicts a frame of full trust in the second thread.
func TestTables(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sid", "made")
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("versions", "gdb 18.1\nlibc6 2.43\n")
	write("0/kind", "SEGV\n")
	write("0/sfcore.json", `{"threads": [
		{"tid": 7, "stop": {"reason": "outermost"}, "frames": [
			{"pc": "0x10", "method": "registers", "trust": "full"},
			{"pc": "0x20", "method": "cfi", "trust": "full", "inlined": true},
			{"pc": "0x20", "method": "cfi", "trust": "full"},
			{"pc": "0x28", "method": "tail-call", "trust": "checked"},
			{"pc": "0x30", "method": "code", "trust": "checked", "doubt": "why", "evidence": "follows a call"},
			{"pc": "0x40", "method": "cfi", "trust": "checked"}]},
		{"tid": 8, "stop": {"reason": "bad-cfa"}, "frames": [
			{"pc": "0x11", "method": "registers", "trust": "full"},
			{"pc": "0x21", "method": "sframe", "trust": "full", "function": "f"}]}],
		"modules": [{"path": "/bin/made", "base": "0x10", "end": "0x28", "match": "build-id"}]}`)
	write("0/gdb.txt", "thread 7\n0x10 normal a\n0x20 normal b\n0x30 normal c\n0x40 normal d\nend outermost\nthread 8\n0x11 normal e\n0x99 normal g\nend outermost\n")
	write("0/eu.txt", "TID 7:\n#0  0x10 a\n#1  0x20 - 1 b\n#2  0x30 - 1 c\n")
	made, err := read(dir)
	if err != nil {
		t.Fatal(err)
	}
	var tables, doubts bytes.Buffer
	printTables(&tables, []*tally{made})
	printDoubts(&doubts, []*tally{made})
	for _, want := range []string{
		"| sid/made | 1 (1) | 2 | 1 | 6 | 4 / 2 / 0 | 66.6 % | registers 2, cfi 2, sframe 1, code 1 |",
		"| sid/made | 2 | 6 | 3 / 2 / 0 | 100.0 % | 1 / 0 / 0 | 0 / 0 / 0 |",
		"- sid/made/0 thread 8, frame 1: sfcore has 0x21 f (full), not 0x99 g\n",
		"| sid/made | 1 | 4 | 2 / 1 / 0 | 100.0 % | 0 / 0 / 0 | 0 / 0 / 0 |",
		"| sid | gdb 18.1, libc6 2.43 |",
	} {
		if !strings.Contains(tables.String(), want) {
			t.Errorf("no %q in\n%s", want, tables.String())
		}
	}
	if want := "| 1 (1) | 1 (0) | checked: code, from made, no name to no module: why; follows a call |"; !strings.Contains(doubts.String(), want) {
		t.Errorf("no %q in\n%s", want, doubts.String())
	}
}

func TestGeneral(t *testing.T) {
	const text, want = "code: the call before 0x7f2c0873e404 does not lead here; CFA 0x10: bad", "code: the call before 0x… does not lead here; CFA 0x…: bad"
	if got := general(text); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
