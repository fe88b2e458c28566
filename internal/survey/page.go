package survey

import (
	"cmp"
	"fmt"
	"html"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/sfcore/sfcore/internal/display"
)

const pageHead = `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>SFrame survey</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>
body { font: 14px/1.4 sans-serif; margin: 2em; color: #222 }
table { border-collapse: collapse; margin: 1em 0 }
td, th { padding: .15em .7em; text-align: right; border-bottom: 1px solid #ddd }
td:first-child, th:first-child, td.t { text-align: left }
svg { background: #fafafa; margin: .5em 1em .5em 0 }
.sf { fill: #2a7 } .cfi { fill: #79c } .none { fill: #ccc } .dot { fill: #2a7; fill-opacity: .5 } .axis { stroke: #888 } text { font: 11px sans-serif; fill: #444 }
</style></head><body>
`

// html writes a page with plots and tables, which needs nothing else and no script.
func (s *Survey) html(out io.Writer) error {
	var b strings.Builder
	b.WriteString(pageHead)
	c := &s.Total
	fmt.Fprintf(&b, "<h1>SFrame survey</h1>\n<p>%d ELF files in %d packages, %d with .sframe. Of %d bytes of code, %s have unwind tables; .sframe covers %s of that. "+
		".sframe has %d bytes, .eh_frame %d.</p>\n", c.Files, len(s.Packages), c.WithSFrame, c.Code, c.Described(), c.Covered(), c.SFrameBytes, c.CFIBytes)
	s.bars(&b)
	s.histogram(&b)
	s.sizes(&b)
	s.kinds(&b)
	b.WriteString("<h2>Packages</h2>\n")
	tableHead(&b, "package")
	for i := range s.Packages {
		tableRow(&b, cmp.Or(s.Packages[i].Name, "(none)"), &s.Packages[i].Counts, "")
	}
	tableRow(&b, "all", c, "")
	b.WriteString("</table>\n<h2>Files with .sframe</h2>\n")
	tableHead(&b, "file")
	for i := range s.Rows {
		if r := &s.Rows[i]; r.WithSFrame > 0 {
			tableRow(&b, r.File, &r.Counts, strings.Join(r.Versions, "+")+" "+r.findings())
		}
	}
	b.WriteString("</table>\n</body></html>\n")
	_, err := io.WriteString(out, b.String())
	return err
}

func tableHead(b *strings.Builder, first string) {
	fmt.Fprintf(b, "<table><tr><th>%s<th>files<th>with .sframe<th>code<th>in any table<th>covered by .sframe<th>.sframe<th>.eh_frame<th>size<th>errors<th>warnings<th></tr>\n", first)
}

func tableRow(b *strings.Builder, name string, c *Counts, rest string) {
	fmt.Fprintf(b, `<tr><td>%s<td>%d<td>%d<td>%d<td>%s<td>%s<td>%d<td>%d<td>%s<td>%d<td>%d<td class="t">%s</tr>`+"\n", escape(name), c.Files, c.WithSFrame, c.Code, c.Described(), c.Covered(),
		c.SFrameBytes, c.CFIBytes, c.Size(), c.Errors, c.Warnings, escape(rest))
}

func escape(s string) string { return html.EscapeString(display.Text(s)) }

// kinds lists versions and findings.
func (s *Survey) kinds(b *strings.Builder) {
	b.WriteString("<table><tr><th>version or finding<th>files or times</tr>\n")
	for _, v := range slices.Sorted(maps.Keys(s.Versions)) {
		fmt.Fprintf(b, "<tr><td>SFrame %s<td>%d</tr>\n", escape(v), s.Versions[v])
	}
	for _, id := range slices.Sorted(maps.Keys(s.Findings)) {
		fmt.Fprintf(b, "<tr><td>%s<td>%d</tr>\n", escape(id), s.Findings[id])
	}
	b.WriteString("</table>\n")
}

const (
	plotWidth, plotHeight = 640, 240
	maxBars               = 40
)

