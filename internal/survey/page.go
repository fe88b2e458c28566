package survey

import (
	"cmp"
	_ "embed" // for the parts of the page
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/sfcore/sfcore/internal/display"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

// pageTemplate is parsed when it is first needed.
var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{"count": grouped, "short": short}).Parse(pageHTML))
})

// maxFiles bounds the files that the page lists and plots, so that browsers can show it.
const maxFiles = 2000

// page is what page.html shows. The template escapes every text by its place.
type page struct {
	*Survey
	Style    template.CSS
	Bars     []bar
	Coverage []bin
	Sizes    *sizes
	Kinds    []kind
	Rows     []row // packages, and the total
	Files    []row
	More     int // files with .sframe that are not listed
}

// row is one of a table.
type row struct {
	Name, Note string
	*Counts
}

// kind is a version of SFrame or a finding.
type kind struct {
	Name  string
	Times int
}

// html writes a page with plots and tables, which needs nothing else and no script.
func (s *Survey) html(out io.Writer) error {
	var listed []*Row
	for i := range s.Rows {
		if s.Rows[i].WithSFrame > 0 {
			listed = append(listed, &s.Rows[i])
		}
	}
	p := page{Survey: s, Style: template.CSS(pageCSS), Bars: s.bars(), Coverage: coverage(listed), Kinds: s.kinds()}
	if len(listed) > maxFiles {
		p.More = len(listed) - maxFiles
		slices.SortStableFunc(listed, func(a, b *Row) int { return cmp.Compare(b.Code, a.Code) })
		listed = listed[:maxFiles]
	}
	p.Sizes = plotSizes(listed)
	for i := range s.Packages {
		p.Rows = append(p.Rows, row{packageName(&s.Packages[i]), "", &s.Packages[i].Counts})
	}
	p.Rows = append(p.Rows, row{"all", "", &s.Total})
	for _, r := range listed {
		p.Files = append(p.Files, row{display.Text(r.File), strings.TrimSpace(display.Text("SFrame " + strings.Join(r.Versions, "+") + " " + r.findings())), &r.Counts})
	}
	return pageTemplate().Execute(out, &p)
}

func packageName(p *Package) string { return display.Text(cmp.Or(p.Name, "(none)")) }

// kinds lists versions and findings.
func (s *Survey) kinds() []kind {
	var list []kind
	for _, v := range slices.Sorted(maps.Keys(s.Versions)) {
		list = append(list, kind{"SFrame " + display.Text(v), s.Versions[v]})
	}
	for _, id := range slices.Sorted(maps.Keys(s.Findings)) {
		list = append(list, kind{display.Text(id), s.Findings[id]})
	}
	return list
}

// grouped writes a number with a comma after each three digits.
func grouped(n any) string {
	digits := fmt.Sprint(n)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// short writes a number for which there is little room.
func short(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 999_500:
		return fmt.Sprintf("%.3gk", float64(n)/1e3)
	}
	return fmt.Sprintf("%.3gM", float64(n)/1e6)
}
