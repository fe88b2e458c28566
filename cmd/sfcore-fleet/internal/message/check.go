package message

import (
	"slices"
	"strings"
	"time"

	"github.com/sfcore/sfcore/internal/crash/store"
	"github.com/sfcore/sfcore/report/signature"
)

// Bounds of the texts of a record, in bytes. A database indexes most of them, and takes
// 2,700 bytes of such a row.
const (
	maxName     = 1024 // programs, units
	maxWord     = 128  // signals, builds, containers
	maxTitle    = 2048
	maxProblems = 20
)

// check returns what is wrong with a message, and takes away what a record should not have.
func (m *Message) check() error {
	switch {
	case m.Schema != Schema:
		return malformed("schema: this is %.40q; %s is needed", m.Schema, Schema)
	case !ValidHost(m.Host):
		return malformed("host: %.60q is no name of a host", m.Host)
	case !slices.Contains([]Privacy{"", Names, Addresses}, m.Privacy):
		return malformed("privacy: %.40q is not known", m.Privacy)
	case m.Record == nil:
		return malformed("there is no record")
	}
	r := m.Record
	if err := checkRecord(r); err != nil {
		return err
	}
	if m.Count != nil {
		return m.checkCount()
	}
	if !store.ValidID(r.ID) || len(r.ID) > maxWord {
		return malformed("record.id: %.60q is no id", r.ID)
	}
	if m.ID != ID(m.Host, r.ID) {
		return malformed("id: %.60q is not that of crash %s of host %s", m.ID, r.ID, m.Host)
	}
	if r.Time.Year() < 1970 || r.Time.Year() > 2200 {
		return malformed("record.time: %v cannot be", r.Time)
	}
	r.ID, r.Host, r.Number = m.ID, m.Host, 0
	return nil
}

func (m *Message) checkCount() error {
	c := m.Count
	if n := len(c.IDs); n < 1 || n > MaxCount {
		return malformed("count.ids: there are %d; 1 to %d are possible", n, MaxCount)
	}
	for _, id := range c.IDs {
		if !store.ValidID(id) || len(id) > maxWord {
			return malformed("count.ids: %.60q is no id", id)
		}
	}
	if c.Last.Year() < 1970 || c.Last.Year() > 2200 {
		return malformed("count.last: %v cannot be", c.Last)
	}
	if m.Record.Kind == "" {
		return malformed("record.kind: there is none to be counted")
	}
	return nil
}

// checkRecord bounds the texts of a record.
func checkRecord(r *store.Record) error {
	if r.Schema != store.Schema {
		return malformed("record.schema: this is %.40q; %s is needed", r.Schema, store.Schema)
	}
	for _, text := range []struct {
		name, value string
		most        int
	}{
		{"program", r.Program, maxName},
		{"build", r.Build, maxWord},
		{"signal", r.Signal, maxWord},
		{"file", r.File, maxName},
		{"container", r.Container, maxWord},
		{"pod", r.Pod, maxWord},
		{"unit", r.Unit, maxName},
		{"namespace", r.Namespace, maxName},
		{"podName", r.PodName, maxName},
		{"containerName", r.ContainerName, maxName},
		{"kind", r.Kind, maxName},
		{"kept", string(r.Kept), maxWord},
	} {
		if len(text.value) > text.most {
			return malformed("record.%s has %d bytes; at most %d are taken", text.name, len(text.value), text.most)
		}
	}
	if len(r.Problems) > maxProblems {
		return malformed("record.problems: there are %d; at most %d are taken", len(r.Problems), maxProblems)
	}
	for i := range r.Problems {
		r.Problems[i] = Short(r.Problems[i], maxName)
	}
	if o := r.Origin; o != nil && (len(o.Store) > maxWord || len(o.Cursor) > maxName) {
		return malformed("record.origin is too long")
	}
	return checkSignature(r.Signature)
}

func checkSignature(s *signature.Signature) error {
	if s == nil {
		return nil
	}
	s.Frames = nil
	for _, hash := range []string{s.Address, s.Fine, s.Coarse} {
		if hash != "" && !isHash(hash) {
			return malformed("record.signature: %.40q is no hash", hash)
		}
	}
	if len(s.Alias) > maxName || len(s.Title) > maxTitle || len(s.Fault) > maxWord || len(s.Rules) > maxWord || len(s.Schema) > maxWord {
		return malformed("record.signature is too long")
	}
	for word := range strings.FieldsSeq(s.Alias) {
		if !isHex(word) {
			return malformed("record.signature.alias: %.40q is no hash", word)
		}
	}
	return nil
}

// isHash reports whether a text is a hash of a signature.
func isHash(s string) bool { return len(s) == 32 && strings.Trim(s, "0123456789abcdef") == "" }

// IsKind reports whether a kind of crashes is one that other hosts may have as well: a hash of
// addresses.
func IsKind(kind string) bool { return isHash(kind) }

// Short cuts a text to so many bytes.
func Short(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-3], "") + "..."
}

// Fit cuts what of a record may be longer than a message takes: hosts do so before they
// send.
func Fit(r *store.Record) {
	for _, to := range []*string{&r.Program, &r.File, &r.Unit, &r.Namespace, &r.PodName, &r.ContainerName} {
		*to = Short(*to, maxName)
	}
	r.Kind = Short(r.Kind, maxName)
	r.Problems = r.Problems[:min(len(r.Problems), maxProblems)]
	if r.Signature != nil {
		one := *r.Signature
		one.Title, one.Frames = Short(one.Title, maxTitle), nil
		r.Signature = &one
	}
	if r.Time.IsZero() {
		r.Time = time.Unix(0, 0).UTC()
	}
}
