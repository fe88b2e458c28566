// Package message is what hosts send of their crashes: an envelope in a line of JSON, and
// behind it the report, compressed. Whoever can reach the queue may have written one, so
// Decode believes nothing. docs/fleet.md describes the form.
package message

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sfcore/sfcore/internal/crash/store"
)

const (
	// MaxSize bounds a message, in bytes. It is below the 1 MiB that servers take unless
	// they are told otherwise.
	MaxSize = 1000 << 10
	// maxHead bounds the line before the report. That of a crash has 1 to 3 KiB, and one of
	// 1,000 counted crashes 40 KiB.
	maxHead = 128 << 10
)

// Message is a crash of a host, or several crashes that are only counted.
type Message struct {
	Schema string `json:"schema"`
	// ID is [ID] of the host and of the crash there.
	ID   string `json:"id"`
	Host string `json:"host"`
	// Privacy says what was left out.
	Privacy Privacy `json:"privacy,omitempty"`
	// Record is the crash as its host knows it. With Count it has what the crashes have in
	// common.
	Record *store.Record `json:"record"`
	Count  *Count        `json:"count,omitempty"`
	// Report is the report as lines, compressed by zstd; empty for none.
	Report []byte `json:"-"`
}

// Count is crashes of one kind of which nothing else is sent.
type Count struct {
	IDs  []string  `json:"ids"` // as of their host
	Last time.Time `json:"last"`
}

// MaxCount is how many crashes one message counts.
const MaxCount = 1000

// ErrMalformed is for bytes that are no message of this version.
var ErrMalformed = errors.New("this is no message of a crash")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...)
}

// ID returns the id that a crash of a host has among those of all hosts. It begins as there,
// with the moment.
func ID(host, local string) string {
	return fmt.Sprintf("%s-%016d", local, Number(host+"\x00"+local))
}

// Number is a number of 16 digits that stands for a text.
func Number(text string) uint64 {
	sum := sha256.Sum256([]byte(text))
	const most = 1e16
	return binary.BigEndian.Uint64(sum[:]) % most
}

// Encode writes a message.
func Encode(m *Message) ([]byte, error) {
	m.Schema = Schema
	head, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	b := append(append(head, '\n'), m.Report...)
	if len(b) > MaxSize || len(head) > maxHead {
		return nil, fmt.Errorf("a message has %d bytes, %d of them before the report; at most %d and %d are sent", len(b), len(head), MaxSize, maxHead)
	}
	return b, nil
}

// WithoutReport returns a message, as Encode wrote it, without its report, and with the
// reason among the problems of the crash.
func WithoutReport(b []byte, why string) ([]byte, error) {
	m, err := Decode(b)
	if err != nil {
		return nil, err
	}
	if m.Count == nil { // Decode has given it the id that it has among those of all hosts
		m.Record.ID = m.ID[:strings.LastIndexByte(m.ID, '-')]
	}
	m.Report, m.Record.Problems = nil, append(m.Record.Problems[:min(len(m.Record.Problems), maxProblems-1)], why)
	return Encode(m)
}

// Decode reads a message of a host. All that it returns is bounded and well-formed, but for
// the report, which is not looked at. An error wraps [ErrMalformed].
func Decode(b []byte) (*Message, error) {
	if len(b) > MaxSize {
		return nil, malformed("it has %d bytes, and at most %d are taken", len(b), MaxSize)
	}
	head, rest, ok := bytes.Cut(b, []byte("\n"))
	if !ok || len(head) > maxHead {
		return nil, malformed("its first %d bytes have no line", maxHead)
	}
	m := new(Message)
	if err := json.Unmarshal(head, m); err != nil {
		return nil, malformed("%v", err)
	}
	m.Report = rest
	if err := m.check(); err != nil {
		return nil, err
	}
	return m, nil
}

// ValidHost reports whether a text may be the name of a host: one of DNS, in lower case.
func ValidHost(name string) bool {
	const allowed = "abcdefghijklmnopqrstuvwxyz0123456789-."
	return name != "" && len(name) <= 253 && strings.Trim(name, allowed) == "" && // most are
		strings.Trim(name, "-.") == name && !strings.Contains(name, "..")
}

// Kind of subject: what a message is about.
const (
	KindCrash = "crash"
	KindCount = "count"
)

// Subject returns where a message is published. The host is a part of it, so that a server
// can let a host write under its own name only. Its dots are underscores there.
func (m *Message) Subject() string {
	kind := KindCrash
	if m.Count != nil {
		kind = KindCount
	}
	return fmt.Sprintf("sfcore.v%d.%s.%s", Version, kind, Token(m.Host))
}

// Token is the name of a host in a subject.
func Token(host string) string { return strings.ReplaceAll(host, ".", "_") }
