package expression

import "strings"

// postfix parses members, indexes, slices and calls behind a value.
func (p *parser) postfix(n *node, from int) (*node, error) {
	for {
		if p.tok.kind != operator && !(p.tok.kind == float && p.tok.text[0] == '.') {
			return n, nil
		}
		switch {
		case p.tok.kind == float: // ".0", as in tuple.0
			name := p.tok.text[1:]
			if err := p.next(); err != nil {
				return nil, err
			}
			for _, part := range strings.Split(name, ".") { // ".0.1"
				n = p.made(&node{op: opMember, text: part, args: []*node{n}}, from)
			}
		case p.is(".") || p.is("->"):
			op := p.tok.text
			if err := p.next(); err != nil {
				return nil, err
			}
			name, err := p.memberName()
			if err != nil {
				return nil, err
			}
			n = p.made(&node{op: op, text: name, args: []*node{n}}, from)
		case p.is("["):
			var err error
			if n, err = p.index(n, from); err != nil {
				return nil, err
			}
		case p.is("("):
			return nil, &Error{Part: p.s[from:], Msg: "this is a call, and sfcore executes nothing"}
		case p.is("++") || p.is("--"):
			return nil, p.unexpected()
		default:
			return n, nil
		}
	}
}

// memberName parses the name of a member, which is a number in tuples of Rust.
func (p *parser) memberName() (string, error) {
	name := p.tok.text
	if p.tok.kind != word && p.tok.kind != integer && p.tok.kind != float {
		return "", &Error{Part: p.s[p.tok.at:], Msg: "the name of a member is missing here"}
	}
	return name, p.next()
}

// index parses "[i]", "[from..to]", "[from..=to]".
func (p *parser) index(n *node, from int) (*node, error) {
	if err := p.next(); err != nil {
		return nil, err
	}
	var first, last *node
	var err error
	if !p.is("..") && !p.is("..=") {
		if first, err = p.choice(); err != nil {
			return nil, err
		}
	}
	op := opIndex
	if p.is("..") || p.is("..=") {
		if op = opSlice; p.is("..=") {
			op = opClosed
		}
		if err := p.next(); err != nil {
			return nil, err
		}
		if !p.is("]") {
			if last, err = p.choice(); err != nil {
				return nil, err
			}
		}
	}
	if err := p.expect("]"); err != nil {
		return nil, err
	}
	return p.made(&node{op: op, args: []*node{n, first, last}}, from), nil
}
