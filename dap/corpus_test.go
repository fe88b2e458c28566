package dap

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	godap "github.com/google/go-dap"
)

// expectedStack is a thread in expected.json of the corpus.
type expectedStack struct {
	TID    int `json:"tid"`
	Frames []struct {
		PC   string `json:"pc"`
		Func string `json:"func"`
	} `json:"frames"`
}

func expected(t *testing.T, name string) []expectedStack {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(cores, name, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var e struct {
		Threads []expectedStack `json:"threads"`
	}
	if err := json.Unmarshal(b, &e); err != nil || len(e.Threads) == 0 {
		t.Fatalf("%s: %d threads, %v", name, len(e.Threads), err)
	}
	return e.Threads
}

// archCases has a case of several threads for each architecture.
var archCases = []string{"amd64-v3-threads", "aarch64-v3-threads", "s390x-v3-threads"}

func TestStacks(t *testing.T) {
	for _, name := range archCases {
		t.Run(name, func(t *testing.T) {
			c, stopped := open(t, corpus(name))
			if stopped.Reason != "exception" || !stopped.AllThreadsStopped {
				t.Errorf("got stopped event %+v, want an exception of all threads", stopped)
			}
			var threads godap.ThreadsResponseBody
			c.do("threads", nil, &threads)
			if threads.Threads[0].Id != stopped.ThreadId || !strings.Contains(threads.Threads[0].Name, "SIG") {
				t.Errorf("got first thread %+v, want %d and its signal", threads.Threads[0], stopped.ThreadId)
			}
			want := expected(t, name)
			if len(threads.Threads) != len(want) {
				t.Errorf("got %d threads, want %d", len(threads.Threads), len(want))
			}
			for _, th := range want {
				checkStack(c, &th)
			}
		})
	}
}

func checkStack(c *tester, want *expectedStack) {
	c.Helper()
	frames := c.frames(want.TID)
	label := frames[len(frames)-1]
	if label.PresentationHint != "label" || !strings.Contains(label.Name, "end of the stack") {
		c.Errorf("thread %d: got last frame %+v, want a label", want.TID, label)
	}
	i := 0
	for _, f := range frames[:len(frames)-1] {
		if strings.HasSuffix(f.Name, "[inlined]") {
			continue
		}
		if i >= len(want.Frames) || f.InstructionPointerReference != want.Frames[i].PC {
			c.Fatalf("thread %d: frame %d: got %s %s, want %+v", want.TID, i, f.InstructionPointerReference, f.Name, want.Frames)
		}
		i++
	}
	if i != len(want.Frames) {
		c.Errorf("thread %d: got %d frames, want %d", want.TID, i, len(want.Frames))
	}
}

func TestPaging(t *testing.T) {
	c, stopped := open(t, corpus("amd64-v3-deep"))
	all := c.frames(stopped.ThreadId)
	tests := []struct{ start, levels, from, to int }{
		{0, 0, 0, len(all)},
		{0, 1, 0, 1},
		{3, 4, 3, 7},
		{len(all) - 1, 20, len(all) - 1, len(all)},
		{len(all), 20, len(all), len(all)},
		{1 << 40, 1 << 40, len(all), len(all)},
		{1, 1 << 60, 1, len(all)},
	}
	for _, tt := range tests {
		var page godap.StackTraceResponseBody
		c.do("stackTrace", map[string]any{"threadId": stopped.ThreadId, "startFrame": tt.start, "levels": tt.levels}, &page)
		if page.TotalFrames != len(all) {
			t.Errorf("from %d, %d levels: got a total of %d, want %d", tt.start, tt.levels, page.TotalFrames, len(all))
		}
		if got, want := fmt.Sprint(page.StackFrames), fmt.Sprint(all[tt.from:tt.to]); len(page.StackFrames) != tt.to-tt.from || len(got) != len(want) {
			t.Errorf("from %d, %d levels: got %s, want %s", tt.start, tt.levels, got, want)
		}
	}
	c.refused("stackTrace", map[string]any{"threadId": stopped.ThreadId, "startFrame": -1}, idArguments)
	c.refused("stackTrace", map[string]any{"threadId": 1 << 40}, idReference)
	c.refused("stackTrace", map[string]any{"threadId": "main"}, idArguments)
}

func TestFrameFormat(t *testing.T) {
	c, stopped := open(t, corpus("amd64-v3-cxx"))
	names := func(format any) string {
		var body godap.StackTraceResponseBody
		c.do("stackTrace", map[string]any{"threadId": stopped.ThreadId, "format": format}, &body)
		var names []string
		for _, f := range body.StackFrames[:len(body.StackFrames)-1] {
			names = append(names, f.Name)
		}
		return strings.Join(names, "\n")
	}
	whole, bare, module := names(map[string]any{"parameters": true}), names(map[string]any{}), names(map[string]any{"module": true})
	if !strings.Contains(whole, "thrower(") || strings.Contains(bare, "thrower(") || names(nil) != bare {
		t.Errorf("got with parameters:\n%s\nwithout:\n%s\nby default:\n%s", whole, bare, names(nil))
	}
	for line := range strings.SplitSeq(module, "\n") {
		if !strings.HasPrefix(line, "cxx!") {
			t.Errorf("got %q, want it to begin with the module", line)
		}
	}
}

// TestRegisters checks that registers are those of the selected frame, and that
// those not recovered are said to be.
func TestRegisters(t *testing.T) {
	names := map[string][2]string{"amd64": {"rip", "rsp"}, "aarch64": {"pc", "sp"}, "s390x": {"pc", "r15"}}
	for _, name := range archCases {
		t.Run(name, func(t *testing.T) {
			c, stopped := open(t, corpus(name))
			arch, _, _ := strings.Cut(name, "-")
			lost := 0
			for i, f := range c.frames(stopped.ThreadId) {
				if f.PresentationHint == "label" {
					continue
				}
				groups := c.variables(c.scope(f.Id, "Registers"))
				general := c.variables(groups["general"].VariablesReference)
				pc := general[names[arch][0]]
				if value, _, _ := strings.Cut(pc.Value, " "); value != f.InstructionPointerReference {
					t.Errorf("frame %d: got pc %s, want %s", i, pc.Value, f.InstructionPointerReference)
				}
				if sp := general[names[arch][1]]; sp.MemoryReference == "" {
					t.Errorf("frame %d: got %+v, want a memory reference", i, sp)
				}
				for _, v := range general {
					if v.Value == notRecovered {
						lost++
						if i == 0 || v.MemoryReference != "" {
							t.Errorf("frame %d: got %+v", i, v)
						}
					}
				}
				flags := c.variables(groups["flags"].VariablesReference)
				for name, v := range flags {
					if (v.Value == notRecovered) != (i > 0) {
						t.Errorf("frame %d: got %s = %s", i, name, v.Value)
					}
				}
			}
			if lost == 0 {
				t.Error("got every register of every frame")
			}
		})
	}
}

func TestVectorRegisters(t *testing.T) {
	c, stopped := open(t, corpus("amd64-v3-threads"))
	frame := c.frames(stopped.ThreadId)[0].Id
	vector := c.variables(c.variables(c.scope(frame, "Registers"))["vector"].VariablesReference)
	if len(vector) != 16 || vector["xmm15"].VariablesReference == 0 {
		t.Fatalf("got %d registers, xmm15 %+v", len(vector), vector["xmm15"])
	}
	elements := c.variables(vector["xmm15"].VariablesReference)
	if got := strings.Fields(elements["float64"].Value); len(got) != 2 && len(got) != 4 {
		t.Errorf("got %q, want 2 or 4 numbers", elements["float64"].Value)
	}
	var all godap.VariablesResponseBody
	ref := c.variables(c.scope(frame, "Registers"))["general"].VariablesReference
	c.do("variables", map[string]any{"variablesReference": ref, "start": 2, "count": 3, "format": map[string]any{"hex": true}}, &all)
	if len(all.Variables) != 3 || all.Variables[0].Name != "rbx" || strings.Contains(all.Variables[0].Value, "(") {
		t.Errorf("got %+v, want 3 from rbx in hexadecimal", all.Variables)
	}
	c.refused("variables", map[string]any{"variablesReference": frame}, idReference)
	c.refused("variables", map[string]any{"variablesReference": -1}, idReference)
}

func TestUnwindScope(t *testing.T) {
	c, stopped := open(t, corpus("amd64-v3-mixednofp"))
	frames := c.frames(stopped.ThreadId)
	vars := c.variables(c.scope(frames[1].Id, "Unwind"))
	for name, want := range map[string]string{"method": "sframe", "trust": "full", "row": "cfa=", "caller": " of ", "CFA": "0x"} {
		if !strings.Contains(vars[name].Value, want) {
			t.Errorf("got %s = %q, want something with %q", name, vars[name].Value, want)
		}
	}
	var scopes godap.ScopesResponseBody
	c.do("scopes", map[string]any{"frameId": frames[len(frames)-1].Id}, &scopes)
	if len(scopes.Scopes) != 0 {
		t.Errorf("the label: got scopes %+v, want none", scopes.Scopes)
	}
}

func TestReadMemory(t *testing.T) {
	c, stopped := open(t, corpus("amd64-v3-threads"))
	sp := c.evaluate(c.frames(stopped.ThreadId)[0].Id, "watch", "$sp")
	read := func(ref string, offset, count int) godap.ReadMemoryResponseBody {
		var body godap.ReadMemoryResponseBody
		c.do("readMemory", map[string]any{"memoryReference": ref, "offset": offset, "count": count}, &body)
		return body
	}
	whole := read(sp, 0, 64)
	data, err := base64.StdEncoding.DecodeString(whole.Data)
	if err != nil || len(data) != 64 || whole.UnreadableBytes != 0 || whole.Address != sp {
		t.Fatalf("got %+v, %v, want 64 bytes at %s", whole, err, sp)
	}
	part := read(sp, 8, 16)
	if got, _ := base64.StdEncoding.DecodeString(part.Data); string(got) != string(data[8:24]) {
		t.Errorf("got % x, want % x", got, data[8:24])
	}
	if null := read("0x0", 0, 128); null.Data != "" || null.UnreadableBytes != 128 {
		t.Errorf("address 0: got %+v, want 128 unreadable bytes", null)
	}
	if top := read("0xfffffffffffffff0", 0, 128); top.Data != "" || top.UnreadableBytes != 128 {
		t.Errorf("the last bytes: got %+v, want 128 unreadable bytes", top)
	}
	if none := read(sp, 0, 0); none.Data != "" || none.UnreadableBytes != 0 {
		t.Errorf("nothing: got %+v", none)
	}
	// Across the end of the program's first page of code to where nothing is.
	begin := read("0x400000", -8, 24)
	if begin.Data != "" || begin.UnreadableBytes != 8 {
		t.Errorf("before the program: got %+v, want 8 unreadable bytes", begin)
	}
	c.refused("readMemory", map[string]any{"memoryReference": "main", "count": 1}, idMemory)
	c.refused("readMemory", map[string]any{"memoryReference": "8", "offset": -9, "count": 1}, idMemory)
	c.refused("readMemory", map[string]any{"memoryReference": sp, "count": 1 << 40}, idArguments)
	c.refused("readMemory", map[string]any{"memoryReference": sp, "count": -1}, idArguments)
}

// disassembly is the body of a disassemble response.
type disassembly struct{ Instructions []instruction }

func TestDisassemble(t *testing.T) {
	for _, name := range archCases {
		t.Run(name, func(t *testing.T) {
			c, stopped := open(t, corpus(name))
			pc := c.frames(stopped.ThreadId)[1].InstructionPointerReference
			ask := func(ref string, offset, count int) []instruction {
				var body disassembly
				c.do("disassemble", map[string]any{"memoryReference": ref, "instructionOffset": offset, "instructionCount": count, "resolveSymbols": true}, &body)
				if len(body.Instructions) != count {
					t.Fatalf("%s%+d: got %d instructions, want %d", ref, offset, len(body.Instructions), count)
				}
				return body.Instructions
			}
			around := ask(pc, -50, 100)
			if around[50].Address != pc {
				t.Errorf("got %s in the middle, want %s", around[50].Address, pc)
			}
			call := around[49].Instruction
			if !strings.Contains(call, "call") && !strings.Contains(call, "bl") && !strings.Contains(call, "bras") {
				t.Errorf("got %q before a return address, want a call", call)
			}
			if around[50].Symbol == "" || around[50].PresentationHint != "" {
				t.Errorf("got %+v, want a valid instruction with a symbol", around[50])
			}
			for i := range around[1:] {
				if parse(t, around[i].Address) >= parse(t, around[i+1].Address) {
					t.Errorf("addresses do not ascend: %s, %s", around[i].Address, around[i+1].Address)
				}
			}
			if ahead := ask(pc, 10, 5); ahead[0].Address != around[60].Address {
				t.Errorf("10 ahead: got %s, want %s", ahead[0].Address, around[60].Address)
			}
			for i, in := range ask("0x0", -3, 6) {
				if in.PresentationHint != "invalid" {
					t.Errorf("at 0: got %d %+v, want it invalid", i, in)
				}
			}
			ask("0xffffffffffffffff", -2, 8)
			if len(ask(pc, 0, 0)) != 0 {
				t.Error("got instructions, want none")
			}
			c.refused("disassemble", map[string]any{"memoryReference": pc, "instructionCount": maxInstructions + 1}, idArguments)
			c.refused("disassemble", map[string]any{"memoryReference": pc, "instructionCount": -1}, idArguments)
			c.refused("disassemble", map[string]any{"memoryReference": "$pc", "instructionCount": 1}, idMemory)
		})
	}
}

func parse(t *testing.T, ref string) uint64 {
	t.Helper()
	v, err := parseReference(ref, 0)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestListing checks that frames without debug information have their disassembly
// for a source, with the right line.
func TestListing(t *testing.T) {
	for _, name := range []string{"amd64-v2-stripped-none", "amd64-v2-stripped-minidebug", "amd64-v2e1-debian-cpio", "aarch64-qemuuser-none-jit", "s390x-qemuuser-none-jit"} {
		t.Run(name, func(t *testing.T) {
			c, stopped := open(t, corpus(name))
			listings := 0
			for i, f := range c.frames(stopped.ThreadId) {
				if f.Source == nil || f.Source.Origin != "disassembly" {
					continue
				}
				listings++
				var body godap.SourceResponseBody
				c.do("source", map[string]any{"sourceReference": f.Source.SourceReference}, &body)
				lines := strings.Split(body.Content, "\n")
				if f.Line < 1 || f.Line > len(lines) {
					t.Fatalf("frame %d: line %d of %d", i, f.Line, len(lines))
				}
				pc := parse(t, f.InstructionPointerReference)
				at, _, _ := strings.Cut(lines[f.Line-1], " ")
				next := pc + 1
				if f.Line < len(lines) && lines[f.Line] != "" {
					text, _, _ := strings.Cut(lines[f.Line], " ")
					next = parse(t, text)
				}
				// Frame 0 is at its pc, others are in the call before it.
				if i == 0 && parse(t, at) != pc || i > 0 && (parse(t, at) >= pc || next < pc) {
					t.Errorf("frame %d: pc %#x, got line %d %q", i, pc, f.Line, lines[f.Line-1])
				}
			}
			if listings == 0 {
				t.Error("no frame has a listing")
			}
		})
	}
}

func TestModules(t *testing.T) {
	c, stopped := open(t, corpus("amd64-v3-libcdyn-1"))
	var body struct {
		Modules      []module
		TotalModules int
	}
	c.do("modules", nil, &body)
	if len(body.Modules) < 3 || body.TotalModules != len(body.Modules) {
		t.Fatalf("got %d of %d modules, want all", len(body.Modules), body.TotalModules)
	}
	ids := map[any]bool{}
	for _, m := range body.Modules {
		ids[m.Id] = true
		if m.AddressRange == "" || m.SymbolStatus == "" || m.Unwind == "" {
			t.Errorf("got %+v, want range, status and unwind source", m)
		}
		var e struct {
			Reason string
			Module module
		}
		c.event("module", &e)
		if e.Reason != "new" || e.Module.Id != m.Id {
			t.Errorf("got event %+v, want one for %v", e, m.Id)
		}
	}
	for _, f := range c.frames(stopped.ThreadId) {
		if f.PresentationHint != "label" && f.ModuleId != nil && !ids[f.ModuleId] {
			t.Errorf("%s: there is no module %v", f.Name, f.ModuleId)
		}
	}
	var page struct{ Modules []module }
	c.do("modules", map[string]any{"startModule": 1, "moduleCount": 1}, &page)
	if len(page.Modules) != 1 || page.Modules[0].Id != body.Modules[1].Id {
		t.Errorf("got page %+v, want %v", page.Modules, body.Modules[1].Id)
	}
}

// Code that a just-in-time compiler registered is in a module once a stack has
// led there.
func TestModulesOfJIT(t *testing.T) {
	c, stopped := open(t, corpus("amd64-none-jit"))
	frames := c.frames(stopped.ThreadId)
	var body struct{ Modules []module }
	c.do("modules", nil, &body)
	listed := map[any]bool{}
	for _, m := range body.Modules {
		listed[m.Id] = true
	}
	for _, f := range frames {
		if f.ModuleId != nil && !listed[f.ModuleId] {
			t.Errorf("%s: there is no module %v", f.Name, f.ModuleId)
		}
	}
	if !listed["[jit]"] {
		t.Errorf("got modules %+v, want [jit]", body.Modules)
	}
}

func TestExceptionInfo(t *testing.T) {
	c, stopped := open(t, corpus("amd64-v3-null-1"))
	var info godap.ExceptionInfoResponseBody
	c.do("exceptionInfo", map[string]any{"threadId": stopped.ThreadId}, &info)
	if info.ExceptionId != "SIGSEGV" || info.BreakMode != "unhandled" || info.Details == nil || !strings.Contains(info.Details.Message, "null") {
		t.Errorf("got %+v %+v, want a SIGSEGV by a null pointer", info, info.Details)
	}
	if !strings.Contains(stopped.Description, "SEGV_MAPERR") {
		t.Errorf("got stopped event %+v", stopped)
	}
	c.refused("exceptionInfo", map[string]any{"threadId": 0}, idReference)
}
