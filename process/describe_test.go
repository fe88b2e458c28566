package process

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/sfcore/sfcore/arch"
	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/module"
	"github.com/sfcore/sfcore/internal/symbol"
	"github.com/sfcore/sfcore/internal/testkit"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
)

// newProcess makes a process of an image without memory.
func newProcess(t *testing.T, img *core.Image) *Process {
	t.Helper()
	if img.Arch == nil {
		img.Arch = arch.AMD64
	}
	if img.Mem == nil {
		img.Mem = memreader.NewSpace(nil)
	}
	p := New(img, Options{Sysroot: t.TempDir()})
	t.Cleanup(func() { p.Close() })
	return p
}

// TestHead has what is said of where an image comes from.
func TestHead(t *testing.T) {
	at := time.Date(2024, 2, 3, 4, 5, 6, 7, time.UTC)
	for name, tt := range map[string]struct {
		img  core.Image
		want string
	}{
		"a core": {
			core.Image{Path: "/tmp/core", PID: 7, Name: "x", Command: "x -v", Executable: "/bin/x"},
			`"source":{"kind":"core","path":"/tmp/core"},"process":{"pid":7,"arch":"amd64","byteOrder":"little","command":"x -v","executable":"/bin/x"}`,
		},
		"a name, big-endian": {
			core.Image{Arch: arch.S390X, Name: "x"}, `"source":{"kind":"core"},"process":{"arch":"s390x","byteOrder":"big","command":"x"}`,
		},
		"a debugger": {
			core.Image{Holder: "dlv at 127.0.0.1:4040", PID: 7, Path: "no"},
			`"source":{"kind":"host","path":"dlv at 127.0.0.1:4040","pid":7},"process":{"pid":7,"arch":"amd64","byteOrder":"little"}`,
		},
		"a live process": {
			core.Image{PID: 7, Live: &core.Snapshot{NSPID: 1, Time: at, StoppedFor: 5, Copied: 6, Ended: 2, Phases: []core.Phase{{Name: "copy", Took: 3, Held: true}}}},
			`"source":{"kind":"live","pid":7,"nsPid":1,"time":"2024-02-03T04:05:06.000000007Z","stoppedFor":5,"phases":[{"name":"copy","took":3,"stopped":true}],"copied":6,"ended":2},` +
				`"process":{"pid":7,"arch":"amd64","byteOrder":"little"}`,
		},
		"a truncated core": {
			core.Image{Path: "c", Truncated: &core.Truncation{Missing: 9, Mappings: []int{1}}, Mappings: []core.Mapping{{Lo: 1, Hi: 2}, {Lo: 0x1000, Hi: 0x2000, Path: "/a"}}},
			`"source":{"kind":"core","path":"c","missing":9,"truncated":{"mappings":[{"start":"0x1000","end":"0x2000","path":"/a"}],"mappingCount":1,"threads":[]}},"process":{"arch":"amd64","byteOrder":"little"}`,
		},
	} {
		p := newProcess(t, &tt.img)
		text, err := json.Marshal(p.Head())
		if err != nil {
			t.Fatal(err)
		}
		want := `{"schema":"sfcore.report/1",` + tt.want + `,"threads":null,"modules":null,"problems":null}`
		if got := string(text); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, want)
		}
	}
}

// TestSignalFields has the fields of a signal that are known.
func TestSignalFields(t *testing.T) {
	for want, s := range map[string]*core.Signal{
		"null": nil,
		`{"number":15,"name":"SIGTERM","code":0,"codeName":"SI_USER","senderPid":5,"senderUid":0,"thread":3,"fault":"sent","meaning":"sent by process 5 of user 0"}`: {
			Number: 15, Name: "SIGTERM", CodeName: "SI_USER", Thread: 3, HasSender: true, SenderPID: 5,
		},
		`{"number":19,"name":"SIGSTOP","code":0}`: {Number: 19, Name: "SIGSTOP"},
	} {
		p := newProcess(t, &core.Image{PID: 7, Signal: s})
		text, err := json.Marshal(p.Signal())
		if err != nil || string(text) != want {
			t.Errorf("got  %s, %v\nwant %s", text, err, want)
		}
	}
}

