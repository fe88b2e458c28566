package info

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/internal/testkit"
)

// nested is the text of a function into which n calls are inlined, each within the
// one before.
func nested(n int, origin string) string {
	var b strings.Builder
	b.WriteString("unit 4\ncompile_unit language=12 low_pc=0x1000 high_pc=0x100\n" + origin +
		" subprogram name=f low_pc=0x1000 high_pc=0x100\n")
	for i := range n {
		b.WriteString(strings.Repeat(" ", i+2) + "inlined_subroutine abstract_origin=#o low_pc=0x1000 high_pc=0x100\n")
	}
	return b.String()
}

// Calls that are inlined at one address are bounded, and told. The function that holds
// the code is still named.
func TestManyInlined(t *testing.T) {
	const origin = " subprogram #o name=o\n"
	d := made(t, binary.LittleEndian, nested(maxInlined+50, origin))
	got, err := d.Lookup(0x1010, nil)
	if len(got) != maxInlined+1 || got[maxInlined].Func != "f" || err == nil || !strings.Contains(err.Error(), "inlined at one address") {
		t.Errorf("got %d places, %v", len(got), err)
	}
	scopes, err := d.Scopes(0x1010)
	if len(scopes) != len(got) || err == nil {
		t.Errorf("got %d scopes, %v, want %d and an error", len(scopes), err, len(got))
	}
	d = made(t, binary.LittleEndian, nested(20, origin))
	if got, err := d.Lookup(0x1010, nil); len(got) != 21 || err != nil {
		t.Errorf("got %d places, %v, want 21", len(got), err)
	}
}

// The variables of all functions at an address are bounded together.
func TestManyVariables(t *testing.T) {
	const calls = 10
	origin := " subprogram #o name=o\n" + strings.Repeat("  variable name=v\n", maxVariables/calls+100)
	d := made(t, binary.LittleEndian, nested(calls, origin))
	scopes, err := d.Scopes(0x1010)
	n := 0
	for i := range scopes {
		n += len(scopes[i].Variables)
	}
	if n != maxVariables || err == nil || !strings.Contains(err.Error(), "variables are in scope") {
		t.Errorf("got %d variables, %v, want %d and an error", n, err, maxVariables)
	}
}

// Files that share a budget take no more together than it has. One that has no more
// still says so.
func TestSharedBudget(t *testing.T) {
	var budget Budget
	text := nested(100, " subprogram #o name=o\n")
	first := New(elfFile(t, testkit.DWARF{Order: binary.LittleEndian, Text: text}), Options{Budget: &budget})
	if got, err := first.Lookup(0x1010, nil); len(got) != 101 || err != nil {
		t.Errorf("got %d places, %v", len(got), err)
	}
	if used := budget.used.Load(); used < 100*callWork || used > maxBudget/100 {
		t.Errorf("got %d steps", used)
	}
	budget.used.Store(maxBudget)
	second := New(elfFile(t, testkit.DWARF{Order: binary.LittleEndian, Text: text}), Options{Budget: &budget})
	if got, err := second.Lookup(0x1010, nil); len(got) != 0 || err == nil || !strings.Contains(err.Error(), "for all files") {
		t.Errorf("got %v, %v, want an error", got, err)
	}
}

// An entry counts more than a step of a line number program, and an inlined call more
// than an entry.
func TestWorkCounts(t *testing.T) {
	few, many := made(t, binary.LittleEndian, nested(10, " subprogram #o name=o\n")), made(t, binary.LittleEndian, nested(110, " subprogram #o name=o\n"))
	for _, d := range []*Data{few, many} {
		if _, err := d.Lookup(0x1010, nil); err != nil {
			t.Fatal(err)
		}
	}
	if each := (many.work.done - few.work.done) / 100; each < callWork+entryWork || each > 4*(callWork+entryWork) {
		t.Errorf("an inlined call counts %d", each)
	}
}

// A unit that only has a length still counts, since its place is kept.
func TestEmptyUnitsCount(t *testing.T) {
	f := elfFile(t, testkit.DWARF{Order: binary.LittleEndian, Text: "unit 4\ncompile_unit language=12\n"})
	info := f.Section(".debug_info")
	end := info.Off + info.Size
	clear(f.Data[info.Off:end])
	d := New(f, Options{})
	d.work.limit = 1 << 30
	if n := len(d.main.unitOffsets()); uint64(n) != info.Size/4 || d.work.done < n*listWork {
		t.Errorf("got %d units of %d bytes, which count %d", n, info.Size, d.work.done)
	}
}

// The members of types are read once, also of types that consist of each other.
func TestMembersOnce(t *testing.T) {
	d := made(t, binary.LittleEndian, "unit 4\ncompile_unit language=12 low_pc=0x1000 high_pc=0x100\n structure_type #s name=s byte_size=8\n"+
		strings.Repeat("  member name=m type=#r data_member_location=0\n", 500)+
		" structure_type #r name=r byte_size=8\n"+
		strings.Repeat("  member name=m type=#s data_member_location=0\n", 500)+
		" enumeration_type #e name=e byte_size=4\n"+strings.Repeat("  enumerator name=x const_value=1\n", 500)+
		" enumeration_type #f name=f byte_size=4\n"+strings.Repeat("  enumerator name=x const_value=1\n", 500)+
		" subprogram name=f low_pc=0x1000 high_pc=0x100\n  variable name=v type=#s\n  variable name=e type=#e\n  variable name=f type=#f\n")
	scopes, err := d.Scopes(0x1010)
	if err != nil || len(scopes) != 1 || len(scopes[0].Variables) != 3 {
		t.Fatalf("got %+v, %v", scopes, err)
	}
	done := 0
	for i := range 3 {
		for _, v := range scopes[0].Variables {
			members, _ := v.Type.Members()
			if len(members)+len(v.Type.Enumerators()) != 500 {
				t.Errorf("%s: got %d members, %d enumerators", v.Name, len(members), len(v.Type.Enumerators()))
			}
			for _, m := range members[:min(1, len(members))] {
				if parts, _ := m.Type.Members(); len(parts) != 500 {
					t.Errorf("got %d members of a member", len(parts))
				}
			}
		}
		if i == 0 {
			done = d.work.done
		}
	}
	if d.work.done != done {
		t.Errorf("got %d more steps", d.work.done-done)
	}
}

// What is kept is bounded.
func TestKept(t *testing.T) {
	var k kept[string, int]
	for i, key := range []string{"a", "b", "c"} {
		k.put(key, i, maxParts/2-1)
	}
	if _, ok := k.get("a"); ok || k.sum > maxParts {
		t.Errorf("got %d kept, the first: %v", k.sum, ok)
	}
	if i, ok := k.get("c"); !ok || i != 2 {
		t.Errorf("got %d, %v", i, ok)
	}
}