// bars draws the code of the largest packages: in .sframe, only in .eh_frame, in neither.
func (s *Survey) bars(b *strings.Builder) {
	largest := slices.Clone(s.Packages)
	slices.SortStableFunc(largest, func(a, b Package) int { return cmp.Compare(b.Code, a.Code) })
	largest = largest[:min(len(largest), maxBars)]
	if len(largest) == 0 || largest[0].Code == 0 {
		return
	}
	fmt.Fprintf(b, "<h2>Code of the %d largest packages</h2>\n<p>green: in .sframe; blue: only in .eh_frame; grey: in no table</p>\n<svg width=\"%d\" height=\"%d\">\n", len(largest), plotWidth+260, 16*len(largest))
	for i := range largest {
		p := &largest[i]
		at, scale := 250.0, plotWidth/float64(largest[0].Code)
		y := 16 * i
		fmt.Fprintf(b, "<text x=\"240\" y=\"%d\" text-anchor=\"end\">%s</text>\n", y+12, escape(cmp.Or(p.Name, "(none)")))
		for _, part := range []struct {
			class string
			n     uint64
		}{{"sf", p.SFrame}, {"cfi", p.CFI - p.Both}, {"none", p.Code - min(p.Code, p.SFrame+p.CFI-p.Both)}} {
			w := float64(part.n) * scale
			fmt.Fprintf(b, "<rect class=\"%s\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"12\"><title>%d bytes</title></rect>\n", part.class, at, y+2, w, part.n)
			at += w
		}
	}
	b.WriteString("</svg>\n")
}

// histogram draws how many files have which coverage.
func (s *Survey) histogram(b *strings.Builder) {
	var bins [21]int // of 5 %, the last for everything
	most := 0
	for i := range s.Rows {
		r := &s.Rows[i]
		if tables := r.SFrame + r.CFI - r.Both; r.WithSFrame > 0 && tables > 0 {
			bin := int(20 * r.SFrame / tables)
			bins[bin]++
			most = max(most, bins[bin])
		}
	}
	if most == 0 {
		return
	}
	fmt.Fprintf(b, "<h2>Coverage of the files with .sframe</h2>\n<svg width=\"%d\" height=\"%d\">\n", plotWidth+20, plotHeight+20)
	for i, n := range bins {
		h := float64(plotHeight-20) * float64(n) / float64(most)
		fmt.Fprintf(b, "<rect class=\"sf\" x=\"%d\" y=\"%.1f\" width=\"26\" height=\"%.1f\"><title>from %d%%: %d files</title></rect>\n<text x=\"%d\" y=\"%d\">%d%%</text>\n",
			i*30+10, plotHeight-h, h, 5*i, n, i*30+10, plotHeight+14, 5*i)
	}
	b.WriteString("</svg>\n")
}

// sizes draws .sframe beside .eh_frame, both by their logarithm.
func (s *Survey) sizes(b *strings.Builder) {
	most := uint64(0)
	for i := range s.Rows {
		if r := &s.Rows[i]; r.WithSFrame > 0 {
			most = max(most, r.SFrameBytes, r.CFIBytes)
		}
	}
	if most == 0 {
		return
	}
	scale := func(n uint64) float64 {
		return (plotHeight - 20) * math.Log2(1+float64(n)) / math.Log2(1+float64(most))
	}
	fmt.Fprintf(b, "<h2>Size of .sframe (up) beside .eh_frame with its header (right)</h2>\n<p>logarithmic, up to %d bytes; on the line both are equal</p>\n<svg width=\"%d\" height=\"%d\">\n"+
		"<line class=\"axis\" x1=\"10\" y1=\"%d\" x2=\"%d\" y2=\"10\"/>\n", most, plotHeight, plotHeight, plotHeight-10, plotHeight-10)
	for i := range s.Rows {
		if r := &s.Rows[i]; r.WithSFrame > 0 && r.CFIBytes > 0 {
			fmt.Fprintf(b, "<circle class=\"dot\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"><title>%s: %d beside %d</title></circle>\n", 10+scale(r.CFIBytes), plotHeight-10-scale(r.SFrameBytes), escape(r.File), r.SFrameBytes, r.CFIBytes)
		}
	}
	b.WriteString("</svg>\n")
}
