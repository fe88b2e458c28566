package message

import (
	"fmt"
	"strings"

	"github.com/sfcore/sfcore/internal/crash/store"
	"github.com/sfcore/sfcore/report"
	"github.com/sfcore/sfcore/report/signature"
)

// Privacy is what leaves a host.
type Privacy string

// What may leave a host.
const (
	// Names is everything but values: reports of the crash handler have no memory and no
	// arguments of functions, but the names of programs, threads, files and functions.
	Names Privacy = "names"
	// Addresses is build-ids with offsets, and what signal it was: no name, and nothing
	// of memory. Names are found where symbols are.
	Addresses Privacy = "addresses"
)

// addressesOf returns of a record what [Addresses] allows. What is not listed here stays on
// the host, also what later versions add.
func addressesOf(r *store.Record) *store.Record {
	one := &store.Record{Schema: r.Schema, ID: r.ID, Time: r.Time, Signal: r.Signal, Threads: r.Threads, Held: r.Held, Kept: r.Kept}
	if isHex(r.Build) {
		one.Build = r.Build
	}
	if isHash(r.Kind) {
		one.Kind = r.Kind
	}
	if s := r.Signature; s != nil {
		one.Signature = &signature.Signature{Schema: s.Schema, Rules: s.Rules, Fault: s.Fault, Address: s.Address, Title: s.Fault}
		if one.Signature.Title == "" {
			one.Signature.Title = r.Signal
		}
	}
	return one
}

// addressesIn returns of a report what [Addresses] allows. Inlined calls are names, and are
// left out: a worker finds them again.
func addressesIn(doc *report.Document) *report.Document {
	one := &report.Document{
		Schema: doc.Schema, Source: report.Source{Kind: doc.Source.Kind},
		Process: report.Process{Arch: doc.Process.Arch, ByteOrder: doc.Process.ByteOrder},
		Threads: []report.Thread{}, Modules: []report.Module{}, Problems: []string{},
	}
	if s := doc.Process.Signal; s != nil {
		one.Process.Signal = &report.Signal{Number: s.Number, Name: s.Name, Code: s.Code, CodeName: s.CodeName, Thread: s.Thread, Fault: s.Fault, Meaning: string(s.Fault)}
	}
	for i := range doc.Threads {
		th := &doc.Threads[i]
		to := report.Thread{TID: th.TID, Crashed: th.Crashed, Frames: []report.Frame{}, Stop: report.Stop{Reason: th.Stop.Reason}}
		for j := range th.Frames {
			if f := &th.Frames[j]; !f.Inlined {
				to.Frames = append(to.Frames, addressOf(f, len(to.Frames)))
			}
		}
		one.Threads = append(one.Threads, to)
	}
	for i := range doc.Modules {
		m := &doc.Modules[i]
		if isHex(m.BuildID) {
			one.Modules = append(one.Modules, report.Module{Path: m.BuildID, BuildID: m.BuildID, Base: m.Base, End: m.End, Bias: m.Bias, Match: report.MatchMissing, CFI: m.CFI})
		}
	}
	return one
}

func addressOf(f *report.Frame, index int) report.Frame {
	to := report.Frame{Index: index, Method: f.Method, Trust: f.Trust, Exact: f.Exact, SignalFrame: f.SignalFrame}
	if isHex(f.Module) {
		to.PC, to.Module, to.ModuleOffset = f.PC, f.Module, f.ModuleOffset
	}
	return to
}

// isHex reports whether a text is a build-id.
func isHex(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return s != "" && len(s) <= maxWord
}

// New makes the message of a crash of a host from its record there and its report, which may
// be nil. raw is the file of the report, which is sent as it is if it fits; nil for none.
func New(host string, r *store.Record, privacy Privacy, doc *report.Document, raw []byte) *Message {
	record := *r
	Fit(&record)
	m := &Message{ID: ID(host, r.ID), Host: host, Privacy: privacy, Record: &record}
	const room = MaxSize - maxHead
	switch {
	case privacy == Addresses:
		m.Record = addressesOf(&record)
		if doc != nil {
			m.Report = Pack(addressesIn(doc), room)
		}
	case raw != nil && len(raw) <= room:
		m.Report = raw
	case doc != nil:
		m.Report = Pack(doc, room)
	}
	return m
}

// NewCount makes the message that counts crashes of a kind.
func NewCount(host string, like *store.Record, privacy Privacy, ids []string) *Message {
	r := &store.Record{Schema: store.Schema, Kind: like.Kind, Signal: like.Signal}
	if privacy != Addresses {
		r.Program = like.Program
	}
	Fit(r)
	// Another number of crashes is another message, also if it begins with the same.
	id := fmt.Sprintf("%s-%016d-count", ids[0], Number(host+"\x00"+strings.Join(ids, "\x00")))
	return &Message{ID: id, Host: host, Privacy: privacy, Record: r, Count: &Count{IDs: ids, Last: like.Time}}
}
