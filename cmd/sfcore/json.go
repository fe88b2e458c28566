package main

import (
	"bufio"
	"encoding/json"

	"github.com/sfcore/sfcore/target"
)

// jsonWriter writes the report as one document, thread by thread.
type jsonWriter struct {
	out     *bufio.Writer
	threads int
}

func (w *jsonWriter) head(r *target.Report) {
	w.out.WriteString(`{"schema":`)
	w.value(r.Schema)
	w.out.WriteString(`,"source":`)
	w.value(r.Source)
	w.out.WriteString(`,"process":`)
	w.value(r.Process)
	w.out.WriteString(`,"threads":[`)
}

func (w *jsonWriter) thread(r *target.ThreadReport) {
	if w.threads++; w.threads > 1 {
		w.out.WriteByte(',')
	}
	w.out.WriteByte('\n')
	w.value(r)
}

func (w *jsonWriter) tail(t *target.Target) {
	w.out.WriteString("],\n\"modules\":")
	w.value(t.ReportModules())
	w.out.WriteString(`,"problems":`)
	w.value(t.ReportProblems())
	w.out.WriteString("}\n")
}

// value writes v. The report's types always encode.
func (w *jsonWriter) value(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	w.out.Write(b)
}

// jsonLinesWriter writes a line for the process, one for each thread as soon
// as it is known, and one for modules and problems.
type jsonLinesWriter struct {
	out *bufio.Writer
	enc *json.Encoder
}

func (w *jsonLinesWriter) head(r *target.Report) {
	w.line(struct {
		Schema  string         `json:"schema"`
		Source  target.Source  `json:"source"`
		Process target.Process `json:"process"`
	}{r.Schema, r.Source, r.Process})
}

func (w *jsonLinesWriter) thread(r *target.ThreadReport) {
	w.line(struct {
		Thread *target.ThreadReport `json:"thread"`
	}{r})
}

func (w *jsonLinesWriter) tail(t *target.Target) {
	w.line(struct {
		Modules  []target.ModuleReport `json:"modules"`
		Problems []string              `json:"problems"`
	}{t.ReportModules(), t.ReportProblems()})
}

// line writes v on a line of its own, at once. A failed write shows in the
// flush that ends the command.
func (w *jsonLinesWriter) line(v any) {
	_ = w.enc.Encode(v)
	_ = w.out.Flush()
}
