package survey

import (
	"fmt"
	"strings"
	"testing"
)

// A page lists the files with the most code, and says how many it leaves out.
func TestPageBound(t *testing.T) {
	var rows []Row
	for i := range maxFiles + 7 {
		rows = append(rows, Row{File: fmt.Sprintf("file%05d", i), Counts: Counts{Files: 1, WithSFrame: 1, Code: uint64(1000 + i), SFrame: 10, CFI: 10, Both: 10, SFrameBytes: 5, CFIBytes: 6}})
	}
	var out strings.Builder
	if err := New(rows, 0, nil).html(&out); err != nil {
		t.Fatal(err)
	}
	page := out.String()
	for _, want := range []string{"The 2,000 with the most code. The formats csv and json have 7 more.", "<td>file00007<", "2,007 ELF files in 1 package,", "<td>2,007<td>2,007<td>4,020,021<td>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	if strings.Contains(page, "file00006") || strings.Count(page, "<circle") != maxFiles {
		t.Errorf("got a small file, or %d dots, want the largest %d", strings.Count(page, "<circle"), maxFiles)
	}
}

func TestNumbers(t *testing.T) {
	for _, tt := range []struct {
		n              int
		grouped, short string
	}{
		{0, "0", "0"},
		{999, "999", "999"},
		{1000, "1,000", "1k"},
		{12345, "12,345", "12.3k"},
		{999_499, "999,499", "999k"},
		{999_500, "999,500", "1M"},
		{1_234_567, "1,234,567", "1.23M"},
	} {
		if got := grouped(tt.n); got != tt.grouped {
			t.Errorf("%d: got %s, want %s", tt.n, got, tt.grouped)
		}
		if got := short(tt.n); got != tt.short {
			t.Errorf("%d: got %s, want %s", tt.n, got, tt.short)
		}
	}
}

func TestCoverageBins(t *testing.T) {
	file := func(sf, cf, both uint64) *Row {
		return &Row{Counts: Counts{WithSFrame: 1, SFrame: sf, CFI: cf, Both: both}}
	}
	if got := coverage([]*Row{file(0, 0, 0)}); got != nil {
		t.Errorf("got %v for a file without code, want none", got)
	}
	bins := coverage([]*Row{file(10, 10, 10), file(10, 0, 0), file(1, 100, 1), file(99, 100, 99)})
	for i, b := range bins {
		if want := map[int]int{0: 1, 19: 1, 20: 2}[i]; b.Files != want {
			t.Errorf("%s: got %d files, want %d", b.Label, b.Files, want)
		}
	}
	if bins[20].Height != 130 || bins[20].Y != 20 || bins[0].Height != 65 {
		t.Errorf("got heights %v and %v, want 65 and 130", bins[0].Height, bins[20].Height)
	}
}

// A file whose tables are equally large is on the line, and every dot in the plot.
func TestPlotSizes(t *testing.T) {
	file := func(sf, cf uint64) *Row { return &Row{Counts: Counts{SFrameBytes: sf, CFIBytes: cf}} }
	if got := plotSizes([]*Row{file(0, 5), file(5, 0)}); got != nil {
		t.Errorf("got %v, want no plot", got)
	}
	p := plotSizes([]*Row{file(1, maxCount), file(maxCount, maxCount), file(300, 300)})
	for _, d := range append(p.Dots, p.Ticks...) {
		if d.Right < 40 || d.Right > 350 || d.Up < 10 || d.Up > 310 {
			t.Errorf("got %+v, want it in the plot", d)
		}
	}
	for _, d := range p.Dots[1:] {
		if line := 310 - (d.Right-40)*300/310; d.Up < line-1e-9 || d.Up > line+1e-9 {
			t.Errorf("got %+v, want it on the line, at %v", d, line)
		}
	}
	if p.Ticks[0].Label != "1" || p.Ticks[len(p.Ticks)-1].Label != "1T" {
		t.Errorf("got %v, want 1 to 1T", p.Ticks)
	}
}
