package expression

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sfcore/sfcore/internal/dwarf/info"
)

const (
	// maxLength bounds the length of an expression in bytes.
	maxLength = 4096
	// maxNesting bounds operators and parentheses within each other.
	maxNesting = 64
)

// node is an expression: an operator with its operands, or a value.
type node struct {
	op   string
	text string // of a name, number, register or string
	path []string
	args []*node
	typ  *info.Type // of a cast, or of sizeof a type
	from int        // where it begins and ends in the text
	to   int
}

// Ops of nodes that are not spelled like an operator of the languages.
const (
	opName     = "name"
	opGlobal   = "::name"
	opInteger  = "integer"
	opFloat    = "float"
	opChar     = "character"
	opText     = "text"
	opRegister = "register"
	opMember   = "."
	opArrow    = "->"
	opIndex    = "[]"
	opSlice    = "[..]"  // from an index up to another one
	opClosed   = "[..=]" // with the other one
	opRepeat   = "@"
	opCast     = "cast"
	opBits     = "reinterpret_cast"
	opSizeof   = "sizeof"
	opCall     = "call"
	opChoose   = "?"
	opNeg      = "unary -"
	opPlus     = "unary +"
	opDeref    = "unary *"
	opAddr     = "unary &"
	opNot      = "!"
	opInvert   = "~"
)

// precedence of binary operators, as in C. "@" is that of gdb.
var precedence = map[string]int{
	"||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7,
	"<<": 8, ">>": 8, "@": 9, "+": 10, "-": 10, "*": 11, "/": 11, "%": 11,
}

// rustPrecedence is where Rust differs: comparison binds less than bits.
var rustPrecedence = map[string]int{
	"||": 1, "&&": 2, "==": 3, "!=": 3, "<": 3, ">": 3, "<=": 3, ">=": 3, "|": 4, "^": 5, "&": 6,
	"<<": 8, ">>": 8, "@": 9, "+": 10, "-": 10, "*": 11, "/": 11, "%": 11,
}

type parser struct {
	env   *Env
	s     string
	tok   token
	depth int
}

// parse makes a tree of a text. The names of types in it are looked up in env.
func (env *Env) parse(s string) (*node, error) {
	if len(s) > maxLength {
		return nil, &Error{Msg: fmt.Sprintf("the expression is longer than %d bytes", maxLength)}
	}
	p := &parser{env: env, s: s}
	if err := p.move(0); err != nil {
		return nil, err
	}
	if p.tok.kind == end {
		return nil, &Error{Msg: "the expression is empty"}
	}
	n, err := p.choice()
	if err != nil {
		return nil, err
	}
	if p.tok.kind == end {
		return n, nil
	}
	return nil, p.unexpected()
}

func (p *parser) move(to int) (err error) {
	p.tok, err = scan(p.s, to)
	return err
}

func (p *parser) next() error { return p.move(p.tok.at + len(p.raw())) }

// raw is the text of the current token as it is written.
func (p *parser) raw() string {
	switch p.tok.kind {
	case register:
		return "$" + p.tok.text
	case text, character:
		if c := p.s[p.tok.at]; c != '"' && c != '\'' { // a prefix
			return string(c) + p.tok.text
		}
	default:
	}
	return p.tok.text
}

func (p *parser) is(op string) bool { return p.tok.kind == operator && p.tok.text == op }

func (p *parser) accept(op string) (bool, error) {
	if !p.is(op) {
		return false, nil
	}
	return true, p.next()
}

func (p *parser) expect(op string) error {
	if !p.is(op) {
		if p.tok.kind == end {
			return &Error{Msg: fmt.Sprintf("%q is missing at the end", op)}
		}
		return &Error{Part: p.s[p.tok.at:], Msg: fmt.Sprintf("%q is missing before this", op)}
	}
	return p.next()
}

