package main

import (
	"encoding/json"
	"slices"

	"github.com/sfcore/sfcore/report"

	"github.com/sfcore/sfcore/process"
)

// encode returns v as JSON. The report's types always encode.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
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

// jsonFormat renders the report as one document.
type jsonFormat struct{}

func (jsonFormat) head(r *report.Document) []byte {
	return members(`{"schema":"`+r.Schema+`","source":`, r.Source, `,"process":`, r.Process, ",\"threads\":[\n")
}

func (jsonFormat) thread(b []byte, r *threadReport) []byte { return append(b, encode(r)...) }

func (jsonFormat) separator() string { return ",\n" }

func (jsonFormat) tail(t *process.Process) []byte {
	return members("],\n\"modules\":", describeModules(t), `,"problems":`, t.Problems(), "}\n")
}

// jsonLines renders a line for the process, one for each thread, and one for
// modules and problems.
type jsonLines struct{}

func (jsonLines) head(r *report.Document) []byte {
	return members(`{"schema":"`+r.Schema+`","source":`, r.Source, `,"process":`, r.Process, "}\n")
}

func (jsonLines) thread(b []byte, r *threadReport) []byte {
	return append(b, members(`{"thread":`, r, "}\n")...)
}

func (jsonLines) separator() string { return "" }

func (jsonLines) tail(t *process.Process) []byte {
	return members(`{"modules":`, describeModules(t), `,"problems":`, t.Problems(), "}\n")
}

// describeModules returns all modules; never nil.
func describeModules(p *process.Process) []report.Module {
	return slices.AppendSeq([]report.Module{}, p.Modules())
}
