package dap

import (
	"bytes"
	"encoding/json"
)

// contour takes a message that is too large to keep, and keeps what it says of itself:
// its members that are short. They are written as JSON. A [json.Decoder] would keep the
// long ones, too.
type contour struct {
	members []byte // an object without its end

	depth   int  // of the brackets that are open
	quoted  bool // within a string
	escaped bool // behind a backslash in one
	member  []byte
}

const (
	// maxMember bounds a member that is kept: "command" and "seq" are shorter.
	maxMember = 128
	// maxMembers bounds all of them. Requests have four.
	maxMembers = 1024
)

// Write implements io.Writer. It keeps no more than maxMembers bytes.
func (c *contour) Write(text []byte) (int, error) {
	for _, b := range text {
		c.add(b)
	}
	return len(text), nil
}

func (c *contour) add(b byte) {
	structure := !c.quoted
	switch {
	case c.escaped:
		c.escaped = false
	case c.quoted && b == '\\':
		c.escaped = true
	case b == '"':
		c.quoted = !c.quoted
	case structure && (b == '{' || b == '['):
		c.depth++
		if c.depth == 1 {
			return
		}
	case structure && (b == '}' || b == ']'):
		c.depth--
	}
	if structure && (c.depth == 0 || c.depth == 1 && b == ',') {
		c.end()
		return
	}
	if len(c.member) <= maxMember {
		c.member = append(c.member, b)
	}
}

// end ends a member of the message.
func (c *contour) end() {
	if len(c.member) <= maxMember && len(c.members)+len(c.member) < maxMembers && len(bytes.TrimSpace(c.member)) > 0 {
		separator := byte(',')
		if len(c.members) == 0 {
			separator = '{'
		}
		c.members = append(append(c.members, separator), c.member...)
	}
	c.member = c.member[:0]
}

// tooLarge returns a request to refuse, of which only the contour is known; nil if that
// does not say which request it is.
func tooLarge(members []byte) *request {
	req := &request{refusal: newError(idArguments, "%v", errTooLarge)}
	if json.Unmarshal(append(members, '}'), &req.Request) != nil || req.Seq <= 0 || req.Command == "" {
		return nil
	}
	return req
}
