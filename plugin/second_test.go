package plugin

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/sfcore/sfcore/internal/version"
	"github.com/sfcore/sfcore/plugin/proto"
	protov2 "github.com/sfcore/sfcore/plugin/proto/v2"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/unwind"
)

// words returns the constants of a string type of package report.
func words(t *testing.T, name string) (list []string) {
	t.Helper()
	files, err := filepath.Glob("../report/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			if id, ok := spec.Type.(*ast.Ident); !ok || id.Name != name {
				return true
			}
			for _, v := range spec.Values {
				if lit, ok := v.(*ast.BasicLit); ok {
					word, err := strconv.Unquote(lit.Value)
					if err != nil {
						t.Fatal(err)
					}
					list = append(list, word)
				}
			}
			return true
		})
	}
	return list
}

// Every word that a report has for one of a closed set is a value of an enumeration, and
// comes back as it was.
func TestWords(t *testing.T) {
	type set struct {
		words []string
		there func(string) string
	}
	sets := map[string]set{
		"Fault":    {words(t, "Fault"), func(s string) string { return faults.text(faults.value(s)) }},
		"Kind":     {words(t, "Kind"), func(s string) string { return targetKinds.text(targetKinds.value(s)) }},
		"Match":    {words(t, "Match"), func(s string) string { return matches.text(matches.value(s)) }},
		"WaitKind": {words(t, "WaitKind"), func(s string) string { return waitKinds.text(waitKinds.value(s)) }},
		"source":   {[]string{"core", "live", "crash", "host"}, func(s string) string { return sourceKinds.text(sourceKinds.value(s)) }},
		"phase": {
			[]string{"prepare", "seize", "stop", "registers", "stacks", "release", "complete"},
			func(s string) string { return phaseKinds.text(phaseKinds.value(s)) },
		},
		"order": {[]string{report.LittleEndian.String(), report.BigEndian.String()}, func(s string) string { return byteOrders.text(byteOrders.value(s)) }},
	}
	for name, s := range sets {
		if len(s.words) < 2 {
			t.Errorf("%s: got the words %q", name, s.words)
		}
		for _, w := range s.words {
			if got := s.there(w); got != w {
				t.Errorf("%s: %q comes back as %q", name, w, got)
			}
		}
	}
}

// Values that are computed, and not looked up, are those with the same names.
func TestNumbers(t *testing.T) {
	name := func(s string) string { return strings.ToUpper(strings.ReplaceAll(s, "-", "_")) }
	for i := range len(protov2.Method_name) - 1 {
		if m := unwind.Method(i); "METHOD_"+name(m.String()) != methodValue(m).String() {
			t.Errorf("%v is %v", m, methodValue(m))
		}
	}
	for i := range len(protov2.Trust_name) - 1 {
		if v := unwind.Trust(i); "TRUST_"+name(v.String()) != trustValue(v).String() {
			t.Errorf("%v is %v", v, trustValue(v))
		}
	}
	evidence := []unwind.Evidence{
		unwind.AfterCall, unwind.Executable, unwind.AtTrampoline, unwind.AtBase, unwind.CodeUnread, unwind.Promised, unwind.CallMismatch,
		unwind.DirectCall, unwind.Injected, unwind.Uncertain, unwind.Agreed, unwind.CalledHere, unwind.Jumped, unwind.Returns,
	}
	for i, want := range []protov2.Evidence{
		protov2.Evidence_EVIDENCE_AFTER_CALL, protov2.Evidence_EVIDENCE_EXECUTABLE, protov2.Evidence_EVIDENCE_AT_TRAMPOLINE,
		protov2.Evidence_EVIDENCE_AT_BASE, protov2.Evidence_EVIDENCE_CODE_UNREAD, protov2.Evidence_EVIDENCE_PROMISED,
		protov2.Evidence_EVIDENCE_CALL_MISMATCH, protov2.Evidence_EVIDENCE_DIRECT_CALL, protov2.Evidence_EVIDENCE_INJECTED,
		protov2.Evidence_EVIDENCE_UNCERTAIN, protov2.Evidence_EVIDENCE_AGREED, protov2.Evidence_EVIDENCE_CALLED_HERE,
		protov2.Evidence_EVIDENCE_JUMPED, protov2.Evidence_EVIDENCE_RETURNS,
	} {
		if got := evidenceValues(evidence[i]); !slices.Equal(got, []protov2.Evidence{want}) {
			t.Errorf("%v is %v, want %v", evidence[i], got, want)
		}
	}
	if got, want := len(protov2.Evidence_name)-1, len(evidence); got != want {
		t.Errorf("the enumeration has %d values, want %d", got, want)
	}
}

