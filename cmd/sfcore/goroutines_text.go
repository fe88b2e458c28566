package main

import (
	"fmt"

	"github.com/sfcore/sfcore/internal/display"
	"github.com/sfcore/sfcore/internal/document"
	"github.com/sfcore/sfcore/report"

	"github.com/sfcore/sfcore/process"
)

// goroutineFormat renders the pieces of a list of goroutines.
type goroutineFormat interface {
	head(*report.Document) []byte
	goroutine(*report.Goroutine) []byte
	separator() string
	tail(*process.Process, *goroutineTail) []byte
}

// goroutineTail is what is known after the last goroutine.
type goroutineTail struct {
	waits   *report.GoroutineWaits
	hidden  int    // goroutines of the runtime that were left out
	without string // why delve did not take part; "" if it did
}

func newGoroutineFormat(name string, text textFormat) goroutineFormat {
	switch name {
	case "json":
		return goroutineJSON{}
	case "jsonl":
		return goroutineLines{}
	case "folded":
		return goroutineFolded{}
	case "html", "pprof", "speedscope":
		return goroutinePicture{}
	}
	return &goroutineText{text}
}

// goroutineText renders goroutines for people.
type goroutineText struct{ textFormat }

func (w *goroutineText) goroutine(r *report.Goroutine) []byte {
	b := []byte("\n")
	if len(r.IDs) > 1 {
		b = fmt.Appendf(b, "%d goroutines", len(r.IDs))
	} else {
		b = fmt.Appendf(b, "Goroutine %d", r.ID)
	}
	if state := orUnknown(r.WaitReason, r.Status, "unknown"); r.Status != "" {
		b = fmt.Appendf(b, " [%s]", plain(state))
	}
	if r.TID != 0 && len(r.IDs) < 2 {
		b = fmt.Appendf(b, " on thread %d", r.TID)
	}
	if r.Start != nil && r.Start.Function != "" {
		b = fmt.Appendf(b, ": %s", plain(r.Start.Function))
	}
	if r.Created != nil && r.Created.Function != "" {
		b = fmt.Appendf(b, ", created by %s", plain(r.Created.Function))
		if r.Created.File != "" {
			b = fmt.Appendf(b, " at %s:%d", plain(r.Created.File), r.Created.Line)
		}
	}
	b = append(b, '\n')
	if len(r.IDs) > 1 {
		b = w.ids(b, "  ids ", display.IDs(r.IDs))
	}
	for p := range w.part.pieces(len(r.Frames), func(i int) *report.Frame { return &r.Frames[i].Frame }) {
		if p.index < 0 {
			b = w.note(b, p)
			continue
		}
		f := &r.Frames[p.index]
		b = w.frame(b, &f.Frame)
		for _, v := range f.Variables {
			b = w.variable(b, v.Name, v.Type, v.Value, v.Err)
		}
	}
	return w.delve(w.stop(b, &r.Stop), r.Delve)
}

func (w *goroutineText) variable(b []byte, name, typ, value, err string) []byte {
	if err != "" {
		value = w.paint.dim("<" + plain(err) + ">")
	} else {
		value = plain(value)
	}
	return fmt.Appendf(b, "       %s %s = %s\n", plain(name), w.paint.dim(plain(typ)), value)
}

// delve says how delve's stack differs.
func (w *goroutineText) delve(b []byte, d *report.DelveStack) []byte {
	if d == nil {
		return b
	}
	var says string
	switch last := d.To - 1; {
	case d.From == d.To && len(d.Frames) == 0:
		says = "delve ends here"
	case d.From == d.To:
		says = fmt.Sprintf("delve sees more before #%d", d.From)
	case len(d.Frames) == 0 && d.From == last:
		says = fmt.Sprintf("delve does not see #%d", d.From)
	case len(d.Frames) == 0:
		says = fmt.Sprintf("delve does not see #%d to #%d", d.From, last)
	case d.From == last:
		says = fmt.Sprintf("delve sees this instead of #%d", d.From)
	default:
		says = fmt.Sprintf("delve sees this instead of #%d to #%d", d.From, last)
	}
	if d.Err != "" {
		says += ": " + plain(d.Err)
	}
	b = append(append(append(b, "  -- "...), w.paint.bad(says)...), '\n')
	for i := range d.Frames {
		p := &d.Frames[i]
		start := len(b)
		b = append(append(b, "         "...), plain(orUnknown(p.Function, "??"))...)
		if p.File != "" {
			b = fmt.Appendf(b, " at %s:%d", plain(p.File), p.Line)
		}
		b = fmt.Appendf(pad(b, start, textWidth), "  delve          %#x\n", uint64(p.PC))
	}
	return b
}

func (w *goroutineText) tail(t *process.Process, r *goroutineTail) []byte {
	var b []byte
	for i, line := range r.waits.Lines() {
		if i == 0 {
			b = append(b, '\n')
		}
		b = append(append(b, line...), '\n')
	}
	if r.hidden > 0 {
		b = fmt.Appendf(b, "\n%d goroutines of Go's runtime are left out; --all prints them\n", r.hidden)
	}
	w.image = t.Image()
	return append(b, w.textFormat.tail(&report.Document{})...)
}

// goroutineJSON renders goroutines as one document.
type goroutineJSON struct{}

func (goroutineJSON) head(r *report.Document) []byte {
	return document.Members(`{"schema":"`+report.GoroutinesSchema+`","source":`, r.Source, `,"process":`, r.Process, ",\"goroutines\":[\n")
}

func (goroutineJSON) goroutine(r *report.Goroutine) []byte { return document.Encode(r) }

func (goroutineJSON) separator() string { return ",\n" }

func (goroutineJSON) tail(t *process.Process, r *goroutineTail) []byte {
	return document.Members("],\n\"hidden\":", r.hidden, goroutineWaits(r.waits)+withoutDelve(r.without)+`,"modules":`, describeModules(t), `,"problems":`, t.Problems(), "}\n")
}

// goroutineLines renders a line for the process, one for each goroutine, and one
// for the rest.
type goroutineLines struct{}

func (goroutineLines) head(r *report.Document) []byte {
	return document.Members(`{"schema":"`+report.GoroutinesSchema+`","source":`, r.Source, `,"process":`, r.Process, "}\n")
}

func (goroutineLines) goroutine(r *report.Goroutine) []byte {
	return document.Members(`{"goroutine":`, r, "}\n")
}

func (goroutineLines) separator() string { return "" }

func (goroutineLines) tail(t *process.Process, r *goroutineTail) []byte {
	return document.Members(`{"hidden":`, r.hidden, goroutineWaits(r.waits)+withoutDelve(r.without)+`,"modules":`, describeModules(t), `,"problems":`, t.Problems(), "}\n")
}

// goroutineWaits renders a member of an object, or nothing.
func goroutineWaits(w *report.GoroutineWaits) string {
	list := w.List()
	if len(list) == 0 {
		return ""
	}
	return `,"waits":` + string(document.Encode(list))
}

// withoutDelve renders a member of an object, or nothing.
func withoutDelve(reason string) string {
	if reason == "" {
		return ""
	}
	return `,"withoutDelve":` + string(document.Encode(reason))
}
