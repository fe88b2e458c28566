package process

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/core"
	"github.com/sfcore/sfcore/internal/dwarf/info"
	"github.com/sfcore/sfcore/internal/symbol"
	"github.com/sfcore/sfcore/internal/waits"
	"github.com/sfcore/sfcore/memreader"
	"github.com/sfcore/sfcore/report"
)

const guardTypes = partsUnit + " base_type #bool name=bool byte_size=1 encoding=2\n base_type #long name=long byte_size=8 encoding=7\n structure_type #mutex name=mutex byte_size=40\n pointer_type #pm type=#mutex byte_size=8\n"

// structure is a type with members, each as its name, its type and where it is.
func structure(label string, members ...string) string {
	text := fmt.Sprintf(" structure_type #%s name=%s byte_size=64\n", label, label)
	for _, m := range members {
		f := strings.Fields(m)
		tag := "member name=" + f[0]
		if f[0] == "base" {
			tag = "inheritance"
		}
		text += fmt.Sprintf("  %s type=#%s data_member_location=%s\n", tag, f[1], f[2])
	}
	return text
}

// TestGuarded has the locks that a guard names, if it holds them.
func TestGuarded(t *testing.T) {
	inner := func(levels int) string {
		text := structure("d0", "lock pm 0")
		for i := range levels {
			label := fmt.Sprint("d", i+1)
			if i == levels-1 {
				label = "t"
			}
			text += structure(label, fmt.Sprintf("inner d%d 0", i))
		}
		return text
	}
	// The word at 0 of the guard is 0x1000, the next is 0x2000; the byte at 16 is 1, and
	// that at 17 is 0.
	for name, tt := range map[string]struct {
		types string
		left  int
		locks []uint64
		held  bool
	}{
		"a pointer":              {structure("t", "_M_device pm 0"), 9, []uint64{0x1000}, true},
		"owned":                  {structure("t", "_M_device pm 0", "_M_owns bool 16"), 9, []uint64{0x1000}, true},
		"not owned":              {structure("t", "_M_device pm 0", "_M_owns bool 17"), 9, nil, false},
		"not owned, first":       {structure("t", "_M_owns bool 17", "_M_device pm 0"), 9, nil, false},
		"of unknown ownership":   {structure("t", "_M_owns bool 60000", "_M_device pm 0"), 9, nil, false},
		"other members":          {structure("t", "data pm 8", "lock pm 0"), 9, []uint64{0x1000}, true},
		"no lock":                {structure("t", "data pm 8"), 9, nil, true},
		"two":                    {structure("t", "lock pm 0", "_M_pm pm 8"), 9, []uint64{0x1000, 0x2000}, true},
		"an address":             {structure("t", "lock long 8"), 9, []uint64{0x2000}, true},
		"a pointer not there":    {structure("t", "lock pm 60000"), 9, nil, true},
		"in a base class":        {structure("b", "lock pm 8") + structure("t", "base b 0"), 9, []uint64{0x2000}, true},
		"in a part":              {structure("b", "lock pm 8") + structure("t", "inner b 0"), 9, []uint64{0x2000}, true},
		"in another part":        {structure("b", "lock pm 8") + structure("t", "data b 0"), 9, nil, true},
		"in a part, not owned":   {structure("b", "lock pm 8", "_M_owns bool 17") + structure("t", "_M_pm pm 0", "inner b 0"), 9, nil, false},
		"all parts":              {structure("t", "lock pm 0", "_M_pm pm 8"), 2, []uint64{0x1000, 0x2000}, true},
		"too many parts":         {structure("t", "lock pm 0", "_M_pm pm 8"), 1, nil, false},
		"too many parts within":  {structure("b", "lock pm 8") + structure("t", "inner b 0"), 1, nil, false},
		"as deep as is looked":   {inner(32), 99, []uint64{0x1000}, true},
		"deeper than is looked":  {inner(33), 99, nil, false},
		"no structure, no parts": {" typedef #t name=t type=#int\n", 9, nil, true},
	} {
		p, s := partsProcess(t, guardTypes+strings.ReplaceAll(tt.types, "location=60000", "location:data2=65528")+
			" subprogram name=f low_pc=0x400000 high_pc=0x1000\n  variable name=v type=#t"+strings.Replace(atData, "0000500000", "1000500000", 1)+"\n")
		memory, _ := p.img.Mem.(memreader.Viewer).View(partsData)
		binary.LittleEndian.PutUint64(memory[16:], 0x1000)
		binary.LittleEndian.PutUint64(memory[24:], 0x2000)
		memory[32] = 1
		left := tt.left
		locks, held := guarded(p.Scopes(s, 0)[0].Variables[0].read(), 0, &left)
		if !slices.Equal(locks, tt.locks) || held != tt.held {
			t.Errorf("%s: got %#x, %v, want %#x, %v", name, locks, held, tt.locks, tt.held)
		}
	}
}

