package gate

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/sfcore/sfcore/internal/display"
	"github.com/sfcore/sfcore/internal/document"
)

// Report is the outcome for all files.
type Report struct {
	// Version is that of sfcore, for formats that name the tool.
	Version  string
	Verdicts []*Verdict
	// Without is the number of ELF files that have no section and need none, and
	// Skipped that of files of other kinds in directories.
	Without, Skipped int
	// Unread says what could not be read, and why. More is how many others there are.
	Unread []string
	More   int
	// LeftOut is the number of findings that are not listed: see [Report.Add].
	LeftOut int
	// Unused are rules of the allow-list that matched nothing.
	Unused []*Rule

	listed int // findings of Verdicts
}

// Bounds of a report. An archive of 100 MB may hold a million files of which none can be
// read, or in each of which much is wrong.
const (
	maxUnread = 1000
	maxListed = 200_000 // findings
)

// Miss notes a file that could not be read.
func (r *Report) Miss(err error) {
	if len(r.Unread) == maxUnread {
		r.More++
		return
	}
	r.Unread = append(r.Unread, err.Error())
}

// unread is what could not be read, in words.
func (r *Report) unread() []string {
	if r.More == 0 {
		return r.Unread
	}
	return append(slices.Clip(r.Unread), fmt.Sprintf("%d more files", r.More))
}

// Add adds the verdict on a file. Once there are many findings, it leaves out those that
// do not fail, and then all but the first that does.
func (r *Report) Add(v *Verdict) {
	if r.listed+len(v.Judged) > maxListed {
		v.Judged = slices.DeleteFunc(v.Judged, func(j Judged) bool { return j.State != New })
		if r.listed+len(v.Judged) > maxListed {
			v.Judged = v.Judged[:min(len(v.Judged), 1)]
		}
		r.LeftOut += len(v.Findings) - len(v.Judged)
		v.Judged, v.Findings = slices.Clone(v.Judged), nil
	}
	r.listed += len(v.Judged)
	r.Verdicts = append(r.Verdicts, v)
}

// Failed returns the number of findings that fail.
func (r *Report) Failed() int {
	n := 0
	for _, v := range r.Verdicts {
		n += v.Failed
	}
	return n
}

// Formats are the functions that write reports, by the name of the format.
var Formats = map[string]func(*Report, io.Writer) error{
	"text": (*Report).text, "json": (*Report).json, "sarif": (*Report).sarif, "junit": (*Report).junit,
}

// text writes a line for each finding, and one for each file. Notes are only counted.
func (r *Report) text(w io.Writer) error {
	var b strings.Builder
	line := func(format string, args ...any) { b.WriteString(display.Text(fmt.Sprintf(format, args...)) + "\n") }
	for _, v := range r.Verdicts {
		counts := map[State]int{}
		for i := range v.Judged {
			f := &v.Judged[i]
			if counts[f.State]++; f.State == Minor || f.State == Unchanged {
				continue
			}
			state := f.Severity.String()
			if f.State == Excused {
				state = "allowed"
			}
			line("%s: %s: %s [%s]", v.Path, state, f.sentence(), f.ID)
			if f.State == Excused {
				line("  reason: %s", f.Reason)
			}
		}
		verdict := "good"
		if v.Failed > 0 {
			verdict = "FAILED"
		}
		line("%s: %s: %s%s", v.Path, verdict, v.summary(), tail(counts))
	}
	for _, u := range r.Unused {
		line("the allow-list, line %d: nothing is found that it allows; remove it", u.Line)
	}
	for _, u := range r.unread() {
		line("not judged: %s", u)
	}
	line("%s", r.sentence())
	_, err := io.WriteString(w, b.String())
	return err
}

// sentence says what was found, where and how often.
func (f *Finding) sentence() string {
	s := f.Msg
	if f.Function != "" {
		s = f.Function + ": " + s
	}
	if f.Off >= 0 && f.Field != "" {
		s = fmt.Sprintf(".sframe+%#x: %s: %s", f.Off, f.Field, s)
	}
	if f.Count > 1 {
		s += fmt.Sprintf(" (%d like this)", f.Count)
	}
	return s
}

// summary describes the section of a file.
func (v *Verdict) summary() string {
	if !v.HasSFrame {
		return string(v.Kind) + " without .sframe"
	}
	s := fmt.Sprintf("%s, %s, %s, %.1f%% of the code with unwind tables", v.Kind, strings.TrimSpace(v.Arch+" "+strings.Join(v.Versions, "+")), plural(v.Functions, "function"), math.Floor(1000*v.Covered())/10)
	if v.CFIBytes > 0 {
		s += fmt.Sprintf(", %d bytes beside %d of .eh_frame", v.SFrameBytes, v.CFIBytes)
	}
	return s
}

