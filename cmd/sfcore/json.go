package main

import (
	"github.com/sfcore/sfcore/internal/document"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/report"
)

// jsonFormat renders the report as one document.
type jsonFormat struct{}

func (jsonFormat) head(r *report.Document) []byte { return document.Head(r) }

func (jsonFormat) thread(b []byte, r *document.Thread) []byte { return document.AppendThread(b, r) }

func (jsonFormat) separator() string { return ",\n" }

func (jsonFormat) tail(r *report.Document) []byte { return document.Tail(r) }

// jsonLines renders a line for the process, one for each thread, and one for
// modules and problems.
type jsonLines struct{}

func (jsonLines) head(r *report.Document) []byte { return document.HeadLine(r) }

func (jsonLines) thread(b []byte, r *document.Thread) []byte { return document.AppendThreadLine(b, r) }

func (jsonLines) separator() string { return "" }

func (jsonLines) tail(r *report.Document) []byte { return document.TailLine(r) }

// describeModules returns all modules; never nil.
func describeModules(p *process.Process) []report.Module { return firstModules(p, 0) }

// firstModules describes the modules of a process: up to so many, or all for 0. Each is
// looked for when it is described.
func firstModules(p *process.Process, most int) []report.Module {
	modules := []report.Module{}
	for m := range p.Modules() {
		if modules = append(modules, m); len(modules) == most {
			break
		}
	}
	return modules
}