// TestHold has which threads are remembered as those that have a guard of a lock.
func TestHold(t *testing.T) {
	g := guards{wanted: map[uint64]bool{0x10: true}, waiting: map[uint64]map[int]bool{0x10: {3: true}}, found: map[uint64][]waits.Owner{}}
	for _, tt := range []struct {
		thread int
		lock   uint64
	}{{1, 0x20}, {3, 0x10}, {1, 0x10}, {1, 0x10}, {2, 0x10}, {4, 0x10}} {
		g.hold(&core.Thread{ID: tt.thread}, tt.lock, fmt.Sprint("guard of ", tt.thread))
	}
	want := []waits.Owner{{Thread: 1, Inferred: true, Evidence: "a guard of 1 points to it"}, {Thread: 2, Inferred: true, Evidence: "a guard of 2 points to it"}}
	if len(g.found) != 1 || !slices.Equal(g.found[0x10], want) {
		t.Errorf("got %+v, want %+v", g.found, want)
	}
}

// TestGuardsAt has the variables at a place that are guards which exist there.
func TestGuardsAt(t *testing.T) {
	types := map[string]*info.Type{}
	text := strings.Replace(partsUnit, "language=12", "language=33", 1) // C++14
	function := " subprogram name=f low_pc=0x400000 high_pc=0x1000\n  variable name=int type=#int\n"
	for i, name := range []string{"std::lock_guard<std::mutex>", "std::sync::MutexGuard<i32>", "std::vector<int>"} {
		text += fmt.Sprintf(" structure_type #t%d name=%s byte_size=8\n", i, name)
		function += fmt.Sprintf("  variable name=%s type=#t%d\n", name, i)
	}
	p, s := partsProcess(t, text+function)
	found, err := p.valueFrame(s, 0).Data.Scopes(s.Frames[0].PC)
	if err != nil || len(found) != 1 {
		t.Fatalf("got %+v, %v", found, err)
	}
	for _, v := range found[0].Variables {
		types[v.Name] = v.Type
	}
	cxx, rust, other, number := types["std::lock_guard<std::mutex>"], types["std::sync::MutexGuard<i32>"], types["std::vector<int>"], types["int"]
	if a, b := waits.GuardType(cxx.String()), waits.GuardType(rust.String()); a != waits.CXXGuard || b != waits.RustGuard {
		t.Fatalf("got %v of %q, %v of %q", a, cxx, b, rust)
	}
	scope := func(variables ...info.Variable) info.Scope { return info.Scope{Func: "f", Variables: variables} }
	at := func(function string, line int) name {
		return name{symbol.Location{Func: function, Line: line}, function}
	}
	both := []info.Variable{{Type: cxx, Line: 10}, {Type: rust, Line: 10}}
	ofGo := scope(both...)
	ofGo.Language = info.Go
	for what, tt := range map[string]struct {
		scopes []info.Scope
		names  []name
		want   []guardVariable
	}{
		"none":                    {[]info.Scope{scope()}, []name{at("f", 20)}, nil},
		"guards and others":       {[]info.Scope{scope(info.Variable{Type: other, Line: 1}, info.Variable{Type: cxx, Line: 10}, info.Variable{}, info.Variable{Type: number, Line: 1}, info.Variable{Type: rust})}, []name{at("f", 11)}, []guardVariable{{0, 1}, {0, 4}}},
		"in the line":             {[]info.Scope{scope(both...)}, []name{at("f", 10)}, []guardVariable{{0, 1}}},
		"behind it":               {[]info.Scope{scope(both...)}, []name{at("f", 11)}, []guardVariable{{0, 0}, {0, 1}}},
		"of no line":              {[]info.Scope{scope(info.Variable{Type: cxx}, both[1])}, []name{at("f", 11)}, []guardVariable{{0, 1}}},
		"of Go":                   {[]info.Scope{ofGo, scope(both...)}, []name{at("g", 20), at("f", 20)}, []guardVariable{{1, 0}, {1, 1}}},
		"inlined, both":           {[]info.Scope{scope(both[1]), scope(both[1])}, []name{at("g", 20), at("f", 20)}, []guardVariable{{0, 0}, {1, 0}}},
		"that are destroyed":      {[]info.Scope{scope(both[1]), scope(both[1]), scope(both[1])}, []name{at("a::~a()", 20), at("f", 20), at("h", 20)}, []guardVariable{{0, 0}, {2, 0}}},
		"given up for a while":    {[]info.Scope{scope(both[1]), scope(both[1]), scope(both[1])}, []name{at("g", 20), at("condition_variable::wait", 20), at("h", 20)}, []guardVariable{{0, 0}}},
		"given up, the innermost": {[]info.Scope{scope(both[1]), scope(both[1])}, []name{at("condition_variable::wait", 20), at("h", 20)}, nil},
	} {
		if got := guardsAt(tt.scopes, tt.names); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", what, got, tt.want)
		}
	}
}