// unexpected is the error about the current token.
func (p *parser) unexpected() error {
	rest := p.s[p.tok.at:]
	switch {
	case p.tok.kind == end:
		return &Error{Msg: "the expression ends where a value is missing"}
	case slices.Contains([]string{"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "++", "--"}, p.tok.text):
		return &Error{Part: rest, Msg: "sfcore changes nothing; use == to compare"}
	}
	return &Error{Part: rest, Msg: "this is not understood here"}
}

func (p *parser) enter() error {
	if p.depth++; p.depth > maxNesting {
		return &Error{Msg: fmt.Sprintf("the expression is nested more than %d deep", maxNesting)}
	}
	return nil
}

// made completes a node that begins at an offset and ends before the current token.
func (p *parser) made(n *node, from int) *node {
	n.from, n.to = from, p.tok.at
	for n.to > from && strings.IndexByte(" \t\r\n", p.s[n.to-1]) >= 0 {
		n.to--
	}
	return n
}

// choice parses "a ? b : c", and whatever binds more tightly.
func (p *parser) choice() (*node, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	from := p.tok.at
	n, err := p.binary(0)
	if err != nil || !p.is("?") {
		return n, err
	}
	if err := p.next(); err != nil {
		return nil, err
	}
	yes, err := p.choice()
	if err != nil {
		return nil, err
	}
	if err := p.expect(":"); err != nil {
		return nil, err
	}
	no, err := p.choice()
	if err != nil {
		return nil, err
	}
	return p.made(&node{op: opChoose, args: []*node{n, yes, no}}, from), nil
}

func (p *parser) prec(op string) int {
	if p.env.isRust() {
		return rustPrecedence[op]
	}
	return precedence[op]
}

// binary parses operators that bind more tightly than prec.
func (p *parser) binary(prec int) (*node, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	from := p.tok.at
	left, err := p.unary()
	for err == nil {
		if left, err = p.conversions(left, from); err != nil {
			break
		}
		op := p.tok.text
		binds := p.prec(op)
		if p.tok.kind != operator || binds <= prec {
			return left, nil
		}
		if err = p.next(); err != nil {
			break
		}
		var right *node
		if right, err = p.binary(binds); err == nil {
			left = p.made(&node{op: op, args: []*node{left, right}}, from)
		}
	}
	return nil, err
}

// conversions parses "as TYPE" of Rust, which binds more tightly than all binary
// operators.
func (p *parser) conversions(n *node, from int) (*node, error) {
	for p.env.isRust() && p.tok.kind == word && p.tok.text == "as" {
		at := p.tok.at
		if err := p.next(); err != nil {
			return nil, err
		}
		t, ok, err := p.typeName()
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, &Error{Part: p.s[at:], Msg: "there is no type of this name"}
		}
		n = p.made(&node{op: opCast, args: []*node{n}, typ: t}, from)
	}
	return n, nil
}

var unaryOps = map[string]string{"-": opNeg, "+": opPlus, "*": opDeref, "&": opAddr, "!": opNot, "~": opInvert}

func (p *parser) unary() (*node, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	from := p.tok.at
	if op := unaryOps[p.tok.text]; p.tok.kind == operator && op != "" {
		if err := p.next(); err != nil {
			return nil, err
		}
		n, err := p.unary()
		if err != nil {
			return nil, err
		}
		return p.made(&node{op: op, args: []*node{n}}, from), nil
	}
	switch {
	case p.is("&&"): // of a label, or the address of an address
		return nil, &Error{Part: p.s[from:], Msg: "an address has no address"}
	case p.tok.kind == word && p.tok.text == "sizeof":
		return p.sizeof()
	case p.is("("):
		if n, ok, err := p.cast(); ok || err != nil {
			return n, err
		}
	}
	n, err := p.primary()
	if err != nil {
		return nil, err
	}
	return p.postfix(n, from)
}

// cast parses "(TYPE) value". ok is false if the parentheses hold no type.
func (p *parser) cast() (n *node, ok bool, err error) {
	from := p.tok.at
	if err := p.next(); err != nil {
		return nil, false, err
	}
	t, ok, err := p.typeName()
	if err != nil {
		return nil, false, err
	}
	if !ok || !p.is(")") {
		return nil, false, p.move(from)
	}
	if err := p.next(); err != nil {
		return nil, false, err
	}
	if p.tok.kind == end || p.tok.kind == operator && unaryOps[p.tok.text] == "" && !p.is("(") {
		return nil, false, &Error{Part: p.s[from:], Msg: "this is a type, not a value"}
	}
	arg, err := p.unary()
	if err != nil {
		return nil, false, err
	}
	return p.made(&node{op: opCast, args: []*node{arg}, typ: t}, from), true, nil
}

func (p *parser) sizeof() (*node, error) {
	from := p.tok.at
	if err := p.next(); err != nil {
		return nil, err
	}
	if at := p.tok.at; p.is("(") {
		if err := p.next(); err != nil {
			return nil, err
		}
		t, ok, err := p.typeName()
		if err != nil {
			return nil, err
		}
		if ok && p.is(")") {
			if err := p.next(); err != nil {
				return nil, err
			}
			return p.made(&node{op: opSizeof, typ: t}, from), nil
		}
		if err := p.move(at); err != nil {
			return nil, err
		}
	}
	arg, err := p.unary()
	if err != nil {
		return nil, err
	}
	return p.made(&node{op: opSizeof, args: []*node{arg}}, from), nil
}

func (p *parser) primary() (*node, error) {
	from, t := p.tok.at, p.tok
	simple := map[kind]string{integer: opInteger, float: opFloat, character: opChar, text: opText, register: opRegister}
	if op := simple[t.kind]; op != "" {
		if err := p.next(); err != nil {
			return nil, err
		}
		return p.made(&node{op: op, text: t.text}, from), nil
	}
	switch {
	case p.is("("):
		if err := p.next(); err != nil {
			return nil, err
		}
		n, err := p.choice()
		if err != nil {
			return nil, err
		}
		if err := p.expect(")"); err != nil {
			return nil, err
		}
		n = &node{op: "()", args: []*node{n}}
		return p.made(n, from), nil
	case t.kind == word && strings.HasSuffix(t.text, "_cast"):
		return p.namedCast()
	case t.kind == word || t.kind == fileName || p.is("::"):
		return p.name()
	}
	return nil, p.unexpected()
}

// namedCast parses "static_cast<TYPE>(value)" and the like.
func (p *parser) namedCast() (*node, error) {
	from, op := p.tok.at, p.tok.text
	if err := p.next(); err != nil {
		return nil, err
	}
	if err := p.expect("<"); err != nil {
		return nil, err
	}
	t, ok, err := p.typeName()
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, &Error{Part: p.s[p.tok.at:], Msg: "there is no type of this name"}
	}
	if err := p.expect(">"); err != nil {
		return nil, err
	}
	if err := p.expect("("); err != nil {
		return nil, err
	}
	arg, err := p.choice()
	if err != nil {
		return nil, err
	}
	if err := p.expect(")"); err != nil {
		return nil, err
	}
	n := &node{op: opCast, args: []*node{arg}, typ: t}
	switch op {
	case "static_cast", "const_cast":
	case "reinterpret_cast":
		n.op = opBits
	default:
		return nil, &Error{Part: op, Msg: "this cast is not known; there are static_cast, const_cast and reinterpret_cast"}
	}
	return p.made(n, from), nil
}

