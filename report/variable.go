package report

import (
	"strconv"
	"strings"
)

// Variable is an argument or a local variable of a frame, or a part of one.
type Variable struct {
	// Name is "" for parts without a name, such as anonymous structures.
	Name     string `json:"name,omitempty"`
	Argument bool   `json:"argument,omitempty"`
	// Base is set for the part of an object that belongs to a base class.
	Base bool   `json:"base,omitempty"`
	Type string `json:"type,omitempty"`
	// Value is the text of a number, pointer, enumerator or string.
	Value string `json:"value,omitempty"`
	// Missing says why there is no value: "optimised out", "not recovered", or
	// another reason.
	Missing string  `json:"missing,omitempty"`
	Address OptAddr `json:"address,omitzero"`
	// Members are the members of a structure, the elements of an array, or what a
	// reference refers to. More is how many of them were left out.
	Members []Variable `json:"members,omitempty"`
	More    uint64     `json:"more,omitempty"`
	// Elements is set if the members are the elements of an array.
	Elements bool `json:"elements,omitempty"`
}

const (
	// maxVarText bounds the text of a variable, in bytes.
	maxVarText = 1000

	// minRepeats is the least number of equal elements in a row that are written
	// only once.
	minRepeats = 4
)

// Text writes the value on one line: "{x = 1, p = 0x0, <optimised out>}".
func (r *Variable) Text() string {
	return string(r.appendText(nil))
}

// short is the text of an element, of up to maxVarText bytes and a little more.
func (r *Variable) short() string {
	text := r.Text()
	if len(text) > 2*maxVarText {
		text = strings.ToValidUTF8(text[:maxVarText], "") + "..."
	}
	return text
}

func (r *Variable) appendText(b []byte) []byte {
	switch {
	case len(b) > maxVarText:
		return append(b, "..."...)
	case r.Missing != "" && len(r.Members) == 0:
		return append(append(append(b, '<'), r.Missing...), '>')
	case r.Value != "" && len(r.Members) == 0:
		return append(b, r.Value...)
	case r.Value != "": // a reference
		return r.Members[0].appendText(append(append(b, r.Value...), ": "...))
	}
	b = append(b, '{')
	for i, text := 0, ""; i < len(r.Members); {
		if i > 0 {
			b = append(b, ", "...)
		}
		if len(b) > maxVarText {
			return append(b, "...}"...)
		}
		m := &r.Members[i]
		switch {
		case r.Elements:
		case m.Base:
			b = append(append(append(b, '<'), m.Type...), "> = "...)
		case m.Name != "":
			b = append(append(b, m.Name...), " = "...)
		}
		if !r.Elements {
			b = m.appendText(b)
			i++
			continue
		}
		if i == 0 {
			text = m.short()
		}
		b = append(b, text...)
		n, next := 1, ""
		for ; i+n < len(r.Members); n++ { // each text is made once: elements have elements
			if next = r.Members[i+n].short(); next != text {
				break
			}
		}
		if n >= minRepeats {
			b = append(append(append(b, " <"...), strconv.Itoa(n)...), " times>"...)
		}
		for again := 1; again < n && n < minRepeats; again++ {
			if b = append(b, ", "...); len(b) > maxVarText {
				return append(b, "...}"...)
			}
			b = append(b, text...)
		}
		i, text = i+n, next
	}
	if r.More > 0 {
		if len(r.Members) > 0 {
			b = append(b, ", "...)
		}
		b = append(b, "..."...)
	}
	if r.Missing != "" {
		b = append(append(append(b, ", <"...), r.Missing...), '>')
	}
	return append(b, '}')
}
