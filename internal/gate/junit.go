package gate

import (
	"encoding/xml"
	"fmt"
	"io"

	"github.com/sfcore/sfcore/internal/display"
)

// The JUnit format, as servers of continuous integration read it: a suite for each
// file, and in it a case for each kind of finding.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Failure *junitMessage `xml:"failure,omitempty"`
		Error   *junitMessage `xml:"error,omitempty"`
		Skipped *junitMessage `xml:"skipped,omitempty"`
	}
	junitMessage struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// junit writes the report as JUnit XML. What is allowed or known is skipped. A file
// without findings has one case, which passes.
func (r *Report) junit(w io.Writer) error {
	all := junitSuites{Name: "sfcore sframe gate"}
	add := func(s junitSuite) {
		all.Tests += s.Tests
		all.Failures += s.Failures
		all.Errors += s.Errors
		all.Suites = append(all.Suites, s)
	}
	for _, v := range r.Verdicts {
		add(v.junit())
	}
	for _, u := range r.unread() {
		u = display.Text(u)
		add(junitSuite{Name: u, Tests: 1, Errors: 1, Cases: []junitCase{{Class: u, Name: "read", Error: &junitMessage{Message: u, Type: "unread"}}}})
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", " ")
	if err := e.Encode(&all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (v *Verdict) junit() junitSuite {
	name := display.Text(v.Path)
	s := junitSuite{Name: name}
	for i := range v.Judged {
		f := &v.Judged[i]
		c := junitCase{Class: name, Name: display.Text(caseName(&f.Finding))}
		m := &junitMessage{Message: display.Text(f.sentence()), Type: f.ID}
		switch f.State {
		case New:
			s.Failures++
			c.Failure = m
		case Excused:
			m.Text = display.Text("allowed: " + f.Reason)
			c.Skipped = m
		case Unchanged:
			m.Text = "in the baseline"
			c.Skipped = m
		case Minor:
			continue
		}
		if c.Skipped != nil {
			s.Skipped++
			c.Skipped.Type = "" // which readers do not expect there
		}
		s.Cases = append(s.Cases, c)
	}
	if len(s.Cases) == 0 {
		s.Cases = []junitCase{{Class: name, Name: "sframe"}}
	}
	s.Tests = len(s.Cases)
	return s
}

// caseName tells findings of a file apart.
func caseName(f *Finding) string {
	name := f.ID
	if f.Function != "" {
		name += " in " + f.Function
	}
	if f.Field != "" {
		name = fmt.Sprintf("%s (%s)", name, f.Field)
	}
	return name
}