// Stacks are searched if a thread waits for a lock that is locked, and nothing tells whose
// it is: as many frames as the options allow, up to a bound.
func TestGuardsSearched(t *testing.T) {
	locked := waits.Waiter{Thread: 1, Kind: report.WaitMutex, Address: 0x1000, Unchanged: true}
	unlocked, owned, elsewhere := locked, locked, locked
	unlocked.Unchanged = false
	owned.Owner.Thread = 2
	elsewhere.Address = 0x2000
	elsewhere.Owner.Thread = 2
	for name, tt := range map[string]struct {
		list []waits.Waiter
		most int // MaxFrames of the options
		want int // frames that are looked at; 0 if no stacks are searched
	}{
		"nobody waits":         {nil, 0, 0},
		"unlocked":             {[]waits.Waiter{unlocked}, 0, 0},
		"owned":                {[]waits.Waiter{owned}, 0, 0},
		"owned, as others say": {[]waits.Waiter{locked, owned}, 0, 0},
		"owned, said before":   {[]waits.Waiter{owned, locked}, 0, 0},
		"locked":               {[]waits.Waiter{locked}, 0, 1024},
		"another is owned":     {[]waits.Waiter{elsewhere, locked}, 0, 1024},
		"up to few frames":     {[]waits.Waiter{locked}, 16, 16},
		"up to many frames":    {[]waits.Waiter{locked}, 1025, 1024},
	} {
		p := deepProcess(t, 1, 4)
		p.opts.MaxFrames = tt.most
		g := guards{process: p, maxPlaces: 9, left: 9}
		g.inferOwners(tt.list)
		got := 0
		if g.walker != nil {
			got = g.walker.unwinder.MaxFrames
		}
		if got != tt.want || g.full || len(p.Problems()) != 0 {
			t.Errorf("%s: got up to %d frames, want %d; %q", name, got, tt.want, p.Problems())
		}
	}
}

