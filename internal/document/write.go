// Package document writes the JSON of reports piece by piece, so that one of 100,000
// threads is never in memory as a whole, and reads it again.
package document

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/sfcore/sfcore/internal/display"
	"github.com/sfcore/sfcore/report"
)

// Encode returns v as JSON, which a terminal may show: it has no characters that
// control anything. The report's types always Encode.
func Encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return display.JSON(b)
}

// Write writes v as a document of one line.
func Write(w io.Writer, v any) error {
	_, err := w.Write(append(Encode(v), '\n'))
	return err
}

// Members joins parts of a JSON object: keys, with their punctuation, and values.
func Members(parts ...any) []byte {
	var b []byte
	for _, p := range parts {
		if key, ok := p.(string); ok {
			b = append(b, key...)
		} else {
			b = append(b, Encode(p)...)
		}
	}
	return b
}

// Thread is a thread, or those with the same stack.
type Thread struct {
	*report.Thread
	TIDs []int `json:"tids,omitempty"` // if there are several
}

// noFrames is how a thread without frames has them. A string cannot contain it: there,
// quotes are escaped.
const noFrames = `"frames":[]`

// AppendThread appends a thread as JSON, frame by frame: [Encode] takes three times
// the memory of what it returns, and a stack may have 262,144 frames.
func AppendThread(b []byte, r *Thread) []byte {
	thread := *r.Thread
	thread.Frames = []report.Frame{}
	head, tail, _ := bytes.Cut(Encode(&Thread{&thread, r.TIDs}), []byte(noFrames))
	b = append(append(b, head...), noFrames[:len(noFrames)-1]...)
	for i := range r.Frames {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendFrame(b, &r.Frames[i])
	}
	return append(append(b, ']'), tail...)
}

// Head returns what is before the threads in a report that is one document.
func Head(r *report.Document) []byte {
	return Members(`{"schema":"`+r.Schema+`","source":`, r.Source, `,"process":`, r.Process, ",\"threads\":[\n")
}

// Tail returns what is behind the threads of such a report: its Waiting, Modules and
// Problems.
func Tail(r *report.Document) []byte { return tail("],\n", r) }

// HeadLine returns the first line of a report of lines, with the process.
func HeadLine(r *report.Document) []byte {
	return Members(`{"schema":"`+r.Schema+`","source":`, r.Source, `,"process":`, r.Process, "}\n")
}

// AppendThreadLine appends the line of a thread.
func AppendThreadLine(b []byte, r *Thread) []byte {
	return append(AppendThread(append(b, `{"thread":`...), r), "}\n"...)
}

// TailLine returns the last line of such a report: its Waiting, Modules and Problems.
func TailLine(r *report.Document) []byte { return tail("{", r) }

func tail(before string, r *report.Document) []byte {
	return Members(before+waitMembers(&r.Waiting)+"\"modules\":", r.Modules, `,"problems":`, r.Problems, "}\n")
}

// waitMembers are the members for what threads wait for, as text before other members;
// "" if there are none.
func waitMembers(w *report.Waiting) string {
	text := Encode(w)
	if text = text[1 : len(text)-1]; len(text) == 0 {
		return ""
	}
	return string(text) + ","
}