// tail counts the findings that are not listed.
func tail(counts map[State]int) string {
	s := ""
	for _, c := range []struct {
		state State
		what  string
	}{{New, "failing"}, {Excused, "allowed"}, {Unchanged, "in the baseline"}, {Minor, "below the limit"}} {
		if n := counts[c.state]; n > 0 {
			s += fmt.Sprintf("; %d %s", n, c.what)
		}
	}
	return s
}

func (r *Report) sentence() string {
	failed := 0
	for _, v := range r.Verdicts {
		if v.Failed > 0 {
			failed++
		}
	}
	s := fmt.Sprintf("%s judged, %d failed with %s", plural(len(r.Verdicts), "file"), failed, plural(r.Failed(), "finding"))
	if r.Without > 0 {
		s += fmt.Sprintf("; %s without .sframe", plural(r.Without, "file"))
	}
	if r.Skipped > 0 {
		s += fmt.Sprintf("; %s of other kinds", plural(r.Skipped, "file"))
	}
	if r.LeftOut > 0 {
		s += fmt.Sprintf("; %s not listed", plural(r.LeftOut, "finding"))
	}
	return s
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

type jsonReport struct {
	Schema  string     `json:"schema"`
	Verdict string     `json:"verdict"`
	Failed  int        `json:"failed"`
	LeftOut int        `json:"findingsLeftOut,omitempty"`
	Without int        `json:"filesWithout"`
	Skipped int        `json:"filesSkipped"`
	Files   []jsonFile `json:"files"`
	Unread  []string   `json:"unread"`
	Unused  []jsonRule `json:"unusedRules"`
}

type jsonFile struct {
	File      string        `json:"file"`
	Name      string        `json:"name"`
	Kind      Kind          `json:"kind"`
	Arch      string        `json:"arch"`
	Versions  []string      `json:"versions"`
	Functions int           `json:"functions"`
	SFrame    uint64        `json:"sframeBytes"`
	CFI       uint64        `json:"ehFrameBytes"`
	Code      uint64        `json:"codeBytes"`
	CodeSF    uint64        `json:"codeInSFrame"`
	CodeCFI   uint64        `json:"codeInCFI"`
	CodeBoth  uint64        `json:"codeInBoth"`
	Coverage  float64       `json:"coverage"`
	Failed    int           `json:"failed"`
	Findings  []jsonFinding `json:"findings"`
}

type jsonFinding struct {
	ID       string  `json:"id"`
	Severity string  `json:"severity"`
	State    State   `json:"state"`
	Reason   string  `json:"reason,omitempty"`
	Function string  `json:"function,omitempty"`
	Field    string  `json:"field,omitempty"`
	Address  *string `json:"address,omitempty"`
	Offset   *int64  `json:"offset,omitempty"`
	Message  string  `json:"message"`
	Count    int     `json:"count"`
}

type jsonRule struct {
	Line     int    `json:"line"`
	ID       string `json:"id"`
	File     string `json:"file"`
	Function string `json:"function"`
}

// json writes the document that docs/sframe-gate.md describes.
func (r *Report) json(w io.Writer) error {
	j := jsonReport{
		Schema: "sfcore.sframe-gate/1", Verdict: "pass", Failed: r.Failed(), LeftOut: r.LeftOut, Without: r.Without, Skipped: r.Skipped,
		Files: []jsonFile{}, Unread: append([]string{}, r.unread()...), Unused: []jsonRule{},
	}
	if j.Failed > 0 {
		j.Verdict = "fail"
	}
	for _, v := range r.Verdicts {
		file := jsonFile{
			v.Path, v.Name, v.Kind, v.Arch, append([]string{}, v.Versions...), v.Functions, v.SFrameBytes, v.CFIBytes,
			v.Code, v.SFrame, v.CFI, v.Both, v.Covered(), v.Failed,
			[]jsonFinding{},
		}
		for i := range v.Judged {
			f := &v.Judged[i]
			out := jsonFinding{ID: f.ID, Severity: f.Severity.String(), State: f.State, Reason: f.Reason, Function: f.Function, Field: f.Field, Message: f.Msg, Count: f.Count}
			if f.Addr != 0 {
				addr := fmt.Sprintf("%#x", f.Addr)
				out.Address = &addr
			}
			if f.Off >= 0 {
				out.Offset = &f.Off
			}
			file.Findings = append(file.Findings, out)
		}
		j.Files = append(j.Files, file)
	}
	for _, u := range r.Unused {
		j.Unused = append(j.Unused, jsonRule{u.Line, u.ID, u.File, u.Function})
	}
	return document.Write(w, &j)
}
