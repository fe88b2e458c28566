package info

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
)

// A table of abbreviations that is longer than any is read no further, and says so.
func TestAbbreviationsBounded(t *testing.T) {
	long := append([]byte{1, 0x2e, 0, 0, 0, 2, 0x34, 0}, bytes.Repeat([]byte{0x03, 0x19}, maxAbbrevs)...)
	many := bytes.Repeat([]byte{9, 0x34, 0, 0, 0}, maxAbbrevs/4+1) // none has the code that is sought
	for name, data := range map[string][]byte{"of attributes": append(long, 0, 0, 0), "of abbreviations": append(many, 2, 0x34, 0, 0, 0, 0)} {
		table, w := abbrevs{r: reader{data: data}, file: wholeFile()}, work{limit: maxWork}
		if a := table.find(2, &w); a != nil || !errors.Is(w.err, errAbbrevs) {
			t.Errorf("too many %s: got %v, %v", name, a != nil, w.err)
		}
	}
}

// Tables that begin within each other do not add up without bound.
func TestTablesForgotten(t *testing.T) {
	d := made(t, binary.LittleEndian, madeUnit+"  variable name=v\n")
	f := d.main
	f.whole[secAbbrev], f.contents[secAbbrev] = true, append(bytes.Repeat([]byte{9, 0x34, 0, 0, 0}, 10000), 0)
	most := 0
	for i := range uint64(400) {
		f.abbrevsAt(5*i).find(2, &work{limit: maxWork})
		most = max(most, len(f.abbrevs))
	}
	if want := maxAbbrevs/(4*9600) + 2; most > want || len(f.abbrevs) == 0 {
		t.Errorf("got %d tables at a time, want up to %d", most, want)
	}
}

// Attributes beyond the usual number count each time that they are read, and what is
// decoded of abbreviations and ranges counts more than a step.
func TestWorkOfAttributes(t *testing.T) {
	attrs := func(n int) string { return "  variable name=v" + strings.Repeat(" external", n-1) + "\n" }
	for n, want := range map[int]int{maxUsual: 0, maxUsual + 1: maxUsual + 1, 1000: 1000} {
		d := made(t, binary.LittleEndian, madeUnit+attrs(n))
		u := d.main.unit(0)
		r := u.entries(u.first)
		root, _ := u.next(&r)
		root.skip(&r)
		e, ok := u.next(&r)
		if !ok || len(e.abbrev.attrs) != n {
			t.Fatalf("got %v, %+v", ok, e)
		}
		before := d.work.done
		for range e.attributes() {
		}
		if got := d.work.done - before; got != want {
			t.Errorf("%d attributes: got %d steps, want %d", n, got, want)
		}
	}
}

// The ranges of units and of functions that are kept are bounded together.
func TestRangesBounded(t *testing.T) {
	text := madeUnit + "  subprogram name=f low_pc=0x1000 high_pc=0x10\n  subprogram name=g low_pc=0x1010 high_pc=0x10\n"
	for left, want := range map[int]string{3: "g", 2: "(" + errRanges.Error() + ")", 0: "(" + errRanges.Error() + ")"} {
		d := made(t, binary.LittleEndian, text)
		d.kept = maxRanges - left
		if got := names(t, d, 0x1010); got != want {
			t.Errorf("%d ranges are left: got %s, want %s", left, got, want)
		}
	}
}

// What was said of code is not found again: 1,000 threads are in the same functions. What
// came with an error is.
func TestCodeKept(t *testing.T) {
	const unit = `
  subprogram #f name=f low_pc=0x1000 high_pc=0x10
    variable name=v
    call_site call_return_pc=0x1008 call_origin=#f
      call_site_parameter location=55 call_value=31
`
	d := made(t, binary.LittleEndian, madeUnit+unit)
	ask := func() (scopes, params int, err error) {
		list, err1 := d.Scopes(0x1007)
		site, err2 := d.CallSite(0x1008)
		if site != nil {
			params = len(site.Params)
		}
		return len(list), params, errors.Join(err1, err2)
	}
	for i := range 3 {
		before := d.work.done
		if scopes, params, err := ask(); scopes != 1 || params != 1 || err != nil {
			t.Fatalf("got %d functions, %d parameters, %v", scopes, params, err)
		}
		if steps := d.work.done - before; (steps == 0) != (i > 0) {
			t.Errorf("time %d: %d steps", i, steps)
		}
	}
	d = made(t, binary.LittleEndian, madeUnit+unit)
	d.work.limit = 1
	if _, _, err := ask(); err == nil {
		t.Error("no error beyond the limit")
	}
	if _, ok := d.scopes.get(0x1007); ok {
		t.Error("what a limit cut off is kept")
	}
}

// wholeFile is a file of which nothing more can be read.
func wholeFile() *file {
	f := new(file)
	for s := range f.whole {
		f.whole[s] = true
	}
	return f
}