// name parses a name with the scopes before it: "a::b<int>::c".
func (p *parser) name() (*node, error) {
	from := p.tok.at
	n := &node{op: opName}
	if p.tok.kind == fileName {
		n.text = p.tok.text[1 : len(p.tok.text)-1]
		n.op = opGlobal
		if err := p.next(); err != nil {
			return nil, err
		}
	}
	if ok, err := p.accept("::"); err != nil {
		return nil, err
	} else if ok {
		n.op = opGlobal
	}
	for {
		if p.tok.kind != word {
			return nil, p.unexpected()
		}
		part, err := p.part(n.path)
		if err != nil {
			return nil, err
		}
		n.path = append(n.path, part)
		if !p.is("::") || len(n.path) >= maxNesting {
			return p.made(n, from), nil
		}
		if err := p.next(); err != nil {
			return nil, err
		}
	}
}

// part parses one part of a qualified name. "<" begins the arguments of a template if
// there is a type of that name.
func (p *parser) part(outer []string) (string, error) {
	name := p.tok.text
	if err := p.next(); err != nil {
		return "", err
	}
	if !p.is("<") {
		return name, nil
	}
	last := closing(p.s, p.tok.at)
	if last < 0 {
		return name, nil
	}
	full := name + p.s[p.tok.at:last+1]
	if !p.env.isTemplate(slices.Concat(outer, []string{full})) {
		return name, nil
	}
	return full, p.move(last + 1)
}

// closing returns where the ">" is that belongs to the "<" at an offset, or -1.
func closing(s string, at int) int {
	depth := 0
	for i := at; i < len(s); i++ {
		switch s[i] {
		case '<', '(', '[':
			depth++
		case '>', ')', ']':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}
