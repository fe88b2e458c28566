package diff

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sfcore/sfcore/report"
)

func TestFollow(t *testing.T) {
	for _, tt := range []struct {
		name    string
		moments []*report.Document
		want    string // of each stack: its innermost function, counts, who stayed
	}{
		{
			"threads that hang, move, come and go",
			[]*report.Document{
				doc(1, "1 hang@a+1", "2 f@a+2", "3 hang@a+1", "4 ends@a+3"),
				doc(1, "1 hang@a+1", "2 g@a+4", "3 hang@a+1", "5 f@a+2"),
				doc(1, "1 hang@a+1", "2 f@a+2", "3 hang@a+1", "5 f@a+2", "4 ends@a+3"),
			},
			"hang [2 2 2] [1 3]; f [1 1 2] [] grows; ends [1 0 1] []; g [0 1 0] []",
		},
		{
			"a leak",
			[]*report.Document{doc(1, "1 f@a+1"), doc(1, "1 f@a+1", "2 w@a+2"), doc(1, "1 f@a+1", "2 w@a+2", "3 w@a+2")},
			"f [1 1 1] [1]; w [0 1 2] [] grows",
		},
		{
			"fewer", []*report.Document{doc(1, "1 w@a+2", "2 w@a+2"), doc(1, "1 w@a+2"), doc(1)}, "w [2 1 0] []",
		},
		{
			"more, and one fewer meanwhile", []*report.Document{doc(1, "1 w@a+2"), doc(1), doc(1, "1 w@a+2", "2 w@a+2")}, "w [1 0 2] []",
		},
		{
			"several processes", []*report.Document{doc(1, "1 f@a+1"), doc(2, "1 f@a+1"), doc(1, "1 f@a+1")}, "f [1 1 1] []",
		},
		{
			"an id twice", []*report.Document{doc(1, "1 f@a+1", "1 g@a+2"), doc(1, "1 f@a+1"), doc(1, "1 f@a+1")}, "f [1 1 1] []; g [1 0 0] []",
		},
		{
			"a module that one moment lacks goes by function",
			[]*report.Document{doc(1, "1 f@a+1"), doc(1, "1 f@b+7"), doc(1, "1 f@a+1")},
			"f [1 1 1] [1]",
		},
	} {
		s := Follow(tt.moments)
		var got []string
		for i := range s.Stacks {
			c := &s.Stacks[i]
			text := fmt.Sprintf("%s %v %v", c.Frames[0].Function, c.Counts, c.Stayed)
			if c.Grows() {
				text += " grows"
			}
			got = append(got, text)
		}
		if text := strings.Join(got, "; "); text != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, text, tt.want)
		}
		if len(s.Moments) != len(tt.moments) || s.Schema != SeriesSchema || s.LeftOut != 0 {
			t.Errorf("%s: got %d moments, %s, %d left out", tt.name, len(s.Moments), s.Schema, s.LeftOut)
		}
	}
}

// What a series takes does not grow with stacks times moments without bound.
func TestFollowBounded(t *testing.T) {
	const moments, each = 4096, 5
	var all []*report.Document
	n := 0
	for range moments {
		d := &report.Document{}
		for range each {
			d.Threads = append(d.Threads, report.Thread{TID: n, Frames: []report.Frame{{PC: report.Addr(n)}}})
			n++
		}
		all = append(all, d)
	}
	s := Follow(all)
	if want := maxCounts / moments; len(s.Stacks) != want || s.LeftOut != n-want {
		t.Errorf("got %d stacks, %d threads left out; want %d and %d", len(s.Stacks), s.LeftOut, want, n-want)
	}
}