// If the stacks take too much time, no owners are inferred, and this is said.
func TestGuardsOutOfTime(t *testing.T) {
	p := deepProcess(t, 2, 1000)
	p.opts.MaxTotalTime = 1
	g := guards{process: p, maxPlaces: 1 << 10, left: 9}
	g.inferOwners([]waits.Waiter{{Thread: 1, Kind: report.WaitMutex, Address: 0x1000, Unchanged: true}})
	if got := p.Problems(); !g.full || !slices.Equal(got, []string{errGuards.Error()}) {
		t.Errorf("got %v, problems %q", g.full, got)
	}
	p = deepProcess(t, 1, 2000) // of which only some frames are looked at
	g = guards{process: p, maxPlaces: 1 << 10, left: 9}
	g.inferOwners([]waits.Waiter{{Thread: 1, Kind: report.WaitMutex, Address: 0x1000, Unchanged: true}})
	if got := p.Problems(); g.full || len(got) != 0 {
		t.Errorf("a long stack: got %v, problems %q", g.full, got)
	}
}

// TestGuardPlace has what is known of the functions at a place.
func TestGuardPlace(t *testing.T) {
	p := emptyProcess(t)
	for want, names := range map[guardFunctions][]string{
		{}: {"f", "g"}, {givesUp: true}: {"pthread_cond_wait", "g"}, {true, false}: {"f", "a::~a()"}, {true, true}: {"f", "condition_variable::wait", "a::~a()"},
	} {
		g := guards{process: p, walker: p.NewWalker(), places: map[uint64]*guardPlace{}, maxPlaces: 1}
		n := naming{}
		for _, name := range names {
			n.names = append(n.names, namedAs(name))
		}
		g.walker.names[7] = n
		at := g.place(7)
		if got := (guardFunctions{at.destroys, at.givesUp}); got != want || len(at.guards) != 0 || g.full || g.place(7) != at {
			t.Errorf("%q: got %+v, want %+v", names, got, want)
		}
		if g.place(8); !g.full {
			t.Errorf("%q: got one place more than are looked at", names)
		}
	}
}

type guardFunctions struct{ destroys, givesUp bool }

func namedAs(function string) name {
	return name{symbol.Location{Func: function}, function}
}

// A guard in the innermost frame of a thread makes that the owner, unless another thread has
// one too.
func TestGuardInInnermostFrame(t *testing.T) {
	const guard = "std::sync::MutexGuard<i32>"
	text := strings.Replace(guardTypes, "language=12", "language=33", 1) + strings.Replace(structure("t", "lock pm 0"), "name=t", "name="+guard, 1) +
		" subprogram name=f low_pc=0x400000 high_pc=0x1000\n  variable name=v type=#t" + strings.Replace(atData, "0000500000", "1000500000", 1) + "\n"
	for threads, want := range map[int]waits.Owner{1: {Thread: 1, Inferred: true, Evidence: "a " + guard + " in f points to it"}, 2: {}} {
		p, _ := partsProcess(t, text)
		memory, _ := p.img.Mem.(memreader.Viewer).View(partsData)
		binary.LittleEndian.PutUint64(memory[16:], 0x1000)
		for i := range threads {
			th := core.Thread{ID: i + 1}
			th.Regs.Set(p.img.Arch.PC, partsText+0x10)
			p.img.Threads = append(p.img.Threads, th)
		}
		list := []waits.Waiter{{Thread: 9, Kind: report.WaitMutex, Address: 0x1000, Unchanged: true}}
		g := guards{process: p, maxPlaces: 9, left: 9}
		if g.inferOwners(list); list[0].Owner != want || 9-g.left != 2*threads { // a guard and its member
			t.Errorf("%d threads: got %+v, want %+v, of %d parts", threads, list[0].Owner, want, 9-g.left)
		}
		both := []waits.Waiter{{Thread: 1, Kind: report.WaitMutex, Address: 0x1000, Unchanged: true}, list[0]}
		both[1].Owner = waits.Owner{}
		if p.inferOwners(both); threads == 1 && both[1].Owner.Thread != 0 {
			t.Errorf("got %+v, which waits itself", both[1].Owner)
		}
	}
}
