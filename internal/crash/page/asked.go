package page

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/sfcore/sfcore/internal/crash/index"
)

// perPage is how many groups or crashes a page has, and maxPage the last page.
const (
	perPage = 25
	maxPage = 10000
)

// asked is what a query asks for.
type asked struct {
	Text    string `json:"q,omitempty"`
	Group   string `json:"group,omitempty"`
	Program string `json:"program,omitempty"`
	Signal  string `json:"signal,omitempty"`
	Build   string `json:"build,omitempty"`
	Host    string `json:"host,omitempty"`
	User    string `json:"user,omitempty"`
	Since   string `json:"since,omitempty"` // a date in UTC, as 2006-01-02
	Until   string `json:"until,omitempty"` // the last date
	Page    int    `json:"page"`            // from 1

	filter index.Filter
}

// field is a parameter of a query.
type field struct {
	name string
	to   func(*asked) *string
}

var fields = []field{
	{"q", func(a *asked) *string { return &a.Text }},
	{"group", func(a *asked) *string { return &a.Group }},
	{"program", func(a *asked) *string { return &a.Program }},
	{"signal", func(a *asked) *string { return &a.Signal }},
	{"build", func(a *asked) *string { return &a.Build }},
	{"host", func(a *asked) *string { return &a.Host }},
	{"user", func(a *asked) *string { return &a.User }},
	{"since", func(a *asked) *string { return &a.Since }},
	{"until", func(a *asked) *string { return &a.Until }},
}

// parseAsked reads a query. What it does not know is an error, not a list of something
// else.
func parseAsked(query string) (*asked, error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, bad("the query cannot be read: %v", err)
	}
	a := &asked{Page: 1}
	for _, f := range fields {
		*f.to(a) = values.Get(f.name)
		values.Del(f.name)
		if !utf8.ValidString(*f.to(a)) {
			return nil, bad("%s: this is not UTF-8", f.name)
		}
	}
	if text := values.Get("page"); text != "" {
		if a.Page, err = strconv.Atoi(text); err != nil || a.Page < 1 || a.Page > maxPage {
			return nil, bad("page: a number from 1 to %d is needed", maxPage)
		}
	}
	values.Del("page")
	for name := range values {
		return nil, bad("%q: there is no such parameter", name)
	}
	a.filter = index.Filter{Group: a.Group, Program: a.Program, Signal: a.Signal, Build: a.Build, Host: a.Host, Text: a.Text}
	if a.User != "" {
		uid, err := strconv.Atoi(a.User)
		if err != nil {
			return nil, bad("user: a number is needed")
		}
		a.filter.User = &uid
	}
	if a.filter.Since, err = date("since", a.Since); err != nil {
		return nil, err
	}
	if a.filter.Until, err = date("until", a.Until); err != nil {
		return nil, err
	}
	if !a.filter.Until.IsZero() {
		a.filter.Until = a.filter.Until.AddDate(0, 0, 1)
	}
	return a, nil
}

func date(name, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.DateOnly, text)
	if err != nil || t.Year() < 1970 || t.Year() > 2200 {
		return time.Time{}, bad("%s: a date like 2026-11-24 is needed", name)
	}
	return t, nil
}

func bad(format string, args ...any) failure {
	return failure{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// page is what of a list is asked for: one more than is shown, which tells whether there
// is more.
func (a *asked) page() index.Page {
	return index.Page{Limit: perPage + 1, Offset: (a.Page - 1) * perPage}
}

// link is the query of another page of the same list.
func (a *asked) link(page int) string {
	values := url.Values{}
	for _, f := range fields {
		if v := *f.to(a); v != "" {
			values.Set(f.name, v)
		}
	}
	if page > 1 {
		values.Set("page", strconv.Itoa(page))
	}
	if len(values) == 0 {
		return ""
	}
	return "?" + values.Encode()
}

// Parts are the parts of what is asked for but the text, for people and for a form.
func (a *asked) Parts() (parts [][2]string) {
	for _, f := range fields[1:] {
		if v := *f.to(a); v != "" {
			parts = append(parts, [2]string{f.name, v})
		}
	}
	return parts
}

// pages are links to the pages before and after.
type pages struct {
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// pagesOf returns the links of a list, and how many of its n elements are shown.
func pagesOf(path string, a *asked, n int) (p pages, shown int) {
	if a.Page > 1 {
		p.Before = path + a.link(a.Page-1)
	}
	if n > perPage && a.Page < maxPage {
		p.After = path + a.link(a.Page+1)
	}
	return p, min(n, perPage)
}