// TestSecondRoundTrip is TestRoundTrip in the second version.
func TestSecondRoundTrip(t *testing.T) {
	var head report.Document
	fill(reflect.ValueOf(&head).Elem(), 0)
	head.Threads, head.Modules, head.Schema = nil, nil, report.Schema
	waiting := head.Waiting
	head.Waiting = report.Waiting{}
	head.Source.Kind, head.Source.Time = "live", "2026-01-02T03:04:05.000000006Z"
	for i := range head.Source.Phases {
		head.Source.Phases[i].Name = "seize"
	}
	head.Process.Arch, head.Process.Signal.Fault = "s390x", report.Fault(faults.text(protov2.Fault_FAULT_ABORT))
	check(t, *headOf(wire(t, headResponse(&head))), head)

	var thread report.Thread
	fill(reflect.ValueOf(&thread).Elem(), 100)
	thread.State = "sleeping"
	for i := range thread.Frames {
		thread.Frames[i].ModuleName = "" // for display only
	}
	for i := range thread.Scene.Registers {
		thread.Scene.Registers[i].Kind = report.KindStack
	}
	for i := range thread.Scene.Accesses {
		thread.Scene.Accesses[i].Kind = report.KindHeap
	}
	var whole report.Thread
	for i, m := range stackResponses(&thread) {
		part := must(stackFrom(wire(t, m)))(t)
		if i == 0 {
			whole = part.Thread
			continue
		}
		whole.Frames, whole.Stop = append(whole.Frames, part.Frames...), part.Stop
	}
	check(t, whole, thread)

	var module report.Module
	fill(reflect.ValueOf(&module).Elem(), 200)
	module.Match, module.Symbols, module.SFrame.Flags = report.MatchBuildID, "gnu-debugdata", []string{"sorted", "pcrel"}
	check(t, moduleFrom(wire(t, moduleOf(&module))), module)
	for i := range waiting.Waits {
		waiting.Waits[i].Kind = report.WaitKind(words(t, "WaitKind")[i])
		check(t, waitFrom(wire(t, waitOf(&waiting.Waits[i]))), waiting.Waits[i])
	}

	var g report.Goroutine
	fill(reflect.ValueOf(&g).Elem(), 0)
	g.IDs, g.Status, g.WaitsFor.Kind = nil, "waiting", "channel"
	for i := range g.Frames {
		g.Frames[i].ModuleName, g.Frames[i].Frame.Variables = "", nil
	}
	var got *report.Goroutine
	for _, m := range goroutineResponses(&g, true) {
		got = must(joinGoroutine(got, must(goroutineFrom(wire(t, m)))(t)))(t)
	}
	check(t, *got, g)
}

