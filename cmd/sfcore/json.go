package main

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"

	"github.com/sfcore/sfcore/internal/display"
	"github.com/sfcore/sfcore/report"

	"github.com/sfcore/sfcore/process"
)

// encode returns v as JSON, which a terminal may show: it has no characters that
// control anything. The report's types always encode.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return display.JSON(b)
}

// writeJSON writes v as a document of one line.
func writeJSON(w io.Writer, v any) error {
	_, err := w.Write(append(encode(v), '\n'))
	return err
}

// members joins parts of a JSON object: keys, with their punctuation, and values.
func members(parts ...any) []byte {
	var b []byte
	for _, p := range parts {
		if key, ok := p.(string); ok {
			b = append(b, key...)
		} else {
			b = append(b, encode(p)...)
		}
	}
	return b
}

// noFrames is how a thread without frames has them. A string cannot contain it: there,
// quotes are escaped.
const noFrames = `"frames":[]`

// appendThread appends a thread as JSON, frame by frame: [encode] takes three times
// the memory of what it returns, and a stack may have 262,144 frames.
func appendThread(b []byte, r *threadReport) []byte {
	thread := *r.Thread
	thread.Frames = []report.Frame{}
	head, tail, _ := bytes.Cut(encode(&threadReport{&thread, r.TIDs}), []byte(noFrames))
	b = append(append(b, head...), noFrames[:len(noFrames)-1]...)
	for i := range r.Frames {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, encode(&r.Frames[i])...)
	}
	return append(append(b, ']'), tail...)
}

// jsonFormat renders the report as one document.
type jsonFormat struct{}

func (jsonFormat) head(r *report.Document) []byte {
	return members(`{"schema":"`+r.Schema+`","source":`, r.Source, `,"process":`, r.Process, ",\"threads\":[\n")
}

func (jsonFormat) thread(b []byte, r *threadReport) []byte { return appendThread(b, r) }

func (jsonFormat) separator() string { return ",\n" }

func (jsonFormat) tail(t *process.Process, w *report.Waiting) []byte {
	return members("],\n"+waitMembers(w)+"\"modules\":", describeModules(t), `,"problems":`, t.Problems(), "}\n")
}

// jsonLines renders a line for the process, one for each thread, and one for
// modules and problems.
type jsonLines struct{}

func (jsonLines) head(r *report.Document) []byte {
	return members(`{"schema":"`+r.Schema+`","source":`, r.Source, `,"process":`, r.Process, "}\n")
}

func (jsonLines) thread(b []byte, r *threadReport) []byte {
	return append(appendThread(append(b, `{"thread":`...), r), "}\n"...)
}

func (jsonLines) separator() string { return "" }

func (jsonLines) tail(t *process.Process, w *report.Waiting) []byte {
	return members("{"+waitMembers(w)+`"modules":`, describeModules(t), `,"problems":`, t.Problems(), "}\n")
}

// waitMembers are the members for what threads wait for, as text before other members;
// "" if there are none.
func waitMembers(w *report.Waiting) string {
	text := encode(w)
	if text = text[1 : len(text)-1]; len(text) == 0 {
		return ""
	}
	return string(text) + ","
}

// describeModules returns all modules; never nil.
func describeModules(p *process.Process) []report.Module {
	return slices.AppendSeq([]report.Module{}, p.Modules())
}