// TestThreadsInOrder has the crashed thread first, and the problems of an image.
func TestThreadsInOrder(t *testing.T) {
	p := newProcess(t, &core.Image{Threads: []core.Thread{{ID: 1}, {ID: 2}, {ID: 3, Crashed: true}, {ID: 4}}, Problems: []error{errors.New("bad")}})
	var got []int
	for _, th := range p.Threads() {
		got = append(got, th.ID)
	}
	if len(got) != 4 || got[0] != 3 || got[1] != 1 || got[2] != 2 || got[3] != 4 {
		t.Errorf("got %v", got)
	}
	if list := p.Problems(); len(list) != 1 || list[0] != "bad" {
		t.Errorf("got problems %q", list)
	}
	if list := newProcess(t, &core.Image{}).Problems(); list == nil || len(list) != 0 {
		t.Errorf("got problems %#v, want an empty list", list)
	}
	if s, err := p.Stack(9); s != nil || !errors.Is(err, ErrNoThread) || err.Error() != "thread 9: no such thread" {
		t.Errorf("got %v, %v", s, err)
	}
	if s, err := p.Stack(2); err != nil || s.Thread.ID != 2 {
		t.Errorf("got %v, %v", s, err)
	}
}

// TestComplete of a stack: its end, and how its last frame was found.
func TestStackComplete(t *testing.T) {
	for name, tt := range map[string]struct {
		s    Stack
		want bool
	}{
		"outermost":     {Stack{Thread: &core.Thread{}, Frames: []unwind.Frame{{Trust: unwind.Full}}, Stop: unwind.Stop{Reason: unwind.Outermost}}, true},
		"a guess":       {Stack{Thread: &core.Thread{}, Frames: []unwind.Frame{{}, {Trust: unwind.Guess}}, Stop: unwind.Stop{Reason: unwind.Outermost}}, false},
		"guess before":  {Stack{Thread: &core.Thread{}, Frames: []unwind.Frame{{Trust: unwind.Guess}, {Trust: unwind.Full}}, Stop: unwind.Stop{Reason: unwind.Outermost}}, true},
		"fails":         {Stack{Thread: &core.Thread{}, Frames: make([]unwind.Frame, 1), Stop: unwind.Stop{Reason: unwind.NoUnwindInfo}}, false},
		"ended":         {Stack{Thread: &core.Thread{State: core.Zombie}, Stop: unwind.Stop{Reason: unwind.NoUnwindInfo}}, true},
		"of the kernel": {Stack{Thread: &core.Thread{State: core.KernelWorker}, Stop: unwind.Stop{Reason: unwind.NoUnwindInfo}}, true},
	} {
		if got := tt.s.Complete(); got != tt.want {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
}

// TestStopDetail has why a stack ended, beginning with a file that is missing.
func TestStopDetail(t *testing.T) {
	missing := []core.Mapping{{Lo: 0x1000, Hi: 0x2000, Path: "/lib/x", Exec: true}}
	detail := errors.New("why")
	for name, tt := range map[string]struct {
		mappings []core.Mapping
		s        Stack
		want     string
	}{
		"nothing":           {nil, Stack{}, ""},
		"a detail":          {nil, Stack{Stop: unwind.Stop{Reason: unwind.NoUnwindInfo, Detail: detail}}, "why"},
		"in no module":      {nil, Stack{Frames: []unwind.Frame{{PC: 0x1008}}, Stop: unwind.Stop{Reason: unwind.NoUnwindInfo, Detail: detail}}, "why"},
		"a missing file":    {missing, Stack{Frames: []unwind.Frame{{PC: 0x1008, Exact: true}}, Stop: unwind.Stop{Reason: unwind.NoUnwindInfo, Detail: detail}}, "the file of /lib/x (build-id missing) was not found; why"},
		"of the last frame": {missing, Stack{Frames: []unwind.Frame{{PC: 0x1008, Exact: true}, {PC: 0x5000}}, Stop: unwind.Stop{Reason: unwind.NoUnwindInfo, Detail: detail}}, "why"},
		"complete":          {missing, Stack{Frames: []unwind.Frame{{PC: 0x1008, Exact: true}}, Stop: unwind.Stop{Reason: unwind.Outermost}}, ""},
	} {
		if got := newProcess(t, &core.Image{Mappings: tt.mappings}).stopDetail(&tt.s); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
	foreign := newProcess(t, &core.Image{Mappings: missing, Mem: memreader.NewSpace([]memreader.Segment{{Addr: 0x1000, Size: 16, Data: []byte("no ELF image here")[:16]}})})
	if got := foreign.stopDetail(&Stack{Frames: []unwind.Frame{{PC: 0x1008, Exact: true}}, Stop: unwind.Stop{Reason: unwind.NoUnwindInfo, Detail: detail}}); got != "why" {
		t.Errorf("in a file that is no image: got %q", got)
	}
	other := testkit.ELF{Order: binary.BigEndian, Type: 3, Machine: arch.EMS390}
	mismatch := newProcess(t, &core.Image{Mappings: missing})
	if err := os.MkdirAll(filepath.Join(mismatch.opts.Sysroot, "lib"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(mismatch.opts.Sysroot, "lib/x"), other.File(), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := mismatch.stopDetail(&Stack{Frames: []unwind.Frame{{PC: 0x1008, Exact: true}}, Stop: unwind.Stop{Reason: unwind.NoUnwindInfo, Detail: detail}}); got != "the file of /lib/x (build-id missing) was not found; why" {
		t.Errorf("in another file of its name: got %q", got)
	}
	if orNone("") != "missing" || orNone("ab") != "ab" {
		t.Error("got another word for a build-id")
	}
}

// A report of no threads has a list of them that is empty.
func TestReportNothing(t *testing.T) {
	r, err := newProcess(t, &core.Image{}).Report(t.Context(), nil)
	if err != nil || r.Threads == nil || r.Modules == nil || r.Problems == nil || len(r.Threads)+len(r.Modules)+len(r.Problems) != 0 {
		t.Errorf("got %+v, %v", r, err)
	}
}

// Modules come in the order of their addresses, as long as they are asked for.
func TestModulesYielded(t *testing.T) {
	p := newProcess(t, &core.Image{Mappings: []core.Mapping{{Lo: 0x5000, Hi: 0x6000, Path: "/b", Exec: true}, {Lo: 0x1000, Hi: 0x2000, Path: "/a", Exec: true}}})
	var got []string
	for m := range p.Modules() {
		got = append(got, m.Path)
	}
	if !slices.Equal(got, []string{"/a", "/b"}) || p.ModuleCount() != 2 {
		t.Errorf("got %q, count %d", got, p.ModuleCount())
	}
	for m := range p.Modules() {
		if m.Path != "/a" {
			t.Errorf("got %s first", m.Path)
		}
		break
	}
}

// TestDescribeParts has what single values make of a frame of a report.
func TestDescribeParts(t *testing.T) {
	exec, data, file := &core.Mapping{Lo: 0x1000, Exec: true}, &core.Mapping{Lo: 0x1000}, &core.Mapping{Lo: 0x1000, Exec: true, Path: "/x"}
	for name, tt := range map[string]struct {
		m            *core.Mapping
		source, want string
		offset       report.OptAddr
	}{
		"nowhere": {nil, "", "", report.OptAddr{}}, "data": {data, "", "", report.OptAddr{}}, "a file": {file, "", "", report.OptAddr{}},
		"code":       {exec, "", "[code made at run time at 0x1000]", report.Known(8)},
		"named code": {exec, "perf-7.map", "[code made at run time at 0x1000, named by perf-7.map]", report.Known(8)},
	} {
		r := report.Frame{PC: 0x1008}
		if describeGenerated(&r, tt.m, tt.source); r.ModuleName != tt.want || r.ModuleOffset != tt.offset {
			t.Errorf("%s: got %q, %v, want %q, %v", name, r.ModuleName, r.ModuleOffset, tt.want, tt.offset)
		}
	}
	f := unwind.Frame{PC: 0x2010, Exact: true, Signal: true, Method: unwind.CFI, Trust: unwind.Checked}
	var r report.Frame
	describeFrame(&r, &f, nil, arch.AMD64)
	if r.PC != 0x2010 || !r.Exact || !r.SignalFrame || r.Method != unwind.CFI || r.Trust != unwind.Checked || r.SP.Known || r.CFA.Known || r.Module != "" || r.ModuleOffset.Known {
		t.Errorf("got %+v", r)
	}
	f.CFA = 0x7000
	f.Regs.Set(arch.AMD64.SP, 0)
	describeFrame(&r, &f, &module.Module{Path: "/lib/x", BuildID: "ab", Bias: 0x2000}, arch.AMD64)
	if r.SP != report.Known(0) || r.CFA != report.Known(0x7000) || r.Module != "ab" || r.ModuleName != "x" || r.ModuleOffset != report.Known(0x10) {
		t.Errorf("got %+v", r)
	}
	for name, tt := range map[string]struct {
		n                 name
		exact             bool
		function, linkage string
		offset            report.OptAddr
	}{
		"none":     {name{Location: symbol.Location{File: "a.c", Line: 3, Column: 4}}, true, "", "", report.OptAddr{}},
		"plain":    {name{Location: symbol.Location{Func: "f", Offset: 8, File: "a.c", Line: 3, Column: 4}, demangled: "f"}, true, "f", "", report.Known(8)},
		"a caller": {name{Location: symbol.Location{Func: "f", Offset: 7, File: "a.c", Line: 3, Column: 4}, demangled: "f"}, false, "f", "", report.Known(8)},
		"mangled":  {name{Location: symbol.Location{Func: "_Z1fv", File: "a.c", Line: 3, Column: 4}, demangled: "f()"}, true, "f()", "_Z1fv", report.Known(0)},
		"inlined":  {name{Location: symbol.Location{Func: "f", Inlined: true, File: "a.c", Line: 3, Column: 4}, demangled: "f"}, true, "f", "", report.OptAddr{}},
	} {
		var r report.Frame
		nameFrame(&r, &tt.n, &unwind.Frame{PC: 0x2010, Exact: tt.exact})
		if r.Function != tt.function || r.LinkageName != tt.linkage || r.FunctionOffset != tt.offset || r.File != "a.c" || r.Line != 3 || r.Column != 4 {
			t.Errorf("%s: got %+v", name, r)
		}
	}
}

// TestEndsAtCut has stacks that need what a truncated core lost.
func TestEndsAtCut(t *testing.T) {
	cut := &memreader.FaultError{Why: memreader.Truncated}
	other := &memreader.FaultError{Why: memreader.Unmapped}
	for name, tt := range map[string]struct {
		s    Stack
		want bool
	}{
		"nothing":          {Stack{}, false},
		"the end":          {Stack{Stop: unwind.Stop{Detail: cut}}, true},
		"another fault":    {Stack{Stop: unwind.Stop{Detail: other}}, false},
		"the last frame":   {Stack{Frames: []unwind.Frame{{}, {Skipped: cut}}}, true},
		"a frame before":   {Stack{Frames: []unwind.Frame{{Skipped: cut}, {}}}, false},
		"another, at last": {Stack{Frames: []unwind.Frame{{Skipped: other}}, Stop: unwind.Stop{Detail: errors.New("no")}}, false},
	} {
		if got := endsAtCut(&tt.s); got != tt.want {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
}

// TestCheckOptions has what is wrong with options.
func TestCheckOptions(t *testing.T) {
	t.Setenv("DEBUGINFOD_URLS", "")
	for want, o := range map[string]Options{
		"": {Methods: Methods(), MaxFrames: 1, MaxTime: 1, MaxTotalTime: 1},
		`Methods: unknown method "x"; use go, sframe, cfi, code, fp`:           {Methods: []string{"fp", "x"}},
		"MaxFrames: -1 is negative":                                            {MaxFrames: -1},
		"MaxTime: -1ns is negative":                                            {MaxTime: -1},
		"MaxTotalTime: -1ns is negative":                                       {MaxTotalTime: -1},
		"Debuginfod: DEBUGINFOD_URLS is not set, so there is no server to ask": {Debuginfod: true},
	} {
		err := o.Check()
		if (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		if e := (*OptionError)(nil); err != nil && (!errors.As(err, &e) || errors.Unwrap(e) == nil) {
			t.Errorf("got %T", err)
		}
	}
	if err := new(Options).Check(); err != nil {
		t.Errorf("got %v for no options", err)
	}
	p := New(&core.Image{Arch: arch.AMD64, Mem: memreader.NewSpace(nil)}, Options{Debuginfod: true})
	defer p.Close()
	if got := p.Problems(); len(got) != 1 {
		t.Errorf("got problems %q without servers", got)
	}
}
