package dap

import (
	"strconv"
	"strings"
)

// scope gives expressions their values.
type scope struct {
	register func(name string) (uint64, bool, error) // whether there is such a register
	symbol   func(name string) (uint64, bool)
	load     func(addr uint64) (uint64, error)
}

const (
	// maxExpression bounds the length of an expression in bytes.
	maxExpression = 4096

	// maxNesting bounds parentheses and operators within each other.
	maxNesting = 64
)

// parser evaluates an expression of C over 64-bit numbers while it reads it:
//
//	expr    = unary { operator unary }     | ^ & << >> + - * / %, as in C
//	unary   = ("-" | "~" | "*" | "&") unary | primary
//	primary = number | "$" register | name | "'" name "'" | "(" expr ")"
//
// "*" reads 8 bytes of memory. "&" of a name is the name's address, as is the
// name itself.
type parser struct {
	scope
	text  string
	at    int
	depth int
}

func evaluateExpression(text string, sc scope) (uint64, error) {
	if len(text) > maxExpression {
		return 0, newError(idExpression, "the expression is longer than %d bytes", maxExpression)
	}
	p := &parser{scope: sc, text: text}
	v, err := p.binary(0)
	if err != nil {
		return 0, err
	}
	if p.space(); p.at < len(p.text) {
		return 0, newError(idExpression, "%q cannot be parsed", p.text[p.at:])
	}
	return v, nil
}

func (p *parser) space() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

// operators by precedence, which is C's.
var operators = []struct {
	text string
	prec int
}{{"<<", 4}, {">>", 4}, {"|", 1}, {"^", 2}, {"&", 3}, {"+", 5}, {"-", 5}, {"*", 6}, {"/", 6}, {"%", 6}}

// binary evaluates operators that bind more tightly than prec.
func (p *parser) binary(prec int) (uint64, error) {
	if p.depth++; p.depth > maxNesting {
		return 0, newError(idExpression, "the expression is nested more than %d deep", maxNesting)
	}
	defer func() { p.depth-- }()
	left, err := p.unary()
	for err == nil {
		op, opPrec := p.operator()
		if op == "" || opPrec <= prec {
			return left, nil
		}
		p.at += len(op)
		var right uint64
		if right, err = p.binary(opPrec); err == nil {
			left, err = apply(op, left, right)
		}
	}
	return 0, err
}

func (p *parser) operator() (string, int) {
	p.space()
	for _, op := range operators {
		if strings.HasPrefix(p.text[p.at:], op.text) {
			return op.text, op.prec
		}
	}
	return "", 0
}

func apply(op string, a, b uint64) (uint64, error) {
	switch op {
	case "|":
		return a | b, nil
	case "^":
		return a ^ b, nil
	case "&":
		return a & b, nil
	case "<<":
		return a << b, nil
	case ">>":
		return a >> b, nil
	case "+":
		return a + b, nil
	case "-":
		return a - b, nil
	case "*":
		return a * b, nil
	}
	if b == 0 {
		return 0, newError(idExpression, "division by zero")
	}
	if op == "%" {
		return a % b, nil
	}
	return a / b, nil
}

func (p *parser) unary() (uint64, error) {
	if p.space(); p.at == len(p.text) {
		return 0, newError(idExpression, "a number, a register such as $pc or a name is missing at the end")
	}
	op := p.text[p.at]
	if strings.IndexByte("-~*&", op) < 0 {
		return p.primary()
	}
	p.at++
	if p.depth++; p.depth > maxNesting {
		return 0, newError(idExpression, "the expression is nested more than %d deep", maxNesting)
	}
	defer func() { p.depth-- }()
	v, err := p.unary()
	if err != nil {
		return 0, err
	}
	switch op {
	case '-':
		return -v, nil
	case '~':
		return ^v, nil
	case '*':
		if v, err = p.load(v); err != nil {
			return 0, newError(idExpression, "%v", err)
		}
	}
	return v, nil
}

func (p *parser) primary() (uint64, error) {
	c := p.text[p.at]
	switch {
	case c == '(':
		p.at++
		v, err := p.binary(0)
		if err != nil {
			return 0, err
		}
		if p.space(); p.at == len(p.text) || p.text[p.at] != ')' {
			return 0, newError(idExpression, "a closing parenthesis is missing")
		}
		p.at++
		return v, nil
	case c == '$':
		p.at++
		name := p.word()
		v, ok, err := p.register(strings.ToLower(name))
		if !ok {
			return 0, newError(idExpression, "there is no register $%s", name)
		}
		return v, err
	case c == '\'':
		name, _, ok := strings.Cut(p.text[p.at+1:], "'")
		if !ok {
			return 0, newError(idExpression, "the closing ' is missing")
		}
		p.at += len(name) + 2
		return p.named(name)
	case c >= '0' && c <= '9':
		word := p.word()
		v, err := strconv.ParseUint(word, 0, 64)
		if err != nil {
			return 0, newError(idExpression, "%s is not a 64-bit number", word)
		}
		return v, nil
	}
	word := p.word()
	if word == "" {
		return 0, newError(idExpression, "%q cannot be parsed", p.text[p.at:])
	}
	// A register may be written without its sign, as in disassembly.
	if v, ok, err := p.register(strings.ToLower(word)); ok {
		return v, err
	}
	return p.named(word)
}

func (p *parser) named(name string) (uint64, error) {
	if v, ok := p.symbol(name); ok {
		return v, nil
	}
	return 0, newError(idExpression, "no symbol table has the name %q", name)
}

// word reads letters, digits and what else names of symbols consist of.
func (p *parser) word() string {
	from := p.at
	for p.at < len(p.text) {
		c := p.text[p.at]
		if c < 0x80 && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') && strings.IndexByte("_.@:", c) < 0 {
			break
		}
		p.at++
	}
	return p.text[from:p.at]
}
