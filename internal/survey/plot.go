package survey

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/sfcore/sfcore/internal/display"
)

// maxBars is how many packages have a bar.
const maxBars = 40

// bar is the code of a package.
type bar struct {
	Name  string
	Parts []part
}

// part is the part of a bar for a kind of tables. Percent is its share of the longest
// bar.
type part struct {
	Class   string
	Bytes   uint64
	Percent float64
}

// bars returns the code of the largest packages: in .sframe, only in .eh_frame, in
// neither.
func (s *Survey) bars() []bar {
	largest := slices.Clone(s.Packages)
	slices.SortStableFunc(largest, func(a, b Package) int { return cmp.Compare(b.Code, a.Code) })
	var list []bar
	for i := range largest[:min(len(largest), maxBars)] {
		p := &largest[i]
		if p.Code == 0 {
			break
		}
		tables := p.SFrame + p.CFI - p.Both
		b := bar{Name: packageName(p)}
		for _, t := range []part{{"sf", p.SFrame, 0}, {"cfi", p.CFI - p.Both, 0}, {"none", p.Code - min(p.Code, tables), 0}} {
			t.Percent = 100 * float64(t.Bytes) / float64(largest[0].Code)
			b.Parts = append(b.Parts, t)
		}
		list = append(list, b)
	}
	return list
}

// bin are the files with a coverage. The plot is 360 by 170, with the axis at 150.
type bin struct {
	Files     int
	Label     string
	Tick      bool // the label is shown
	X         int
	Y, Height float64
}

// Mid and Above say where the number of files is written.
func (b *bin) Mid() float64   { return float64(b.X) + 6.5 }
func (b *bin) Above() float64 { return b.Y - 3 }

// coverage counts files by their coverage, nil if no file has code with tables.
func coverage(files []*Row) []bin {
	bins := make([]bin, 21) // of 5 %, the last for everything
	most := 0
	for _, r := range files {
		if tables := r.SFrame + r.CFI - r.Both; tables > 0 {
			b := &bins[20*r.SFrame/tables]
			b.Files++
			most = max(most, b.Files)
		}
	}
	if most == 0 {
		return nil
	}
	for i := range bins {
		b := &bins[i]
		b.Label, b.Tick, b.X = fmt.Sprintf("%d%%", 5*i), i%5 == 0, 8+16*i
		b.Height = 130 * float64(b.Files) / float64(most)
		b.Y = 150 - b.Height
	}
	return bins
}

// sizes are files by the sizes of their tables. The plot is 310 by 300, from (40, 310).
type sizes struct {
	Ticks, Dots []dot
}

type dot struct {
	Right, Up float64
	Label     string
}

// plotSizes returns nil if no file has both tables.
func plotSizes(files []*Row) *sizes {
	least, most := math.Inf(1), 0.0
	for _, r := range files {
		if r.SFrameBytes > 0 && r.CFIBytes > 0 {
			least = min(least, float64(r.SFrameBytes), float64(r.CFIBytes))
			most = max(most, float64(r.SFrameBytes), float64(r.CFIBytes))
		}
	}
	if most == 0 {
		return nil
	}
	low, high := math.Floor(math.Log10(least)), math.Floor(math.Log10(most))+1
	at := func(n uint64) float64 { return (math.Log10(float64(n)) - low) / (high - low) }
	place := func(right, up uint64, label string) dot { return dot{40 + 310*at(right), 310 - 300*at(up), label} }
	var p sizes
	units := []string{"1", "10", "100", "1k", "10k", "100k", "1M", "10M", "100M", "1G", "10G", "100G", "1T"}
	for i, n := 0, uint64(1); i < len(units) && float64(i) <= high; i, n = i+1, n*10 {
		if float64(i) >= low {
			p.Ticks = append(p.Ticks, place(n, n, units[i]))
		}
	}
	for _, r := range files {
		if r.SFrameBytes > 0 && r.CFIBytes > 0 {
			p.Dots = append(p.Dots, place(r.CFIBytes, r.SFrameBytes, fmt.Sprintf("%s: %s beside %s", display.Text(r.File), grouped(r.SFrameBytes), grouped(r.CFIBytes))))
		}
	}
	return &p
}
