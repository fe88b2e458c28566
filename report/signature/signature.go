// Package signature tells which crashes are the same bug. It turns the stack of the
// thread that crashed into three hashes, from exact to lasting, and explains each:
// which frames were used, which were left out, and why. docs/signature.md describes
// the form and the rules.
package signature

import (
	"errors"

	"github.com/sfcore/sfcore/report"
)

// Schema names the version of the signature. Equal crashes have equal hashes under one
// schema and one version of the rules.
const Schema = "sfcore.signature/1"

// Signature identifies a crash on three levels. A level is "" if the stack does not
// tell it.
type Signature struct {
	Schema string `json:"schema"`
	// Rules is the version of the rules by which frames were left out.
	Rules string `json:"rules"`
	// Fault is what happened: the fault class, or the name of the signal.
	Fault string `json:"fault,omitempty"`
	// Address is for the build-id and offset of every frame on the stack. It needs no
	// symbols, and is another one for each build.
	Address string `json:"address,omitempty"`
	// Fine is for the fault and the innermost relevant frames, by function, or by
	// build-id and offset where the function is not known; and where they are few, for
	// the file that they are in.
	Fine string `json:"fine,omitempty"`
	// Coarse is for the functions of these frames, without parameters and template
	// arguments, and where they are few for the file: it lasts across builds, compilers
	// and architectures.
	Coarse string `json:"coarse,omitempty"`
	// Alias joins a crash that has no Coarse to one that has: one of the hashes in it is
	// the Alias of the other if both are of one build, and have equal frames on the
	// stack up to the last that counts for Coarse. A crash with Coarse has one hash,
	// another those of 1, 2, ... frames, with spaces between them.
	Alias string `json:"alias,omitempty"`
	// Title says in a line what crashed where, for people.
	Title string `json:"title"`
	// Frames explains what became of every frame.
	Frames []Frame `json:"frames,omitempty"`
}

// Frame says what a frame counts for.
type Frame struct {
	Index int    `json:"index"` // of the frame in the report
	Name  string `json:"name"`  // as it counts for Fine
	// Address and Named are set if the frame counts for Address, and for Fine and
	// Coarse.
	Address bool `json:"address"`
	Named   bool `json:"named"`
	// Why says why it does not count.
	Why string `json:"why,omitempty"`

	trusted bool
}

// depth is how many relevant frames count for Fine and Coarse.
const depth = 3

// ErrNoCrash is returned for a report in which no thread crashed.
var ErrNoCrash = errors.New("no thread of the process has crashed")

// Of returns the signature of the thread that crashed. It does not keep r.
func Of(r *report.Document, rules *Rules) (*Signature, error) {
	for i := range r.Threads {
		if r.Threads[i].Crashed {
			return Stack(r.Process.Signal, &r.Threads[i], rules), nil
		}
	}
	return nil, ErrNoCrash
}

// Stack returns the signature of a stack and of the signal that ended its process,
// which may be nil.
func Stack(s *report.Signal, th *report.Thread, rules *Rules) *Signature {
	sig := &Signature{Schema: Schema, Rules: rules.Version, Fault: fault(s)}
	c := newCounter(th, sig.Fault, rules)
	sig.Address = c.hash("address", "", c.onStack(), depthOfAll, (*counter).appendAddress)
	outside := c.outside()
	c.judge()
	named, told := c.relevant()
	in := c.file(named)
	sig.Fine = c.hash("fine", sig.Fault+in, named, depth, (*counter).appendName)
	if told {
		sig.Coarse = c.hash("coarse", in, named, depth, (*counter).appendFunction)
	}
	sig.Alias = c.alias(outside, named[:min(depth, len(named))], sig.Coarse != "")
	sig.Title = c.title(sig.Fault, named)
	sig.Frames = c.verdicts
	return sig
}

// Address returns only the first level. It looks at no names, and takes microseconds.
func Address(th *report.Thread, fault report.Fault) string {
	c := newCounter(th, string(fault), new(Rules))
	return c.hash("address", "", c.onStack(), depthOfAll, (*counter).appendAddress)
}

func fault(s *report.Signal) string {
	switch {
	case s == nil:
		return ""
	case s.Fault != "":
		return string(s.Fault)
	}
	return s.Name
}