// What this library does not know is an error where another value would be a lie.
func TestSecondUnknown(t *testing.T) {
	good := &protov2.Frame{Method: 1, Trust: 1}
	for name, m := range map[string]*protov2.StacksResponse{
		"no method":  {Frames: []*protov2.Frame{{Trust: 1}}},
		"new method": {Frames: []*protov2.Frame{{Method: 99, Trust: 1}}},
		"new trust":  {Frames: []*protov2.Frame{{Method: 1, Trust: 99}}},
		"negative":   {Frames: []*protov2.Frame{{Method: -1, Trust: 1}}},
		"new reason": {Frames: []*protov2.Frame{good}, Stop: &protov2.Stop{Reason: 99}},
	} {
		if _, err := stackFrom(m); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if r, err := stackFrom(&protov2.StacksResponse{Frames: []*protov2.Frame{{Method: 1, Trust: 1, Evidence: []protov2.Evidence{99, -1, 1}}}}); err != nil || r.Frames[0].Evidence != 1 {
		t.Errorf("new evidence: got %v, %v", r.Frames, err)
	}
}

// The messages of hosts that both versions use are the same, field by field: what is
// written as one is read as the other.
func TestHostMessagesAgree(t *testing.T) {
	seen := map[protoreflect.FullName]bool{}
	var agree func(a, b protoreflect.MessageDescriptor)
	agree = func(a, b protoreflect.MessageDescriptor) {
		if seen[a.FullName()] {
			return
		}
		seen[a.FullName()] = true
		if a.Fields().Len() != b.Fields().Len() {
			t.Errorf("%s has %d fields, %s %d", a.FullName(), a.Fields().Len(), b.FullName(), b.Fields().Len())
			return
		}
		for i := range a.Fields().Len() {
			f := a.Fields().Get(i)
			g := b.Fields().ByNumber(f.Number())
			if g == nil || f.Name() != g.Name() || f.Kind() != g.Kind() || f.Cardinality() != g.Cardinality() {
				t.Errorf("%s and %v differ", f.FullName(), g)
				continue
			}
			if f.Message() != nil {
				agree(f.Message(), g.Message())
			}
		}
	}
	first := proto.File_sfcore_proto.Services().ByName("Host").Methods()
	second := protov2.File_sfcore_plugin_v2_host_proto.Services().ByName("HostService").Methods()
	for i := range first.Len() {
		m := first.Get(i)
		of := second.ByName(m.Name())
		if of == nil {
			t.Fatalf("the second version has no method %s", m.Name())
		}
		agree(m.Input(), of.Input())
		if m.Name() != "Process" { // whose architecture is an enumeration
			agree(m.Output(), of.Output())
		}
	}
	if len(seen) < 8 {
		t.Errorf("looked at %d messages", len(seen))
	}
}

func TestCapabilities(t *testing.T) {
	for name, c := range map[string]*Client{"server": inProcess(t, openTest), "relay": serve(t, relaying(nil), newest)} {
		m, err := c.Capabilities(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if m.GetVersion() != version.Get().Version || !slices.Equal(m.GetProtocolVersions(), []int32{1, 2}) || m.GetReportSchema() != report.Schema {
			t.Errorf("%s: got %v", name, m)
		}
		if !slices.Equal(m.GetMethods(), process.Methods()) || m.GetLimits().GetWalk().AsDuration() != 30*time.Second || m.GetLimits().GetSessions() != maxSessions {
			t.Errorf("%s: got %v", name, m)
		}
		want := []protov2.Architecture{protov2.Architecture_ARCHITECTURE_AMD64, protov2.Architecture_ARCHITECTURE_AARCH64, protov2.Architecture_ARCHITECTURE_S390X}
		if got := slices.Sorted(slices.Values(m.GetArchitectures())); !slices.Equal(got, want) {
			t.Errorf("%s: got the architectures %v, want %v", name, got, want)
		}
	}
}

// The groups are those of all stacks, each thread in one.
func TestGroups(t *testing.T) {
	for name, c := range map[string]*Client{"server": inProcess(t, openTest), "relay": serve(t, relaying(nil), newest)} {
		s, err := c.OpenImage(t.Context(), manyThreads(603, 3), process.Options{Methods: []string{"fp"}}) // of which three pairs are equal, and one of them has crashed
		if err != nil {
			t.Fatal(err)
		}
		stacks := map[int]report.Thread{}
		for th, err := range s.Stacks(t.Context(), true) {
			if err != nil {
				t.Fatal(err)
			}
			stacks[th.TID] = th
		}
		pcs := func(th report.Thread) (list []report.Addr) {
			for _, f := range th.Frames {
				list = append(list, f.PC)
			}
			return list
		}
		grouped, n := 0, 0
		for g, err := range s.Groups(t.Context(), true) {
			if err != nil {
				t.Fatal(err)
			}
			if n == 0 && !g.Thread.Crashed {
				t.Errorf("%s: the first group is not that of the crash", name)
			}
			n++
			for _, tid := range g.TIDs {
				grouped++
				if got, want := pcs(stacks[tid]), pcs(g.Thread); !slices.Equal(got, want) {
					t.Errorf("%s: thread %d: got %v, its group has %v", name, tid, got, want)
				}
			}
			first := stacks[g.TIDs[0]]
			if first.Name = ""; g.Thread.Name != "" {
				first.Name = g.Thread.Name
			}
			first.NSTID = 0
			compareJSON(t, g.Thread, first)
		}
		if grouped != 603 || n != 601 {
			t.Errorf("%s: got %d threads in %d groups, want 603 in 601", name, grouped, n)
		}
		for _, err := range s.Groups(t.Context(), false) {
			if err != nil {
				t.Error(err)
			}
			break // which ends the call
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestEvaluate(t *testing.T) {
	const dir = "../testdata/locals/s390x-O0/"
	s, err := inProcess(t, openTest).Open(t.Context(), Spec{Core: dir + "core.zst", Options: process.Options{Exe: dir + "prog"}})
	if err != nil {
		t.Fatal(err)
	}
	th, err := s.Variables(t.Context(), firstThread(t, s))
	if err != nil {
		t.Fatal(err)
	}
	var v report.Variable
	for _, v = range th.Frames[1].Variables {
		if v.Value != "" && v.Name != "" && !strings.Contains(v.Value, " ") {
			break
		}
	}
	values, err := s.Evaluate(t.Context(), th.TID, 1, v.Name, "1 + 2", "nobody", "sizeof(")
	if err != nil || len(values) != 4 {
		t.Fatalf("got %v, %v, want 4 values", values, err)
	}
	if values[0].Variable.Value != v.Value || values[0].Variable.Type != v.Type {
		t.Errorf("%s: got %+v, want %+v", v.Name, values[0], v)
	}
	if values[1].Text != "3" || values[1].Err != nil {
		t.Errorf("got %+v, want 3", values[1])
	}
	for i, part := range map[int]string{2: "nobody", 3: "ends where a value is missing"} {
		if values[i].Err == nil || values[i].Text != "" || !strings.Contains(values[i].Err.Error(), part) {
			t.Errorf("%s: got %+v", part, values[i])
		}
	}
	for name, tt := range map[string]struct {
		tid, frame  int
		expressions []string
		code        codes.Code
		reason      protov2.ErrorReason
	}{
		"thread":         {1 << 30, 0, nil, codes.NotFound, protov2.ErrorReason_ERROR_REASON_UNKNOWN_THREAD},
		"frame":          {0, 999, nil, codes.NotFound, protov2.ErrorReason_ERROR_REASON_UNKNOWN_FRAME},
		"many":           {0, 0, make([]string, maxExpressions+1), codes.InvalidArgument, protov2.ErrorReason_ERROR_REASON_INVALID_REQUEST},
		"long":           {0, 0, []string{strings.Repeat("1", maxExpression+1)}, codes.InvalidArgument, protov2.ErrorReason_ERROR_REASON_INVALID_REQUEST},
		"default, of no": {0, -1, nil, codes.OK, 0},
	} {
		if _, err := s.Evaluate(t.Context(), tt.tid, tt.frame, tt.expressions...); status.Code(err) != tt.code || Reason(err) != tt.reason {
			t.Errorf("%s: got %v, want %v, %v", name, err, tt.code, tt.reason)
		}
	}
}

func firstThread(t *testing.T, s *Session) int {
	t.Helper()
	threads, err := s.Threads(t.Context())
	if err != nil || len(threads) == 0 {
		t.Fatalf("got %v, %v", threads, err)
	}
	return threads[0].TID
}
